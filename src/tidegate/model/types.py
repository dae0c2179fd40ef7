"""What a column can hold, in words that no database owns.

Every database says of each of its columns which of these types it holds, and for each of these types how it would
declare a column for it. So two databases that never heard of each other understand one another, and a new one costs
two tables of its own and nothing here.

| family                                  | size            | rests in the lake as                               |
| --------------------------------------- | --------------- | -------------------------------------------------- |
| int8 .. int64, uint8 .. uint32          |                 | the next signed integer that has room              |
| uint64                                  |                 | decimal(20,0)                                      |
| flag (an int8 that is meant as a truth) |                 | int16: somebody's 2 stays 2                        |
| bool, float32, float64, date            |                 | itself                                             |
| decimal                                 | digits, scale   | decimal(p,s), from 39 digits on text               |
| number (digits without a bound)         |                 | text                                               |
| time, clock (clock: also beyond a day)  | second's digits | time, where a value is none text                   |
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
_RESTS_AS = {
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
    """One type. `size` is None where there is no bound."""

    family: str
    size: int | None = None
    scale: int = 0
    spelling: str = ""
    """Of a local type: what its database calls it."""

    @property
    def rests_as(self) -> str:
        """The type in the lake; `text` is the canonical text of what Arrow cannot hold exactly."""
        if self.family == "decimal" and self.size is not None:
            fits = self.size <= LARGEST_ARROW_DECIMAL and 0 <= self.scale <= self.size
            return f"decimal({self.size},{self.scale})" if fits else "text"
        if self.family in ("time", "clock", "timestamp", "instant") and (self.size or 0) > LARGEST_ARROW_FRACTION:
            return "text"
        return _RESTS_AS.get(self.family, "text")

    @property
    def plain(self) -> Type:
        """The type for other databases to declare: one that values in steps of their own fit as well."""
        return Type("timestamp", _IN_STEPS[self.family]) if self.family in _IN_STEPS else self

    @property
    def is_integer(self) -> bool:
        return self.family in _RANGES

    def __str__(self) -> str:
        if self.family == "decimal":
            return f"decimal({self.size},{self.scale})"
        return self.spelling or (self.family if self.size is None else f"{self.family}({self.size})")


UNKNOWN = Type("local")


def takes(target: Type, source: Type) -> str:
    """Whether a column of `target` holds every value of `source`: `same`, `wider`, `widen` (not yet: the target could
    be altered to the source's type and would lose nothing), or nothing when neither holds."""
    if target == source:
        return "same"
    if source.family == target.family and source.family in _SIZED:
        return "wider" if _size(source) <= _size(target) else "widen"
    if source.family in _IN_STEPS and target.family == "timestamp":
        return "widen" if takes(target, source.plain) == "widen" else "wider"
    for rule in (_integers, _decimals, _truths, _moments, _characters):
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
    # Of scale 0 only: another scale would write 5 as 5.00.
    digits = max(len(str(high)), len(str(-low)))
    return "wider" if target.family == "decimal" and target.scale == 0 and digits <= _size(target) else ""


def _decimals(target: Type, source: Type) -> str:
    """Only the precision may differ: another scale would change how a value is written."""
    if source.family != "decimal":
        return ""
    if target.family == "number":
        return "wider"
    if target.family != "decimal" or target.scale != source.scale:
        return ""
    return "wider" if _size(source) <= _size(target) else "widen"


def _truths(target: Type, source: Type) -> str:
    """A truth fits an integer as 0 or 1. Where a flag holds anything else, a bool refuses it."""
    if (source.family == "bool" and target.is_integer) or (source.family == "flag" and target.family == "bool"):
        return "wider"
    return ""


def _moments(target: Type, source: Type) -> str:
    """An instant is one at the offset of UTC."""
    is_zoned = source.family == "instant" and target.family == "zoned"
    return "wider" if is_zoned and _size(source) <= _size(target) else ""


def _characters(target: Type, source: Type) -> str:
    """`char` pads and `trimmed` forgets blanks at the end: between them and `string` only what keeps every value."""
    pair = (source.family, target.family)
    if pair in (("trimmed", "string"), ("enum", "string"), ("padded", "binary")):
        return "wider" if _size(source) <= _size(target) else ""
    if pair in (("trimmed", "char"), ("char", "trimmed")):
        return "wider" if source.size == target.size else ""
    return ""
