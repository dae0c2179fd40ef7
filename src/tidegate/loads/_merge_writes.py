"""Write the rows that differ: staged before the transaction, applied inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from tidegate.buckets.spill import Spill
from tidegate.interfaces.database import ReadRequest, Session
from tidegate.interfaces.load import Batches, LoadTask
from tidegate.loads._difference import RowDifference, kept_rows
from tidegate.loads._own_columns import own_columns
from tidegate.model.columns import Column
from tidegate.model.names import TableName
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

    @property
    def key_columns(self) -> list[Column]:
        return self.columns(self.keys)

    @property
    def other_columns(self) -> list[Column]:
        return [column for column in self.request.columns if column.name not in self.keys]


class Change:
    """The rows that differ. Deletes go first, so that their values of a unique key are free."""

    def __init__(
        self, session: Session, task: MergeTask, found: RowDifference, batches: Batches, stages: ExitStack
    ) -> None:
        self._session, self._task, self._stages = session, task, stages
        self._inserted, self._changed_rows, self._batches = _coming(task, found, batches, stages)
        inserted, changed, removed = found.counts
        gone = removed if task.deletes else 0
        self._again = changed if task.rewrites or self._are_all_fixed() else 0
        self._leaving: TableName | None = None
        self._changed: TableName | None = None
        if self._again or gone:
            keys = chain(found.removed_keys() if gone else (), self._keys(changed=True) if self._again else ())
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
            )
        )
        self._kept = stages.enter_context(own_columns(session, task, task.key_columns)) if self._again else None
        self.touched = self._touched(found, inserted + changed, gone)

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
        left = changed = 0
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
        return came - self._again, changed + self._again, left - self._again


def _coming(task: MergeTask, found: RowDifference, batches: Batches, stages: ExitStack) -> tuple[Mask, Mask, Batches]:
    """Return which rows are inserted, which are changed, and the rows that both masks are about: of few, only those."""
    coming = found.inserted | found.changed
    count = int(coming.sum())
    if not count or count > FEW * len(coming):
        return found.inserted, found.changed, batches
    kept = stages.enter_context(Spill())
    names = [column.name for column in task.written_columns]
    return found.inserted[coming], found.changed[coming], kept_rows(batches, coming, names, kept)
