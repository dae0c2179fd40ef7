"""Partition values: exact text from the server, with an order that needs no server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import total_ordering
from typing import Any

_INTEGER = re.compile(r"\s*[-+]?[0-9]+\s*")
_DECIMAL = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_MOMENT = re.compile(
    r"^(\d{4,7})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(\.\d+)?)?(?:\+00(?::00)?|Z)?( BC)?$", re.ASCII
)
_COMPACT_DATE = re.compile(r"^(\d{4})(\d\d)(\d\d)$", re.ASCII)


class Kind(str, Enum):
    """How the values of a partition column are ordered."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TEXT = "text"


@total_ordering
@dataclass(frozen=True, eq=False)
class Value:
    """One partition value. Two values are equal when they mean the same, `1.50` and `1.5` for instance."""

    text: str
    kind: Kind
    _key: Any = field(repr=False)

    @classmethod
    def of(cls, text: object, kind: Kind) -> Value:
        """From a server's text or a user's. Raises ValueError when it is no value of this kind."""
        spelled, key = _PARSERS[kind](str(text))
        return cls(spelled, kind, key)

    def less(self, amount: int) -> Value:
        """A value that lies so much before: seconds for a time, days that hold them for a date, units for a number.
        The same where that cannot be told."""
        if not amount:
            return self
        if self.kind in (Kind.INTEGER, Kind.DECIMAL):
            return Value.of(Decimal(self.text) - amount, self.kind)
        try:
            moment = datetime.fromisoformat(self.text[:19])
            earlier = moment - timedelta(seconds=amount)
        except (ValueError, OverflowError):  # before Christ, endless, or before all time
            return self
        is_date = self.kind is Kind.DATE
        return Value.of(earlier.date() if is_date else earlier.isoformat(" ", "seconds"), self.kind)

    @property
    def in_order(self) -> str:
        """A text that sorts among those of its kind as the value does; its own text need not: 10 stands before 9."""
        if self.kind in (Kind.INTEGER, Kind.DECIMAL):
            return _sorting(Decimal(self.text))
        if self.kind is Kind.TEXT:
            return self.text
        era, year, rest = self._key
        return f"{era + 1}{year + 10**7:08}{rest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._key == other._key

    def __lt__(self, other: Value) -> bool:
        return bool(self._key < other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text


def _sorting(number: Decimal) -> str:
    """Sign, size and digits; of a negative number each digit is what it lacks to nine, and the end sorts last."""
    if not number:
        return "1"
    sign, digits, _ = number.as_tuple()
    told = f"{number.adjusted() + 10**6:07}" + "".join(map(str, digits)).rstrip("0")
    return "0" + told.translate(_NINES) + "~" if sign else "2" + told


_NINES = str.maketrans("0123456789", "9876543210")


def _integer(text: str) -> tuple[str, Any]:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return str(int(text)), int(text)


def _decimal(text: str) -> tuple[str, Any]:
    """Spelled without zeros at the end: the server and a user may write as many as they like."""
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a finite number")
    number = Decimal(text.strip())
    spelled = f"{number:f}"
    return (spelled.rstrip("0").rstrip(".") if "." in spelled else spelled) if number else "0", number


def _moment(text: str, *, with_time: bool) -> tuple[str, Any]:
    """Ordered as (before or after all time, year, rest); years BC count backwards."""
    if text in ("infinity", "-infinity"):
        return text, (1 if text == "infinity" else -1, 0, "")
    match = _MOMENT.match(_COMPACT_DATE.sub(r"\1-\2-\3", text.strip()))
    if match is None:
        raise ValueError(f"{text!r} is not a {'timestamp' if with_time else 'date'} such as 2024-01-31")
    year, month, day, clock, fraction, era = match.groups()
    ordinal = 1 - int(year) if era else int(year)
    _require_real(text, ordinal if int(year) else None, (int(month), int(day)), clock or "00:00")
    spelled = f"{month}-{day}"
    if with_time:
        clock = (clock or "00:00:00") + ("" if clock is None or clock.count(":") == 2 else ":00")
        spelled += f" {clock}{(fraction or '').rstrip('0').rstrip('.')}"
    elif clock and (clock.strip("0:") or (fraction or "").strip(".0")):
        raise ValueError(f"{text!r} has a time of day, the partition column has none")
    return f"{int(year):04}-{spelled}{era or ''}", (0, ordinal, spelled)


def _require_real(text: str, year: int | None, day: tuple[int, int], clock: str) -> None:
    """There is no year 0. Leap years repeat every 400 years, also before those that Python counts."""
    try:
        if year is None:
            raise ValueError("there is no year 0")
        date(2000 + year % 400, *day)
        time.fromisoformat(clock)
    except ValueError as problem:
        raise ValueError(f"{text!r} is in no calendar: {problem}") from None


def _date(text: str) -> tuple[str, Any]:
    return _moment(text, with_time=False)


def _timestamp(text: str) -> tuple[str, Any]:
    return _moment(text, with_time=True)


def _text(text: str) -> tuple[str, Any]:
    return text, text


_PARSERS = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TEXT: _text,
}
