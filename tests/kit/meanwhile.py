"""Call a function during a run: at a boundary of its driver, or before a phase starts."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.runs.listener import Boundary, Listener


class At(Boundary):
    """Calls `act` when the driver reaches the boundary for the first time. The run continues after it."""

    def __init__(self, place: str, act: Callable[[], object]) -> None:
        self._place, self._act, self._acted = place, act, False

    def __call__(self, place: str) -> None:
        if place == self._place and not self._acted:
            self._acted = True
            self._act()

    def __reduce__(self) -> tuple[type[Boundary], tuple[()]]:
        # Tasks receive the boundary of their run, but `act` must be called in the driver only.
        return Boundary, ()


class Before(Listener):
    """Calls `act` before a phase: its snapshot is taken and none of its tasks has started."""

    def __init__(self, phase: str, act: Callable[[], object]) -> None:
        self._phase, self._act = phase, act

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        if name == self._phase:
            self._act()
