"""Replace a partition value: its old rows leave and its new rows arrive in one transaction, with the ledger row.

Inside of that transaction the rows are read back through the same canonicaliser that hashed them when they were
extracted. What does not equal the lake's receipt is rolled back, so nothing is ever committed unproven. Columns that
only the target has keep their values (`_own_columns.py`).

Several values are replaced in one transaction where rows went from one of them to another, and a key of the target
does not contain the partition column: each value alone would meet rows that the other still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.interfaces import Session
from tidegate.loads._own_columns import own_columns
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, Unit, enter, refused
from tidegate.model.columns import Column
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value
from tidegate.sql.partitions import delete_value, values_with_keys

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Replacement(Unit):
    """One value to be replaced."""

    column: Column
    proof: str
    keys: tuple[tuple[str, ...], ...] = ()
    """Keys of the target without the partition column, such as `(id)`: a row of another value may have the same one."""


@dataclass(frozen=True)
class Incoming:
    """One value to be replaced, with its ledger and its new rows."""

    work: Replacement
    book: Book
    batches: Batches


def replace(session: Session, work: Replacement, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """Its rows, and no others, hold the value when this ends well."""
    [loaded] = replace_together(session, [Incoming(work, book, batches)], receipt_of)
    return loaded


def replace_together(session: Session, incoming: Sequence[Incoming], receipt_of: ReceiptOf) -> list[Loaded]:
    """Replace all values, or none. Locks are taken in the order of `incoming`, which must be sorted by value."""
    with ExitStack() as stages:
        writes = [
            stages.enter_context(session.staged(one.work.request.table, one.work.written_columns, one.batches))
            for one in incoming
        ]
        own = [stages.enter_context(own_columns(session, one.work)) for one in incoming]
        with session.transaction():
            entered = [_enter(session, one, receipt_of) for one in incoming]
            replaced = [
                (work, one.book, write, kept)
                for work, one, write, kept in zip(entered, incoming, writes, own, strict=True)
                if not isinstance(work, Loaded)
            ]
            for work, _, _, kept in replaced:
                kept.save(work.request.rows)
                session.execute(delete_value(work.request.table, work.column, work.value))
            for work, _, write, _ in replaced:
                _require_all(work, write())
            for work, book, _, kept in replaced:
                kept.put_back()
                _prove(work, receipt_of)
                book.record(work.entry)
    return [work if isinstance(work, Loaded) else Loaded("loaded", work.entry.rows) for work in entered]


def _enter(session: Session, one: Incoming, receipt_of: ReceiptOf) -> Replacement | Loaded:
    """The value with a generation of its own, or how it ended without a write."""
    work = enter(session, one.work, one.book)
    if isinstance(work, Loaded):
        return work
    if work.look_first and receipt_of(work.request) == Receipt(work.entry.rows, work.entry.hash):
        one.book.record(work.entry)
        return Loaded("equal already")
    return work


def _require_all(work: Replacement, written: int) -> None:
    if written != work.entry.rows:
        raise refused(work, f"{work.entry.rows:,} rows were sent, the server took {written:,}")


def _prove(work: Replacement, receipt_of: ReceiptOf) -> None:
    if work.proof == "hash":
        expected, found = Receipt(work.entry.rows, work.entry.hash), receipt_of(work.request)
        if found != expected:
            raise refused(work, f"sent {expected}, read back {found}")


def values_in_the_way(
    session: Session, work: Replacement, cells: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
) -> set[Value | None]:
    """Return the partition values under which the target holds a key of the incoming rows; None for rows without one.

    `cells` reads the named columns of these rows. A key with a column that does not travel is left out."""
    by_name = {column.name: column for column in work.request.columns}
    found: set[Value | None] = set()
    for key in work.keys:
        if by_name.keys() >= {*key}:
            columns = [by_name[name] for name in key]
            with session.stage(work.request.table, columns, cells(key)) as stage:
                rows = session.query(values_with_keys(work.request.table, work.column, stage, columns))
            found |= {None if text is None else Value.of(text, work.value.kind) for (text,) in rows}
    return found
