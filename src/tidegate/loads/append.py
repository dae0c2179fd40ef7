"""Append rows, and drop those that are there already: by their key, or by their content where nothing names a row.

Nothing in the target is changed or deleted, so a repeated run adds nothing. Without a key, the target's rows of the
same cursor values are read, and equal rows count: two equal rows of the source are two rows of the target.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tidegate.errors import Unsupported
from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.load import (
    Batches,
    Incoming,
    Load,
    Loaded,
    LoadTask,
    LogRules,
    ReceiptOf,
    Requirements,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.interfaces.session import Session
from tidegate.loads._keys import key_of
from tidegate.loads._merge_window import WindowTask, merge_window
from tidegate.loads._window_rows import WindowRules, log_rules_of
from tidegate.model.columns import TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.plan import Load as LoadStep
from tidegate.model.receipt import Receipt
from tidegate.model.state import TableState
from tidegate.model.tokens import IncrementalWindow
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import Settings
from tidegate.sql import watermarks
from tidegate.sql.text import Sql
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable

if TYPE_CHECKING:
    from tidegate.hashing.differences import Mask
    from tidegate.hashing.rows import Words


class AppendSettings(Settings):
    """How rows are appended."""

    duplicates: Literal["latest", "refuse", "keep"] | None = None
    """Of several rows of a key in one window the newest counts (`latest`, where there is a key), or the load is refused
    (`refuse`), or all are kept (`keep`, where there is no key)."""
    late: Literal["merge", "quarantine", "report"] = "merge"
    """Rows of a key from below the watermark are appended like others and counted (`merge`), and also warned of
    (`report`). Or they stay out of the target, in the table `late_arriving_data` (`quarantine`)."""


@dataclass(frozen=True, kw_only=True)
class AppendTask(LoadTask):
    """Rows without a key that are to be appended."""

    cursor: Cursor
    """The cursor, in columns of the target."""
    keeps_duplicates: bool
    target_rows: int | None
    """How many rows the target had when the load was planned; None where that is not known."""


@dataclass(frozen=True)
class Append(Load):
    """The load of one table to which rows are appended."""

    name = "append"
    Settings = AppendSettings
    updates_rows = False

    keys: tuple[str, ...]
    rules: WindowRules
    cursor: Cursor
    keeps_duplicates: bool

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        return Requirements(source, keys=key_of(settings, source, "keys"), deletes=False)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        assert change.cursor is not None
        keys, duplicates = required.keys, settings.duplicates or ("latest" if required.keys else "keep")
        if keys and duplicates == "keep":
            raise Unsupported(
                f"{settings.name}: `duplicates: keep` does not fit the key ({', '.join(keys)}), which names one row.",
                UNTOUCHED,
                "Use `duplicates: latest`, or name other `keys`.",
            )
        if not keys and settings.late != "merge":
            raise Unsupported(
                f"{settings.name}: `late: {settings.late}` tells rows apart by their key, and nothing names a row.",
                UNTOUCHED,
                "Name `keys`, or leave out `late`.",
            )
        orders_target = change.cursor.is_extracted and all(
            catalogs.target.database.value_kind(table.in_target(column)) is catalogs.source.database.value_kind(column)
            for column in change.cursor.columns
        )
        if not keys and not orders_target:
            raise Unsupported(
                f"{settings.name}: rows of the target cannot be found by {change.cursor}, and nothing names a row.",
                UNTOUCHED,
                "Name `keys`.",
            )
        tie_breaker = change.tie_breaker.name if change.tie_breaker is not None else None
        rules = WindowRules(change.cursor, tie_breaker, duplicates, settings.late)
        cursor = change.cursor
        if orders_target:
            cursor = replace(cursor, columns=tuple(table.in_target(column) for column in cursor.columns))
        return cls(keys, rules, cursor, duplicates == "keep"), table

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, deletes=False)

    @property
    def log_rules(self) -> LogRules:
        if self.keys:
            return log_rules_of(self.keys, self.rules)
        return LogRules((), keeps_equal_rows=self.keeps_duplicates)

    @property
    def keeps_rows_aside(self) -> bool:
        return bool(self.keys) and self.rules.late == "quarantine"

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        rows = (state.target.get(WHOLE_TABLE) or 0) if loads == 1 else None
        if self.keys:
            rules = replace(self.rules, target_rows=rows)
            return WindowTask(**vars(task), keys=self.keys, deletes=False, updates=False, rules=rules)
        return AppendTask(**vars(task), cursor=self.cursor, keeps_duplicates=self.keeps_duplicates, target_rows=rows)

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        if self.keys:
            return merge_window(session, incoming, receipt_of)
        return _append_by_content(session, incoming, receipt_of)


def _append_by_content(session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
    from tidegate.hashing.differences import select_rows
    from tidegate.hashing.rows import sum_hashes

    task: AppendTask = incoming.task
    task = replace(task, request=replace(task.request, rows=_rows_of_window(task)))
    before = incoming.ledger.newest()
    new = _hashes(proved_columns(task, incoming.batches))
    old = _hashes(lambda: session.read(task.request)) if task.target_rows != 0 else new[:0]
    missing = _missing(new, old, keeps_duplicates=task.keeps_duplicates)
    added = new[missing]
    expected = Receipt.of_sum(len(old) + len(added), sum_hashes(old) + sum_hashes(added))
    written = [column.name for column in task.written_columns]
    with ExitStack() as stages:
        insert = stages.enter_context(
            session.bulk_insert(
                task.request.table,
                task.written_columns,
                lambda: select_rows(incoming.batches(), missing, written),
                incoming.files if missing.all() else None,
            )
        )
        with session.transaction():
            fenced = acquire_fence(session, task, incoming.ledger)
            if isinstance(fenced, Loaded):
                return fenced
            inserted = insert()
            left = receipt_of(task.request)
            if incoming.ledger.newest() != before or not left.same_as(expected):
                raise proof_failed(task, f"expected {expected}, read back {left}")
            rows = None if task.target_rows is None else task.target_rows + inserted
            incoming.ledger.record(with_entry(fenced, target_rows=rows).entry)
    counts = {"inserted": inserted}
    if not inserted:
        return Loaded("equal already", counts=counts)
    return Loaded("loaded", inserted, f"{inserted:,} inserted", counts)


def _rows_of_window(task: AppendTask) -> Sql | None:
    """Return the condition for rows of the target with the cursor values of the window."""
    window = task.entry.token
    assert isinstance(window, IncrementalWindow)
    if window.upto is None:
        return watermarks.is_missing(task.cursor)
    return watermarks.between(task.cursor, window.after, window.upto, with_missing=bool(window.without_cursor))


def _hashes(batches: Batches) -> Words:
    import numpy as np

    from tidegate.hashing.rows import hash_rows

    return np.concatenate([np.zeros((0, 2), np.uint64), *(hash_rows(batch) for batch in batches())])


def _missing(new: Words, old: Words, *, keeps_duplicates: bool) -> Mask:
    """Return the rows that the target lacks: of each content as many as it has too few, or one where equal rows are one
    row."""
    import numpy as np

    from tidegate.hashing.differences import sort_equal_together

    # Of equal rows, those of the target come first.
    order, equals_next = sort_equal_together(np.concatenate([old, new]))
    is_old = order < len(old)
    group = np.cumsum(np.concatenate([[False], ~equals_next])) if len(order) else np.zeros(0, np.int64)
    held = np.bincount(group, weights=is_old).astype(np.int64)[group] if len(order) else group
    first_of_group = np.searchsorted(group, group)
    rank = np.arange(len(order)) - first_of_group - held  # among the equal rows that come
    lacks = ~is_old & ((rank >= held) if keeps_duplicates else (held == 0) & (rank == 0))
    missing = np.zeros(len(new), bool)
    missing[order[lacks] - len(old)] = True
    return missing
