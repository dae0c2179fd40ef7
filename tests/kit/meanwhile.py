"""Something else happens while a run is under way: at a boundary of its driver, or before a phase begins."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.runs.listener import Boundary, Listener


class At(Boundary):
    """Acts when the driver comes to the place for the first time; the run goes on when the act is over."""

    def __init__(self, place: str, act: Callable[[], object]) -> None:
        self._place, self._act, self._acted = place, act, False

    def __call__(self, place: str) -> None:
        if place == self._place and not self._acted:
            self._acted = True
            self._act()

    def __reduce__(self) -> tuple[type[Boundary], tuple[()]]:
        # Tasks carry the boundary of their run. What happens here happens in the driver alone.
        return Boundary, ()


class Before(Listener):
    """Acts when the phase is ready to begin: its snapshot is taken, none of its tasks has started."""

    def __init__(self, phase: str, act: Callable[[], object]) -> None:
        self._phase, self._act = phase, act

    def phase(self, name: str, slices: int, rows: int | None) -> None:
        if name == self._phase:
            self._act()
