"""What a run tells while it is under way. The command line shows it; a program may pass a listener of its own."""

from __future__ import annotations

from tidegate.model.report import StepOutcome


class Listener:
    """Hears everything and says nothing. Subclass it for what you want to show."""

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        """A phase with this many splits begins; `rows` is about how many will move, None when that is not known."""

    def moved(self, rows: int) -> None:
        """So many rows have moved in this phase so far."""

    def step(self, outcome: StepOutcome) -> None:
        """A step has ended."""

    def phase_ended(self) -> None:
        """The phase is over."""

    def ended(self) -> None:
        """The run is over, and its report is kept."""


class Boundary:
    """Called at every point where a run may be interrupted. Tests stop it there; otherwise nothing happens."""

    def __call__(self, place: str) -> None:
        return None
