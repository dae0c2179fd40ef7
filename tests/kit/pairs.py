"""Which databases stories go from and to: in everyday runs each kind of table takes a pair of its own, and all kinds
together take both ways; TIDEGATE_ALL_PAIRS=1 asks for every pair of everything.
"""

from __future__ import annotations

import os

BOTH_WAYS = [("postgresql", "mysql"), ("mysql", "postgresql")]
EVERY_PAIR = [*BOTH_WAYS, ("postgresql", "postgresql"), ("mysql", "mysql")]
ALL_ARE_ASKED_FOR = bool(os.environ.get("TIDEGATE_ALL_PAIRS"))


def pairs(everyday: str) -> list[tuple[str, str]]:
    """The pair of everyday runs, such as `mysql to postgresql`, or all."""
    source, target = everyday.split(" to ")
    return EVERY_PAIR if ALL_ARE_ASKED_FOR else [(source, target)]
