"""Keep the values of columns that only the target has, while the rows that hold them are replaced.

The server copies the values into a stage before the rows are deleted, and puts them back when the rows have come again:
all in the transaction of the load, by a key of the target. The values never leave the server: every type stays exact.
A row whose key does not come again left the source, and its values leave with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tidegate.errors import DriftStop
from tidegate.interfaces import Session
from tidegate.loads._unit import Unit
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.contents import has_rows
from tidegate.sql.staged import have_values, keep_in_stage, update_staged
from tidegate.sql.text import Sql


class OwnColumns:
    """The own columns of the target, for one load."""

    def __init__(self, session: Session, work: Unit, key: Sequence[Column], stage: TableName | None) -> None:
        self._session, self._work, self._key, self._stage = session, work, key, stage

    def save(self, rows: Sql | None) -> None:
        """Save the values of the rows that are about to be deleted. Raises DriftStop where no key would find them
        again; nothing was written by then."""
        table, columns = self._work.request.table, self._work.own_columns
        if self._stage is not None:
            # A null must be saved too where the insert fills in a default, or what the file has.
            fills_in = any(column.has_default or column in self._work.restored_columns for column in columns)
            saved = rows if fills_in else have_values(columns, rows)
            self._session.execute(keep_in_stage(table, self._stage, [*self._key, *columns], saved))
            return
        # Values that the file brings back are not lost.
        lost = [column for column in columns if column not in self._work.restored_columns]
        if lost and self._session.query(has_rows(table, have_values(lost, rows))) != [(0,)]:
            raise _would_be_lost(self._work, lost)

    def put_back(self) -> None:
        if self._stage is not None:
            table, columns = self._work.request.table, self._work.own_columns
            self._session.execute(update_staged(table, self._stage, self._key, columns))


@contextmanager
def own_columns(session: Session, work: Unit, key: Sequence[Column] | None = None) -> Iterator[OwnColumns]:
    """Around a transaction: what saves values in it and puts them back. Does nothing for a table without own columns.

    `key` names a row of the target; without it the key of the unit does."""
    key = work.own_key if key is None else key
    if not work.own_columns or not key:
        yield OwnColumns(session, work, key, None)
        return
    with session.stage(work.request.table, [*key, *work.own_columns], iter(())) as stage:
        yield OwnColumns(session, work, key, stage)


def reason_without_key(columns: Sequence[Column]) -> str:
    names = ", ".join(column.name for column in columns)
    return f"rows that are replaced have values in {names}, which only the target has, and no key of the target finds"


REMEDY = (
    "Give the target a primary key of columns that are copied, drop the column in the target, or load into another"
    " table with `target_table`."
)


def _would_be_lost(work: Unit, columns: Sequence[Column]) -> DriftStop:
    return DriftStop(
        f"{work.table} {work.value}: {reason_without_key(columns)} them again.",
        "The load was rolled back; the target keeps what it had.",
        REMEDY,
    )
