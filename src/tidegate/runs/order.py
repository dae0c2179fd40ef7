"""The order in which steps of several tables are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol, TypeVar


class TableStep(Protocol):
    """A step of a table."""

    @property
    def planned(self) -> HasKey: ...


class HasKey(Protocol):
    @property
    def key(self) -> str: ...


AnyStep = TypeVar("AnyStep", bound=TableStep)


def in_order(
    steps: Sequence[AnyStep], priority: Callable[[AnyStep, int], tuple[int, int]], *, backwards: bool = False
) -> Iterator[list[AnyStep]]:
    """Yield groups of steps that may be done at the same time, by their priority.

    `priority` is asked with a step and its number among the steps of its table."""
    numbers: dict[str, int] = {}
    placed = []
    for step in steps:
        number = numbers.get(step.planned.key, 0)
        numbers[step.planned.key] = number + 1
        placed.append((priority(step, number), step))
    placed.sort(key=lambda item: item[0], reverse=backwards)
    for _, group in groupby(placed, key=lambda item: item[0]):
        yield [step for _, step in group]
