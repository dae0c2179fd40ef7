"""The types of SQL Server: what each holds, and how a column for another database's values is declared.

Facts that shape this file
 * datetime counts in ticks of 1/300 s and smalldatetime in minutes: both are read as timestamps, and neither takes one.
 * datetime2, time and datetimeoffset have seven digits of a second, Arrow's microseconds six: with the seventh digit a
   column rests as text, and so does every datetimeoffset, whose offset Arrow forgets.
 * nvarchar(n) counts units of UTF-16, two for a character beyond the first plane; others count characters.
 * varchar has the characters of its collation's code page only, and makes `?` of all others without a word. So texts of
   other databases are declared nvarchar, in a collation that tells all of them apart.
 * money and smallmoney end within their last digit (922337203685477.5807): a decimal has room in them with one digit
   less, and all of them have room in a decimal of all digits.
 * char and nchar fill up with blanks, binary with zeros.
 * xml is rewritten when it is stored: a document of another database keeps its text in an nvarchar(max).
 * rowversion is written by the server alone: a copy of one is a binary(8).
 * A vector of n numbers takes four bytes for each and eight before them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import Kind

KIND = "sqlserver"
COLLATION = "Latin1_General_100_BIN2"
"""Of the texts that we create: by the code of each character."""
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
ROOM = {"money": Type("decimal", 18, 4), "smallmoney": Type("decimal", 9, 4)}
"""What a column of these types takes of every number with so many digits."""
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
_BARE = re.compile(r"\w+")
_COLLATED = re.compile(r" COLLATE \w+$")
_SIZE = re.compile(r"\((\d+|max)(?:,(\d+))?\)")


def holds(declared: str) -> Type:
    """`declared` as it stands in DDL: `decimal(18,2)`, `nvarchar(max) COLLATE ...`."""
    name, size = bare(declared), _SIZE.search(declared)
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


def spelled(name: str, max_length: int, precision: int, scale: int, collation: str | None) -> str:
    """A type as DDL has it, from what sys.columns says of the column."""
    name = "nvarchar" if name == "sysname" else name  # which a compatible server takes for a type of its own
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


def bare(declared: str) -> str:
    """`nvarchar(20) COLLATE ...` is an nvarchar."""
    found = _BARE.match(declared)
    return found[0].lower() if found else ""


def without_collation(declared: str) -> str:
    return _COLLATED.sub("", declared)


def declare(column: Column) -> Column:
    """The column that takes every value of `column`; those of its own kind keep their type. A copy counts nothing by
    itself: what is an identity in the source is none here."""
    column = replace(column, identity=False)
    if column.database == KIND:
        return replace(column, type=column.declared, in_target="", holds=holds(column.declared)).reading(column)
    spelled = _spelled(column.holds.plain)
    collated = bare(spelled) in CHARACTERS
    made = f"{spelled} COLLATE {COLLATION}" if collated else spelled
    collation = COLLATION if collated else ""
    return replace(column, type=made, in_target="", holds=holds(made), database=KIND, collation=collation).reading(
        column
    )


def _spelled(wished: Type) -> str:
    size = wished.size
    match wished.family:
        case "decimal" if size is not None and size <= DIGITS and 0 <= wished.scale <= size:
            return f"decimal({size},{wished.scale})"
        case "time" | "clock" if size is not None and size <= FRACTION:
            return f"time({size})"
        case "timestamp" if size is not None and size <= FRACTION:
            return f"datetime2({size})"
        case "instant" | "zoned" if size is not None and size <= FRACTION:
            return f"datetimeoffset({size})"
        case "string" | "char" | "trimmed" | "enum" if size is not None and size * 2 <= NCHARS:
            # Twice as many units, since a character may take two. Blanks that fill one up are put back when it is read.
            return f"nvarchar({max(size * 2, 1)})"
        case "binary" if size is not None and 0 < size <= BYTES:
            return f"varbinary({size})"
        case "padded" if size is not None and 0 < size <= BYTES:
            return f"binary({size})"
        case "binary" | "padded" | "geometry":
            return "varbinary(max)"
    return _DECLARED.get(wished.family, "nvarchar(max)")


def partition_kind(column: Column) -> Kind | None:
    """None for types whose text does not sort as their values do, and where `max` is not to be had."""
    if column.holds.is_integer or bare(column.type) in ("timestamp", "rowversion"):
        return Kind.INTEGER
    match column.holds.family:
        case "decimal":
            return Kind.DECIMAL
        case "date":
            return Kind.DATE
        case "timestamp" | "ticks" | "minutes":
            return Kind.TIMESTAMP
        case "string" | "char" if bare(column.type) not in ("text", "ntext"):
            return Kind.TEXT
    return None
