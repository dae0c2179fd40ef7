"""Repeating whole idempotent units of work, and nothing smaller."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from tidegate.errors import Transient

Result = TypeVar("Result")


def retried(work: Callable[[], Result], tries: int = 4, first_wait: float = 0.5) -> Result:
    """Repeats `work` after a Transient error, waiting longer each time, with jitter; the last one is raised."""
    for attempt in range(1, tries):
        try:
            return work()
        except Transient:
            time.sleep(first_wait * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    return work()
