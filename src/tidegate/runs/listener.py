"""The events of a run that is under way. The command line shows them; a program may pass a listener of its own."""

from __future__ import annotations

from tidegate.model.report import StepOutcome


class Listener:
    """Receives the events of a run and ignores them. Override the methods of the events that you want to show."""

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        """Receive that a phase with this many splits begins. About `rows` rows will move; None if unknown."""

    def moved(self, rows: int) -> None:
        """Receive how many rows this phase has moved so far."""

    def step(self, outcome: StepOutcome) -> None:
        """Receive how a step ended."""

    def phase_ended(self) -> None:
        """Receive that the phase is over."""

    def ended(self) -> None:
        """Receive that the run is over and its report is stored."""


class Boundary:
    """Is called at every place where a run may be interrupted. It does nothing; tests pass one that stops the run."""

    def __call__(self, place: str) -> None:
        return None
