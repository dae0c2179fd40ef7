"""One open connection to SQL Server.

Facts that shape this file
 * The session fixes every setting that text and strictness depend on. XACT_ABORT ends the transaction at any error, so
   that no part of it is ever committed.
 * The driver is in autocommit, and we send BEGIN, COMMIT and ROLLBACK as statements.
 * An application lock of a session outlives transactions and ends with the session; a lock of a transaction ends with
   it. Lock names belong to the database and have 255 characters at most.
 * The database allows snapshot isolation or not. With READ_COMMITTED_SNAPSHOT each statement has its own snapshot.
 * The driver sets the program name. The purpose of a session is in sys.dm_exec_sessions.context_info, which holds 128
   bytes; machine and process are in columns beside it.
 * SQL Server has no read-only sessions. Ours refuses writes by itself, and rolls back a user's query.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import mssql_python

from tidegate.databases._key_ranges import split_by_key
from tidegate.databases.sqlserver import catalog, constraints, layout, server, structure
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.failures import (
    LOST,
    VALUE_REFUSED,
    as_tidegate_error,
    bulk_copy_error,
    is_lost,
    unreachable,
    value_refused,
)
from tidegate.databases.sqlserver.indexes import set_aside
from tidegate.databases.sqlserver.network import require_listener
from tidegate.databases.sqlserver.statements import distinct_values, select_rows, sought_values
from tidegate.errors import DatabaseError, OutcomeUnknown, TidegateError, Transient, Unsupported
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.description import Section, describe_schema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName, resolve_names
from tidegate.model.structure import Structure
from tidegate.sql.text import Count, Literal, Name, Sql, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.sqlserver import SqlServer
    from tidegate.interfaces.native_partitions import NativePartitions
    from tidegate.interfaces.stored_files import StoredFile

_SETTINGS = """
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT OFF;
SET XACT_ABORT ON;
SET NOCOUNT OFF;
SET LANGUAGE us_english;
SET DEADLOCK_PRIORITY LOW;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT {lock_timeout};
SET CONTEXT_INFO 0x{purpose}
"""
_ISOLATION = "SET TRANSACTION ISOLATION LEVEL {level}"
_MILLISECONDS_TO_WAIT = 300_000
_ROUNDS_TO_WAIT, _TIMED_OUT = 48, -1
"""With the milliseconds above, four hours."""
_NO_BULK_COPY = (
    "the driver's bulk copy cannot find out the columns of a table on this server: rows are loaded by INSERT, which is"
    " slower"
)
_NO_BULK_COPY_FOR_LOGIN = "the driver's bulk copy cannot log in by {}: rows are loaded by INSERT, which is slower"
_LOGINS_WITHOUT_BULK_COPY = ("ActiveDirectoryPassword", "ActiveDirectoryIntegrated")
_TABLES_AT_ONCE = 100  # with more, the query plan may get too large for the server (errors 8623, 8631)
_SECONDS_TO_RECONNECT, _SECONDS_BETWEEN = 60.0, 3.0
_NO_TRANSACTION = 3902
_BETWEEN = ";\n\n"  # between the statements of a batch


class _Joint(NamedTuple):
    """What several loads of one transaction share."""

    session: Session
    """Creates and fills the stages: a bulk copy does not see a table of an open transaction."""
    stages: ExitStack
    """Drops the stages after the transaction, which may hold locks on them until it ends."""


# A pooled connection would keep locks and settings of a closed session.
mssql_python.pooling(enabled=False)


class SqlServerSession(Session):
    """Statements, catalog, rows and locks of one connection."""

    database: SqlServer

    def __init__(
        self,
        database: SqlServer,
        login: str,
        purpose: str,
        *,
        read_only: bool,
        login_timeout: int,
        query_timeout: float | None,
        lock_timeout: int,
    ) -> None:
        self.database = database
        self._connection, self._read_only, self.is_in_transaction = database.connection, read_only, False
        self.has_dropped_orphaned_stages = False
        self._joint: _Joint | None = None
        # The server's lock time-out must end a wait before the driver's query time-out does.
        query_limit = math.ceil(query_timeout) * 1000 - 500 if query_timeout else sys.maxsize
        self._longest_wait, lock_timeout = (min(wait, query_limit) for wait in (_MILLISECONDS_TO_WAIT, lock_timeout))
        try:
            self._driver = self._connect(login, login_timeout)
            self._driver.timeout = math.ceil(query_timeout or 0)
            context = f"tidegate {purpose}".encode()[:128].hex()
            self._run(_SETTINGS.strip().format(lock_timeout=int(lock_timeout), purpose=context))
        except TidegateError:
            raise
        except Exception as problem:  # the driver has an exception class for each of its layers
            raise unreachable(problem, self._connection) from None

    def _connect(self, login: str, timeout: int) -> Any:
        """Return a connection of the driver. Waits for a database that resumes or fails over."""
        require_listener(self._connection, timeout)
        until = time.monotonic() + _SECONDS_TO_RECONNECT
        while True:
            try:
                return mssql_python.connect(login, autocommit=True, timeout=timeout)
            except Exception as problem:
                error = unreachable(problem, self._connection)
                if not isinstance(error, Transient) or time.monotonic() >= until:
                    raise error from None
            time.sleep(_SECONDS_BETWEEN)

    # Statements

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        return self._fetch_all(render(statement, DIALECT))

    def _fetch_all(self, text: str) -> list[tuple[Any, ...]]:
        with self.translated(), self._driver.cursor() as cursor:
            cursor.execute(text)
            while not cursor.description and cursor.nextset():
                pass  # a batch may return counts and messages before its rows
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def _answers(self, questions: Sequence[Sql]) -> list[list[tuple[Any, ...]]]:
        """Ask several questions in one round trip, and return the answer of each."""
        found: list[list[tuple[Any, ...]]] = []
        with self.translated(), self._driver.cursor() as cursor:
            cursor.execute(_BETWEEN.join(render(question, DIALECT) for question in questions))
            while True:
                if cursor.description:
                    found.append([tuple(row) for row in cursor.fetchall()])
                if not cursor.nextset():
                    return found

    def query_user_sql(self, query: str) -> list[str | None]:
        with self._rolled_back() if self._read_only else nullcontext():
            return [None if row[0] is None else str(row[0]) for row in self._fetch_all(query)]

    @contextmanager
    def _rolled_back(self) -> Iterator[None]:
        self._run("BEGIN TRANSACTION")
        try:
            yield
        finally:
            self._roll_back()

    def execute(self, statement: Sql) -> int:
        if self._read_only:
            raise DatabaseError(
                f"{self._connection.display}: a statement that writes was sent in a read-only session.",
                "Nothing was written.",
                "Report this: Tidegate must not write to a source.",
            )
        return self._run(render(statement, DIALECT))

    def execute_all(self, statements: Sequence[Sql]) -> None:
        """Run the statements in one round trip; none runs after one that failed."""
        batch = _BETWEEN.join(render(statement, DIALECT) for statement in statements)
        self.execute(sql("{batch}", batch=raw(batch)))

    def _run(self, text: str) -> int:
        with self.translated():
            return self._run_batch(text)

    def _run_batch(self, text: str) -> int:
        """Run a batch and read all results: an error may come with the last one. Return the row count of the statement,
        which comes after the counts of its triggers."""
        with self._driver.cursor() as cursor:
            cursor.execute(text)
            rows = int(cursor.rowcount)
            while cursor.nextset():
                rows = int(cursor.rowcount) if cursor.rowcount >= 0 else rows
            return max(rows, 0)

    def _last_number(self, text: str) -> int:
        found: list[Any] = []
        with self._driver.cursor() as cursor:
            cursor.execute(text)
            while True:
                found = cursor.fetchall() if cursor.description else found
                if not cursor.nextset():
                    return int(found[-1][0])

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn errors of the driver into Tidegate's."""
        try:
            yield
        except (TidegateError, GeneratorExit):
            raise
        except Exception as problem:
            raise as_tidegate_error(problem, self._number(problem), self._connection) from None

    def _number(self, problem: BaseException) -> int:
        """Return the number of the last error of this session; 0 if unknown, LOST if the connection is lost.

        The server closes the connection after its worst errors."""
        if is_lost(problem):
            return LOST
        try:
            with self._driver.cursor() as cursor:
                cursor.execute("SELECT @@ERROR")
                return int(cursor.fetchone()[0])
        except Exception as second_problem:
            return LOST if is_lost(second_problem) else 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._joint is not None:
            yield
            return
        self._run("BEGIN TRANSACTION")
        self.is_in_transaction = True
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.is_in_transaction = False
        try:
            self._run_batch("COMMIT TRANSACTION")
        except Exception as problem:
            number = self._number(problem)
            if number > 0 and number != _NO_TRANSACTION:  # the server refused, with a reason
                raise as_tidegate_error(problem, number, self._connection) from None
            raise OutcomeUnknown(
                f"{self._connection.display}: {self._unknown_commit(number)}.",
                "The transaction is committed as a whole or not at all.",
                "Run again: it checks first and repeats only what is missing.",
            ) from None

    @contextmanager
    def one_transaction(self, tables: Sequence[TableName], without_triggers: Sequence[TableName]) -> Iterator[None]:
        among_them = [key for key in self.foreign_keys(tables) if {key.table, key.parent} <= {*tables}]
        with ExitStack() as stages:
            second = stages.enter_context(self.database.connect("load", query_timeout=self._driver.timeout))
            with self.transaction(), constraints.set_aside(self, among_them, without_triggers):
                self._joint = _Joint(second, stages)
                try:
                    yield
                finally:
                    self._joint = None

    @staticmethod
    def _unknown_commit(number: int) -> str:
        if number == _NO_TRANSACTION:
            return f"its transaction had ended before it was committed (error {number})"
        return "the connection was lost while a commit was under way"

    def _roll_back(self) -> None:
        with suppress(DatabaseError):
            self._run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")

    @property
    def is_open(self) -> bool:
        if self._driver.closed:
            return False
        with suppress(DatabaseError):
            return self._fetch_all("SELECT 1") == [(1,)]
        return False

    def close(self) -> None:
        with suppress(Exception):
            self._driver.close()

    def reset(self) -> bool:
        """Loads reset their own settings and locks."""
        self._run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        return True

    # The catalog

    def identity(self) -> str:
        return self.known_identities()[0]

    def known_identities(self) -> tuple[str, ...]:
        """Return the number of the database in its availability group, and the name of its server.

        The number is the same on every replica. The name identified the database before it joined the group."""
        identities = [str(name) for name in self._fetch_all(server.IDENTITIES.strip())[0] if name is not None]
        return tuple(text if len(text) <= 200 else hashlib.sha256(text.encode()).hexdigest() for text in identities)

    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        parts = [names[start : start + _TABLES_AT_ONCE] for start in range(0, len(names), _TABLES_AT_ONCE)]
        return {name: schema for part in parts for name, schema in self._schemas(part).items()}

    def _schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        numbers = catalog.numbered(self._query_with_features, names)
        real_names = resolve_names(names, numbers)
        if not real_names:
            return {}
        tables = {numbers[real]: real for real in real_names.values()}
        features = self.server_features
        if features.is_warehouse:
            raise Unsupported(
                f"{self._connection.display} is Azure Synapse, which has another SQL dialect than SQL Server.",
                "Nothing was read or written.",
                "Name an SQL Server, a Managed Instance or an Azure SQL Database.",
            )
        answers = self._answers(catalog.questions(tables, DIALECT, features))
        found = self._with_layouts(catalog.table_schemas(tables, *answers, features=features), numbers)
        return {name: found[real] for name, real in real_names.items() if real in found}

    def _with_layouts(
        self, found: dict[TableName, TableSchema], numbers: dict[TableName, int]
    ) -> dict[TableName, TableSchema]:
        partitioned = {numbers[name]: name for name, schema in found.items() if schema.partitioned_by}
        if not partitioned:
            return found
        notes = layout.notes(*map(self.query, layout.questions(partitioned)))
        with_notes = {
            name: replace(found[name], target_notes=(*found[name].target_notes, *notes[number]))
            for number, name in partitioned.items()
            if number in notes
        }
        return found | with_notes

    def describe(self, schema: TableSchema) -> list[Section]:
        from tidegate.databases.sqlserver import description  # runs do not need it

        number = catalog.numbered(self.query, [schema.name])[schema.name]
        return [*describe_schema(schema), *description.sections(self.query, number, self.server_features)]

    def foreign_keys(self, tables: Sequence[TableName]) -> list[ForeignKey]:
        return constraints.as_foreign_keys(self.query(constraints.foreign_keys(tables))) if tables else []

    def structures(self, tables: Sequence[TableName]) -> dict[TableName, Structure]:
        return structure.as_structures(*(self.query(part) for part in structure.questions(tables))) if tables else {}

    def existing_tables(self, names: Sequence[TableName]) -> set[TableName]:
        return set(resolve_names(names, catalog.numbered(self.query, names)))

    @cached_property
    def server_features(self) -> server.ServerFeatures:
        return server.ServerFeatures.of(*self._fetch_all(server.SERVER_FEATURES.strip())[0])

    def _query_with_features(self, question: Sql) -> list[tuple[Any, ...]]:
        """Return the answer to a question. The first one brings the features of the server along."""
        if "server_features" in self.__dict__:
            return self.query(question)
        answer, features = self._answers([question, sql(server.SERVER_FEATURES.strip())])
        self.__dict__["server_features"] = server.ServerFeatures.of(*features[0])
        return answer

    def target_notes(self) -> tuple[str, ...]:
        if self._authentication in _LOGINS_WITHOUT_BULK_COPY:
            return (_NO_BULK_COPY_FOR_LOGIN.format(self._authentication),)
        return () if self.can_bulk_copy else (_NO_BULK_COPY,)

    @property
    def can_bulk_copy(self) -> bool:
        return self.server_features.bulk_copy and self._authentication not in _LOGINS_WITHOUT_BULK_COPY

    @property
    def _authentication(self) -> str:
        return dict(self._connection.options).get("authentication", "")

    def tables(self) -> list[TableName]:
        return catalog.user_tables(self.query)

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        # An index over texts is ordered by their collation, in which different texts can be equal.
        question = sought_values if indexed and not column.collation else distinct_values
        return [str(row[0]) for row in self.query(question(table, column, limit))]

    def now(self) -> str:
        text = str(self._fetch_all("SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121)")[0][0])
        return text.replace(" ", "T") + "+00:00"

    def log_space(self) -> str:
        return server.log_space(self._fetch_all)

    # Rows

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        yield from self.read_query(select_rows(request), request)

    def read_query(self, query: Sql, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query that selects the columns of a request."""
        from tidegate.databases.sqlserver.reading import batches

        with self.translated(), self._driver.cursor() as cursor:
            cursor.execute(render(query, DIALECT))
            yield from batches(self, cursor, request)

    def split(self, window: Divisible, parts: int) -> list[ReadRequest]:
        return split_by_key(self, window, parts)

    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        with self.bulk_insert(table, columns, lambda: batches) as insert_into_table:
            return insert_into_table()

    @contextmanager
    def bulk_insert(
        self,
        table: TableName,
        columns: Sequence[Column],
        batches: Callable[[], Iterator[pa.RecordBatch]],
        files: Callable[[], Sequence[StoredFile]] | None = None,
    ) -> Iterator[Callable[[], int]]:
        from tidegate.databases.sqlserver.stage import Stage

        if self._joint is not None:
            assert isinstance(self._joint.session, SqlServerSession)
            stage = self._joint.stages.enter_context(Stage(self._joint.session, table, columns))
            stage.fill(batches())
            yield partial(stage.insert_into_table, self)
            return
        with Stage(self, table, columns) as stage:
            stage.fill(batches())
            yield partial(stage.insert_into_table, self)

    def copy(self, table: TableName, columns: Sequence[str], batches: Iterable[pa.RecordBatch]) -> None:
        """Write batches by bulk copy, which opens a connection of its own."""
        with self._driver.cursor() as cursor:
            try:
                # Every column by name: the list of columns from the server was incomplete in tests.
                cursor.bulkcopy_arrow(
                    render(Name.of(table), DIALECT),
                    batches,
                    timeout=self._driver.timeout,
                    column_mappings=list(columns),
                    table_lock=True,
                    keep_nulls=True,
                )
            except Exception as problem:
                raise bulk_copy_error(problem, self._connection) from None

    def insert(self, statement: Sql, table: TableName, columns: Sequence[Column]) -> int:
        """Run an INSERT and return the number of rows. Raises ValueProblem if the server refuses a value."""
        # The row counts of the driver may be those of a trigger's statements.
        with_count = sql("{insert};\nSELECT ROWCOUNT_BIG()", insert=statement)
        try:
            return self._last_number(render(with_count, DIALECT))
        except Exception as problem:
            number = self._number(problem)
            if number in VALUE_REFUSED:
                raise value_refused(str(table), columns, problem, number) from None
            raise as_tidegate_error(problem, number, self._connection) from None

    # Native partitions

    @property
    def native_partitions(self) -> NativePartitions:
        from tidegate.databases.sqlserver.native_partitions import SqlServerPartitions

        return SqlServerPartitions(self)

    # Snapshots and locks

    def export_snapshot(self) -> str:
        if self.server_features.snapshot_of_transaction:
            self._run(_ISOLATION.format(level="SNAPSHOT"))
        elif dict(self._connection.options).get("hold_locks") == "yes":
            self._run(_ISOLATION.format(level="SERIALIZABLE"))  # HOLDLOCK on all that the transaction reads
        self._run("BEGIN TRANSACTION")
        return ""

    def try_lock(self, name: str) -> bool:
        return self._lock(name, 0, "Session")

    def wait_for_other_loads(self, table: TableName) -> None:
        """Without READ_COMMITTED_SNAPSHOT readers wait for writers: two loads that scan what they wrote would deadlock.
        So would two that scan a table without an index for the rows that they replace, whatever the isolation is.
        Staging comes before this wait and still runs in parallel."""
        if not self.server_features.snapshot_of_statement or not self._has_index(table):
            self.lock_in_transaction(f"tidegate turn {table}")

    def set_indexes_aside(self, table: TableName) -> list[Sql]:
        return set_aside(self, table, render(Name.of(table), DIALECT))

    def _has_index(self, table: TableName) -> bool:
        name = Literal(render(Name.of(table), DIALECT))
        question = sql(
            "SELECT {count} FROM sys.indexes WHERE object_id = OBJECT_ID({name}) AND index_id > 0",
            count=Count(),
            name=name,
        )
        return bool(int(str(self.query(question)[0][0])))

    def lock_in_transaction(self, name: str) -> None:
        """Wait for as long as the holder lives: its lock ends with its transaction, and that with its session. Nothing
        else is locked here yet, and what was staged stays."""
        answer = _TIMED_OUT
        for _ in range(_ROUNDS_TO_WAIT):
            started = time.monotonic()
            answer = self._lock_answer(name, self._longest_wait, "Transaction")
            has_waited = (time.monotonic() - started) * 2000 >= self._longest_wait
            if answer != _TIMED_OUT or not has_waited:  # a server that answers at once does not wait
                break
        if answer < 0:
            seconds = _ROUNDS_TO_WAIT * self._longest_wait // 1000
            raise Transient(
                f"{self._connection.display}: another run has had the lock `{name}` for more than {seconds} seconds.",
                "The transaction was rolled back.",
                "Run again: it completes what is missing.",
            )

    def _lock(self, name: str, wait: int, owner: str) -> bool:
        return self._lock_answer(name, wait, owner) >= 0

    def _lock_answer(self, name: str, wait: int, owner: str) -> int:
        """Return what sp_getapplock answers: 0 or 1 for a lock, -1 for a wait that was too long."""
        answer: Any = self.query(
            sql(
                "DECLARE @answer int;\n"
                "EXEC @answer = sp_getapplock @Resource = {name}, @LockMode = {mode}, @LockOwner = {owner},"
                " @LockTimeout = {wait}, @DbPrincipal = {everybody};\n"
                "SELECT @answer",
                name=self._lock_name(name),
                mode=Literal("Exclusive"),
                owner=Literal(owner),
                wait=Literal(wait),
                everybody=Literal("public"),
            )
        )
        return int(answer[0][0])

    def unlock(self, name: str) -> None:
        self.execute(
            sql(
                "EXEC sp_releaseapplock @Resource = {name}, @LockOwner = {owner}, @DbPrincipal = {everybody}",
                name=self._lock_name(name),
                owner=Literal("Session"),
                everybody=Literal("public"),
            )
        )

    def _lock_name(self, name: str) -> Literal:
        """Return a readable name of at most 255 characters, unique by a digest. The digest includes the database: a
        compatible server shares lock names among its databases."""
        digest = hashlib.sha256(f"{self._connection.database.casefold()} {name}".encode()).hexdigest()[:16]
        return Literal(f"tidegate {digest} {name.removeprefix('tidegate ')[:200]}")
