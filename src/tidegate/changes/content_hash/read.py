"""Read the content of a large table inside of tasks: source and target, each by a task of its own.

Where a change of the source is enough to know what follows, the source is read first, and the target only if nothing
changed: a load reads the target itself.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidegate.buckets.exchange import Block, Channels, Exchange
from tidegate.hashing.receipts import read_receipt, with_text_where_needed
from tidegate.hashing.refused_rows import row_that_does_not_fit
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import Worker
from tidegate.model.receipt import Receipt
from tidegate.model.state import TableState
from tidegate.model.windows import WHOLE_TABLE


@dataclass(frozen=True)
class ContentReader:
    """Reads the receipt of one side. No row leaves the task."""

    database: Database
    request: ReadRequest
    keys: tuple[str, ...] = ()
    """The columns that name a row in a message."""

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, Receipt]:
        yield from ()
        with worker.sessions.session(self.database, "inspect", read_only=True) as session:
            session.export_snapshot()
            return with_text_where_needed(
                self.request,
                lambda readable: read_receipt(session, readable, worker.progress),
                partial(row_that_does_not_fit, session, self.request, self.keys),
            )


@dataclass(frozen=True)
class ReadContent(Exchange):
    """Reads the receipts of both sides at the same time, or of the source first. The target may be left out."""

    source: ContentReader
    target: ContentReader | None
    extracted: str | None = None
    """What the source's rows added up to when they were extracted. None: both sides are read, whatever comes."""
    found: Receipt | None = None
    """What the source has, once it was read before the target."""
    buckets: int = 2
    """More than one: then every reader is a task."""

    @property
    def readers(self) -> list[ContentReader]:
        sides = (self.source, self.target if self.extracted is None else None)
        chosen = sides if self.found is None else (self.target,)
        return [reader for reader in chosen if reader is not None]

    def compare(self, rows: Channels) -> None:
        """Do nothing: the notes of the readers are all there is."""

    def combine(self, notes: Sequence[Any], compared: Sequence[Any]) -> tuple[Receipt, Receipt | None]:
        source, target, *_ = (*notes, None) if self.found is None else (self.found, *notes)
        return source, target

    def more(self, result: tuple[Receipt, Receipt | None]) -> ReadContent | None:
        """Read the target as well, if the source has what was extracted."""
        source, target = result
        is_open = target is None and self.target is not None
        return replace(self, found=source) if is_open and source.as_text() == self.extracted else None


def state_with(state: TableState, source: Receipt, target: Receipt | None) -> TableState:
    """Return the state of a table that was read."""
    value = replace(state.source[WHOLE_TABLE], rows=source.rows, newest=source.as_text())
    held = state.target if target is None else {WHOLE_TABLE: target.rows}
    return replace(state, source={WHOLE_TABLE: value}, target=held, target_receipt=target, unread=False)
