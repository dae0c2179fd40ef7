"""What a change offers: how a table knows what moved.

A change answers three questions, in the order of a run: what do source, lake and target hold (`inspect`), which windows
follow from that (`plan`, pure), and how is a window read (`extraction`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from tidegate.errors import Unsupported
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake, LakeTable
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.coverage import Coverage
from tidegate.model.cursors import Cursor
from tidegate.model.plan import Extract, Labels, Request, Step
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.status import TableStatus
from tidegate.model.tokens import Token
from tidegate.model.values import Value
from tidegate.settings import Settings
from tidegate.sql.contents import count_rows
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.interfaces.feed import Feed, TableFeed
    from tidegate.tables.found import Catalogs, FoundTable
    from tidegate.tables.planned import PlannedTable

Here = TypeVar("Here")
There = TypeVar("There")
State = TypeVar("State", bound=TableState)
"""What a change inspects: the state of a table, with what this change alone asks."""


class ChangeReader(Protocol):
    """Reads a window of a change feed inside of a task: the changes, then the rows as they are since."""

    def schema(self, request: ReadRequest) -> pa.Schema:
        """Return the schema of the changes."""

    def open(self, session: Session, request: ReadRequest) -> AbstractContextManager[FeedRows]: ...


class FeedRows(Protocol):
    """A window of a change feed that is being read."""

    def changes(self) -> Iterator[pa.RecordBatch]:
        """Yield the changes in the order of the log."""

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield one row of each key that is there after these changes. To be called when all changes were read."""


class LedgerReader(Protocol):
    """The ledger, as far as inspecting a table needs it."""

    def entries(self, table: str) -> dict[str, LedgerEntry]: ...

    def scope(self, table: str) -> Scope | None: ...


@dataclass(frozen=True)
class Sessions:
    """One open session on each side, and the lake. `ledger` is None while the target has none."""

    source: Session
    target: Session
    lake: Lake
    ledger: LedgerReader | None
    target_place: str
    """The address of the target. A lake that several targets share keeps a scope for each address."""
    expect_rows: Callable[[], None] = lambda: None
    """Call this as soon as it is clear that rows must move: Spark starts while the inspection goes on."""
    note: Callable[[str, str], Any] = lambda topic, name: None
    """Returns what earlier runs noted in the target, by topic and name; None for nothing."""

    def scope_copies(self, table: LakeTable, ledger_name: str) -> ScopeCopies:
        """Return the scope as ledger and lake have it."""
        in_ledger = self.ledger.scope(ledger_name) if self.ledger else None
        return ScopeCopies(in_ledger, self.lake.saved_scope(table, self.target_place))

    def target_rows(self, table: FoundTable) -> int | None:
        """Return how many rows the target has, of those that count as there; None while there is no table."""
        if table.kept is not None:
            kept = self.lake.kept(table.kept)
            return kept.rows if kept.version else None
        if table.target is None:
            return None
        [(rows,)] = self.target.query(count_rows(table.target_name, table.present_in_target()))
        return int(str(rows))

    @staticmethod
    def both(here: Callable[[], Here], there: Callable[[], There]) -> tuple[Here, There]:
        """Ask two servers at the same time. The first error is raised when both have answered."""
        with ThreadPoolExecutor(1, "tidegate inspect") as other:
            answer = other.submit(there)
            return here(), answer.result()


@dataclass(frozen=True)
class LoadNeeds:
    """What the load of a table asks of its change."""

    keys: tuple[str, ...] = ()
    """What names a row, or an entity of which there are versions."""
    all_keys: bool = False
    """Every window comes with the keys of all rows in the source: what is not among them has left."""
    watched: tuple[str, ...] = ()
    """Columns that change in place: a change must be noticed although the cursor stays the same."""
    current_rows: Sql | None = None
    """A condition for rows that are current, where a flag tells: the first window may take them whatever their age."""
    deletes: bool = True
    """Rows leave the target that the source does not have."""
    all_rows: bool = False
    """Every window holds all rows of the source."""
    images: bool = False
    """The load needs every change with the values that it wrote, not only the current row."""
    order_matters: bool = False
    """Loading windows in another order than they were read gives another result."""


@dataclass(frozen=True)
class Extraction:
    """How one window is read, and what the next plan will compare."""

    request: ReadRequest
    token: Token
    from_target: bool = False
    """The rows are read from the target: only the target still has them."""
    fingerprint: Sql | None = None
    """A scalar query on the source. The next plan compares its answer."""
    watched: tuple[str, ...] = ()
    """Columns whose content the next plan compares, instead of `fingerprint`."""
    lookback: ReadRequest | None = None
    """Rows whose content the next plan compares, instead of `fingerprint`."""
    keys: ReadRequest | None = None
    """The keys of all rows in the source, read on the same snapshot."""
    unchanged: Sql | None = None
    """Where no snapshot can be had: the answer must be the same before and after reading."""
    fixed: tuple[str, ...] = ()
    """Columns that have one value in all of these rows. A large window is divided by what follows them in an index."""
    ranged: str = ""
    """The column of which these rows are a range: a large window is divided by it."""
    feed: ChangeReader | None = None
    """The rows come from a change feed, and the changes are kept beside them."""
    proven_by: str = ""
    """The hash that rows from elsewhere than the source must have to count as proven."""


@dataclass(frozen=True)
class LoadedRows:
    """The rows of the source that a target must hold by now, where they are compared as one."""

    inside: ReadRequest
    """Rows of the scope, as far as they were loaded."""
    later: ReadRequest | None = None
    """Rows that came after what was loaded."""
    keys: ReadRequest | None = None
    """The keys of all rows, where they tell what left."""
    newest: LedgerEntry | None = None
    """The ledger entry of the newest window."""


@dataclass(frozen=True)
class ChangeColumns:
    """The columns of the source that a change reads a table by."""

    by: Column | None = None
    """The partition column or the cursor; None where the whole table is compared."""
    keep_types: Collection[str] = ()
    """Names of columns that keep their type whatever the settings ask."""
    index: Column | None = None
    """The column that a new target table is indexed by."""
    cursor: Cursor | None = None
    """Where windows hold changes: the columns by which the newest of several rows of a key is told."""
    tie_breaker: Column | None = None
    """A column that orders rows of an equal cursor."""
    feed: bool = False
    """Windows hold what a change feed told: the rows of keys that changed, and the keys that are gone."""


class Change(ABC, Generic[State]):
    """How one table knows what moved. The class is found by its name; an object belongs to one table.

    Its `Settings` are keys of the table in `tidegate.yml`."""

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    loads: ClassVar[tuple[str, ...]]
    """The loads that fit. A table that names none gets the load of its kind, which must be among them."""
    why_no_target_retention: ClassVar[str] = "its windows cannot be taken out of the target one by one"
    """Why `retain: {target: N}` makes no sense, for people. Empty where it does: no row is in two windows."""
    serial_loads: ClassVar[bool] = False
    """Whether windows of one table are loaded one after the other, in the plan's order."""

    takes_transform: ClassVar[bool] = False
    """Whether rows may become others between lake and target: planning compares source and target by counts alone."""
    source_capabilities: ClassVar[tuple[str, ...]] = ()
    """What the source must be able to do: fields of `Capabilities`, asked before any work starts."""

    brings_changes: ClassVar[bool] = False
    """A window holds only rows that changed, not all rows that the target must have."""
    reads_feed: ClassVar[bool] = False
    """Changes and deletes come from a change feed."""

    has_source_table: ClassVar[bool] = True
    """The rows are in a table of the source. Otherwise the target's table says what columns there are, and `verify` has
    nothing to compare it with."""

    table: FoundTable

    @classmethod
    def feed_of(cls, settings: Any, source: Database, target: Database) -> Feed | None:
        """Return the change feed that a table of these settings is read from; None where the table itself is asked."""
        return None

    # Before the schemas of both sides are compared

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        """Return the columns that the table is read by. Raises MissingObject or Unsupported, with what to do."""
        return ChangeColumns()

    @classmethod
    @abstractmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> AnyChange:
        """Return the change of one table. Raises Unsupported, with what to do."""

    # What people and the lake call things

    @property
    @abstractmethod
    def lake_table(self) -> LakeTable: ...

    @property
    @abstractmethod
    def divided_by(self) -> str:
        """Return what rows are divided by, for people: a column's name, or `content`."""

    @property
    def labels(self) -> Labels:
        """Return how plans name windows and rows."""
        return Labels()

    @abstractmethod
    def value(self, text: object) -> Value:
        """Return the window that a user means. Raises ConfigError."""

    # Inspect, plan, extract

    @abstractmethod
    def inspect(self, sessions: Sessions, *, count_all: bool) -> State:
        """Return what source, lake and target hold. Cheap, unless everything is to be counted."""

    @abstractmethod
    def plan(self, state: State, request: Request) -> tuple[Scope, list[Step]]:
        """Return the scope from now on and the steps in their order. Reads nothing."""

    def reading(self, source: Database, target: Database, state: State) -> Any:
        """Return the split that does a step `Read`: it reads inside of tasks what planning did not."""
        raise Unsupported(f"{self.table.key}: the change `{self.name}` has nothing to read before it is planned.")

    def with_reading(self, state: State, result: Any) -> State:
        """Return the state with what the split of `reading` found, so that the table can be planned."""
        return state

    @abstractmethod
    def extraction(self, state: State, scope: Scope, step: Extract) -> Extraction:
        """Return how the window of a step is read."""

    def given_token(self, least: str | None, greatest: str | None, read_at: str) -> Token:
        """Return the token of a window whose rows a program passes in, with these cursor values. It says nothing about
        the source. Raises Unsupported."""
        raise Unsupported(
            f"{self.table.key}: a table with `changes: {self.name}` takes no rows from a program: it is compared with"
            " its source as a whole, and the next run would take them away.",
            "Nothing was written.",
            "Write them into the source, or make the table `kind: incremental` or `kind: scd2`.",
        )

    def remembered(self, state: TableState) -> dict[Value, LedgerEntry]:
        """Return ledger entries with what was learned while planning, of a table with nothing to do."""
        return {}

    # Windows on both sides, for comparisons

    @abstractmethod
    def source_request(self, window: Value) -> ReadRequest: ...

    @abstractmethod
    def target_request(self, window: Value) -> ReadRequest: ...

    def expected_windows(self, state: State, scope: Scope) -> list[Value]:
        """Return the windows that the target must hold, in order."""
        active = {window for window, entry in state.ledger.items() if entry.is_active}
        return sorted(window for window in {*active, *state.source} if scope.covers(window))

    def loaded_rows(self, state: State, scope: Scope) -> LoadedRows:
        """Return the rows of the source that the target must hold by now."""
        return LoadedRows(self.source_request(min(state.source)))

    def adopted_scope(self, state: State) -> Scope:
        """Return the scope of a target that was there before us: from the oldest window that it holds on, so that new
        ones follow as they do after a first run."""
        known = state.scope or Scope()
        oldest = min((value for value in state.target if not value.is_null), default=known.floor)
        if oldest is None:
            return known
        floor = oldest if known.floor is None else min(oldest, known.floor)
        return Scope(floor, known.ranges, known.forgotten - frozenset(state.target))

    def coverage(self, state: State, scope: Scope) -> Coverage:
        """Return how much of the source the scope covers. Reads nothing. A whole table is inside of its scope."""
        has_rows = any(value.rows for value in state.source.values())
        return Coverage(is_empty=has_rows and not any(state.target.values()))

    def table_feed(self, state: State | None) -> TableFeed | None:
        """Return the feed that the table is read from, and how far; None where the table itself is asked. A table that
        could not be inspected has no state."""
        return None

    def status(self, planned: PlannedTable, state: State) -> TableStatus | None:
        """Return where the table stands, for people; None for the status of each window."""
        return None


AnyChange: TypeAlias = Change[Any]
"""The change of a table, for those who hand its state on and do not look into it."""
