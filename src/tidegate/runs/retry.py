"""Repeating whole idempotent units of work, and nothing smaller."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tidegate.errors import Transient, Unreachable

Result = TypeVar("Result")


def retried(work: Callable[[], Result], tries: int = 4, first_wait: float = 0.5) -> Result:
    """Repeats `work` after a Transient error, waiting longer each time, with jitter; the last one is raised.

    A server that was there and restarts refuses connections for a while: that is waited for too."""
    was_there = False
    for attempt in range(1, tries):
        try:
            return work()
        except (Transient, Unreachable) as problem:
            was_there = was_there or isinstance(problem, Transient)
            if not was_there:
                raise
            time.sleep(first_wait * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    return work()
