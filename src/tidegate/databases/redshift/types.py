"""Redshift's types: the logical type of each, and the type to declare for a column of another database.

Facts that shape this file
 * VARCHAR counts bytes, and has 65,535 of them at most. A character of UTF-8 takes up to four. TEXT is VARCHAR(256).
 * CHAR holds characters of one byte only, so every text is declared as VARCHAR.
 * NUMERIC has 38 digits at most.
 * SUPER writes a document anew: the order of keys and the digits of numbers may change. Documents stay text.
 * TIME and TIMESTAMP have six digits of a second.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import ValueKind

KIND = "redshift"
LONGEST_TEXT = 65_535
LONGEST_BYTES = 1_024_000
BYTES_OF_A_CHARACTER = 4
MOST_DIGITS = 38
MOST_DIGITS_AFTER_THE_POINT = 37

_LOGICAL_TYPES = {
    "smallint": Type("int16"),
    "integer": Type("int32"),
    "bigint": Type("int64"),
    "boolean": Type("bool"),
    "real": Type("float32"),
    "double precision": Type("float64"),
    "date": Type("date"),
    "time without time zone": Type("time", 6),
    "timestamp without time zone": Type("timestamp", 6),
    "timestamp with time zone": Type("instant", 6),
}
_DECLARED = {
    "int8": "smallint",
    "flag": "smallint",
    "uint8": "smallint",
    "int16": "smallint",
    "uint16": "integer",
    "int24": "integer",
    "uint24": "integer",
    "int32": "integer",
    "uint32": "bigint",
    "int64": "bigint",
    "uint64": "numeric(20,0)",
    "bool": "boolean",
    "float32": "real",
    "float64": "double precision",
    "date": "date",
}
_TIMES = {
    "time": "time without time zone",
    "clock": "time without time zone",
    "timestamp": "timestamp without time zone",
    "instant": "timestamp with time zone",
}
_SIZED_TEXTS = ("string", "trimmed", "enum", "char")
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_TEXT = re.compile(r"character varying\((\d+)\)")
_BYTES = re.compile(r'"?binary varying"?(?:\((\d+)\))?')


def logical_type(declared: str) -> Type:
    """Return the logical type of a type as the catalog writes it, such as `character varying(256)`."""
    if numeric := _NUMERIC.fullmatch(declared):
        return Type("decimal", int(numeric[1]), int(numeric[2]))
    if text := _TEXT.fullmatch(declared):
        return Type("string", int(text[1]) // BYTES_OF_A_CHARACTER)
    if _BYTES.fullmatch(declared):
        return Type("binary", bytes_of(declared))
    return _LOGICAL_TYPES.get(declared, Type("local", spelling=declared))


def bytes_of(declared: str) -> int | None:
    """Return how many bytes a value of a text or binary type may have; None for other types."""
    if text := _TEXT.fullmatch(declared):
        return int(text[1])
    if binary := _BYTES.fullmatch(declared):
        return int(binary[1]) if binary[1] else LONGEST_BYTES
    return None


def declare(column: Column) -> Column:
    """Return the Redshift column that takes every value of `column`. Columns of Redshift keep their type."""
    declared = column.declared_type if column.database == KIND else _declared_type(column.logical_type.portable)
    return replace(
        column,
        type=declared,
        portable_type="",
        logical_type=logical_type(declared),
        database=KIND,
        collation="",
        identity=False,
    ).read_like(column)


def _declared_type(wanted: Type) -> str:
    size = wanted.size
    match wanted.family:
        case "decimal" if size is not None and is_exact_numeric(wanted):
            return f"numeric({size},{wanted.scale})"
        case "time" | "clock" | "timestamp" | "instant" if size is not None and size <= 6:
            return _TIMES[wanted.family]
        case "binary" | "padded" | "geometry":
            return f"binary varying({min(size or LONGEST_BYTES, LONGEST_BYTES)})"
        case "uuid":
            return "character varying(36)"
        case "bits" if size is not None:
            return text_type(size)
        case family if family in _SIZED_TEXTS and size is not None:
            return text_type(max(size, 1) * BYTES_OF_A_CHARACTER)
    return _DECLARED.get(wanted.family, text_type(LONGEST_TEXT))


def text_type(size: int) -> str:
    return f"character varying({min(size, LONGEST_TEXT)})"


def is_exact_numeric(wanted: Type) -> bool:
    """Return whether a decimal has a NUMERIC with all of its digits."""
    return 0 <= wanted.scale <= MOST_DIGITS_AFTER_THE_POINT and (wanted.size or 0) <= MOST_DIGITS


def refusal(column: Column) -> str:
    """Return why no type of Redshift takes the values of a column, or an empty text."""
    wanted = column.logical_type
    if wanted.family == "decimal" and not is_exact_numeric(wanted):
        return f"has {wanted.size} digits, {wanted.scale} of them after the point; NUMERIC has {MOST_DIGITS} at most"
    return ""


def caution(column: Column) -> str:
    """Return what a value may have that its type in Redshift does not take, or an empty text."""
    wanted = column.logical_type
    size = bytes_of(_declared_type(wanted.portable))
    if size is None or column.database == KIND:
        return ""
    is_text = not wanted.family.startswith(("binary", "padded", "geometry"))
    most = wanted.size
    if most is not None and most * (BYTES_OF_A_CHARACTER if is_text else 1) <= size:
        return ""
    if wanted.family in ("uuid", "bits"):
        return ""
    return f"{column.name} ({column.type}, at most {size:,} bytes)"


def value_kind(column: Column) -> ValueKind | None:
    if column.logical_type.is_integer:
        return ValueKind.INTEGER
    if column.logical_type.family == "decimal":
        return ValueKind.DECIMAL
    if column.logical_type.family == "date":
        return ValueKind.DATE
    if column.logical_type.family in ("timestamp", "instant"):
        return ValueKind.TIMESTAMP
    return ValueKind.TEXT if column.logical_type.family in ("string", "bool", "time") else None
