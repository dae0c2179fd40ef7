"""Values of partition columns and cursors: exact texts, ordered as the server orders them, without asking it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import total_ordering
from typing import Any

_INTEGER = re.compile(r"\s*[-+]?[0-9]+\s*")
_DECIMAL = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_MOMENT = re.compile(
    r"^(\d{4,7})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(\.\d+)?)?(?:\+00(?::00)?|Z)?( BC)?$", re.ASCII
)
_COMPACT_DATE = re.compile(r"^(\d{4})(\d\d)(\d\d)$", re.ASCII)


NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark call the partition of rows without a value. Ledger and lake keep the null value under it."""


def shown(text: str) -> str:
    """Return a value's text as people read it: `null` for rows without a value."""
    return "null" if text == NULL_TEXT else text


class ValueKind(StrEnum):
    """How the values of a partition column or cursor are ordered."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TEXT = "text"


@total_ordering
@dataclass(frozen=True, eq=False)
class Value:
    """One value. Two values are equal if they mean the same: `1.50` and `1.5`."""

    text: str
    kind: ValueKind
    _key: Any = field(repr=False)

    @classmethod
    def of(cls, text: object, kind: ValueKind) -> Value:
        """Return the value that a server's or a user's text means. Raises ValueError if it is no value of this kind."""
        if text == NULL_TEXT:
            return cls.null(kind)
        normalised, key = _PARSERS[kind](str(text))
        return cls(normalised, kind, key)

    @classmethod
    def null(cls, kind: ValueKind) -> Value:
        """Return the value of rows whose column is null. It is less than every other value."""
        return cls(NULL_TEXT, kind, _LEAST)

    @property
    def is_null(self) -> bool:
        return self._key is _LEAST

    def minus(self, amount: int) -> Value:
        """Return the value that lies `amount` before this one: seconds of a time or date, units of a number.

        Return the same value where that cannot be computed: texts, infinity, years BC."""
        if not amount or self.is_null:
            return self
        if self.kind in (ValueKind.INTEGER, ValueKind.DECIMAL):
            return Value.of(Decimal(self.text) - amount, self.kind)
        try:
            moment = datetime.fromisoformat(self.text[:19])
            earlier = moment - timedelta(seconds=amount)
        except (ValueError, OverflowError):  # a year BC, infinity, or a result before the year 1
            return self
        is_date = self.kind is ValueKind.DATE
        return Value.of(earlier.date() if is_date else earlier.isoformat(" ", "seconds"), self.kind)

    @property
    def native(self) -> int | str | None:
        """Return a whole number as an int, null as None, and every other value as its text."""
        if self.is_null:
            return None
        return int(self.text) if self.kind is ValueKind.INTEGER else self.text

    @property
    def sort_key(self) -> str:
        """Return a text that sorts as the value does. The value's own text need not: "10" sorts before "9"."""
        if self.is_null:
            return ""
        if self.kind in (ValueKind.INTEGER, ValueKind.DECIMAL):
            return _sort_key(Decimal(self.text))
        if self.kind is ValueKind.TEXT:
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
        return shown(self.text)


class _Least:
    """Less than every other key, whatever its type."""

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __gt__(self, other: object) -> bool:
        return False

    def __reduce__(self) -> str:
        # There is one, also in another process.
        return "_LEAST"


_LEAST = _Least()


def _sort_key(number: Decimal) -> str:
    """Return sign, exponent and digits as text. A negative number has the nines' complement, and `~` at its end."""
    if not number:
        return "1"
    sign, digits, _ = number.as_tuple()
    magnitude = f"{number.adjusted() + 10**6:07}" + "".join(map(str, digits)).rstrip("0")
    return "0" + magnitude.translate(_NINES) + "~" if sign else "2" + magnitude


_NINES = str.maketrans("0123456789", "9876543210")


def _integer(text: str) -> tuple[str, Any]:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a whole number")
    return str(int(text)), int(text)


def _decimal(text: str) -> tuple[str, Any]:
    """Normalise to a text without trailing zeros: servers and users write any number of them."""
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a finite number")
    number = Decimal(text.strip())
    digits = f"{number:f}"
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) if number else "0", number


def _moment(text: str, *, with_time: bool) -> tuple[str, Any]:
    """Normalise a date or timestamp. The key is (-1, 0 or 1 for infinity, year, rest); years BC are 0 and below."""
    if text in ("infinity", "-infinity"):
        return text, (1 if text == "infinity" else -1, 0, "")
    match = _MOMENT.match(_COMPACT_DATE.sub(r"\1-\2-\3", text.strip()))
    if match is None:
        raise ValueError(f"{text!r} is not a {'timestamp' if with_time else 'date'} such as 2024-01-31")
    year, month, day, clock, fraction, era = match.groups()
    ordinal = 1 - int(year) if era else int(year)
    _require_real(text, ordinal if int(year) else None, (int(month), int(day)), clock or "00:00")
    rest = f"{month}-{day}"
    if with_time:
        clock = (clock or "00:00:00") + ("" if clock is None or clock.count(":") == 2 else ":00")
        rest += f" {clock}{(fraction or '').rstrip('0').rstrip('.')}"
    elif clock and (clock.strip("0:") or (fraction or "").strip(".0")):
        raise ValueError(f"{text!r} has a time of day, the partition column has none")
    return f"{int(year):04}-{rest}{era or ''}", (0, ordinal, rest)


def _require_real(text: str, year: int | None, day: tuple[int, int], clock: str) -> None:
    """Raise ValueError for a day or time that does not exist. There is no year 0; leap years repeat every 400 years."""
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
    ValueKind.INTEGER: _integer,
    ValueKind.DECIMAL: _decimal,
    ValueKind.DATE: _date,
    ValueKind.TIMESTAMP: _timestamp,
    ValueKind.TEXT: _text,
}
