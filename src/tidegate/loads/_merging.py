"""The load of tables that are merged by their key. `merge` and `apply_changes` are its names.

A static table comes as a whole: rows that its entry lacks may be deleted, and a table without a key is replaced. An
incremental table comes in windows of changes: only rows of their keys are read and written. A change feed also tells
which keys are gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tidegate.errors import Unsupported
from tidegate.interfaces.change import AnyChange, ChangeColumns, LoadNeeds
from tidegate.interfaces.load import AnySettings, Incoming, Load, Loaded, LoadTask, LogRules, ReceiptOf, Requirements
from tidegate.interfaces.session import Session
from tidegate.loads._keys import key_of, may_change_places
from tidegate.loads._merge_whole import merge_whole_table
from tidegate.loads._merge_window import WindowTask, merge_window
from tidegate.loads._merge_writes import MergeTask
from tidegate.loads._replace import replace_rows
from tidegate.loads._soft_deletes import with_mark
from tidegate.loads._window_rows import WindowRules, log_rules_of
from tidegate.model.columns import Column, TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.state import TableState
from tidegate.model.tokens import CursorWindow
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import Columns, Duration, Settings, Text
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable


class MergeSettings(Settings):
    """How a whole table is applied."""

    primary_keys: Columns | None = None
    """What names a row. The source's primary key, or a unique key without nulls, when it is left out."""
    merge_strategy: Literal["upsert", "replace"] | None = None
    """`upsert` writes the rows that differ, `replace` the whole table; without a key it can only be replaced."""
    allow_deletes: bool = False
    """Whether `upsert` deletes what the source no longer has. `replace` always does."""
    rebuild_indexes: bool = False
    """With `merge_strategy: replace`: plain indexes are set aside while the rows are loaded, and built once afterwards.
    Readers wait until the load is committed."""


class MergeChangesSettings(Settings):
    """How windows of changes are applied."""

    deletes: Literal["ignore", "key_compare"] = "ignore"
    """What happens to rows that left the source: nothing, or they are deleted. Then every run reads all keys of the
    source and compares them."""
    soft_delete: Text | None = None
    """A column of the target that marks rows which left the source, instead of deleting them. A row that comes back
    loses its mark. Needs `deletes: key_compare`."""
    duplicates: Literal["latest", "refuse"] = "latest"
    """Of several rows of a key in one window the newest counts (`latest`), or the load is refused (`refuse`)."""
    late: Literal["merge", "quarantine", "report"] = "merge"
    """Rows from below the watermark are applied like others and counted (`merge`), and also warned of (`report`). Or
    they stay out of the target, in the table `late_arriving_data` (`quarantine`)."""


class MergeFeedSettings(Settings):
    """How the changes of a change feed are applied."""

    deletes: Literal["feed", "ignore"] = "feed"
    """What happens to rows that were deleted in the source: they are deleted (`feed`), or they stay (`ignore`)."""
    soft_delete: Text | None = None
    """A column of the target that marks rows which left the source, instead of deleting them. A row that comes back
    loses its mark."""
    keep_events: Duration | None = None
    """How long every change is kept in Tidegate's own table `cdc_events`, since its commit: `30 days`. Not at all, when
    it is left out."""


@dataclass(frozen=True)
class MergeLoad(Load):
    """The load of one table whose rows are applied by their key."""

    Settings = MergeSettings

    keys: tuple[str, ...]
    """What names a row; empty when nothing does."""
    merges: bool
    """Rows that differ are written by their key; otherwise the whole table is replaced."""
    deletes: bool
    rewrites: bool
    """Rows that change leave the target and come again, so that values of its other unique keys may change places."""
    rules: WindowRules | None = None
    """How windows of changes are applied; None for a whole table."""
    mark: Column | None = None
    """The column that marks rows which left the source; None where they are deleted."""
    events: int | None = None
    """For how many seconds the changes of a change feed are kept; None where they are not."""
    rebuilds_indexes: bool = False
    """Plain indexes are set aside while the whole table is replaced."""

    @classmethod
    def settings_for(cls, change: type[AnyChange]) -> type[AnySettings]:
        if change.reads_feed:
            return MergeFeedSettings
        return MergeChangesSettings if change.brings_changes else MergeSettings

    @classmethod
    def target_capabilities(cls, settings: Any) -> Mapping[str, str]:
        asks = getattr(settings, "rebuild_indexes", False)
        return {"transactional_ddl": "`rebuild_indexes: true`"} if asks else {}

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        if change.cursor is not None or change.feed:
            return Requirements(source, keys=_required_key(settings, source), deletes=settings.deletes != "ignore")
        key = key_of(settings, source, "primary_keys")
        return Requirements(source, keys=key, deletes=_strategy(settings, key) == "replace" or settings.allow_deletes)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        if change.cursor is not None or change.feed:
            return cls._of_changes(settings, table, required, change, catalogs)
        key, strategy = required.keys, _strategy(settings, required.keys)
        copied = {column.name for column in table.columns}
        if strategy == "upsert" and (not key or not set(key) <= copied):
            raise Unsupported(
                f"{settings.name}: nothing names a row of {table.source.name}, so single rows cannot be updated.",
                UNTOUCHED,
                "Name `primary_keys`, or use `merge_strategy: replace`.",
            )
        referenced = table.target is not None and bool(table.target.referenced_by)
        # Rows that other tables refer to must not leave and come again, not even inside of a transaction.
        merges = strategy == "upsert" or (referenced and bool(key))
        rewrites = table.target is not None and not referenced and may_change_places(table.target, key, copied)
        notices = _notices(settings, key, merges=merges, deletes=required.deletes)
        rebuilds = settings.rebuild_indexes and not merges
        return cls(key, merges, required.deletes, rewrites, rebuilds_indexes=rebuilds), replace(
            table, notices=(*table.notices, *notices)
        )

    @classmethod
    def _of_changes(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        key, copied = required.keys, {column.name for column in table.columns}
        if not set(key) <= copied:
            raise Unsupported(
                f"{settings.name}: the target computes a column of the key ({', '.join(key)}).",
                UNTOUCHED,
                "Name other `keys`, or make it an ordinary column in the target.",
            )
        rules = WindowRules(
            cursor=change.cursor or Cursor((), is_extracted=False),
            tie_breaker=change.tie_breaker.name if change.tie_breaker is not None else None,
            duplicates="latest" if change.feed else settings.duplicates,
            late="merge" if change.feed else settings.late,
            compares_keys=settings.deletes == "key_compare",
            tells_deletes=settings.deletes == "feed",
        )
        mark, table = with_mark(settings, table, catalogs)
        target = table.target
        referenced = target is not None and bool(target.referenced_by)
        rewrites = target is not None and not referenced and may_change_places(target, key, copied)
        if target is not None and not any(_begins_with(index, key) for index in _indexes(target)):
            text = f"no index of the target starts with the key ({', '.join(key)}): every load scans the target"
            table = replace(table, notices=(*table.notices, Notice(text, severity="warning")))
        kept = settings.keep_events if change.feed else None
        return cls(key, True, required.deletes, rewrites, rules, mark, kept), table

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        compares = self.rules is not None and (self.rules.compares_keys or self.rules.tells_deletes)
        return LoadNeeds(keys=self.keys, deletes=self.deletes, all_keys=compares)

    @property
    def log_rules(self) -> LogRules:
        return LogRules(self.keys) if self.rules is None else log_rules_of(self.keys, self.rules)

    @property
    def keeps_rows_aside(self) -> bool:
        return self.rules is not None and (self.rules.late == "quarantine" or self.events is not None)

    @property
    def replaces_rows(self) -> bool:
        return not self.merges

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        if not self.merges:
            return task
        if self.rules is None:
            return MergeTask(**vars(task), keys=self.keys, deletes=self.deletes, rewrites=self.rewrites)
        # What the first of several windows brings was not there when the target was counted.
        rows = (state.target.get(WHOLE_TABLE) or 0) if loads == 1 else None
        is_given = isinstance(task.entry.token, CursorWindow) and task.entry.token.is_given
        deletes = self.rules.tells_deletes or (self.rules.compares_keys and step.is_newest and not is_given)
        rules = replace(self.rules, target_rows=rows)
        return WindowTask(
            **vars(task),
            keys=self.keys,
            deletes=deletes,
            rewrites=self.rewrites,
            flag=self.mark,
            rules=rules,
            events=self.events,
        )

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        if self.merges and self.rules is not None:
            return merge_window(session, incoming, receipt_of)
        if self.merges:
            return merge_whole_table(
                session, incoming.task, incoming.ledger, incoming.batches, receipt_of, incoming.files
            )
        [loaded] = replace_rows(session, [incoming], receipt_of, rebuilds_indexes=self.rebuilds_indexes)
        return loaded


def _strategy(settings: Any, key: Sequence[str]) -> str:
    return settings.merge_strategy or ("upsert" if key else "replace")


def _required_key(settings: Any, source: TableSchema) -> tuple[str, ...]:
    key = key_of(settings, source, "keys")
    if not key:
        raise Unsupported(
            f"{settings.name}: nothing names a row of {source.name}, so changes cannot be merged.",
            UNTOUCHED,
            "Name `keys`, or use `load: append`, which needs none.",
        )
    return key


def _indexes(target: TableSchema) -> list[tuple[str, ...]]:
    return [key for key in (target.primary_key, *target.unique_keys, *target.indexes) if key]


def _begins_with(index: tuple[str, ...], key: tuple[str, ...]) -> bool:
    return index[0] in key


def _notices(settings: Any, key: tuple[str, ...], *, merges: bool, deletes: bool) -> list[Notice]:
    notices = []
    if not key:
        notices.append(Notice("nothing names a row: every change replaces the whole table"))
    if merges and not deletes:
        notices.append(Notice("`allow_deletes` is off: rows that leave the source stay in the target"))
    if merges and settings.merge_strategy == "replace":
        notices.append(Notice("other tables refer to it: only rows that differ are written, instead of replacing all"))
    return notices
