"""Read a window of a change feed inside of a task, in bounded memory.

The changes are written into the lake as they come. Beside that their keys go into buckets by the hash of the key. When
all changes were read, one bucket at a time tells the last change of each key. In the mode `keys` the rows of these keys
are read again; in the mode `images` the last image counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.spill import Spill
from tidegate.errors import ValueProblem
from tidegate.interfaces.feed import Feed, FeedTable
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.feeds import INSERT, OPERATION, PARTIAL, TRUNCATE, UPDATE, Position
from tidegate.model.tokens import FeedWindow
from tidegate.sql.keys import MOST_KEYS, has_key

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

_NUMBER, _KEY = "tidegate_number", ("tidegate_key1", "tidegate_key2")


@dataclass(frozen=True)
class WindowReader:
    """Reads one window of a feed. It travels to a task."""

    feed: Feed
    table: FeedTable
    window: FeedWindow
    after: str
    after_detail: str
    snapshot: str
    buckets: int

    def schema(self, request: ReadRequest) -> pa.Schema:
        from tidegate.hashing.changes import change_schema

        return change_schema(self._table(request))

    def _table(self, request: ReadRequest) -> FeedTable:
        return replace(self.table, text_columns=request.text_columns)

    @contextmanager
    def open(self, session: Session, request: ReadRequest) -> Iterator[WindowRows]:
        with Spill(in_memory=self.buckets == 1) as spill:
            yield WindowRows(self, session, request, self._table(request), spill)


@dataclass
class WindowRows:
    """A window that is being read."""

    reader: WindowReader
    session: Session
    request: ReadRequest
    table: FeedTable
    spill: Spill
    seen: object = field(default=None, init=False)
    emptied: int = field(default=-1, init=False)
    """The number of the last truncate: rows that changed before it are gone."""

    def changes(self) -> Iterator[pa.RecordBatch]:
        """Yield the changes, and keep what tells the last change of each key."""
        from tidegate.hashing.rows import hash_rows

        kept = [OPERATION, *(column.name for column in self.table.told)]
        names = [column.name for column in self.table.keys]
        passed: list[pa.RecordBatch] = []

        def counted() -> Iterator[tuple[pa.Table, Words]]:
            number = 0
            for batch in self._read():
                passed.append(batch)
                hashes = hash_rows(batch.select(names))
                self._look_at(batch, number)
                yield _numbered(batch.select(kept), hashes, number), hashes
                number += batch.num_rows

        for bucket, block in in_buckets(counted(), self.reader.buckets):
            yield from passed
            passed.clear()
            self.spill.add(bucket, 0, block)
        yield from passed

    def _look_at(self, batch: pa.RecordBatch, first: int) -> None:
        """Remember the last truncate.

        Raises ValueProblem where every image counts and one lacks values: nobody knows any more which they were."""
        import numpy as np

        operations = np.asarray(batch.column(OPERATION))
        if self.table.truncates and (operations == PARTIAL).any():
            raise ValueProblem(
                f"{self.table.name}: the log lacks large values that did not change, so its versions cannot be told.",
                "Nothing was published; the target keeps what it had.",
                f"Run ALTER TABLE {self.table.name} REPLICA IDENTITY FULL in the source, then `tidegate run --reload`.",
            )
        places = np.flatnonzero(operations == TRUNCATE)
        if len(places):
            self.emptied = first + int(places[-1])

    def _read(self) -> Iterator[pa.RecordBatch]:
        reader = self.reader
        after = Position(reader.after, reader.after_detail)
        upto = reader.window.position
        self.seen = yield from reader.feed.read(self.session, self.table, after, upto, reader.snapshot)

    def rows(self) -> Iterator[pa.RecordBatch]:
        if self.table.images:
            yield from self._last_images()
            return
        self._see_all()
        for bucket in self.spill.buckets():
            yield from self._rows_of_keys(_last_changes(list(self.spill.blocks(0, bucket))))

    def _last_images(self) -> Iterator[pa.RecordBatch]:
        """Yield the last image of each key. Rows whose last image lacks values are read again by their key."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(self.request.columns, self.request.text_columns)
        is_open = False
        for bucket in self.spill.buckets():
            last = _last_changes(list(self.spill.blocks(0, bucket)))
            last = last.filter(pc.greater(last[_NUMBER], self.emptied))
            operation = last[OPERATION]
            partial = last.filter(pc.equal(operation, PARTIAL))
            there = last.filter(pc.is_in(operation, pa.array([INSERT, UPDATE], pa.int16()))).select(schema.names)
            for batch in there.to_batches(max_chunksize=self.request.batch.rows):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            if partial.num_rows:
                if not is_open:
                    self._see_all()
                    is_open = True
                yield from self._rows_of_keys(partial)

    def _see_all(self) -> None:
        self.reader.feed.wait_for(self.session, self.seen)
        if not self.reader.feed.reads_snapshot:
            self.session.export_snapshot()

    def _rows_of_keys(self, last: pa.Table) -> Iterator[pa.RecordBatch]:
        """Read the rows of these keys, also of keys that were deleted last: a later insert may have them again."""
        keys = last.select([column.name for column in self.table.keys])
        for batch in keys.to_batches(max_chunksize=MOST_KEYS):
            yield from self.session.read(replace(self.request, rows=has_key(self.table.keys, batch)))


def _numbered(batch: pa.RecordBatch, hashes: Words, first: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    table = table.append_column(_NUMBER, pa.array(np.arange(first, first + batch.num_rows)))
    for position, name in enumerate(_KEY):
        table = table.append_column(name, pa.array(hashes[:, position]))
    return table


def _last_changes(blocks: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return the last change of each key, in the order of the log."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches(blocks)
    order = np.asarray(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in (*_KEY, _NUMBER)]))
    keys = np.stack([table[name].to_numpy()[order] for name in _KEY], axis=1)
    is_last = np.ones(len(order), bool)
    is_last[:-1] = (keys[1:] != keys[:-1]).any(axis=1)
    return table.take(pa.array(np.sort(order[is_last])))
