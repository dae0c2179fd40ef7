"""Merge a table by its key: insert missing rows, update rows that differ, and delete rows where that is allowed.

Which rows differ is told by our own hashes of both sides, so that case, blanks and nulls count as they are. Only those
rows travel: into staging tables first, then in one transaction into the table. Inside of it the table is read back:
every row of the source must be there as it left, and nothing else where deletes are allowed. A table without a key is
replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from tidegate.errors import NotNative, Transient, Unsupported, ValueProblem
from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.database import Session
from tidegate.interfaces.load import (
    Batches,
    Incoming,
    LedgerView,
    Load,
    Loaded,
    LoadTask,
    ReceiptOf,
    Requirements,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.loads._own_columns import own_columns
from tidegate.loads._replace import replace_rows
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.receipt import Receipt
from tidegate.model.state import LedgerEntry, TableState
from tidegate.settings import Columns, Settings
from tidegate.sql.staged import delete_by_stage, key_is_staged, update_from_stage
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable, named_column

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Content, Difference


class MergeSettings(Settings):
    """How a whole table is applied."""

    primary_keys: Columns | None = None
    """What names a row. The source's primary key, or a unique key without nulls, when it is left out."""
    merge_strategy: Literal["upsert", "replace"] | None = None
    """`upsert` writes the rows that differ, `replace` the whole table; without a key it can only be replaced."""
    allow_deletes: bool = False
    """Whether `upsert` deletes what the source no longer has. `replace` always does."""


@dataclass(frozen=True)
class Merge(Load):
    """The load of one table that is compared as a whole."""

    name = "merge"
    Settings = MergeSettings

    keys: tuple[str, ...]
    """What names a row; empty when nothing does."""
    merges: bool
    """Rows that differ are written by their key; otherwise the whole table is replaced."""
    deletes: bool
    rewrites: bool
    """Rows that change leave the target and come again, so that values of its other unique keys may change places."""

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        key = _key(settings, source)
        return Requirements(source, keys=key, deletes=_strategy(settings, key) == "replace" or settings.allow_deletes)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
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
        rewrites = table.target is not None and not referenced and _may_change_places(table.target, key, copied)
        notices = _notices(settings, key, merges=merges, deletes=required.deletes)
        return cls(key, merges, required.deletes, rewrites), replace(table, notices=(*table.notices, *notices))

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, deletes=self.deletes)

    @property
    def replaces_rows(self) -> bool:
        return not self.merges

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        if not self.merges:
            return task
        return MergeTask(**vars(task), keys=self.keys, deletes=self.deletes, rewrites=self.rewrites)

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        if self.merges:
            return merge(session, incoming.task, incoming.ledger, incoming.batches, receipt_of)
        [loaded] = replace_rows(session, [incoming], receipt_of)
        return loaded


def _strategy(settings: Any, key: Sequence[str]) -> str:
    return settings.merge_strategy or ("upsert" if key else "replace")


def _key(settings: Any, source: TableSchema) -> tuple[str, ...]:
    """Return the key as the source spells it: configured, the primary key, or a unique key without nulls."""
    if settings.primary_keys:
        return tuple(named_column(settings, source, name, "primary_keys").name for name in settings.primary_keys)
    required = {column.name for column in source.columns if not column.nullable}
    candidates = [key for key in (source.primary_key, *sorted(source.unique_keys, key=len)) if key]
    return next((key for key in candidates if key == source.primary_key or set(key) <= required), ())


def _may_change_places(target: TableSchema, key: tuple[str, ...], copied: set[str]) -> bool:
    """Return whether something else than the key is unique in the target, which has nothing of its own to lose."""
    others = [unique for unique in (target.primary_key, *target.unique_keys) if not set(unique) <= set(key)]
    return bool(others) and all(column.name in copied or column.generated for column in target.columns)


def _notices(settings: Any, key: tuple[str, ...], *, merges: bool, deletes: bool) -> list[Notice]:
    notices = []
    if not key:
        notices.append(Notice("nothing names a row: every change replaces the whole table"))
    if merges and not deletes:
        notices.append(Notice("`allow_deletes` is off: rows that leave the source stay in the target"))
    if merges and settings.merge_strategy == "replace":
        notices.append(Notice("other tables refer to it: only rows that differ are written, instead of replacing all"))
    return notices


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


def merge(session: Session, task: MergeTask, ledger: LedgerView, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """Make the target hold every row of the entry, and no other where deletes are allowed."""
    before = ledger.newest()
    new, old = _content(task, proved_columns(task, batches)()), _held(task, session)
    found = _difference(new, old)
    for side, content, twice in zip(("source", "target"), (new, old), found.duplicates, strict=True):
        _require_keys(task, side, content.null_key_examples(), content.key_examples(twice))
    with ExitStack() as stages:
        change = _Change(session, task, found, batches, stages)
        with session.transaction():
            fenced = acquire_fence(session, task, ledger)
            if isinstance(fenced, Loaded):
                return fenced
            if ledger.newest() != before:
                raise _moved(task)
            fresh, changed, gone = change.apply()
            left = _proven(fenced, session, new, found, receipt_of)
            ledger.record(with_entry(fenced, target_rows=left.rows, target_hash=left.hash).entry)
    if not fresh + changed + gone:
        return Loaded("equal already")
    met = "; somebody had changed rows of the target" if _is_unlike(task, old, before) else ""
    return Loaded("loaded", fresh + changed, f"{fresh:,} inserted, {changed:,} updated, {gone:,} deleted{met}")


def _is_unlike(task: MergeTask, old: Content, before: LedgerEntry | None) -> bool:
    """Return whether the target held something else than the last load left there, where both were read alike."""
    if before is None or before.kind != "loaded":
        return False
    alike = (before.columns, before.text_columns) == (task.entry.columns, task.request.text_columns)
    return alike and before.target_receipt != old.receipt


def _held(task: MergeTask, session: Session) -> Content:
    """Return what the target holds. A column with a value that the source's cannot have is read as text: then no row
    equals one of the source, and all are written again."""
    request = task.request
    while True:
        try:
            return _content(task, session.read(request))
        except NotNative as met:
            if met.column in (*task.keys, *request.text_columns):
                raise
            request = request.with_text((met.column,))


def _content(task: MergeTask, batches: Iterator[pa.RecordBatch]) -> Content:
    from tidegate.hashing.arrow import arrow_schema
    from tidegate.hashing.differences import hash_content

    schema = arrow_schema(task.key_columns, task.request.text_columns)
    return hash_content(batches, schema, task.keys)


def _difference(new: Content, old: Content) -> Difference:
    from tidegate.hashing.differences import compare_content

    return compare_content(new, old)


def _require_keys(task: MergeTask, side: str, without: list[str], twice: list[str]) -> None:
    key = ", ".join(task.keys)
    for examples, what in ((without, "has no value"), (twice, "is not unique")):
        if examples:
            raise ValueProblem(
                f"{task.table}: the key ({key}) {what} in the {side}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Name other `primary_keys`, correct these rows, or use `merge_strategy: replace`, which needs no key.",
            )


def _moved(task: MergeTask) -> Transient:
    return Transient(
        f"{task.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


class _Change:
    """The rows that differ: staged before the transaction, applied inside of it. Deletes go first, so that their values
    of a unique key are free."""

    def __init__(
        self, session: Session, task: MergeTask, found: Difference, batches: Batches, stages: ExitStack
    ) -> None:
        from tidegate.hashing.differences import select_rows

        self._session, self._task = session, task
        self._leaving: TableName | None = None
        self._changed: TableName | None = None
        self._again = int(found.changed.sum()) if task.rewrites or self._are_all_fixed() else 0
        table, keys = task.request.table, task.key_columns
        names = [column.name for column in (*keys, *task.other_columns)]
        if self._again or (task.deletes and found.removed.num_rows):
            gone = found.removed.to_batches() if task.deletes else []
            again = select_rows(batches(), found.changed, task.keys) if self._again else ()
            self._leaving = stages.enter_context(session.staging_table(table, keys, chain(gone, again)))
        if found.changed.any() and not self._again:
            rows = select_rows(batches(), found.changed, names)
            self._changed = stages.enter_context(session.staging_table(table, [*keys, *task.other_columns], rows))
        written = [column.name for column in task.written_columns]
        coming = found.inserted | found.changed if self._again else found.inserted
        self._insert = stages.enter_context(
            session.bulk_insert(table, task.written_columns, lambda: select_rows(batches(), coming, written))
        )
        self._kept = stages.enter_context(own_columns(session, task, keys)) if self._again else None

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


def _proven(task: MergeTask, session: Session, new: Content, meant: Difference, receipt_of: ReceiptOf) -> Receipt:
    """Return the receipt of what the target holds now. Raises ProofFailed."""
    held = receipt_of(task.request)
    if held.same_as(new.receipt if task.deletes else new.receipt + meant.removed_receipt):
        return held
    missing, unlike, more = _difference(new, _content(task, session.read(task.request))).counts
    besides = 0 if task.deletes else meant.counts[2]
    difference = f"{missing:,} rows missing, {unlike:,} unlike, {more - besides:,} too many of {new.rows:,}"
    raise proof_failed(task, difference)
