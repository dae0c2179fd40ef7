"""Merge a table by its key: rows that are missing come, rows that differ change, and what is gone leaves if allowed.

Which rows differ is told by our own hashes of both sides, so that case, blanks and nulls count as they are. Only those
rows travel: into stages first, then in one transaction into the table. Inside of it the table is read back: every row
of the source must be there as it left, and nothing else where deletes are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from tidegate.errors import NotNative, Transient, ValueProblem
from tidegate.interfaces import Session
from tidegate.loads._own_columns import own_columns
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, Unit, enter, proved, refused, with_entry
from tidegate.model.columns import Column
from tidegate.model.evidence import LedgerEntry
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.sql.staged import delete_staged, update_staged, with_partner

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.rows.differences import Content, Difference


@dataclass(frozen=True, kw_only=True)
class Merge(Unit):
    """A whole table that is to hold what a file holds."""

    keys: tuple[str, ...]
    deletes: bool
    rewrites: bool = False
    """Rows that change leave and come again: no update moves values of another unique key from row to row, since
    servers look at each row by itself."""

    @property
    def key_columns(self) -> list[Column]:
        return [column for name in self.keys for column in self.request.columns if column.name == name]

    @property
    def other_columns(self) -> list[Column]:
        return [column for column in self.request.columns if column.name not in self.keys]


def merge(session: Session, work: Merge, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """The target holds every row of the file when this ends well, and no other where deletes are allowed."""
    before = book.newest()
    new, old = _content(work, proved(work, batches)()), _held(work, session)
    found = _difference(new, old)
    for side, content, twice in zip(("source", "target"), (new, old), found.twice, strict=True):
        _require_keys(work, side, content.without_key(), content.named(twice))
    with ExitStack() as stages:
        change = _Change(session, work, found, batches, stages)
        with session.transaction():
            entered = enter(session, work, book)
            if isinstance(entered, Loaded):
                return entered
            if book.newest() != before:
                raise _moved(work)
            fresh, changed, gone = change.apply()
            left = _proven(entered, session, new, found, receipt_of)
            book.record(with_entry(entered, newest=left.as_text()).entry)
    if not fresh + changed + gone:
        return Loaded("equal already")
    met = "; somebody had changed rows of the target" if _is_unlike(work, old, before) else ""
    return Loaded("loaded", fresh + changed, f"{fresh:,} inserted, {changed:,} updated, {gone:,} deleted{met}")


def _is_unlike(work: Merge, old: Content, before: LedgerEntry | None) -> bool:
    """Whether the target held something else than the last load left there, where both were read alike."""
    if before is None or before.kind != "loaded":
        return False
    alike = (before.columns, before.text_columns) == (work.entry.columns, work.request.text_columns)
    return alike and before.newest != old.receipt.as_text()


def _held(work: Merge, session: Session) -> Content:
    """What the target holds. A column with a value that the source's cannot have is read as text: no row of it is then
    like one of the source, and all are written again."""
    request = work.request
    while True:
        try:
            return _content(work, session.read(request))
        except NotNative as met:
            if met.column in (*work.keys, *request.text_columns):
                raise
            request = request.with_text((met.column,))


def _content(work: Merge, batches: Iterator[pa.RecordBatch]) -> Content:
    from tidegate.rows.arrow import arrow_schema
    from tidegate.rows.differences import content_of

    schema = arrow_schema(work.key_columns, work.request.text_columns)
    return content_of(batches, schema, work.keys)


def _difference(new: Content, old: Content) -> Difference:
    from tidegate.rows.differences import difference

    return difference(new, old)


def _require_keys(work: Merge, side: str, without: list[str], twice: list[str]) -> None:
    key = ", ".join(work.keys)
    for examples, what in ((without, "has no value"), (twice, "is not unique")):
        if examples:
            raise ValueProblem(
                f"{work.table}: the key ({key}) {what} in the {side}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Name other `primary_keys`, correct these rows, or use `merge_strategy: replace`, which needs no key.",
            )


def _moved(work: Merge) -> Transient:
    return Transient(
        f"{work.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


class _Change:
    """Rows on their way: staged before the transaction, applied inside of it. Those that leave go first, so that what
    they held of a unique key is free."""

    def __init__(self, session: Session, work: Merge, found: Difference, batches: Batches, stages: ExitStack) -> None:
        from tidegate.rows.differences import picked

        self._session, self._work = session, work
        self._leaving: TableName | None = None
        self._changed: TableName | None = None
        self._again = int(found.changed.sum()) if work.rewrites or self._are_all_fixed() else 0
        table, keys = work.request.table, work.key_columns
        names = [column.name for column in (*keys, *work.other_columns)]
        if self._again or (work.deletes and found.gone.num_rows):
            gone = found.gone.to_batches() if work.deletes else []
            again = picked(batches(), found.changed, work.keys) if self._again else ()
            self._leaving = stages.enter_context(session.stage(table, keys, chain(gone, again)))
        if found.changed.any() and not self._again:
            rows = picked(batches(), found.changed, names)
            self._changed = stages.enter_context(session.stage(table, [*keys, *work.other_columns], rows))
        written = [column.name for column in work.written_columns]
        coming = found.fresh | found.changed if self._again else found.fresh
        self._insert = stages.enter_context(
            session.staged(table, work.written_columns, lambda: picked(batches(), coming, written))
        )
        self._kept = stages.enter_context(own_columns(session, work, keys)) if self._again else None

    def _are_all_fixed(self) -> bool:
        """Whether there is nothing besides the key that an update could change."""
        fixed = not self._session.database.updates_identity
        return all(fixed and column.identity for column in self._work.other_columns)

    def apply(self) -> tuple[int, int, int]:
        """How many rows came, changed and left, as the server counted them."""
        table, keys = self._work.request.table, self._work.key_columns
        left = changed = 0
        if self._leaving is not None:
            if self._kept is not None:
                self._kept.save(with_partner(self._leaving, keys))
            left = self._session.execute(delete_staged(table, self._leaving, keys))
        if self._changed is not None:
            identity = self._session.database.updates_identity
            statement = update_staged(table, self._changed, keys, self._work.other_columns, identity=identity)
            changed = self._session.execute(statement)
        came = self._insert()
        if self._kept is not None:
            self._kept.put_back()
        return came - self._again, changed + self._again, left - self._again


def _proven(work: Merge, session: Session, new: Content, meant: Difference, receipt_of: ReceiptOf) -> Receipt:
    """What the target holds now. Raises ProofFailed."""
    held = receipt_of(work.request)
    if held.same_as(new.receipt if work.deletes else new.receipt + meant.besides):
        return held
    missing, unlike, more = _difference(new, _content(work, session.read(work.request))).counts
    besides = 0 if work.deletes else meant.counts[2]
    told = f"{missing:,} rows missing, {unlike:,} unlike, {more - besides:,} too many of {new.rows:,}"
    raise refused(work, told)
