"""An example plug-in: a load that appends every extraction to a log and deletes nothing.

A package installs it with an entry point in `pyproject.toml`:

    [project.entry-points."tidegate.loads"]
    append_log = "plugin_load:AppendLog"

A table chooses it in `tidegate.yml`. The setting `log_limit` belongs to this load:

    tables:
      currencies: {kind: static, load: append_log, log_limit: 1000000}

The target table is an audit log: it holds the rows of each extraction, one after the other. So it has no primary key.
The number of rows is counted before and after inside of the transaction, which also records the load in the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.errors import Unsupported, ValueProblem
from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.load import (
    Incoming,
    Load,
    Loaded,
    LoadTask,
    ReceiptOf,
    Requirements,
    acquire_fence,
    proof_failed,
    with_entry,
)
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.settings import Count, Settings
from tidegate.sql.contents import count_rows
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable


class AppendLogSettings(Settings):
    """The settings of a table whose extractions are appended to a log."""

    log_limit: Count | None = None
    """How many rows the log may have. A load that needs more is refused. No limit, when it is left out."""


@dataclass(frozen=True)
class AppendLog(Load):
    """Appends the rows of each extraction to the target, as an audit log."""

    name = "append_log"
    Settings = AppendLogSettings
    changes = ("content_hash",)
    updates_rows = False

    log_limit: int | None

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        # A key of the source is not unique in the log: each extraction brings it again.
        return Requirements(replace(source, primary_key=(), unique_keys=()), deletes=False)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        if table.target is not None and (table.target.primary_key or table.target.unique_keys):
            raise Unsupported(
                f"{settings.name}: {table.target_name} has a key, so a row cannot be appended a second time.",
                UNTOUCHED,
                "Drop the key in the target, or name another `target_table`.",
            )
        return cls(settings.log_limit), table

    @property
    def check(self) -> str:
        return "at_least"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(deletes=False)

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        table = incoming.task.request.table
        # The rows wait outside of the transaction where the database's bulk protocol cannot join it.
        with (
            session.bulk_insert(table, incoming.task.written_columns, incoming.batches) as insert,
            session.transaction(),
        ):
            task = acquire_fence(session, incoming.task, incoming.ledger)
            if isinstance(task, Loaded):
                return task
            before = _count(session, table)
            if task.compare_first and receipt_of(task.request) == Receipt(task.entry.rows, task.entry.hash):
                incoming.ledger.record(with_entry(task, target_rows=before).entry)
                return Loaded("equal already")
            self._require_room(task, before)
            written = insert()
            after = _count(session, table)
            if written != task.entry.rows or after != before + written:
                raise proof_failed(task, f"{task.entry.rows:,} rows were sent, the log grew by {after - before:,}")
            incoming.ledger.record(with_entry(task, target_rows=after).entry)
        return Loaded("loaded", written, f"{written:,} rows appended, the log has {after:,}")

    def _require_room(self, task: LoadTask, before: int) -> None:
        if self.log_limit is not None and before + task.entry.rows > self.log_limit:
            raise ValueProblem(
                f"{task.table}: the log has {before:,} rows and {task.entry.rows:,} come; `log_limit` allows"
                f" {self.log_limit:,}.",
                "The load was rolled back; the log keeps what it had.",
                "Move older rows of the log away, or raise `log_limit`.",
            )


def _count(session: Session, table: TableName) -> int:
    return int(str(session.query(count_rows(table))[0][0]))
