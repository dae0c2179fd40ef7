"""PostgreSQL's types: the logical type of each, and the type to declare for a column of another database.

Facts that shape this file
 * Under the settings of `session.py`, the text of every type reads back as the same value. So values that Arrow cannot
   hold are stored as that text, and nothing is lost.
 * numeric without precision, or beyond 38 digits, or with a negative scale, has no Arrow decimal: text.
 * numeric(p,s) may hold NaN, date and timestamp may hold infinity and years that have no four digits, time may hold
   24:00:00. Such values are rare and found only by reading: the split that finds one reads that column as text.
 * the text of money depends on the locale. As numeric it is exact, with two digits under the locale of our session.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import ValueKind

KIND = "postgresql"
LONGEST_VARCHAR = 8_000
"""For declared columns: a longer varchar of another database becomes `text`."""

_LOGICAL_TYPES = {
    "int2": Type("int16"),
    "int4": Type("int32"),
    "int8": Type("int64"),
    "oid": Type("uint32"),
    "bool": Type("bool"),
    "float4": Type("float32"),
    "float8": Type("float64"),
    "money": Type("decimal", 19, 2),
    "date": Type("date"),
    "bytea": Type("binary"),
    "text": Type("string"),
    "name": Type("string", 63),
    "uuid": Type("uuid"),
    "json": Type("json"),
    "jsonb": Type("json", spelling="jsonb"),
    "xml": Type("xml"),
}
_SIZED = {"time": "time", "timestamp": "timestamp", "timestamptz": "instant"}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_SIZE = re.compile(r"[a-z ]+\((\d+)\)")
_DOCUMENTS = ("json", "xml")

_DECLARED = {
    "int8": "smallint",
    "flag": "smallint",
    "uint8": "smallint",
    "int16": "smallint",
    "uint16": "integer",
    "int32": "integer",
    "uint32": "bigint",
    "int64": "bigint",
    "uint64": "numeric(20,0)",
    "number": "numeric",
    "bool": "boolean",
    "float32": "real",
    "float64": "double precision",
    "date": "date",
    "uuid": "uuid",
    "json": "json",
    "xml": "xml",
    "int24": "integer",
    "uint24": "integer",
    "binary": "bytea",
    "padded": "bytea",
    "geometry": "bytea",
}
_CATALOG_NAMES = {
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "boolean": "bool",
    "real": "float4",
    "double precision": "float8",
    "character varying": "varchar",
    "character": "bpchar",
}


def logical_type(base_type: str, declared: str) -> Type:
    """Return the logical type of a type: `base_type` in the catalog (`int4`), `declared` in DDL (`numeric(9,2)`)."""
    size = _SIZE.match(declared)
    if base_type == "numeric":
        numeric = _NUMERIC.fullmatch(declared)
        return Type("decimal", int(numeric[1]), int(numeric[2])) if numeric else Type("number")
    if base_type in _SIZED:
        return Type(_SIZED[base_type], int(size[1]) if size else 6)
    if base_type == "varchar":
        return Type("string", int(size[1]) if size else None)
    if base_type == "bpchar" and size:
        return Type("char", int(size[1]))
    if base_type == "bit" and size:
        return Type("bits", int(size[1]))
    return _LOGICAL_TYPES.get(base_type, Type("local", spelling=declared))


def declare(column: Column) -> Column:
    """Return the PostgreSQL column that takes every value of `column`. Columns of PostgreSQL keep their type."""
    declared = column.declared_type if column.database == KIND else _declared_type(column.logical_type.portable)
    found = column.logical_type if column.database == KIND else logical_type(_catalog_name(declared), declared)
    return replace(column, type=declared, portable_type="", logical_type=found, database=KIND, collation="").read_like(
        column
    )


def _declared_type(wanted: Type) -> str:
    match wanted.family:
        case "decimal":
            return f"numeric({wanted.size},{wanted.scale})"
        case "time" | "clock" if _has_precision(wanted):
            return f"time({wanted.size}) without time zone"
        case "timestamp" if _has_precision(wanted):
            return f"timestamp({wanted.size}) without time zone"
        case "instant" if _has_precision(wanted):
            return f"timestamp({wanted.size}) with time zone"
        case "char":
            return f"character({wanted.size})"
        case "string" | "trimmed" | "enum" if wanted.size is not None and wanted.size <= LONGEST_VARCHAR:
            return f"character varying({max(wanted.size, 1)})"
        case "bits":
            return f"bit({wanted.size})"
    return _DECLARED.get(wanted.family, "text")


def _has_precision(wanted: Type) -> bool:
    """Return whether the fraction of a second fits: the server cuts more than six digits with only a warning."""
    return wanted.size is not None and wanted.size <= 6


def _catalog_name(declared: str) -> str:
    bare = re.sub(r"\(.*?\)", "", declared)
    if bare.endswith("with time zone"):
        return "timestamptz"
    bare = bare.removesuffix(" without time zone")
    return _CATALOG_NAMES.get(bare, bare)


def value_kind(column: Column) -> ValueKind | None:
    """Return None for types whose text does not sort as their values do, or whose `=` is true for different texts."""
    if column.logical_type.is_integer:
        return ValueKind.INTEGER
    if column.logical_type.family in ("decimal", "number") and column.type != "money":
        return ValueKind.DECIMAL
    if column.logical_type.family == "date":
        return ValueKind.DATE
    if column.logical_type.family in ("timestamp", "instant"):
        return ValueKind.TIMESTAMP
    sorts_as_text = column.storage_type in ("string", "bool", "time", "binary")
    return ValueKind.TEXT if sorts_as_text and column.logical_type.family not in _DOCUMENTS else None
