"""The rotating check: each plan compares a slice of the table with the target, since triggers do not see every change.

A row that differs, and of which the log tells nothing since the target was loaded, changed without its trigger, or was
changed in the target. The source's slice is read before the log: a change that the slice has is in the log by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.buckets.compare import keyed_hashes, readable
from tidegate.errors import NotNative
from tidegate.interfaces.feed import Feed, FeedTable
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.feeds import Position
from tidegate.model.values import Value
from tidegate.sql.keys import MOST_KEYS, has_key
from tidegate.sql.ranges import boundary_after, in_range, narrowed

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = 5
TOPIC = "rotating check"
"""Under this topic the notes keep where the next slice of each table begins."""


@dataclass(frozen=True)
class Rotation:
    """What the comparison of one slice found."""

    begins: str = ""
    """The first value of the slice, of the key's first column; empty for the beginning of the table."""
    ends: str = ""
    """Where the next slice begins; empty after the last one."""
    rows: int = 0
    missing: tuple[str, ...] = ()
    """Keys of rows that the target lacks."""
    differing: tuple[str, ...] = ()
    """Keys of rows that only the target has, or that are another row there."""

    def __str__(self) -> str:
        found = sorted({*self.missing, *self.differing})
        count = f"{len(found):,} row{'s differ' if len(found) > 1 else ' differs'}"
        return f"{count} that no trigger told, such as {', '.join(map(readable, found[:EXAMPLES]))}"

    @property
    def found_something(self) -> bool:
        return bool(self.missing or self.differing)


@dataclass(frozen=True)
class Slices:
    """Both sides of one table, as the rotating check reads them."""

    source: Session
    target: Session
    feed: Feed
    table: FeedTable
    source_request: ReadRequest
    target_request: ReadRequest
    deletes: bool
    """Rows that the source does not have leave the target."""

    def compare(self, begins: str, rows: int, after: Position) -> Rotation | None:
        """Return what the slice of about so many rows holds that begins at a value; None where the key has no order."""
        column = self.table.keys[0]
        kind = self.source.database.value_kind(column)
        if kind is None:
            return None
        low = Value.of(begins, kind) if begins else None
        boundary = self.source.query(boundary_after(self.table.name, column, self.source_request.rows, low, rows))
        high = Value.of(boundary[0][0], kind) if boundary else None
        while True:
            try:
                return self._compared(column, low, high, after)
            except NotNative as problem:  # a NaN, for instance: both sides are read as text in this column
                if problem.column in self.source_request.text_columns:
                    raise
                return replace(
                    self,
                    source_request=self.source_request.with_text([problem.column]),
                    target_request=self.target_request.with_text([problem.column]),
                ).compare(begins, rows, after)

    def _compared(self, column: Column, low: Value | None, high: Value | None, after: Position) -> Rotation:
        in_target = next(each for each in self.target_request.columns if each.name == column.name)
        source = self._read(self.source, _ranged(self.source_request, column, low, high))
        target = self._read(self.target, _ranged(self.target_request, in_target, low, high))
        count = len(source)
        # Texts may have another order in the target: what seems to be missing there is looked up by its key.
        source, target = (
            {**source, **self._read_keys(self.source, self.source_request, target, source)},
            {**target, **self._read_keys(self.target, self.target_request, source, target)},
        )
        missing = source.keys() - target.keys()
        differing = {key for key in source.keys() & target.keys() if source[key][0] != target[key][0]}
        if self.deletes:
            differing |= target.keys() - source.keys()
        told = self._told(missing | differing, {**target, **source}, after)
        return Rotation(
            "" if low is None else low.text,
            "" if high is None else high.text,
            count,
            tuple(sorted(missing - told)),
            tuple(sorted(differing - told)),
        )

    def _read(self, session: Session, request: ReadRequest) -> Rows:
        names = tuple(column.name for column in self.table.keys)
        rows: Rows = {}
        for batch in session.read(request):
            table, _, _ = keyed_hashes(batch, names)
            hashes = zip(table["hash1"].to_pylist(), table["hash2"].to_pylist(), strict=True)
            keys = batch.select(list(names))
            for number, (key, words) in enumerate(zip(table["key"].to_pylist(), hashes, strict=True)):
                rows[key] = (words, keys, number)
        return rows

    def _read_keys(self, session: Session, request: ReadRequest, wanted: Rows, known: Rows) -> Rows:
        """Return the rows of those of these keys that the other side alone has inside of the slice."""
        found: Rows = {}
        for keys in _batches(wanted, wanted.keys() - known.keys()):
            by_name = {column.name: column for column in request.columns}
            columns = [by_name[column.name] for column in self.table.keys]
            condition = narrowed(request.rows, has_key(columns, keys))
            found |= self._read(session, replace(request, rows=condition))
        return found

    def _told(self, keys: set[str], rows: Rows, after: Position) -> set[str]:
        """Return those of these keys that the log tells after a position."""
        names = tuple(column.name for column in self.table.keys)
        told: set[str] = set()
        for batch in _batches(rows, keys):
            for logged in self.feed.told_after(self.source, self.table, after, batch):
                told |= set(keyed_hashes(logged, names)[0]["key"].to_pylist())
        return told


Rows = dict[str, tuple[tuple[int, int], "pa.RecordBatch", int]]
"""By the text of its key: the hash of a row, and where its key is."""


def _ranged(request: ReadRequest, column: Column, low: Value | None, high: Value | None) -> ReadRequest:
    return replace(request, rows=narrowed(request.rows, in_range(column, low, high)))


def _batches(
    rows: Mapping[str, tuple[tuple[int, int], pa.RecordBatch, int]], keys: set[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the key columns of these rows, in batches that one query may ask for."""
    import pyarrow as pa

    ordered = sorted(keys)
    for first in range(0, len(ordered), MOST_KEYS):
        found = [rows[key] for key in ordered[first : first + MOST_KEYS]]
        table = pa.Table.from_batches([batch.slice(number, 1) for _, batch, number in found])
        yield table.combine_chunks().to_batches()[0]
