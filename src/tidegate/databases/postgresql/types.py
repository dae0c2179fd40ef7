"""PostgreSQL's types: how each rests in the lake, and which may take the values of another.

Facts that shape this file
 * The text form of every type, under the session settings of `session.py`, is read back as the same value. So what
   Arrow cannot hold rests as that text, and nothing is lost.
 * numeric without precision, or beyond 38 digits, or with a negative scale, has no Arrow decimal: text.
 * numeric(p,s) may hold NaN, date and timestamp may hold infinity and years that have no four digits, time may hold
   24:00:00. Such values are rare and found only by reading: the slice that meets one reads that column as text.
 * money is written by the server's locale; as numeric it is exact.
"""

from __future__ import annotations

import re

from tidegate.model.columns import Column
from tidegate.model.values import Kind

_RESTS_AS = {
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "oid": "int64",
    "bool": "bool",
    "float4": "float32",
    "float8": "float64",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "bytea": "binary",
    "text": "string",
    "varchar": "string",
    "bpchar": "string",
    "name": "string",
    "uuid": "string",
    "json": "string",
    "jsonb": "string",
    "xml": "string",
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_LENGTH = re.compile(r"(character varying|character)(?:\((\d+)\))?")
_INTEGERS = ("smallint", "integer", "bigint")
_DOCUMENTS = ("json", "xml")


def rests_as(base_type: str, declared: str) -> str:
    """`base_type` is the catalog's name of the type, `declared` its spelling with precision."""
    if base_type == "numeric":
        numeric = _NUMERIC.fullmatch(declared)
        fits = numeric is not None and int(numeric[1]) <= 38 and 0 <= int(numeric[2]) <= int(numeric[1])
        return f"decimal({numeric[1]},{numeric[2]})" if numeric is not None and fits else "text"
    return _RESTS_AS.get(base_type, "text")


def partition_kind(column: Column) -> Kind | None:
    """None for types whose text does not sort as their values do, and for those that compare unlike texts as equal."""
    declared = column.declared
    if declared in _INTEGERS or declared == "oid":
        return Kind.INTEGER
    if declared.startswith("numeric"):
        return Kind.DECIMAL
    if declared == "date":
        return Kind.DATE
    if declared.startswith("timestamp"):
        return Kind.TIMESTAMP
    sorts_as_text = column.rests_as in ("string", "bool", "time", "binary") and not declared.startswith(_DOCUMENTS)
    return Kind.TEXT if sorts_as_text else None


def fits(source: Column, target: Column) -> str:
    """`same`, `wider`, `widen`, or the reason why values of `source` do not fit `target`."""
    if source.declared == target.declared:
        return "same"
    for verdict in (
        _integers(source.declared, target.type),
        _numerics(source.declared, target.type),
        _texts(source, target),
    ):
        if verdict:
            return verdict
    return f"{target.name} is {target.type} in the target and {source.type} in the source"


def _integers(source: str, target: str) -> str:
    if source not in _INTEGERS or target not in _INTEGERS:
        return ""
    return "wider" if _INTEGERS.index(source) < _INTEGERS.index(target) else "widen"


def _numerics(source: str, target: str) -> str:
    """Only the precision may differ: another scale would change how a value is written."""
    old, new = _NUMERIC.fullmatch(target), _NUMERIC.fullmatch(source)
    if old is None or new is None or old[2] != new[2]:
        return ""
    return "wider" if int(new[1]) < int(old[1]) else "widen"


def _texts(source: Column, target: Column) -> str:
    if source.declared.startswith("character varying") and target.type == "text":
        return "wider"
    old, new = _LENGTH.fullmatch(target.type), _LENGTH.fullmatch(source.declared)
    if source.declared == "text" and old is not None and old[1] == "character varying":
        return "widen"
    if old is None or new is None or old[1] != new[1] or old[1] == "character":
        return ""  # character(n) pads: another length is another value
    room, need = (int(length) if length else 1 << 31 for length in (old[2], new[2]))
    return "wider" if need < room else "widen"
