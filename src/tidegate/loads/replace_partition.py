"""Replace a partition value: its old rows leave and its new rows arrive in one transaction, with the ledger row.

Inside of that transaction the rows are read back through the same canonicaliser that hashed them when they were
extracted. What does not equal the lake's receipt is rolled back, so nothing is ever committed unproven. Columns that
only the target has keep their values (`_own_columns.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.interfaces import Session
from tidegate.loads._own_columns import own_columns
from tidegate.loads._unit import Batches, Book, Loaded, ReceiptOf, Unit, enter, refused
from tidegate.model.columns import Column
from tidegate.model.receipt import Receipt
from tidegate.sql.partitions import delete_value


@dataclass(frozen=True, kw_only=True)
class Replacement(Unit):
    """One value to be replaced."""

    column: Column
    proof: str


def replace(session: Session, work: Replacement, book: Book, batches: Batches, receipt_of: ReceiptOf) -> Loaded:
    """Its rows, and no others, hold the value when this ends well."""
    with (
        session.staged(work.request.table, work.written_columns, batches) as write,
        own_columns(session, work) as kept,
        session.transaction(),
    ):
        entered = enter(session, work, book)
        if isinstance(entered, Loaded):
            return entered
        work = entered
        if work.look_first and receipt_of(work.request) == Receipt(work.entry.rows, work.entry.hash):
            book.record(work.entry)
            return Loaded("equal already")
        kept.save(work.request.rows)
        session.execute(delete_value(work.request.table, work.column, work.value))
        written = write()
        kept.put_back()
        _prove(work, written, receipt_of)
        book.record(work.entry)
    return Loaded("loaded", work.entry.rows)


def _prove(work: Replacement, written: int, receipt_of: ReceiptOf) -> None:
    expected = Receipt(work.entry.rows, work.entry.hash)
    if written != expected.rows:
        raise refused(work, f"{expected.rows:,} rows were sent, the server took {written:,}")
    if work.proof == "hash":
        found = receipt_of(work.request)
        if found != expected:
            raise refused(work, f"sent {expected}, read back {found}")
