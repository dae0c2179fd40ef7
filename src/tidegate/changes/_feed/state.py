"""The state of a table that is read from a change feed: its windows in lake and ledger, and where the feed is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.changes._feed.rotation import Rotation
from tidegate.interfaces.feed import FeedState, Problem
from tidegate.model.feeds import Position
from tidegate.model.state import TableState
from tidegate.model.tokens import FeedWindow
from tidegate.model.values import Value


@dataclass(frozen=True)
class FeedTableState(TableState):
    """The state of a table that is read from a change feed. A window goes by the time of its extraction."""

    in_lake: Mapping[Value, FeedWindow] = field(default_factory=dict)
    """Usable lake entries."""
    in_ledger: Mapping[Value, FeedWindow] = field(default_factory=dict)
    """Windows that were loaded."""
    next_window: Value | None = None
    target_rows: int | None = None
    """How many rows the target has; None while there is no table."""
    feed: FeedState | None = None
    """Where the feed is; None where it cannot be read."""
    problems: tuple[Problem, ...] = ()
    rotation: Rotation | None = None
    """What the rotating check found; None where it was not made."""

    @property
    def expected_rows(self) -> int | None:
        """Return how many rows the target had after the last load."""
        last = max(self.in_ledger, default=None)
        return None if last is None else self.ledger[last].target_rows

    @property
    def lost_rows(self) -> str:
        """Return what the target lacks since the last load; an empty text for nothing."""
        held, expected = self.target_rows, self.expected_rows
        if not expected or (held is not None and held >= expected):
            return ""
        return "gone from the target" if held is None else f"the target holds {held:,} of {expected:,} rows"

    @property
    def log(self) -> list[Value]:
        """Return the newest windows that follow on one another: from one that holds the whole table, on. They may be in
        the lake, in the ledger, or in both. Empty where there is no such window."""
        windows = {**self.in_lake, **self.in_ledger}
        chain: list[Value] = []
        for name in sorted(windows):
            window = windows[name]
            if window.whole:
                chain = [name]
            elif chain and window.after is not None and window.after <= self.position_of(chain[-1]).order:
                chain.append(name)
        return chain

    def position_of(self, name: Value) -> Position:
        """Return where reading goes on after this window. A run that found nothing new moves that of the ledger."""
        known = [windows[name].position for windows in (self.in_lake, self.in_ledger) if name in windows]
        return max(known)

    @property
    def last(self) -> FeedWindow | None:
        """Return the window that was read last."""
        log = self.log
        return None if not log else self.in_lake.get(log[-1]) or self.in_ledger[log[-1]]

    @property
    def position(self) -> Position | None:
        """Return where reading goes on; None where the table was never read."""
        log = self.log
        return self.position_of(log[-1]) if log else None
