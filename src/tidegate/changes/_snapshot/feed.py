"""The comparison with the last snapshot, as a change feed: it tells which keys changed, and rows are read by key."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tidegate.changes._snapshot.compare import CODE, Comparison, LastSnapshot
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.feeds import OPERATION, POSITION, TIME, Position
from tidegate.model.names import TableName

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = 1
_WIDTH = 16


def place(number: int) -> Position:
    """Return the position of a snapshot. Positions are compared as text."""
    return Position(f"{number:0{_WIDTH}}")


@dataclass(frozen=True)
class SnapshotFeed(Feed):
    """What changed in a table since its last snapshot. The server keeps nothing for it."""

    label = "snapshot"
    has_images: ClassVar[bool] = False
    has_commit_times: ClassVar[bool] = False
    reads_snapshot: ClassVar[bool] = True

    request: ReadRequest | None = None
    """How the source is read; None where the feed is only named."""
    comparison: Comparison | None = None
    last: LastSnapshot | None = None

    @property
    def id(self) -> str:
        return "snapshots of the table"

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        return []

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        """Return a position after the last snapshot. What changed since is told by `count`, or by reading."""
        now = place(FIRST if after is None else int(after.order) + 1)
        return FeedState(now, now, None)

    def count(self, session: Session) -> int:
        """Return how many keys changed. Reads all rows of the source and of the last snapshot."""
        return sum(table.num_rows for table in self._changes(session))

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        import pyarrow as pa

        from tidegate.hashing.changes import change_schema

        session.export_snapshot()
        schema = change_schema(table)
        for changes in self._changes(session):
            codes, count = changes[CODE], changes.num_rows
            about = {
                OPERATION: codes,
                POSITION: pa.repeat(pa.scalar(upto.order), count),
                TIME: pa.nulls(count, schema.field(TIME).type),
            }
            columns = [about[name] if name in about else changes[name] for name in schema.names]
            yield from pa.table(columns, schema=schema).to_batches()
        return None

    def _changes(self, session: Session) -> Iterator[pa.Table]:
        assert self.request is not None and self.comparison is not None and self.last is not None
        yield from self.comparison.changes(session.read(self.request), self.last)

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """Do nothing: the server keeps no log for this feed."""

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        read = "no snapshot was taken yet" if after is None else f"{int(after.order):,}"
        return FeedHealth("comparison with the last snapshot in the lake", alive=True, facts={"snapshots": read})
