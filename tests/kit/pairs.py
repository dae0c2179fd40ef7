"""The pairs of source and target database that the stories use.

In everyday runs each kind of table has one pair, and together they cover both directions. TIDEGATE_ALL_PAIRS=1 runs
every story on every pair.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

BOTH_WAYS = [("postgresql", "mysql"), ("mysql", "postgresql")]
EVERY_PAIR = [*BOTH_WAYS, ("postgresql", "postgresql"), ("mysql", "mysql")]
ALL_ARE_ASKED_FOR = bool(os.environ.get("TIDEGATE_ALL_PAIRS"))


def first_daily(*cases: Any) -> list[Any]:
    """Return the cases of a parameter of which the first one is tested every day, the others by `make test-all`."""
    return [cases[0], *(pytest.param(case, marks=pytest.mark.thorough) for case in cases[1:])]


def pairs(everyday: str) -> list[tuple[str, str]]:
    """Return the pair for everyday runs, such as `mysql to postgresql`, or all pairs if asked for."""
    source, target = everyday.split(" to ")
    return EVERY_PAIR if ALL_ARE_ASKED_FOR else [(source, target)]
