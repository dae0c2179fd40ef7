"""The state of an incremental table: windows in lake and ledger, the bounds of the source, and open transactions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.model.state import TableState
from tidegate.model.tokens import Gap, IncrementalWindow, WatermarkSet
from tidegate.model.values import Value


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that may still bring rows with an old cursor value."""

    session: str
    who: str
    age: int
    """In seconds, rounded up."""
    low: Value | None = None
    """The watermark may not go beyond this value as long as the transaction is open."""

    @property
    def is_prepared(self) -> bool:
        """Return whether it waits for its second phase, so that nobody knows when it began."""
        return self.session.startswith("prepared ")

    def __str__(self) -> str:
        return f"session {self.session.split()[0]} ({self.who}, open for {self.age:,} s)"


def transactions_from_json(text: str, *, only_writers: bool) -> list[OpenTransaction]:
    """Return what `Database.open_transactions` answered; `only_writers` are those that have locked the table."""
    found = json.loads(text)
    return [
        OpenTransaction(str(one["session"]), str(one["who"] or ""), math.ceil(float(one["age"])))
        for one in found
        if one["wrote"] or not only_writers
    ]


@dataclass(frozen=True)
class IncrementalState(TableState):
    """The state of an incremental table. A window goes by the time of its extraction."""

    in_lake: Mapping[Value, IncrementalWindow] = field(default_factory=dict)
    """Usable lake entries."""
    in_ledger: Mapping[Value, IncrementalWindow] = field(default_factory=dict)
    """Windows that were loaded."""
    next_window: Value | None = None
    newest: Value | None = None
    """The greatest cursor value of the source."""
    newest_past: Value | None = None
    """The greatest that does not lie in the future."""
    clock: Value | None = None
    """The source's clock, as a cursor value; None where the cursor is no time."""
    rows: int | None = None
    """How many rows the next window would bring."""
    lookback_fingerprint: str = ""
    holders: tuple[OpenTransaction, ...] = ()
    """Open transactions that may still bring rows below the newest cursor value."""
    sees_transactions: bool = True
    """Whether this login could ask for open transactions."""
    target_rows: int | None = None
    """How many rows the target has; None while there is no table."""
    watermark_set: WatermarkSet | None = None
    """Who set the watermark last, and to what; None where nobody did since the newest window."""
    keys_read_at: Value | None = None
    """The time now on the cursor's clock, where all keys are read too."""
    set_back: int = 0
    """By how many seconds the source's clock was set back since the newest window."""

    @property
    def expected_rows(self) -> int | None:
        """Return how many rows the target had after the last load."""
        loaded = [window for window, entry in self.ledger.items() if entry.kind == "loaded"]
        last = max(loaded, default=None, key=lambda window: self.ledger[window].at)
        newest = max(loaded, default=None)
        counts = [self.ledger[window].target_rows for window in (last, newest) if window is not None]
        return max((rows for rows in counts if rows is not None), default=None)

    @property
    def newest_window(self) -> IncrementalWindow | None:
        """Return the window that was read last, in the lake or in the ledger: it carries the gaps."""
        name = max((*self.in_lake, *self.in_ledger), default=None)
        return None if name is None else self.in_lake.get(name) or self.in_ledger[name]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        window = self.newest_window
        return () if window is None else window.gaps

    def still_open(self, gaps: Sequence[Gap]) -> tuple[Gap, ...]:
        """Return the gaps whose transaction has not ended, as far as that is known. A prepared one is listed without
        its session, under another name: it may be the transaction of any gap."""
        if not self.sees_transactions or any(holder.is_prepared for holder in self.holders):
            return tuple(gaps)
        sessions = {holder.session for holder in self.holders}
        return tuple(gap for gap in gaps if gap.session in sessions)

    @property
    def settled(self) -> tuple[Gap, ...]:
        """Return the gaps whose transaction has ended: their values must be read again once."""
        still_open = self.still_open(self.gaps)
        return tuple(gap for gap in self.gaps if gap not in still_open)
