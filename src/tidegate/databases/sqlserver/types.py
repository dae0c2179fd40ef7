"""Types of SQL Server: the logical type of each, and the type to declare for a column of another database.

Facts that shape this file
 * datetime counts ticks of 1/300 s, smalldatetime counts minutes. Both can be read as timestamps; neither can store
   every timestamp.
 * datetime2, time and datetimeoffset have up to seven digits of a second, Arrow has six. A column with seven digits is
   stored as text, and so is every datetimeoffset, since Arrow has no offsets.
 * nvarchar(n) counts UTF-16 units, two for a character beyond U+FFFF; other databases count characters.
 * varchar has only the characters of its collation's code page, and turns all others into `?` without an error. So
   texts of other databases are declared nvarchar, in a binary collation.
 * money and smallmoney end within their last digit (922337203685477.5807): they store every decimal with one digit
   less, and a decimal with all digits stores every money.
 * char and nchar pad with blanks, binary with zeros.
 * xml is rewritten when it is stored. A document of another database keeps its text in an nvarchar(max).
 * Only the server writes a rowversion. A copy of one is a binary(8).
 * A vector of n numbers takes four bytes for each and eight bytes more.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import ValueKind

KIND = "sqlserver"
COLLATION = "Latin1_General_100_BIN2"
"""The collation of the texts that we create. It compares character codes."""
MAX = -1
DIGITS, FRACTION, NCHARS, BYTES = 38, 7, 4000, 8000

_PLAIN = {
    "bit": Type("bool"),
    "tinyint": Type("uint8"),
    "smallint": Type("int16"),
    "int": Type("int32"),
    "bigint": Type("int64"),
    "money": Type("decimal", 19, 4),
    "smallmoney": Type("decimal", 10, 4),
    "real": Type("float32"),
    "float": Type("float64"),
    "date": Type("date"),
    "datetime": Type("ticks"),
    "smalldatetime": Type("minutes"),
    "uniqueidentifier": Type("uuid"),
    "timestamp": Type("padded", 8),
    "rowversion": Type("padded", 8),
    "xml": Type("xml", spelling="xml of SQL Server"),
    "json": Type("json", spelling="json of SQL Server"),
    "text": Type("string"),
    "ntext": Type("string"),
    "image": Type("binary"),
    "hierarchyid": Type("binary", 892, spelling="hierarchyid"),
    "geometry": Type("binary", spelling="geometry of SQL Server"),
    "geography": Type("binary", spelling="geography of SQL Server"),
}
MONEY_CAPACITY = {"money": Type("decimal", 18, 4), "smallmoney": Type("decimal", 9, 4)}
"""The largest decimal type of which a money column can store every value."""
_SECONDS = {"time": "time", "datetime2": "timestamp", "datetimeoffset": "zoned"}
_TEXTS = {"varchar": "string", "nvarchar": "string", "char": "char", "nchar": "char"}
_BYTES = {"varbinary": "binary", "binary": "padded"}
CHARACTERS = ("varchar", "nvarchar", "char", "nchar", "text", "ntext")

_DECLARED = {
    "bool": "bit",
    "flag": "smallint",
    "int8": "smallint",
    "uint8": "tinyint",
    "int16": "smallint",
    "uint16": "int",
    "int24": "int",
    "uint24": "int",
    "int32": "int",
    "uint32": "bigint",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "real",
    "float64": "float",
    "date": "date",
    "uuid": "uniqueidentifier",
}
_BASE_TYPE = re.compile(r"\w+")
_COLLATED = re.compile(r" COLLATE \w+$")
_SIZE = re.compile(r"\((\d+|max)(?:,(\d+))?\)")


def logical_type(declared: str) -> Type:
    """Return the logical type of a type in DDL: `decimal(18,2)`, `nvarchar(max) COLLATE ...`."""
    name, size = base_type(declared), _SIZE.search(declared)
    first = int(size[1]) if size and size[1] != "max" else None
    if name in ("decimal", "numeric"):
        return Type("decimal", first, int(size[2] or 0) if size else 0)
    if name in _SECONDS:
        return Type(_SECONDS[name], FRACTION if first is None else first)
    if name in _TEXTS:
        return Type(_TEXTS[name], first)
    if name in _BYTES:
        return Type(_BYTES[name], first)
    return _PLAIN.get(name, Type("local", spelling=declared))


def declared_type(name: str, max_length: int, precision: int, scale: int, collation: str | None) -> str:
    """Return the type in DDL from the facts in sys.columns."""
    name = "nvarchar" if name == "sysname" else name  # a compatible server has sysname as a type of its own
    collated = f" COLLATE {collation}" if collation and name in CHARACTERS else ""
    if name in ("decimal", "numeric"):
        return f"{name}({precision},{scale})"
    if name in _SECONDS:
        return f"{name}({scale})"
    if name == "vector":
        return f"vector({(max_length - 8) // 4})"
    if name in _TEXTS or name in _BYTES:
        length = max_length // 2 if name in ("nvarchar", "nchar") and max_length != MAX else max_length
        return f"{name}({'max' if length == MAX else length}){collated}"
    return name + collated


def base_type(declared: str) -> str:
    """Return `nvarchar` for `nvarchar(20) COLLATE ...`."""
    found = _BASE_TYPE.match(declared)
    return found[0].lower() if found else ""


def without_collation(declared: str) -> str:
    return _COLLATED.sub("", declared)


def declare(column: Column) -> Column:
    """Return the column that takes every value of `column`. Columns of SQL Server keep their type.

    An identity column of the source is a plain column in the target."""
    column = replace(column, identity=False)
    if column.database == KIND:
        return replace(
            column, type=column.declared_type, portable_type="", logical_type=logical_type(column.declared_type)
        ).read_like(column)
    declared = _declared_type(column.logical_type.portable)
    collated = base_type(declared) in CHARACTERS
    collated_type = f"{declared} COLLATE {COLLATION}" if collated else declared
    collation = COLLATION if collated else ""
    return replace(
        column,
        type=collated_type,
        portable_type="",
        logical_type=logical_type(collated_type),
        database=KIND,
        collation=collation,
    ).read_like(column)


def _declared_type(wanted: Type) -> str:
    size = wanted.size
    match wanted.family:
        case "decimal" if size is not None and size <= DIGITS and 0 <= wanted.scale <= size:
            return f"decimal({size},{wanted.scale})"
        case "time" | "clock" if size is not None and size <= FRACTION:
            return f"time({size})"
        case "timestamp" if size is not None and size <= FRACTION:
            return f"datetime2({size})"
        case "instant" | "zoned" if size is not None and size <= FRACTION:
            return f"datetimeoffset({size})"
        case "string" | "char" | "trimmed" | "enum" if size is not None and size * 2 <= NCHARS:
            # Twice as many units, since a character may take two. Padding is added again when the text is read.
            return f"nvarchar({max(size * 2, 1)})"
        case "binary" if size is not None and 0 < size <= BYTES:
            return f"varbinary({size})"
        case "padded" if size is not None and 0 < size <= BYTES:
            return f"binary({size})"
        case "binary" | "padded" | "geometry":
            return "varbinary(max)"
    return _DECLARED.get(wanted.family, "nvarchar(max)")


def value_kind(column: Column) -> ValueKind | None:
    """Return None for types whose text does not sort as their values do, and for types without MAX."""
    if column.logical_type.is_integer or base_type(column.type) in ("timestamp", "rowversion"):
        return ValueKind.INTEGER
    match column.logical_type.family:
        case "decimal":
            return ValueKind.DECIMAL
        case "date":
            return ValueKind.DATE
        case "timestamp" | "ticks" | "minutes":
            return ValueKind.TIMESTAMP
        case "string" | "char" if base_type(column.type) not in ("text", "ntext"):
            return ValueKind.TEXT
    return None
