"""Versions from a change feed: one version per change, from the time of its commit on.

In the mode `images` every change of the log makes a version, in the order of the log. Several changes of a row in one
transaction have one commit time: each later one starts a microsecond later, so that their order stays. A delete and a
truncate end a version. In the mode `keys` a version is what a run found: it starts at the time of the read.

A window that holds the whole table is compared with the current versions. What later windows made is taken back first,
because they are loaded again: so a ledger or rows of the target that were lost lead to the same versions.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Literal

from tidegate.errors import Unsupported
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
from tidegate.loads._feed_replay import compare, replay
from tidegate.loads._feed_version_writes import FeedVersionTask, VersionWrites
from tidegate.loads._generated_history import (
    DEFAULT_GENERATED_FLAG,
    Scd2Requirements,
    generated_columns,
    require_copied,
    with_generated_columns,
    with_surrogate_key,
)
from tidegate.loads._keys import key_of
from tidegate.loads._merge_window import kept_events
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.state import TableState
from tidegate.settings import Duration, Settings, Text
from tidegate.sql.contents import count_rows
from tidegate.sql.cursors import is_current
from tidegate.sql.text import sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable


class FeedVersionSettings(Settings):
    """A table of versions that a change feed makes: one of every change, from the time of its commit on."""

    start_column: Text = "start_date"
    """The target's column for the start of a version, in UTC."""
    end_column: Text = "end_date"
    """The column for the end of a version, which is the start of the next."""
    flag_column: Text = DEFAULT_GENERATED_FLAG
    """The column that tells which version is current."""
    surrogate_key: Text | None = None
    """A column that numbers versions, which the target fills in by itself."""
    deletes: Literal["close", "ignore"] = "close"
    """What becomes of entities that were deleted in the source: their version ends (`close`), or it stays open."""
    keep_events: Duration | None = None
    """How long every change is kept in Tidegate's own table `cdc_events`, since its commit: `30 days`. Not at all, when
    it is left out."""


@dataclass(frozen=True)
class FeedVersions(Load):
    """The load of one table of versions from a change feed."""

    name = "scd2 from a change feed"
    Settings = FeedVersionSettings

    keys: tuple[str, ...]
    start: Column
    end: Column
    flag: Column
    closes: bool
    events: int | None = None
    """For how many seconds changes are kept as events; None where they are not."""

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Scd2Requirements:
        keys = key_of(settings, source, "keys")
        if not keys:
            raise Unsupported(
                f"{settings.name}: nothing names a row of {source.name}, so its versions cannot be told apart.",
                UNTOUCHED,
                "Name `keys`, or add a primary key.",
            )
        generated = start, end, flag = generated_columns(settings, None)
        with_versions = with_generated_columns(settings, source, generated, keys, catalogs)
        return Scd2Requirements(
            with_versions,
            keys=keys,
            keep_types={*keys, *(column.name for column in generated)},
            needed=(start,),
            index=source.exact_column(keys[0]),
            deletes=False,
            generated=tuple(column.name for column in generated),
            start=start,
            flag=flag,
            end=end,
        )

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        require_copied(settings, table, set(required.keep_types))
        table = with_surrogate_key(settings, table, catalogs)
        by_name = {column.name: column for column in table.target_columns}
        start, end, flag = (by_name[name] for name in table.generated)
        current = is_current(flag, "1")
        # Only current versions count as rows that the source has.
        table = replace(table, gone=sql("NOT ({current})", current=current))
        return cls(required.keys, start, end, flag, settings.deletes == "close", settings.keep_events), table

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, all_keys=True, order_matters=True, deletes=self.closes, images=True)

    @property
    def row_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def keeps_rows_aside(self) -> bool:
        return self.events is not None

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> FeedVersionTask:
        given = {**vars(task), "request": replace(task.request, rows=None)}
        return FeedVersionTask(
            **given, keys=self.keys, start=self.start, end=self.end, flag=self.flag, closes=self.closes
        )

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        task: FeedVersionTask = incoming.task
        before = incoming.ledger.newest()
        with ExitStack() as opened:
            writes = VersionWrites(session, task, opened)
            if task.window_token.whole or task.window_token.mode != "images":
                compare(writes, incoming)
            else:
                replay(writes, incoming)
            apply = writes.prepared()
            keep_events = kept_events(incoming, task.keys, self.events, opened)
            with session.transaction():
                fenced = acquire_fence(session, task, incoming.ledger)
                if isinstance(fenced, Loaded):
                    return fenced
                if incoming.ledger.newest() != before:
                    raise proof_failed(task, "another load came between reading the target and writing to it")
                apply(receipt_of)
                keep_events()
                rows = int(str(session.query(count_rows(task.request.table, task.current))[0][0]))
                incoming.ledger.record(with_entry(fenced, target_rows=rows).entry)
        counts = {"inserted": writes.inserted, "closed": writes.closed}
        if not writes.inserted + writes.closed:
            return Loaded("equal already", counts=counts)
        return Loaded("loaded", writes.inserted, f"{writes.inserted:,} versions, {writes.closed:,} closed", counts)
