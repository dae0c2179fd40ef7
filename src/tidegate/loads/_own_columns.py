"""Keep the values of columns that only the target has, while the rows that hold them are replaced.

The server copies the values into a stage before the rows are deleted, and puts them back when the rows have come again:
all in the transaction of the load, by a key of the target. The values never leave the server: every type stays exact.
A row whose key does not come again left the source, and its values leave with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tidegate.errors import DriftStop
from tidegate.interfaces.load import LoadTask
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.contents import has_rows
from tidegate.sql.staged import copy_into_stage, has_any_value, update_from_stage
from tidegate.sql.text import Sql
from tidegate.tables.own_columns import REMEDY, reason_without_key


class OwnColumns:
    """The own columns of the target, for one load."""

    def __init__(self, session: Session, task: LoadTask, key: Sequence[Column], stage: TableName | None) -> None:
        self._session, self._task, self._key, self._stage = session, task, key, stage

    def save(self, rows: Sql | None) -> None:
        """Save the values of the rows that are about to be deleted. Raises DriftStop where no key would find them
        again; nothing was written by then."""
        table, columns = self._task.request.table, self._task.own_columns
        if self._stage is not None:
            # A null must be saved too where the insert fills in a default, or what the file has.
            fills_in = any(column.has_default or column in self._task.restored_columns for column in columns)
            saved = rows if fills_in else has_any_value(columns, rows)
            self._session.execute(copy_into_stage(table, self._stage, [*self._key, *columns], saved))
            return
        # Values that the file brings back are not lost.
        lost = [column for column in columns if column not in self._task.restored_columns]
        if lost and self._session.query(has_rows(table, has_any_value(lost, rows))) != [(0,)]:
            raise _would_be_lost(self._task, lost)

    def put_back(self) -> None:
        if self._stage is not None:
            table, columns = self._task.request.table, self._task.own_columns
            self._session.execute(update_from_stage(table, self._stage, self._key, columns))


@contextmanager
def own_columns(session: Session, task: LoadTask, key: Sequence[Column] | None = None) -> Iterator[OwnColumns]:
    """Around a transaction: what saves values in it and puts them back. Does nothing for a table without own columns.

    `key` names a row of the target; without it the key of the task does."""
    key = task.own_key if key is None else key
    if not task.own_columns or not key:
        yield OwnColumns(session, task, key, None)
        return
    with session.staging_table(task.request.table, [*key, *task.own_columns], iter(())) as stage:
        yield OwnColumns(session, task, key, stage)


def _would_be_lost(task: LoadTask, columns: Sequence[Column]) -> DriftStop:
    return DriftStop(
        f"{task.table} {task.window}: {reason_without_key(columns)} them again.",
        "The load was rolled back; the target keeps what it had.",
        REMEDY,
    )
