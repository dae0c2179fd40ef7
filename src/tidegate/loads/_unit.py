"""What every load shares: one window, one transaction, entered in the ledger once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from tidegate.errors import Locked, ProofFailed
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column
from tidegate.model.evidence import LedgerEntry
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value

if TYPE_CHECKING:
    import pyarrow as pa

Batches: TypeAlias = "Callable[[], Iterator[pa.RecordBatch]]"
ReceiptOf: TypeAlias = Callable[[ReadRequest], Receipt]


@dataclass(frozen=True)
class Unit:
    """One window to be loaded, and what is known of the rows that come."""

    table: str
    request: ReadRequest
    """How the rows are read back from the target; names the target table."""
    value: Value
    entry: LedgerEntry
    look_first: bool = False
    unless_hash: str = ""
    """Leave the target alone when both the file and the ledger have this hash."""
    own_columns: tuple[Column, ...] = ()
    """Columns that only the target has: rows that are replaced keep their values."""
    own_key: tuple[Column, ...] = ()
    """A key of the target that finds a row again; empty when it has none."""
    restored_columns: tuple[Column, ...] = ()
    """Those of the own columns that the file still has: rows that the target lost get the values of the file.
    Batches have them after the columns of the request; they are not proved."""

    @property
    def written_columns(self) -> tuple[Column, ...]:
        """The columns of the file's batches."""
        return (*self.request.columns, *self.restored_columns)


AnyUnit = TypeVar("AnyUnit", bound=Unit)


@dataclass(frozen=True)
class Loaded:
    """How a load ended: `loaded`, `equal already` (nothing written), or `done before` by an earlier attempt."""

    result: str
    rows: int = 0
    detail: str = ""


class Book(Protocol):
    """The ledger as far as one window is concerned."""

    def newest(self) -> LedgerEntry | None: ...

    def newest_run(self) -> str:
        """The run that took the table's lock last."""

    def record(self, entry: LedgerEntry) -> None: ...


def enter(session: Session, work: AnyUnit, book: Book) -> AnyUnit | Loaded:
    """Joins the open transaction: the unit with a generation of its own, or how it ended before it began."""
    # One writer per window: a task of a run that is thought dead may still be at work.
    session.lock_in_transaction(f"tidegate value {work.table} {work.value}")
    session.take_turns(work.request.table)
    _require_lock(work, book)
    last = book.newest()
    if last is not None and (last.run, last.hash) == (work.entry.run, work.entry.hash):
        return Loaded("done before", work.entry.rows)
    if last is not None and last.stands and work.unless_hash and last.hash == work.unless_hash == work.entry.hash:
        return Loaded("equal already")
    return _after(work, last)


def _require_lock(work: Unit, book: Book) -> None:
    """A run whose connection was lost no longer holds the table: who took over must not be overwritten by it."""
    current = book.newest_run()
    if current != work.entry.run:
        raise Locked(
            f"{work.table} {work.value}: run {current or 'unknown'} has taken the table over.",
            "This load was rolled back; the target keeps what it had.",
            "Nothing: the other run completes what is missing.",
        )


def _after(work: AnyUnit, last: LedgerEntry | None) -> AnyUnit:
    """A generation above everything that is there, also what came between planning and now."""
    if last is None or last.generation < work.entry.generation:
        return work
    return dataclasses.replace(work, entry=dataclasses.replace(work.entry, generation=last.generation + 1))


def proved(work: Unit, batches: Batches) -> Batches:
    """The rows in the columns of the request alone, which are compared and proved."""
    if not work.restored_columns:
        return batches
    names = [column.name for column in work.request.columns]
    return lambda: (batch.select(names) for batch in batches())


def with_entry(work: AnyUnit, **changes: Any) -> AnyUnit:
    return dataclasses.replace(work, entry=dataclasses.replace(work.entry, **changes))


def refused(work: Unit, difference: str) -> ProofFailed:
    return ProofFailed(
        f"{work.table} {work.value}: the target does not hold what was loaded ({difference}).",
        "The load was rolled back; the target keeps what it had.",
        "Look for triggers, rules or generated columns on the target table that change rows.",
    )
