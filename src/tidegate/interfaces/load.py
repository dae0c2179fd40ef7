"""What a load offers: how a window of the lake is applied to the target.

A load applies one lake entry in one transaction, proves it, and records it in the ledger in the same transaction.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from tidegate.errors import Locked, ProofFailed, Unsupported
from tidegate.interfaces.change import AnyChange, ChangeColumns, LoadNeeds
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.stored_files import StoredFile
from tidegate.model.columns import Column, TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.names import TableName
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Step
from tidegate.model.receipt import Receipt
from tidegate.model.stages import StageRecord
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.values import Value
from tidegate.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.tables.found import Catalogs, FoundTable

Batches: TypeAlias = "Callable[[], Iterator[pa.RecordBatch]]"
Files: TypeAlias = Callable[[], list[StoredFile]]
ReceiptOf: TypeAlias = Callable[[ReadRequest], Receipt]


@dataclass(frozen=True)
class LoadTask:
    """One window to be loaded, and what is known of the rows that come."""

    table: str
    """The target table, as the ledger knows it."""
    request: ReadRequest
    """How the rows of the window are read back from the target; names the target table."""
    window: Value
    entry: LedgerEntry
    """What the ledger is to record."""
    compare_first: bool = False
    """The target has rows that the ledger does not know: compare, and only record when they are equal."""
    keeps_unless: tuple[str, ...] | None = None
    """With `compare_first`: rows that differ stay, unless they are fewer than the new ones or have such a hash."""
    unless_hash: str = ""
    """Leave the target alone when both the lake entry and the ledger have this hash."""
    own_columns: tuple[Column, ...] = ()
    """Columns that only the target has: rows that are replaced keep their values."""
    own_key: tuple[Column, ...] = ()
    """A key of the target that finds a row again; empty when it has none."""
    restored_columns: tuple[Column, ...] = ()
    """Those of the own columns that the lake entry still has: rows that the target lost get its values. Batches have
    them after the columns of the request; they are not proved."""

    @property
    def written_columns(self) -> tuple[Column, ...]:
        """Return the columns of the lake entry's batches."""
        return (*self.request.columns, *self.restored_columns)

    def columns(self, names: Sequence[str]) -> list[Column]:
        by_name = {column.name: column for column in self.request.columns}
        return [by_name[name] for name in names]


AnySettings: TypeAlias = Settings
"""The class of settings, where a class has an attribute of that name."""
AnyTask = TypeVar("AnyTask", bound=LoadTask)


@dataclass(frozen=True)
class Loaded:
    """The outcome of a load: `loaded`, `equal already` (nothing written), `done before` (by an earlier attempt), or
    `kept` (rows of the target that differ were left as they are)."""

    result: str
    rows: int = 0
    detail: str = ""
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """How many rows were inserted, updated, deleted and so on, where the load tells them apart."""
    warning: str = ""
    """What a person should know of the rows that were loaded."""


class StageBook(Protocol):
    """The ledger's book of stages and archives (`model/stages.py`). Joins an open transaction."""

    def add(self, record: StageRecord) -> None: ...

    def replace(self, record: StageRecord) -> None: ...

    def remove(self, name: TableName) -> None: ...

    def records(self, table: str) -> list[StageRecord]:
        """Return the records of a target table, oldest first."""


@dataclass(frozen=True)
class AsideRow:
    """A row of a window that does not go into the target, as it is kept beside it."""

    identity: str
    """Tells the row from all others that are kept: the same row comes again with every look-back."""
    key: str
    hash: str
    record: str
    """The row as a JSON object."""


class RowsAside(Protocol):
    """Tidegate's own tables of rows that did not go into the target. Each row is kept once."""

    @property
    def is_there(self) -> bool:
        """Whether the tables exist: `tidegate schema create` and settings that need them create them."""

    def keep_late(self, rows: Iterable[AsideRow], column: str, reached: str) -> int:
        """Keep rows from below the watermark. Joins an open transaction. Return how many were new."""

    def keep_duplicates(self, rows: Iterable[AsideRow], keys: Sequence[str], rule: str) -> int:
        """Keep rows whose key another row of the window has. Joins an open transaction. Return how many were new."""


class EventsKept(Protocol):
    """Tidegate's own table of the changes that a change feed told."""

    def keep_events(
        self, changes: Batches, keys: Sequence[str], seconds: int
    ) -> AbstractContextManager[Callable[[], int]]:
        """Prepare to keep changes; yield the function that does so inside of the transaction, and returns how many.

        Events that were committed so many seconds ago leave."""


class LedgerView(Protocol):
    """The ledger, as far as one window is concerned."""

    @property
    def stages(self) -> StageBook: ...

    @property
    def aside(self) -> RowsAside: ...

    @property
    def events(self) -> EventsKept: ...

    def reached(self, place: str) -> None:
        """Tell how far a load came: a run may be interrupted there."""

    def newest(self) -> LedgerEntry | None: ...

    def newest_run(self) -> str:
        """Return the run that took the table's lock last."""

    def record(self, entry: LedgerEntry) -> None: ...


@dataclass(frozen=True)
class Incoming:
    """One window on its way into the target: the task, its ledger and its rows."""

    task: Any
    ledger: LedgerView
    batches: Batches
    files: Files | None = None
    """Returns the files of the lake entry in object storage, where they hold exactly the columns that are written."""
    keys: Batches | None = None
    """The keys that the source had when the rows were read, where the lake keeps them."""
    extracted: Callable[[Sequence[str]], Iterator[pa.RecordBatch]] | None = None
    """Reads columns of every row that was ever extracted into a log."""
    lake: Lake | None = None
    """The lake, for a load that keeps its target there."""


@dataclass(frozen=True)
class Requirements:
    """What a load asks of the table before the schemas of both sides are compared."""

    source: TableSchema
    """The source's schema, with columns that the load generates."""
    keys: tuple[str, ...] = ()
    keep_types: Collection[str] = ()
    """Columns that keep their type whatever the settings ask."""
    needed: tuple[Column, ...] = ()
    """Columns that an existing target must have."""
    index: Column | None = None
    """The column that a new target table is indexed by."""
    deletes: bool = True
    """Whether the load takes rows away."""
    generated: tuple[str, ...] = ()
    """Names of columns that the load generates."""


@dataclass(frozen=True)
class LogRules:
    """Which rows of a log make the state of its table: of each key the row that was read last."""

    keys: tuple[str, ...]
    """What names a row. Without it rows are told apart by their content."""
    cursor: Cursor | None = None
    """Its greatest value decides where one window has several rows of a key, and then that of the tie breaker."""
    tie_breaker: str | None = None
    follows_deletes: bool = False
    """Rows leave whose key the source no longer had when all its keys were read."""
    tells_deletes: bool = False
    """Each window comes with the keys that changed: those without a row in it have left."""
    keeps_equal_rows: bool = False
    """Without keys: a window with two equal rows makes two rows."""
    newest_window: bool = False
    """Every window has all rows of the table: the newest one is its state."""


@dataclass(frozen=True)
class ExchangedRows:
    """How rows may go from one window to another under a key that both know."""

    column: Column
    """The column that tells windows apart."""
    keys: tuple[tuple[str, ...], ...]
    """The keys under which a row of another window may be in the way."""
    loads_nulls: bool = False
    """Rows without a value are a window, too."""


class Load(ABC):
    """How one table is applied. The class is found by its name; an object belongs to one table.

    Its `Settings` are keys of the table in `tidegate.yml`. Objects travel to Spark tasks."""

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    changes: ClassVar[tuple[str, ...]] = ()
    """Changes that the load fits although they do not know it: those of others, for a load that is a plug-in."""
    updates_rows: ClassVar[bool] = True
    """Whether rows of the target are changed in place."""
    takes_transform: ClassVar[bool] = True
    """Whether rows may become others between lake and target: what the load makes of them can still be proved."""

    @classmethod
    def settings_for(cls, change: type[AnyChange]) -> type[AnySettings]:
        """Return the settings that the load has together with this change."""
        return cls.Settings

    # Before the schemas of both sides are compared

    @classmethod
    def target_capabilities(cls, settings: Any) -> Mapping[str, str]:
        """Return what the target must be able to do, and the setting that asks for it, as the user wrote it. The keys
        are fields of `Capabilities`, asked before any work starts."""
        return {}

    @classmethod
    @abstractmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        """Return what the load needs. Raises ConfigError, Unsupported or DriftStop, with what to do."""

    @classmethod
    @abstractmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        """Return the load of one table, and the table with what the load adds to it: notices, DDL."""

    @property
    @abstractmethod
    def check(self) -> str:
        """Return the name of the check that proves a table which is loaded so."""

    @property
    def needs(self) -> LoadNeeds:
        """Return what the load asks of the change."""
        return LoadNeeds()

    @property
    def replaces_rows(self) -> bool:
        """Return whether rows are deleted that come again."""
        return False

    @property
    def exchanges_rows(self) -> ExchangedRows | None:
        """Return how rows may go from one window to another; None where that cannot happen."""
        return None

    @property
    def row_keys(self) -> tuple[str, ...]:
        """Return what names a row, where settings or a key say so."""
        return self.needs.keys

    @property
    def changed_columns(self) -> Collection[str]:
        """Return the columns whose values the load changes by itself, such as the flag of a version that ends."""
        return ()

    @property
    def log_rules(self) -> LogRules:
        """Return which rows of a log in the lake make the state of the table."""
        return LogRules(self.row_keys, newest_window=self.needs.all_rows)

    @property
    def keeps_rows_aside(self) -> bool:
        """Return whether rows may stay out of the target, and have to be kept in a table of Tidegate's own."""
        return False

    # In the plan

    def prepare(self, session: Session, table: TableName, loads: Sequence[LoadStep]) -> tuple[Load, list[Step]]:
        """Return the load with what the target tells of these windows, and steps for the plan: DDL that comes before
        the loads, and notices. Reads the target; writes nothing."""
        return self, []

    def groups(self, loads: Sequence[LoadStep]) -> list[tuple[LoadStep, ...]]:
        """Return the windows that one task loads together."""
        return [(step,) for step in loads]

    # In the run

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> LoadTask:
        """Return the task with what this load needs to know. `loads` is how many windows of the table are loaded."""
        return task

    def require_loadable(self, request: ReadRequest, batches: Batches) -> None:
        """Raise ValueProblem when rows must not be loaded. Asked of extracted rows before they are committed."""
        return

    @abstractmethod
    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        """Load one window in one transaction, prove it and record it. Repeating it is harmless."""

    def apply_together(self, session: Session, incoming: Sequence[Incoming], receipt_of: ReceiptOf) -> list[Loaded]:
        """Load several windows in one transaction, where that makes a difference."""
        raise Unsupported(f"The load `{self.name}` takes one window at a time.", "Nothing was written.")

    def is_serial(self, loads: Sequence[LoadStep], state: TableState) -> bool:
        """Return whether no two of these windows may be loaded at the same time."""
        return False


# What every load does in its transaction


def acquire_fence(session: Session, task: AnyTask, ledger: LedgerView) -> AnyTask | Loaded:
    """Lock the window in the open transaction. Return the task with a generation of its own, or how it ended before."""
    # One writer per window: a task of a run that is thought dead may still be at work.
    session.lock_in_transaction(f"tidegate value {task.table} {task.window}")
    session.wait_for_other_loads(task.request.table)
    _require_lock(task, ledger)
    last = ledger.newest()
    if last is not None and (last.run, last.hash) == (task.entry.run, task.entry.hash):
        return Loaded("done before", task.entry.rows)
    # A hash holds for columns in their order: a renamed column has the same values, and the target lacks them.
    is_alike = last is not None and last.is_active and last.columns == task.entry.columns
    if last is not None and is_alike and task.unless_hash and last.hash == task.unless_hash == task.entry.hash:
        return Loaded("equal already")
    return _after(task, last)


def _require_lock(task: LoadTask, ledger: LedgerView) -> None:
    """A run whose connection was lost no longer holds the table: it must not overwrite the run that took over."""
    current = ledger.newest_run()
    if current != task.entry.run:
        raise Locked(
            f"{task.table} {task.window}: run {current or 'unknown'} has taken the table over.",
            "This load was rolled back; the target keeps what it had.",
            "Nothing: the other run completes what is missing.",
        )


def _after(task: AnyTask, last: LedgerEntry | None) -> AnyTask:
    """Return the task with a generation above everything that is there, also what came between planning and now."""
    if last is None or last.generation < task.entry.generation:
        return task
    return with_entry(task, generation=last.generation + 1)


def with_entry(task: AnyTask, **changes: Any) -> AnyTask:
    return dataclasses.replace(task, entry=dataclasses.replace(task.entry, **changes))


def proved_columns(task: LoadTask, batches: Batches) -> Batches:
    """Return the rows in the columns of the request alone, which are compared and proved."""
    if not task.restored_columns:
        return batches
    names = [column.name for column in task.request.columns]
    return lambda: (batch.select(names) for batch in batches())


def proof_failed(task: LoadTask, difference: str) -> ProofFailed:
    return ProofFailed(
        f"{task.table} {task.window}: the target does not hold what was loaded ({difference}).",
        "The load was rolled back; the target keeps what it had.",
        "Look for triggers, rules or generated columns on the target table that change rows.",
    )
