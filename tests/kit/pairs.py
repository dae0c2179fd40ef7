"""The pairs of source and target database that the stories use.

In everyday runs each kind of table has one pair, and together they cover both directions. TIDEGATE_ALL_PAIRS=1 runs
every story on every pair.
"""

from __future__ import annotations

import os

BOTH_WAYS = [("postgresql", "mysql"), ("mysql", "postgresql")]
EVERY_PAIR = [*BOTH_WAYS, ("postgresql", "postgresql"), ("mysql", "mysql")]
ALL_ARE_ASKED_FOR = bool(os.environ.get("TIDEGATE_ALL_PAIRS"))


def pairs(everyday: str) -> list[tuple[str, str]]:
    """Return the pair for everyday runs, such as `mysql to postgresql`, or all pairs if asked for."""
    source, target = everyday.split(" to ")
    return EVERY_PAIR if ALL_ARE_ASKED_FOR else [(source, target)]
