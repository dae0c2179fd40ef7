"""PostgreSQL's types: what each holds, and how a column for another database's values is declared.

Facts that shape this file
 * The text form of every type, under the session settings of `session.py`, is read back as the same value. So what
   Arrow cannot hold rests as that text, and nothing is lost.
 * numeric without precision, or beyond 38 digits, or with a negative scale, has no Arrow decimal: text.
 * numeric(p,s) may hold NaN, date and timestamp may hold infinity and years that have no four digits, time may hold
   24:00:00. Such values are rare and found only by reading: the slice that meets one reads that column as text.
 * money is written by the server's locale; as numeric it is exact, with two digits under the locale that we set.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.types import Type
from tidegate.model.values import Kind

KIND = "postgresql"
LONGEST_VARCHAR = 8_000
"""Of the columns that we declare: what is longer elsewhere is `text` here, as a person would write it."""

_HOLDS = {
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


def holds(base_type: str, declared: str) -> Type:
    """`base_type` is the catalog's name of the type, `declared` its spelling with precision."""
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
    return _HOLDS.get(base_type, Type("local", spelling=declared))


def declare(column: Column) -> Column:
    """The column of a PostgreSQL that takes every value of `column`; those of its own kind keep their type."""
    declared = column.declared if column.database == KIND else _spelled(column.holds.plain)
    found = column.holds if column.database == KIND else holds(_catalog_name(declared), declared)
    return replace(column, type=declared, in_target="", holds=found, database=KIND, collation="").reading(column)


def _spelled(wished: Type) -> str:
    match wished.family:
        case "decimal":
            return f"numeric({wished.size},{wished.scale})"
        case "time" | "clock" if _has_room(wished):
            return f"time({wished.size}) without time zone"
        case "timestamp" if _has_room(wished):
            return f"timestamp({wished.size}) without time zone"
        case "instant" if _has_room(wished):
            return f"timestamp({wished.size}) with time zone"
        case "char":
            return f"character({wished.size})"
        case "string" | "trimmed" | "enum" if wished.size is not None and wished.size <= LONGEST_VARCHAR:
            return f"character varying({max(wished.size, 1)})"
        case "bits":
            return f"bit({wished.size})"
    return _DECLARED.get(wished.family, "text")


def _has_room(wished: Type) -> bool:
    """More digits of a second than six would be cut, with a mere warning."""
    return wished.size is not None and wished.size <= 6


def _catalog_name(declared: str) -> str:
    bare = re.sub(r"\(.*?\)", "", declared)
    if bare.endswith("with time zone"):
        return "timestamptz"
    bare = bare.removesuffix(" without time zone")
    return _CATALOG_NAMES.get(bare, bare)


def partition_kind(column: Column) -> Kind | None:
    """None for types whose text does not sort as their values do, and for those that compare unlike texts as equal."""
    if column.holds.is_integer:
        return Kind.INTEGER
    if column.holds.family in ("decimal", "number") and column.type != "money":
        return Kind.DECIMAL
    if column.holds.family == "date":
        return Kind.DATE
    if column.holds.family in ("timestamp", "instant"):
        return Kind.TIMESTAMP
    sorts_as_text = column.rests_as in ("string", "bool", "time", "binary")
    return Kind.TEXT if sorts_as_text and column.holds.family not in _DOCUMENTS else None
