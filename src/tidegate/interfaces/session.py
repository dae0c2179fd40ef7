"""What a database plug-in offers on an open connection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.errors import DatabaseError, Unsupported, ValueProblem
from tidegate.interfaces.capabilities import CAPABILITY_NAMES
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.description import Section, describe_schema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName, staged_name
from tidegate.model.structure import Structure
from tidegate.sql.contents import checksum
from tidegate.sql.text import Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.interfaces.database import Database
    from tidegate.interfaces.native_partitions import NativePartitions
    from tidegate.interfaces.stored_files import StoredFile


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

    def execute_all(self, statements: Sequence[Sql]) -> None:
        """Run statements in their order. Overridden where one round trip can carry them all."""
        for statement in statements:
            self.execute(statement)

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

    def columns_set_at_changes(self, table: TableName) -> frozenset[str]:
        """Return the columns that the server, or a trigger, sets at every change of a row."""
        return frozenset()

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

    def set_indexes_aside(self, table: TableName) -> list[Sql]:
        """Drop or disable the plain indexes of a table in the open transaction: those that no key and no constraint
        needs. Return the statements that bring them back, to be run in the same transaction.

        Nobody reads the table until it ends. Returns nothing where the login may not do this."""
        return []

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

    def last_change(self, table: TableName) -> str:
        """Return a text that is another one once somebody changed the table; empty where the server cannot tell.

        A change may show seconds after its commit, never not at all."""
        return ""

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
