"""Compare how many rows were expected with how many there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tidegate.errors import ConfigError


@dataclass(frozen=True)
class Completeness:
    """The verdict. A difference that equals the tolerance is complete."""

    expected_count: int
    actual_count: int
    difference: int
    difference_percent: float
    """Of the expected rows; 100 where none were expected and some are there."""
    tolerance_percent: float
    is_complete: bool


def completeness(expected: int, actual: int, tolerance_percent: float = 0.0) -> Completeness:
    """Return whether the counts differ by no more than the tolerance, too many rows as well as too few."""
    if expected < 0 or actual < 0 or tolerance_percent < 0:
        raise ConfigError("Counts and tolerance must not be negative.", "Nothing was compared.")
    difference = abs(expected - actual)
    percent = Fraction(100 * difference, expected) if expected else Fraction(100 if difference else 0)
    is_complete = percent <= Fraction(str(tolerance_percent))
    return Completeness(expected, actual, difference, float(percent), float(tolerance_percent), is_complete)
