"""What a database plug-in offers: its capabilities, its SQL (`Database`) and its open connections (`Session`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import DatabaseError, Unsupported, ValueProblem
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.description import Section, describe_schema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName, staged_name
from tidegate.model.structure import Index, Structure
from tidegate.model.types import Type, type_fit
from tidegate.model.values import ValueKind
from tidegate.sql.contents import checksum
from tidegate.sql.text import Dialect, Name, Sql, names, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.interfaces.archive import ArchiveSql, Migration
    from tidegate.interfaces.feed import Feed
    from tidegate.interfaces.native_partitions import NativePartitions
    from tidegate.interfaces.stored_files import ObjectStore, StoredFile


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a database can do. Every plug-in states every field: a capability has no default.

    These are facts about the product. What one server or login allows (snapshot isolation, LOAD DATA LOCAL, bulk copy)
    is asked of the session.
    """

    transactional_ddl: bool
    """CREATE and ALTER TABLE join a transaction, and a rollback undoes them."""
    enforced_keys: bool
    """The server refuses a second row with the same primary key."""
    session_locks: bool
    """`try_lock` takes a lock by name that lives as long as the session and ends with it, also after a crash."""
    streams_into_transaction: bool
    """`write` sends rows straight into the open transaction. Without it, rows are staged before the transaction."""
    exported_snapshots: bool
    """Several sessions can read one snapshot (`export_snapshot`, `use_snapshot`)."""
    read_only_sessions: bool
    """The server itself refuses writes in a session that was opened with `read_only`."""
    native_partitions: bool
    """The server can partition a table, and the catalog tells by what (`TableSchema.partitioned_by`)."""
    row_versions: bool
    """A column type exists that the server raises by itself with every change of a row (SQL Server's rowversion)."""
    bulk_from_files: bool
    """The server can load files that lie in object storage (COPY ... FROM 's3://...')."""
    schemas_are_databases: bool
    """What others call a schema is a database of its own here."""
    updates_identity: bool
    """UPDATE may change the value of an identity (auto-increment) column."""
    surrogate_keys: bool
    """`add_surrogate` can add a column in which the server numbers the rows."""
    alters_columns: bool
    """`widen_column` can change the type of a column that has rows."""


CAPABILITY_NAMES = {
    "transactional_ddl": "DDL in transactions",
    "enforced_keys": "enforced primary keys",
    "session_locks": "locks of a session",
    "streams_into_transaction": "bulk protocol that joins a transaction",
    "exported_snapshots": "snapshot that several sessions share",
    "read_only_sessions": "read-only sessions",
    "native_partitions": "partitioned tables",
    "row_versions": "row versions",
    "bulk_from_files": "bulk load from files in object storage",
    "schemas_are_databases": "schemas that are databases",
    "updates_identity": "updates of identity columns",
    "surrogate_keys": "columns that number rows by themselves",
    "alters_columns": "ALTER of a column's type",
}
"""What users read in place of a field's name: "MySQL has no ..."."""


@dataclass(frozen=True)
class BatchSize:
    """The largest Arrow batch: a batch ends at whichever bound is reached first."""

    rows: int = 10_000
    bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class ReadRequest:
    """Rows of one table: `columns` in this order, `text_columns` as canonical text, where the condition `rows` is true.

    Without `rows`, all rows."""

    table: TableName
    columns: tuple[Column, ...]
    rows: Sql | None = None
    text_columns: tuple[str, ...] = ()
    batch: BatchSize = BatchSize()

    def only(self, names: Sequence[str]) -> ReadRequest:
        """Return the request with only these columns, in this order. Without names, with all columns."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names if name in by_name) or self.columns)

    def with_text(self, names: Sequence[str]) -> ReadRequest:
        """Return the request with these columns as text, too."""
        return replace(self, text_columns=tuple(dict.fromkeys((*self.text_columns, *names))))


class Database(ABC):
    """One server and login. It holds no connection, so Spark can send it to its workers."""

    kind: ClassVar[str]
    label: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    dialect: ClassVar[Dialect]
    is_source: ClassVar[bool] = True
    """Rows can be extracted from it. Otherwise it is a target alone."""
    folds_names: ClassVar[bool] = False
    """Names have one case only, whatever case a statement writes: the catalog shows `id` for `"ID"`."""
    statement_end: ClassVar[str] = ";"
    """What ends a statement in a script for the server's own command line."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    def connection_of(cls, driver: object) -> Connection | None:
        """Return the address and login of a connection that a program opened with a driver of its own.

        None for a connection of another database, or one that does not tell its password."""
        return None

    def loading_from(self, store: ObjectStore | None) -> Database:
        """Return the database with the place of files that its server loads. Needs `bulk_from_files`.

        None where the lake is in no object storage: raises Unsupported."""
        return self

    def require(self, capability: str, *, for_: str, instead: str = "") -> None:
        """Raise Unsupported unless the database has this capability. Call it before any work starts.

        Args:
            capability: the name of a field of `Capabilities`.
            for_: what needs the capability, as the user wrote it: "`load: merge`".
            instead: what the user can do instead, as a sentence.
        """
        if not getattr(self.capabilities, capability):
            missing = CAPABILITY_NAMES[capability]
            raise Unsupported(f"{self.label} has no {missing}, which {for_} needs.", remedy=instead)

    @abstractmethod
    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        """Return an open session. Raises Unreachable. The server's monitoring shows `purpose`."""

    @property
    @abstractmethod
    def default_schema(self) -> str:
        """Return the schema of a table whose name has none."""

    @abstractmethod
    def own_table(self, name: str) -> TableName:
        """Return the full name of one of Tidegate's own tables, such as `ledger`: apart from the user's tables."""

    @abstractmethod
    def value_kind(self, column: Column) -> ValueKind | None:
        """Return how the values of this column are ordered; None if it cannot be a partition column or a cursor.

        It can be one if a literal of the normalised `Value.text` (without zone and trailing zeros) finds the rows, and
        if `max` finds the greatest value."""

    def clock_query(self, cursor: Column) -> Sql | None:
        """Return a query for the current time of the server, as text of this column's type.

        A cursor value beyond the answer lies in the future. None for a column that holds no time."""
        return None

    def change_counter(self, schema: TableSchema) -> Column | None:
        """Return a column that the server itself raises with every change of a row; None where a table has none.

        `clock_query` of it gives the greatest value below which no transaction is open any more."""
        return None

    def open_transactions(self, table: TableName) -> Sql | None:
        """Return a scalar query for the transactions that may still write to this table, as a JSON text.

        Each has `session` (which names this transaction and no later one), `who` (for people), `age` in seconds, and
        `wrote`: whether it has taken a lock to write to the table. The answer is null where this login may not see
        transactions; None where the server cannot tell, or no query can. The query is part of a larger statement, so
        that bound and transactions are of one moment."""
        return None

    def only_valid(self, column: Column) -> Sql | None:
        """Return an expression for a column: null for values that other databases do not have, such as zero dates.

        None where values of this type are valid everywhere."""
        return None

    def feed(self, kind: str, name: str) -> Feed | None:
        """Return the change feed of this kind (`cdc`, `change_tracking`, `triggers`); None where there is none.

        `name` is the project's: what the feed makes on the server is called so."""
        return None

    def space(self, table: TableName) -> Sql | None:
        """Return a scalar query for the bytes that a table has on disk, with its indexes; null for one that is not
        there. None where the server cannot tell."""
        return None

    # Targets

    @abstractmethod
    def declare(self, column: Column) -> Column:
        """Return the column of this database that takes every value of a source's `column`.

        A column of the same kind of database keeps its `declared_type`. Another column gets a `type` in this database's
        words, and the `logical_type` that the catalog will report once the column exists. The ledger's tables are
        declared in the same way. Implementations end with `read_like(column)`, so that reading the target gives back
        the values of the source."""

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that one table cannot have here, each with the reason: too long, or equal but for case.

        Asked before DDL, which would cut or refuse them."""
        return {}

    def refused_types(self, columns: Sequence[Column]) -> dict[str, str]:
        """Return the columns of a source whose values no type takes here, each with the reason. Asked before DDL."""
        return {}

    def cautions(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return what people should know of the types of these columns of a source: values that could not be stored."""
        return ()

    @abstractmethod
    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        """Return the DDL of a table of declared columns. No index if `index_on` is empty."""

    @abstractmethod
    def add_column(self, table: TableName, column: Column) -> Sql:
        """Return the DDL that adds a column. The column is nullable: existing rows have no value for it."""

    def widening_problem(self, source: Column, target: Column, schema: TableSchema) -> str:
        """Return why `widen_column` cannot widen this column of the target table, or an empty text if it can.

        Asked only for columns for which `fits` answers `widen`."""
        return ""

    @abstractmethod
    def widen_column(self, table: TableName, column: Column) -> Sql:
        """Return the DDL that changes the type of a column and nothing else.

        Never called on a database whose `fits` does not answer `widen`."""

    def fits(self, source: Column, target: Column) -> str:
        """Return whether `target` takes every value of `source`.

        `same` and `wider`: it does. `widen`: it does after `widen_column`. Any other text is the reason why not."""
        declared = self.declare(source)
        if (declared.type, declared.logical_type) == (target.declared_type, target.logical_type):
            return "same"
        if source.logical_type == declared.logical_type == Type("string") and declared.type == target.declared_type:
            return "same"  # `columns: {price: text}` between servers of one kind: the text goes into the source's type
        verdict = type_fit(target.logical_type, source.logical_type)
        if not verdict and declared.logical_type != source.logical_type:
            verdict = type_fit(target.logical_type, declared.logical_type)
        # A type that exists in the target database alone (a domain, an enum) belongs to its users: it is never altered.
        if not verdict or (verdict == "widen" and target.portable_type):
            return f"{target.name} is {target.type} in the target and {source.type} in the source"
        return "widen" if verdict == "widen" else "wider"

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        """Return the DDL that adds a column in which the server numbers the rows. Needs `surrogate_keys`."""
        raise Unsupported(f"{self.label} has no {CAPABILITY_NAMES['surrogate_keys']}.")

    def numbered(self, statements: Sequence[str], table: TableName, name: str) -> tuple[str, ...]:
        """Return the DDL of a new table with a column in which the server numbers the rows. Needs `surrogate_keys`."""
        return (*statements, self.render(self.add_surrogate(table, name)))

    def laid_out(
        self, statements: Sequence[str], table: TableName, distribution: str, sort_keys: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the DDL of a new table with its distribution over the servers and its sort keys."""
        raise Unsupported(
            f"{self.label} has no distribution and no sort keys.",
            "Nothing was written.",
            "Leave out `distribution` and `sort_keys`.",
        )

    @abstractmethod
    def stage_name(self) -> TableName:
        """Return an unused name for a staging table that only one session sees."""

    @abstractmethod
    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        """Return the DDL of a staging table: these columns with the types that they have in `table`, all nullable."""

    @abstractmethod
    def drop_stage(self, stage: TableName) -> Sql:
        """Return the DDL that drops a staging table."""

    # What a table has besides columns, on request

    def index_problem(self, columns: Sequence[Column]) -> str:
        """Return why these columns of a table here cannot have an index; an empty text if they can."""
        return ""

    def ignored_by_collation(self, collation: str) -> str:
        """Return what a key of this collation does not tell apart, such as `case`; empty for an exact one."""
        return ""

    def create_index(self, table: TableName, index: Index) -> Sql:
        """Return the DDL of an index. A `definition` is one of this kind of database."""
        unique = raw("UNIQUE " if index.is_unique else "")
        ending = raw(index.definition) if index.definition else sql("({columns})", columns=names(index.columns))
        return sql(
            "CREATE {unique}INDEX {name} ON {table} {ending}",
            unique=unique,
            name=Name.of(index.name),
            table=Name.of(table),
            ending=ending,
        )

    def add_foreign_key(self, key: ForeignKey) -> Sql:
        """Return the DDL of a foreign key. The server checks every row that is there."""
        return sql(
            "ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent} ({theirs})",
            table=Name.of(key.table),
            name=Name.of(key.name),
            columns=names(key.columns),
            parent=Name.of(key.parent),
            theirs=names(key.parent_columns),
        )

    def set_default(self, table: TableName, column: str, expression: str) -> Sql | None:
        """Return the DDL of a default, an expression in words of this database; None where no column that is there can
        get one."""
        return None

    def comment(self, table: TableName, column: str, text: str) -> Sql | None:
        """Return the DDL of a comment on a column, or on the table; None where that needs more than a statement."""
        return None

    # Foreign keys and triggers

    can_bypass_triggers: ClassVar[bool] = False
    """`Session.one_transaction` can leave triggers out."""
    checks_rows_alone: ClassVar[bool] = False
    """A foreign key is checked for each row by itself: also a table that refers to itself needs its rows in order."""

    def deferral(self, keys: Sequence[ForeignKey]) -> tuple[str, str]:
        """Return how `Session.one_transaction` checks these keys at its end, in words for the plan; and why it cannot,
        with what to do. One of the two is empty."""
        return "", f"{self.label} checks every statement; disable the keys before the run, and check them after it"

    # Snapshots

    def snapshot_archive(self) -> ArchiveSql:
        """Return the statements of an archive of snapshots in this database."""
        raise Unsupported(
            f"{self.label} cannot hold the archive of snapshots.",
            "Nothing was read or written.",
            "Name a PostgreSQL database as the archive, or leave the archive out.",
        )

    def snapshot_procedures(self, table: TableName, register: TableName, suffix: str) -> tuple[Migration, ...]:
        """Return the procedures with which people clean up and count the snapshot table. None by default.

        `register` has a row per snapshot of the table. The names of the procedures end with `suffix`."""
        return ()

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        """Return the statements with which an administrator lets this login read the tables.

        Empty where logins have no rights of their own."""
        return []

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """Return the statements with which an administrator lets this login load the tables.

        The tables, and Tidegate's own, need not exist yet. Rows of `updated` tables are changed in place; rows of the
        others are only deleted and inserted."""
        return []

    def notes_on_rights(self) -> tuple[str, ...]:
        """Return what a load needs besides rights in the database, for people to read."""
        return ()

    def optional_grants(self, *, writes: bool) -> dict[str, Sql]:
        """Return grants that a login can do without, by what each is good for."""
        return {}

    def render(self, statement: Sql) -> str:
        """Return the statement as the text that the server gets."""
        return render(statement, self.dialect)

    def script(self, statement: Sql) -> str:
        """Return the statement as it stands in a script for the server's own command line."""
        return f"{self.render(statement)}{self.statement_end}"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.connection.display}>"


class Session(ABC):
    """One open connection. Closing it rolls back what was not committed. Threads may hand it on, one uses it at a time.

    Every error of the driver becomes one of ours: Transient (a deadlock, a lost connection: repeat the whole unit of
    work), OutcomeUnknown (a commit without an answer), MissingObject, or DatabaseError. No message holds row values.
    """

    database: Database

    @abstractmethod
    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        """Return the rows of a query: whole numbers as int, texts as str, nulls as None."""

    @abstractmethod
    def query_user_sql(self, query: str) -> list[str | None]:
        """Return the first column, as text, of a query that a user wrote.

        Names without a schema mean what they mean to this login."""

    def scanned_tables(self, query: str) -> frozenset[str] | None:
        """Return the tables, or their aliases, that the server would read from end to end for a user's query.

        The server's own plan says so; the query does not run. None where the server does not tell."""
        return None

    @abstractmethod
    def execute(self, statement: Sql) -> int:
        """Run a statement and return the number of rows that it changed."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Commit at the end of the block, roll back on any error. Never nested.

        Raises OutcomeUnknown if the commit got no answer. DDL is allowed inside; without `transactional_ddl` it commits
        what came before it."""

    @abstractmethod
    def close(self) -> None: ...

    def reset(self) -> bool:
        """End what is open, so that a pool can give the session to the next user with the same purpose.

        Return False if this database cannot: the pool then closes the session."""
        return False

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Return False once the connection was lost or closed."""

    # The catalog

    @abstractmethod
    def identity(self) -> str:
        """Return a text that tells this database from every other, also from a copy that was restored elsewhere.

        The same after a restart; 200 characters at most."""

    def known_identities(self) -> tuple[str, ...]:
        """Return the identity, then other identities that this database had before or may have again.

        Example: SQL Server in an availability group, and the same database before it joined the group."""
        return (self.identity(),)

    @abstractmethod
    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        """Return the schemas of the tables among `names` that exist and that the login sees, in few round trips.

        A name that differs in case alone is found, too (`model.names.resolve_names`). The keys are the names as asked;
        `TableSchema.name` is the real name. `indexes` has only those that can find the next greater value. A
        `row_estimate` of 0 means unknown."""

    def describe(self, schema: TableSchema) -> list[Section]:
        """Return all that the catalog knows about a table, for people to read."""
        return describe_schema(schema)

    def unknown_types(self, types: Sequence[str]) -> set[str]:
        """Return those of these types, as columns of this kind of database name them, that do not exist here."""
        return set()

    def structures(self, tables: Sequence[TableName]) -> dict[TableName, Structure]:
        """Return indexes, defaults and comments of those of these tables that have some."""
        return {}

    def type_definitions(self, types: Sequence[str]) -> dict[str, str]:
        """Return the DDL of those of these types that users created, by their names; what one needs comes first."""
        return {}

    def not_listed(self) -> dict[TableName, str]:
        """Return what could be a source but is not among `tables`, with the reason: a view, no right to read it."""
        return {}

    def existing_tables(self, names: Sequence[TableName]) -> set[TableName]:
        """Return those of `names` that `table_schemas` would find."""
        return set(self.table_schemas(names))

    @abstractmethod
    def tables(self) -> list[TableName]:
        """Return every table of the user's schemas, without Tidegate's own."""

    @abstractmethod
    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        """Return the distinct values of a column as texts, without null, at most `limit`, in any order.

        With `indexed`, an index starts with the column: the query seeks from value to value and reads no row twice.
        Otherwise it reads the table once."""

    @abstractmethod
    def now(self) -> str:
        """Return the time of the server's clock, in UTC, as ISO text."""

    def open_transactions(self, table: TableName) -> str | None:
        """Return the answer of `Database.open_transactions` now; None where this login may not see transactions.

        Overridden where no query can ask it: then it is asked after the bound."""
        question = self.database.open_transactions(table)
        if question is None:
            return None
        answer = self.query(sql("SELECT ({seen})", seen=question))[0][0]
        return None if answer is None else str(answer)

    def log_space(self) -> str:
        """Return how much space log and files have for a large transaction, for people to read.

        Empty if the server does not say."""
        return ""

    def target_notes(self) -> tuple[str, ...]:
        """Return what people should know about this server before they load rows into it."""
        return ()

    def advance_counters(self, table: TableName) -> tuple[str, ...]:
        """Move sequences past the values that a table holds; return those that this login may not move.

        Does nothing where the server raises its counters with every value that is given (MySQL, SQL Server)."""
        return ()

    # Foreign keys and triggers

    def foreign_keys(self, tables: Sequence[TableName]) -> list[ForeignKey]:
        """Return the foreign keys from and to these tables. None where the database has none."""
        return []

    def one_transaction(
        self, tables: Sequence[TableName], without_triggers: Sequence[TableName]
    ) -> AbstractContextManager[None]:
        """Run every transaction of the block as one. At its end the foreign keys of `tables` are checked, no earlier.

        Triggers of `without_triggers` do not fire. Needs a `deferral` of the keys, and `can_bypass_triggers`."""
        raise Unsupported(f"{self.database.label} cannot load several tables in one transaction.")

    # Rows

    @abstractmethod
    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Yield batches of exactly `arrow_schema(request.columns, request.text_columns)`; none if there are no rows.

        A target's column names in `read_as` the logical type of the source's column, and is read as that type. Numbers
        become bool, where any number but 0 and 1 is an error. Texts without padding become padded ones. Raises
        NotNative if a value does not fit the Arrow type of its column. A caller that stops early can go on using the
        session."""

    def split(self, window: Divisible, parts: int) -> list[ReadRequest]:
        """Return requests that together read every row of a window once, each about as many; about `parts` of them.

        Every row belongs to one request also where values are null, equal or alike for a collation. The cost is that of
        a count at most. Returns the given request alone where the table has nothing to divide its rows by."""
        return [window.request]

    def change_mark(self, window: Divisible) -> str:
        """Return a text that is another one once somebody changed the table; empty where that cannot be told now.

        Asked before and after several tasks read a window without a snapshot that they share. Here it is the server's
        own checksum of the window's rows."""
        request = window.request
        return " ".join(map(str, self.query(checksum(request.table, request.columns, request.rows))[0]))

    @abstractmethod
    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        """Bulk-load batches of these columns, in this order, and return the number of rows.

        Joins the open transaction if the database `streams_into_transaction`; if not, use `bulk_insert`. A column may
        come as text, or as another type that `fits` allowed. A value that the server would change without an error (a
        NaN, a character that its code page lacks) raises ValueProblem with the column's name: counts would not show it.
        """

    @contextmanager
    def bulk_insert(
        self,
        table: TableName,
        columns: Sequence[Column],
        batches: Callable[[], Iterator[pa.RecordBatch]],
        files: Callable[[], Sequence[StoredFile]] | None = None,
    ) -> Iterator[Callable[[], int]]:
        """Prepare a bulk load before a transaction; yield the function that writes the rows inside of it.

        The function is called once or never, and returns the number of rows. Here it streams them. A database without
        `streams_into_transaction` brings the rows to a staging table first, so that the transaction is short. `files`
        returns files in object storage that hold exactly these rows, for servers that load files (`bulk_from_files`).
        """
        yield lambda: self.write(table, columns, batches())

    @contextmanager
    def staging_table(
        self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[TableName]:
        """Yield a staging table that only this session sees, filled with these rows; drop it when the block ends.

        Its columns have the types of `table` and are named by their number (`model.names.staged_name`). Open it before
        the transaction that uses it."""
        stage = self.database.stage_name()
        self.execute(self.database.create_stage(stage, table, columns))
        try:
            self._fill(stage, table, columns, batches)
            yield stage
        finally:
            with suppress(DatabaseError):  # a lost connection takes its staging tables along
                self.execute(self.database.drop_stage(stage))

    def _fill(
        self, stage: TableName, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]
    ) -> None:
        names = [staged_name(number) for number in range(len(columns))]
        stage_columns = [
            replace(column, name=name, identity=False, nullable=True)
            for column, name in zip(columns, names, strict=True)
        ]
        try:
            self.write(stage, stage_columns, (batch.rename_columns(names) for batch in batches))
        except ValueProblem as problem:
            # Users know the column of their table, not the column of the stage.
            happened = problem.happened.replace(str(stage), str(table))
            remedy, refused = problem.remedy, problem.refused
            for column, name in reversed(list(zip(columns, names, strict=True))):
                happened = happened.replace(name, column.name)
                remedy = remedy.replace(name, column.name)
                if refused is not None and refused[0] == name:
                    refused = (column.name, refused[1])
            found = ValueProblem(happened, problem.safe, remedy)
            found.refused = refused
            raise found from None

    # Native partitions

    @property
    def native_partitions(self) -> NativePartitions | None:
        """Return the native partitions of this server's tables; None where partitions cannot be switched."""
        return None

    # Snapshots and locks

    @abstractmethod
    def export_snapshot(self) -> str:
        """Open a read-only transaction in which all reads agree, and return the name of its snapshot.

        The snapshot is valid until this session closes. Without `exported_snapshots` the name is empty, and every task
        opens a snapshot of its own."""

    def use_snapshot(self, snapshot: str) -> None:
        """Open a read-only transaction on the snapshot of another session. Needs `exported_snapshots`."""
        raise Unsupported(f"{self.database.label} has no {CAPABILITY_NAMES['exported_snapshots']}.")

    @abstractmethod
    def try_lock(self, name: str) -> bool:
        """Take a lock and return True, or return False at once if another session has it.

        The lock lives as long as this session, over commits and rollbacks, and ends with its process."""

    def wait_for_other_loads(self, table: TableName) -> None:
        """Wait inside the open transaction until no other load writes to this table, where two would deadlock.

        Does nothing where two loads of one table do not block each other."""
        return

    @abstractmethod
    def lock_in_transaction(self, name: str) -> None:
        """Wait for a lock that lives as long as the open transaction. Raises Transient if that takes too long."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
