"""Two servers asked at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Here = TypeVar("Here")
There = TypeVar("There")


def both(here: Callable[[], Here], there: Callable[[], There]) -> tuple[Here, There]:
    """What both answer; neither waits for the other. The first error is raised when both have ended."""
    with ThreadPoolExecutor(1, "tidegate look") as other:
        answer = other.submit(there)
        return here(), answer.result()
