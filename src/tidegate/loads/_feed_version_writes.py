"""What a window of a change feed writes to a table of versions: new versions, and ends of current ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.buckets.spill import Spill
from tidegate.interfaces.load import LoadTask, ReceiptOf, proof_failed
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.tokens import FeedWindow
from tidegate.sql.contents import both
from tidegate.sql.cursors import is_current
from tidegate.sql.staged import key_is_staged, update_from_stage
from tidegate.sql.text import Literal, Name, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

_VERSIONS, _CLOSED = range(2)
_START, _END, _FLAG = "tidegate_start", "tidegate_end", "tidegate_flag"


@dataclass(frozen=True, kw_only=True)
class FeedVersionTask(LoadTask):
    """One window of a change feed for a table of versions."""

    keys: tuple[str, ...]
    start: Column
    end: Column
    flag: Column
    closes: bool
    """Entities that were deleted are closed."""

    @property
    def key_columns(self) -> list[Column]:
        return self.columns(self.keys)

    @property
    def window_token(self) -> FeedWindow:
        assert isinstance(self.entry.token, FeedWindow), "only change feeds make such windows"
        return self.entry.token

    @property
    def current(self) -> Sql:
        return is_current(self.flag, "1")


class VersionWrites:
    """Versions that are to be inserted, and current ones that are to be closed: gathered in files, then applied."""

    def __init__(self, session: Session, task: FeedVersionTask, opened: ExitStack) -> None:
        self.session, self.task, self.opened = session, task, opened
        self.spill = opened.enter_context(Spill())
        self.inserted = self.closed = 0
        self.rewinds: list[Sql] = []

    def insert(self, rows: pa.Table, starts: pa.Array, ends: pa.Array, flags: pa.Array) -> None:
        """Add versions: rows in the columns of the request, with their validity."""
        names = [column.name for column in self.task.request.columns]
        table = rows.select(names)
        for name, values in ((_START, starts), (_END, ends), (_FLAG, flags)):
            table = table.append_column(name, values)
        for batch in table.combine_chunks().to_batches(max_chunksize=self.task.request.batch.rows):
            self.spill.add(0, _VERSIONS, batch)
            self.inserted += batch.num_rows

    def close(self, keys: pa.Table, starts: pa.Array, ends: pa.Array) -> None:
        """Close the current versions of these keys, which have these starts."""
        table = keys.select(list(self.task.keys)).append_column(_START, starts).append_column(_END, ends)
        for batch in table.combine_chunks().to_batches(max_chunksize=self.task.request.batch.rows):
            self.spill.add(0, _CLOSED, batch)
            self.closed += batch.num_rows

    def _version_columns(self) -> list[Column]:
        return [*self.task.request.columns, self.task.start, self.task.end, self.task.flag]

    def _versions(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        """Yield the new versions in these columns, in the types that the target's columns are written in."""
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        task = self.task
        ours = {task.start.name: _START, task.end.name: _END, task.flag.name: _FLAG}
        schema = arrow_schema(columns, task.request.text_columns)
        for batch in self.spill.blocks(_VERSIONS):
            arrays = [batch.column(ours.get(column.name, column.name)) for column in columns]
            yield pa.RecordBatch.from_arrays(
                [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
            )

    def _closings(self) -> Iterator[pa.RecordBatch]:
        """Yield key and start of versions that are closed, then what is set: flag and end."""
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        task = self.task
        columns = [*task.key_columns, task.start, task.flag, task.end]
        schema = arrow_schema(columns, task.request.text_columns)
        for batch in self.spill.blocks(_CLOSED):
            flags = pa.array([0] * batch.num_rows)
            keys = [batch.column(name) for name in task.keys]
            arrays = [*keys, batch.column(_START), flags, batch.column(_END)]
            yield pa.RecordBatch.from_arrays(
                [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
            )

    def prepared(self) -> Any:
        """Stage what is to be written. Return the function that writes and proves it inside of the transaction."""
        from tidegate.hashing.rows import receipt_of as receipt_of_rows

        session, task, opened = self.session, self.task, self.opened
        table, columns = task.request.table, self._version_columns()
        found = [*task.key_columns, task.start]
        closing = touched = None
        if self.closed:
            closing = opened.enter_context(
                session.staging_table(table, [*found, task.flag, task.end], self._closings())
            )
        insert = opened.enter_context(session.bulk_insert(table, columns, lambda: self._versions(columns)))
        if self.inserted:
            touched = opened.enter_context(session.staging_table(table, found, self._versions(found)))
        expected = receipt_of_rows(self._versions(columns))

        def apply(receipt_of: ReceiptOf) -> None:
            for statement in self.rewinds:
                session.execute(statement)
            if closing is not None:
                closed = session.execute(update_from_stage(table, closing, found, [task.flag, task.end]))
                if closed != self.closed:
                    raise proof_failed(task, f"{self.closed:,} versions were to be closed, {closed:,} were")
            if touched is not None:
                insert()
                request = replace(task.request, columns=tuple(columns), rows=key_is_staged(touched, found))
                left = receipt_of(request)
                if not left.same_as(expected):
                    raise proof_failed(task, f"expected {expected}, read back {left}")

        return apply

    def staged_keys(self, keys: Iterator[pa.RecordBatch]) -> TableName:
        task = self.task
        return self.opened.enter_context(self.session.staging_table(task.request.table, task.key_columns, keys))

    def current_starts(self, rows: Sql | None) -> ReadRequest:
        """Return the request of key and start of current versions, of those that meet a condition."""
        task = self.task
        condition = task.current if rows is None else both(rows, task.current)
        return replace(task.request, columns=(*task.key_columns, task.start), rows=condition)

    def versions_that_matter(self, rows: Sql | None, since: Literal) -> ReadRequest:
        """Return the request of key, start and end of current versions, and of those that ended at a time or later: a
        key that was deleted and comes again within the unit of commit times must not start before its end."""
        task = self.task
        recent = sql("({current} OR {end} >= {since})", current=task.current, end=Name.of(task.end.name), since=since)
        condition = recent if rows is None else both(rows, recent)
        return replace(task.request, columns=(*task.key_columns, task.start, task.end), rows=condition)
