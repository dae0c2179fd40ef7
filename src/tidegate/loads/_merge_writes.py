"""Write the rows that differ: staged before the transaction, applied inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from tidegate.buckets.spill import Spill
from tidegate.interfaces.load import Batches, Files, LoadTask
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._difference import RowDifference, kept_rows
from tidegate.loads._own_columns import own_columns
from tidegate.loads._soft_deletes import is_gone
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.contents import has_rows
from tidegate.sql.staged import delete_by_stage, key_is_staged, update_from_stage

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask

FEW = 0.2
"""Up to this share of the rows, those that were touched are found by their keys, and read alone. Finding more of them
costs a server as much as reading the table."""


@dataclass(frozen=True, kw_only=True)
class MergeTask(LoadTask):
    """A whole table that is to hold what a lake entry holds."""

    keys: tuple[str, ...]
    deletes: bool
    rewrites: bool = False
    """Rows that change leave and come again: no update moves values of another unique key from row to row, since
    servers look at each row by itself."""
    flag: Column | None = None
    """Rows that leave are not deleted: this column of the target says that they are gone."""

    @property
    def key_columns(self) -> list[Column]:
        return self.columns(self.keys)

    @property
    def other_columns(self) -> list[Column]:
        return [column for column in self.request.columns if column.name not in self.keys]


class Change:
    """The rows that differ. Deletes go first, so that their values of a unique key are free."""

    def __init__(
        self,
        session: Session,
        task: MergeTask,
        found: RowDifference,
        batches: Batches,
        stages: ExitStack,
        files: Files | None = None,
    ) -> None:
        """`files` are those of the lake entry, where the batches are all of its rows."""
        self._session, self._task, self._stages = session, task, stages
        self._inserted, self._changed_rows, self._batches = _coming(task, found, batches, stages)
        inserted, changed, removed = found.counts
        gone = removed if task.deletes else 0
        self._again = changed if task.rewrites or self._are_all_fixed() else 0
        self._leaving: TableName | None = None
        self._changed: TableName | None = None
        self._marked, self._back = self._flagged(found, inserted, gone)
        if self._again or (gone and self._marked is None):
            gone_keys = found.removed_keys() if gone and self._marked is None else ()
            keys = chain(gone_keys, self._keys(changed=True) if self._again else ())
            self._leaving = self._staged(task.key_columns, keys)
        if changed and not self._again:
            names = [column.name for column in (*task.key_columns, *task.other_columns)]
            rows = self._selected(names, changed=True)
            self._changed = self._staged([*task.key_columns, *task.other_columns], rows)
        table, written = task.request.table, [column.name for column in task.written_columns]
        self._insert = stages.enter_context(
            session.bulk_insert(
                table,
                task.written_columns,
                lambda: self._selected(written, inserted=True, changed=bool(self._again)),
                files if found.inserted.all() else None,
            )
        )
        self._kept = stages.enter_context(own_columns(session, task, task.key_columns)) if self._again else None
        self.touched = self._touched(found, inserted + changed, gone)

    def _flagged(self, found: RowDifference, inserted: int, gone: int) -> tuple[TableName | None, TableName | None]:
        """Return stages with the keys of rows that are marked as gone, and of rows that may be marked and come back."""
        task = self._task
        if task.flag is None:
            return None, None
        marked = back = None
        if gone:
            keys = (_with_flag(batch, task.flag) for batch in found.removed_keys())
            marked = self._staged([*task.key_columns, task.flag], keys)
        if inserted and self._session.query(has_rows(task.request.table, is_gone(task.flag))) != [(0,)]:
            back = self._staged(task.key_columns, self._keys(inserted=True))
        return marked, back

    def _touched(self, found: RowDifference, coming: int, gone: int) -> ReadRequest | None:
        """Return how the rows are read that this writes or deletes; None where it touches most of the table."""
        task = self._task
        if not coming + gone or coming + gone > FEW * max(found.new.rows, found.old.rows):
            return None
        keys = chain(self._keys(inserted=True, changed=True), found.removed_keys() if gone else ())
        return replace(task.request, rows=key_is_staged(self._staged(task.key_columns, keys), task.key_columns))

    def _staged(self, columns: list[Column], rows: Iterator[pa.RecordBatch]) -> TableName:
        return self._stages.enter_context(self._session.staging_table(self._task.request.table, columns, rows))

    def _keys(self, *, inserted: bool = False, changed: bool = False) -> Iterator[pa.RecordBatch]:
        return self._selected(list(self._task.keys), inserted=inserted, changed=changed)

    def _selected(self, names: list[str], *, inserted: bool = False, changed: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield inserted or changed rows of the entry, or both, in these columns."""
        from tidegate.hashing.differences import select_rows

        selected = self._inserted & inserted | self._changed_rows & changed
        return select_rows(self._batches() if selected.any() else (), selected, names)

    def _are_all_fixed(self) -> bool:
        """Return whether there is nothing besides the key that an update could change."""
        fixed = not self._session.database.capabilities.updates_identity
        return all(fixed and column.identity for column in self._task.other_columns)

    def apply(self) -> tuple[int, int, int]:
        """Return how many rows were inserted, updated and deleted, as the server counted them."""
        table, keys = self._task.request.table, self._task.key_columns
        left = changed = marked = 0
        if self._marked is not None:
            assert self._task.flag is not None
            marked = self._session.execute(update_from_stage(table, self._marked, keys, [self._task.flag]))
        if self._back is not None:
            # What had left came back: a row that says so must not be in the way.
            self._session.execute(delete_by_stage(table, self._back, keys))
        if self._leaving is not None:
            if self._kept is not None:
                self._kept.save(key_is_staged(self._leaving, keys))
            left = self._session.execute(delete_by_stage(table, self._leaving, keys))
        if self._changed is not None:
            identity = self._session.database.capabilities.updates_identity
            statement = update_from_stage(table, self._changed, keys, self._task.other_columns, identity=identity)
            changed = self._session.execute(statement)
        came = self._insert()
        if self._kept is not None:
            self._kept.put_back()
        return came - self._again, changed + self._again, left - self._again + marked


def _with_flag(keys: pa.RecordBatch, flag: Column) -> pa.RecordBatch:
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_schema

    marks = pa.array([1] * keys.num_rows).cast(arrow_schema([flag]).field(0).type)
    return pa.RecordBatch.from_arrays([*keys.columns, marks], [*keys.schema.names, flag.name])


def _coming(task: MergeTask, found: RowDifference, batches: Batches, stages: ExitStack) -> tuple[Mask, Mask, Batches]:
    """Return which rows are inserted, which are changed, and the rows that both masks are about: of few, only those."""
    coming = found.inserted | found.changed
    count = int(coming.sum())
    if not count or count > FEW * len(coming):
        return found.inserted, found.changed, batches
    kept = stages.enter_context(Spill())
    names = [column.name for column in task.written_columns]
    return found.inserted[coming], found.changed[coming], kept_rows(batches, coming, names, kept)
