"""Replace a partition value: its old rows leave and its new rows arrive in one transaction, with the ledger row.

Inside of that transaction the rows are read back through the same canonicaliser that hashed them when they were
extracted. What does not equal the lake's receipt is rolled back, so nothing is ever committed unproven.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tidegate.errors import Locked, ProofFailed
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column
from tidegate.model.evidence import LedgerEntry
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value
from tidegate.sql.partitions import delete_value

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Replacement:
    """One value to be replaced, and what is known of the rows that come."""

    table: str
    request: ReadRequest
    """How the rows are read back from the target; names the target table."""
    column: Column
    value: Value
    entry: LedgerEntry
    proof: str
    look_first: bool = False
    unless_hash: str = ""
    """Leave the target alone when both the file and the ledger have this hash."""


class Book(Protocol):
    """The ledger as far as one value is concerned."""

    def newest(self) -> LedgerEntry | None: ...

    def newest_run(self) -> str:
        """The run that took the table's lock last."""

    def record(self, entry: LedgerEntry) -> None: ...


def replace(
    session: Session,
    work: Replacement,
    book: Book,
    batches: Callable[[], Iterator[pa.RecordBatch]],
    receipt_of: Callable[[ReadRequest], Receipt],
) -> str:
    """`loaded`, `equal already` (nothing replaced), or `done before` by an earlier attempt of the same task."""
    with session.staged(work.request.table, work.request.columns, batches) as write, session.transaction():
        # One writer per value: a task of a run that is thought dead may still be at work.
        session.lock_in_transaction(f"tidegate value {work.table} {work.value}")
        _require_lock(work, book)
        last = book.newest()
        if last is not None and (last.run, last.hash) == (work.entry.run, work.entry.hash):
            return "done before"
        if last is not None and last.stands and work.unless_hash and last.hash == work.unless_hash == work.entry.hash:
            return "equal already"
        work = _after(work, last)
        if work.look_first and receipt_of(work.request) == Receipt(work.entry.rows, work.entry.hash):
            book.record(work.entry)
            return "equal already"
        session.execute(delete_value(work.request.table, work.column, work.value))
        _prove(work, write(), receipt_of)
        book.record(work.entry)
    return "loaded"


def _require_lock(work: Replacement, book: Book) -> None:
    """A run whose connection was lost no longer holds the table: who took over must not be overwritten by it."""
    current = book.newest_run()
    if current != work.entry.run:
        raise Locked(
            f"{work.table} {work.value}: run {current or 'unknown'} has taken the table over.",
            "This load was rolled back; the target keeps what it had.",
            "Nothing: the other run completes what is missing.",
        )


def _after(work: Replacement, last: LedgerEntry | None) -> Replacement:
    """A generation above everything that is there, also what came between planning and now."""
    if last is None or last.generation < work.entry.generation:
        return work
    return dataclasses.replace(work, entry=dataclasses.replace(work.entry, generation=last.generation + 1))


def _prove(work: Replacement, written: int, receipt_of: Callable[[ReadRequest], Receipt]) -> None:
    expected = Receipt(work.entry.rows, work.entry.hash)
    if written != expected.rows:
        raise _refused(work, f"{expected.rows:,} rows were sent, the server took {written:,}")
    if work.proof == "hash":
        found = receipt_of(work.request)
        if found != expected:
            raise _refused(work, f"sent {expected}, read back {found}")


def _refused(work: Replacement, difference: str) -> ProofFailed:
    return ProofFailed(
        f"{work.table} {work.value}: the target does not hold what was loaded ({difference}).",
        "The load was rolled back; the target keeps what it had.",
        "Look for triggers, rules or generated columns on the target table that change rows.",
    )
