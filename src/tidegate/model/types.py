"""Logical types: what a column can hold, in words of no database.

Every database maps its own types to these, and each of these to a type that it would declare. So any two databases
understand each other, and a new database brings two tables of its own and changes nothing here.

| family                                  | size            | type in the lake                                   |
| --------------------------------------- | --------------- | -------------------------------------------------- |
| int8 .. int64, uint8 .. uint32          |                 | the next signed integer that has room              |
| uint64                                  |                 | decimal(20,0)                                      |
| flag (an int8 that is meant as a bool)  |                 | int16: a stored 2 stays 2                          |
| bool, float32, float64, date            |                 | itself                                             |
| decimal                                 | digits, scale   | decimal(p,s), from 39 digits on text               |
| number (digits without a bound)         |                 | text                                               |
| time, clock (clock: also beyond a day)  | second's digits | time; text if a value is no time of day            |
| timestamp, instant (a point in time)    | second's digits | timestamp, timestamptz in UTC                      |
| ticks, minutes (timestamps in steps)    |                 | timestamp; a tick is 1/300 s                       |
| zoned (an instant with its own offset)  | second's digits | text                                               |
| string, char (padded), trimmed (never)  | characters      | string                                             |
| enum (one of some texts)                | characters      | string                                             |
| uuid, json, xml                         |                 | string                                             |
| binary, padded (with zeros), geometry   | bytes           | binary                                             |
| bits                                    | bits            | text, a digit each                                 |
| local (known to one database only)      |                 | text, as that database writes it                   |
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LARGEST_ARROW_DECIMAL = 38
LARGEST_ARROW_FRACTION = 6

_RANGES = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "flag": (-(1 << 7), (1 << 7) - 1),
    "uint8": (0, (1 << 8) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int24": (-(1 << 23), (1 << 23) - 1),
    "uint24": (0, (1 << 24) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint64": (0, (1 << 64) - 1),
}
_STORAGE_TYPES = {
    "int8": "int16",
    "flag": "int16",
    "uint8": "int16",
    "int16": "int16",
    "uint16": "int32",
    "int24": "int32",
    "uint24": "int32",
    "int32": "int32",
    "uint32": "int64",
    "int64": "int64",
    "uint64": "decimal(20,0)",
    "bool": "bool",
    "float32": "float32",
    "float64": "float64",
    "date": "date",
    "time": "time",
    "clock": "time",
    "timestamp": "timestamp",
    "instant": "timestamptz",
    "ticks": "timestamp",
    "minutes": "timestamp",
    "string": "string",
    "char": "string",
    "trimmed": "string",
    "enum": "string",
    "uuid": "string",
    "json": "string",
    "xml": "string",
    "binary": "binary",
    "padded": "binary",
    "geometry": "binary",
}
_SIZED = ("time", "clock", "timestamp", "instant", "zoned", "string", "binary")
_IN_STEPS = {"ticks": 3, "minutes": 0}


@dataclass(frozen=True)
class Type:
    """One logical type. `size` is None if the type has no bound."""

    family: str
    size: int | None = None
    scale: int = 0
    spelling: str = ""
    """For a local type: its name in its database."""

    @property
    def storage_type(self) -> str:
        """Return the type in the lake. `text` is the canonical text of values that Arrow cannot hold exactly."""
        if self.family == "decimal" and self.size is not None:
            fits = self.size <= LARGEST_ARROW_DECIMAL and 0 <= self.scale <= self.size
            return f"decimal({self.size},{self.scale})" if fits else "text"
        if self.family in ("time", "clock", "timestamp", "instant") and (self.size or 0) > LARGEST_ARROW_FRACTION:
            return "text"
        return _STORAGE_TYPES.get(self.family, "text")

    @property
    def portable(self) -> Type:
        """Return the type for other databases to declare: `timestamp` for the stepped types `ticks` and `minutes`."""
        return Type("timestamp", _IN_STEPS[self.family]) if self.family in _IN_STEPS else self

    @property
    def is_integer(self) -> bool:
        return self.family in _RANGES

    def __str__(self) -> str:
        if self.family == "decimal":
            return f"decimal({self.size},{self.scale})"
        return self.spelling or (self.family if self.size is None else f"{self.family}({self.size})")


UNKNOWN = Type("local")

_WRITTEN = re.compile(r"([a-z ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_TEXTS = ("varchar", "string", "nvarchar", "character varying")
_DECIMALS = ("decimal", "numeric", "number")


def chosen_type(text: str) -> Type | None:
    """Return the type that a user asks for: `decimal(19,4)`, `varchar(40)`; None for any other text."""
    match = _WRITTEN.fullmatch(text.strip().lower())
    if match is None or match[2] is None:
        return None
    size, scale = int(match[2]), int(match[3] or 0)
    if match[1] in _DECIMALS and 1 <= size <= LARGEST_ARROW_DECIMAL and scale <= size:
        return Type("decimal", size, scale)
    return Type("string", size) if match[1] in _TEXTS and size >= 1 and match[3] is None else None


def may_become(source: Type, chosen: Type) -> bool:
    """Return whether values of a type may be written as the chosen one, each checked: none is rounded or cut."""
    if chosen.family == "decimal":
        return source.family in ("decimal", "number")
    return source.family in ("string", "trimmed", "char", "enum", "json", "xml", "uuid")


def type_fit(target: Type, source: Type) -> str:
    """Return whether a column of type `target` takes every value of type `source`.

    `same` and `wider`: it does. `widen`: it would after an ALTER to the source's type, which loses nothing. An empty
    text: it does not."""
    if target == source:
        return "same"
    if source.family == target.family and source.family in _SIZED:
        return "wider" if _size(source) <= _size(target) else "widen"
    if source.family in _IN_STEPS and target.family == "timestamp":
        return "widen" if type_fit(target, source.portable) == "widen" else "wider"
    for rule in (_integers, _decimals, _booleans, _instants, _characters):
        verdict = rule(target, source)
        if verdict:
            return verdict
    return ""


def _size(type_: Type) -> int:
    return type_.size if type_.size is not None else 1 << 62


def _integers(target: Type, source: Type) -> str:
    if not source.is_integer:
        return ""
    low, high = _RANGES[source.family]
    if target.is_integer:
        least, most = _RANGES[target.family]
        if least <= low and high <= most:
            return "wider"
        return "widen" if low <= least and most <= high else ""
    # Only a decimal of scale 0: another scale would write 5 as 5.00.
    digits = max(len(str(high)), len(str(-low)))
    return "wider" if target.family == "decimal" and target.scale == 0 and digits <= _size(target) else ""


def _decimals(target: Type, source: Type) -> str:
    """Only the precision may differ: another scale would change the text of a value (1.5 and 1.50)."""
    if source.family != "decimal":
        return ""
    if target.family == "number":
        return "wider"
    if target.family != "decimal" or target.scale != source.scale:
        return ""
    return "wider" if _size(source) <= _size(target) else "widen"


def _booleans(target: Type, source: Type) -> str:
    """A bool fits an integer as 0 or 1. A bool column refuses a flag that is neither."""
    if (source.family == "bool" and target.is_integer) or (source.family == "flag" and target.family == "bool"):
        return "wider"
    return ""


def _instants(target: Type, source: Type) -> str:
    """An instant is a zoned time with the offset of UTC."""
    is_zoned = source.family == "instant" and target.family == "zoned"
    return "wider" if is_zoned and _size(source) <= _size(target) else ""


def _characters(target: Type, source: Type) -> str:
    """`char` pads with blanks and `trimmed` drops them: only conversions that keep every value are allowed."""
    pair = (source.family, target.family)
    if pair in (("trimmed", "string"), ("enum", "string"), ("padded", "binary")):
        return "wider" if _size(source) <= _size(target) else ""
    if pair in (("trimmed", "char"), ("char", "trimmed")):
        return "wider" if source.size == target.size else ""
    return ""
