"""What a database has to offer, and what the engine asks of it. A lake, a change strategy, a load and a check
are found by name in their folders in the same way (`plugins.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import DatabaseError, Unsupported, ValueProblem
from tidegate.model.columns import Column, Shape
from tidegate.model.connection import Connection
from tidegate.model.description import Section, described
from tidegate.model.names import TableName, staged_name
from tidegate.model.types import takes
from tidegate.model.values import Kind
from tidegate.sql.text import Dialect, Sql, render

if TYPE_CHECKING:
    import pyarrow as pa


class Feature(Enum):
    """An ability that is asked for before work starts."""

    EXPORTED_SNAPSHOT = "one snapshot shared by several connections"


@dataclass(frozen=True)
class BatchSize:
    """The bound of one Arrow batch: whichever is reached first."""

    rows: int = 10_000
    bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class ReadRequest:
    """Rows of one table: `columns` in this order, those of `text_columns` as canonical text, where `rows` holds."""

    table: TableName
    columns: tuple[Column, ...]
    rows: Sql | None = None
    text_columns: tuple[str, ...] = ()
    batch: BatchSize = BatchSize()

    def only(self, names: Sequence[str]) -> ReadRequest:
        """The same rows in these columns and this order; all columns when nothing is named."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names if name in by_name) or self.columns)

    def with_text(self, names: Sequence[str]) -> ReadRequest:
        """The same rows with these columns as text, besides those that are already."""
        return replace(self, text_columns=tuple(dict.fromkeys((*self.text_columns, *names))))


class Database(ABC):
    """One server and login. Holds no connection, so that Spark tasks can carry it."""

    kind: ClassVar[str]
    label: ClassVar[str]
    features: ClassVar[frozenset[Feature]]
    dialect: ClassVar[Dialect]
    schemas_are_databases: ClassVar[bool] = False
    updates_identity: ClassVar[bool] = True
    """Whether a row may get another number in a column that counts by itself."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        """An open session. Raises Unreachable. `purpose` is what the server's own monitoring shows."""

    @property
    @abstractmethod
    def default_schema(self) -> str:
        """Where a table is when nobody says it."""

    @abstractmethod
    def own_table(self, name: str) -> TableName:
        """Where a table of Tidegate's own is, apart from the user's."""

    @abstractmethod
    def partition_kind(self, column: Column) -> Kind | None:
        """How values of this column are ordered. None unless a literal of `Value.text`, which is normalised (no zone,
        no zeros at the end), finds the rows, and `max` finds the greatest."""

    def clock(self, mark: Column) -> Sql | None:
        """The time on the server's own clock as a value of this column, as text: a mark beyond it lies in the future.
        None for a column that knows no clock."""
        return None

    # Targets

    @abstractmethod
    def declare(self, column: Column) -> Column:
        """The column that would take every value of another database's, or of another of the same kind.

        One of the same kind keeps its `declared` type. Others get a `type` that is spelled here, and as `holds` what
        the catalog will say of it once it exists; the tables of the ledger are declared so too. Ends with
        `reading(column)`: from a target what came is read back."""

    def refused_names(self, names: Sequence[str]) -> dict[str, str]:
        """Names that a table here cannot have side by side, and why: told before DDL would cut or refuse them."""
        return {}

    @abstractmethod
    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        """The DDL of a table of columns that were declared here. No index when `index_on` is empty."""

    @abstractmethod
    def add_column(self, table: TableName, column: Column) -> Sql:
        """Nullable, since the rows that are there have no value for it yet."""

    def why_not_widened(self, source: Column, target: Column, shape: Shape) -> str:
        """Why a column that `fits` would widen cannot be, where it stands in this table; empty when it can."""
        return ""

    @abstractmethod
    def widen_column(self, table: TableName, column: Column) -> Sql:
        """Changes the type and nothing else. A database that cannot says so in `fits`, and is never asked."""

    def fits(self, source: Column, target: Column) -> str:
        """`same`, `wider` (every value fits), `widen` (after DDL), or the reason why it does not fit."""
        wished = self.declare(source)
        if (wished.type, wished.holds) == (target.declared, target.holds):
            return "same"
        verdict = takes(target.holds, source.holds)
        if not verdict and wished.holds != source.holds:
            verdict = takes(target.holds, wished.holds)
        # A type that the target made for itself is its own affair, and is never altered.
        if not verdict or (verdict == "widen" and target.in_target):
            return f"{target.name} is {target.type} in the target and {source.type} in the source"
        return "widen" if verdict == "widen" else "wider"

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        """A column that numbers the rows by itself."""
        raise Unsupported(f"{self.label} has no columns that number rows by themselves.")

    @abstractmethod
    def stage_name(self) -> TableName:
        """A name that no other table has, for one that only a session knows."""

    @abstractmethod
    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        """A table that only this session knows: columns of the types that those of the table have, none required."""

    @abstractmethod
    def drop_stage(self, stage: TableName) -> Sql: ...

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        """What an administrator runs so that this login may be a source of these tables. Nothing where logins have no
        rights of their own."""
        return []

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """The same for a target: the tables, which may not exist yet, and those of Tidegate's own. Rows of those that
        are `updated` are changed in place, of others only deleted and inserted."""
        return []

    def grants_besides(self, *, writes: bool) -> dict[str, Sql]:
        """What a login can do without, by what it would be good for."""
        return {}

    def text_of(self, statement: Sql) -> str:
        """The statement as the server gets it."""
        return render(statement, self.dialect)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.connection.display}>"


class Session(ABC):
    """One open connection. Closing it rolls back what was not committed. It may pass from thread to thread, but has one
    user at a time.

    Whatever the driver raises becomes one of ours: Transient (a deadlock, a lost connection: the whole unit may be
    repeated), OutcomeUnknown (a commit without an answer), MissingObject, else DatabaseError. No message holds a row's
    values.
    """

    database: Database

    @abstractmethod
    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        """Whole numbers come as int, texts as str, nulls as None."""

    @abstractmethod
    def texts_of_user(self, query: str) -> list[str | None]:
        """The first column of a query that a user wrote: names without a schema mean what they mean to this login."""

    @abstractmethod
    def execute(self, statement: Sql) -> int:
        """Run it; the number of rows that it changed."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Commits at the end, rolls back on any error; never nested. Raises OutcomeUnknown when the commit got no
        answer. DDL may stand in it, and may commit what was before it."""

    @abstractmethod
    def close(self) -> None: ...

    def renew(self) -> bool:
        """Ends what is open, so that the next one with the same purpose finds the session as it was opened.
        False where that cannot be: then it is to be closed."""
        return False

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """False once the connection was lost or closed."""

    # The catalog

    @abstractmethod
    def identity(self) -> str:
        """Tells this database from every other, also from a copy of it restored elsewhere. The same after a restart,
        and 200 characters at most."""

    def identities(self) -> tuple[str, ...]:
        """Its identity, and another by which it was known before the server knew this one, or will be again."""
        return (self.identity(),)

    @abstractmethod
    def shapes(self, names: Sequence[TableName]) -> dict[TableName, Shape]:
        """The tables among `names` that exist and may be seen, in few round trips. Case is settled leniently
        (`model.names.spelled`): the keys are the names as they were asked, a shape has the real one.

        Of indexes only those that can tell the next greater value; an estimate of 0 rows means that nobody knows."""

    def describe(self, shape: Shape) -> list[Section]:
        """All that the catalog tells of a table, for people."""
        return described(shape)

    def existing(self, names: Sequence[TableName]) -> set[TableName]:
        """Those among `names` that `shapes` would describe."""
        return set(self.shapes(names))

    @abstractmethod
    def tables(self) -> list[TableName]:
        """Every table of the user's schemas, Tidegate's own aside."""

    @abstractmethod
    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        """The text of every value that the column has, nulls aside; at most `limit` of them, in any order.
        By seeks where an index starts with it, so that no row is read twice; else by reading the table once."""

    @abstractmethod
    def now(self) -> str:
        """The server's clock, in UTC, as ISO text."""

    def room(self) -> str:
        """What the server tells of the room that a large transaction needs; empty where it tells nothing."""
        return ""

    def remarks(self) -> tuple[str, ...]:
        """What a person should know of this server before rows are loaded into it."""
        return ()

    # Rows

    @abstractmethod
    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Batches of exactly `arrow_schema(request.columns, request.text_columns)`; none when there are no rows.

        A target's column says in `stands_for` what the source's holds, and is read as that: a truth from numbers
        (where neither 0 nor 1 must not pass for one), a padded text from one without blanks. Raises NotNative when a
        value does not fit the type that its column rests as. Whoever stops early leaves the session usable."""

    @abstractmethod
    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        """Bulk-load batches of these columns, in this order; the number of rows. Joins an open transaction, except
        where rows must be `staged` before.

        A column may come as text, or as another type that `fits` allowed. What the server would change in silence (a
        NaN, a character that it lacks) raises ValueProblem with the column's name: a proof by counts would not see it.
        """

    @contextmanager
    def staged(
        self, table: TableName, columns: Sequence[Column], batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> Iterator[Callable[[], int]]:
        """Around a transaction: what is yielded writes the rows in it, once or never, and says how many.

        Here they stream when they are asked for. A database whose bulk protocol cannot join a transaction brings them
        to the server first, so that the transaction is short."""
        yield lambda: self.write(table, columns, batches())

    @contextmanager
    def stage(
        self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[TableName]:
        """A table that only this session knows, until the block ends: it holds these rows in columns of the table's
        own types, named by their number (`model.names.staged_name`). Opened before a transaction, used in it."""
        stage = self.database.stage_name()
        self.execute(self.database.create_stage(stage, table, columns))
        try:
            self._fill(stage, table, columns, batches)
            yield stage
        finally:
            with suppress(DatabaseError):  # a connection that is lost takes it along
                self.execute(self.database.drop_stage(stage))

    def _fill(
        self, stage: TableName, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]
    ) -> None:
        names = [staged_name(number) for number in range(len(columns))]
        named = [
            replace(column, name=name, identity=False, nullable=True)
            for column, name in zip(columns, names, strict=True)
        ]
        try:
            self.write(stage, named, (batch.rename_columns(names) for batch in batches))
        except ValueProblem as problem:
            # For whoever reads it, it is a column of the table.
            told = problem.happened.replace(str(stage), str(table))
            for column, name in reversed(list(zip(columns, names, strict=True))):
                told = told.replace(name, column.name)
            raise ValueProblem(told, problem.safe, problem.remedy) from None

    # Snapshots and locks

    @abstractmethod
    def export_snapshot(self) -> str:
        """Opens a read-only transaction in which all reads agree, and names its snapshot; valid until this session
        closes. Without `Feature.EXPORTED_SNAPSHOT` each task opens one of its own, and the name is empty."""

    def use_snapshot(self, snapshot: str) -> None:
        """Opens a read-only transaction on another session's snapshot."""
        raise Unsupported(f"{self.database.label} has no {Feature.EXPORTED_SNAPSHOT.value}.")

    @abstractmethod
    def try_lock(self, name: str) -> bool:
        """A lock that lives as long as this session, over commits and rollbacks, and ends with its process."""

    def take_turns(self, table: TableName) -> None:
        """Joins the open transaction, before it writes to this table: where two of them would be in each other's way,
        the second waits here."""
        return

    @abstractmethod
    def lock_in_transaction(self, name: str) -> None:
        """Waits for a lock that lives as long as the open transaction. Raises Transient when that takes too long."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
