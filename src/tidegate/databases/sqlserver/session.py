"""One open connection to SQL Server.

Facts that shape this file
 * Every setting that text and strictness depend on is fixed when the session opens. XACT_ABORT ends the transaction at
   any error, so that nothing half-done is ever committed.
 * The driver is in autocommit, and transactions are statements: so a batch means what it says.
 * An application lock of a session outlives transactions and ends with the session, one of a transaction ends with it.
   Its name is of the database and of 255 characters at most.
 * A snapshot is allowed by the database or not; with READ_COMMITTED_SNAPSHOT each statement has one of its own.
 * The driver gives every program its own name. What a session is for is seen in sys.dm_exec_sessions.context_info,
   which has room for 128 bytes; machine and process stand beside it.
 * There is no session that may only read: ours refuses by itself, and undoes whatever a user's query did.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import mssql_python

from tidegate.databases.sqlserver import catalog, layout, server
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.failures import (
    LOST,
    NO_ROOM_IN_COLUMN,
    is_lost,
    not_taken,
    of_bulk_copy,
    ours,
    unreachable,
)
from tidegate.databases.sqlserver.statements import distinct_values, select_rows, sought_values
from tidegate.errors import DatabaseError, OutcomeUnknown, TidegateError, Transient, Unsupported
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column, Shape
from tidegate.model.description import Section, described
from tidegate.model.names import TableName, spelled
from tidegate.sql.text import Literal, Name, Sql, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.sqlserver import SqlServer

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
_MILLISECONDS_TO_WAIT = 300_000
_NO_BULK_COPIES = (
    "this server does not tell the driver the columns of a table, which a bulk copy begins with: rows come by INSERT,"
    " which is slower"
)
_NO_COPIES_FOR_LOGIN = "the driver's bulk copy cannot log in by {}: rows come by INSERT, which is slower"
_LOGINS_WITHOUT_COPIES = ("ActiveDirectoryPassword", "ActiveDirectoryIntegrated")
_TABLES_AT_ONCE = 100  # more in one question, and the server may run out of room for its plan (8623, 8631)
_SECONDS_TO_COME_BACK, _SECONDS_BETWEEN = 60.0, 3.0
_NO_TRANSACTION = 3902

# Pooled connections would keep locks and settings of a session that was closed.
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
        self.has_looked_for_stages = False
        # A lock that is not had is told by the server, before the driver gives the question up.
        given_up = math.ceil(query_timeout) * 1000 - 500 if query_timeout else sys.maxsize
        self._longest_wait, lock_timeout = (min(wait, given_up) for wait in (_MILLISECONDS_TO_WAIT, lock_timeout))
        try:
            self._driver = self._opened(login, login_timeout)
            self._driver.timeout = math.ceil(query_timeout or 0)
            shown = f"tidegate {purpose}".encode()[:128].hex()
            self._done(_SETTINGS.strip().format(lock_timeout=int(lock_timeout), purpose=shown))
        except TidegateError:
            raise
        except Exception as problem:  # the driver raises a class of its own for each of its layers
            raise unreachable(problem, self._connection) from None

    def _opened(self, login: str, timeout: int) -> Any:
        """A database that is waking up, or moving to another server, is waited for."""
        until = time.monotonic() + _SECONDS_TO_COME_BACK
        while True:
            try:
                return mssql_python.connect(login, autocommit=True, timeout=timeout)
            except Exception as problem:
                told = unreachable(problem, self._connection)
                if not isinstance(told, Transient) or time.monotonic() >= until:
                    raise told from None
            time.sleep(_SECONDS_BETWEEN)

    # Statements

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        return self._asked(render(statement, DIALECT))

    def _asked(self, text: str) -> list[tuple[Any, ...]]:
        with self.translated(), self._driver.cursor() as cursor:
            cursor.execute(text)
            while not cursor.description and cursor.nextset():
                pass  # a batch may answer with counts and messages before its rows
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def texts_of_user(self, query: str) -> list[str | None]:
        with self._undone() if self._read_only else nullcontext():
            return [None if row[0] is None else str(row[0]) for row in self._asked(query)]

    @contextmanager
    def _undone(self) -> Iterator[None]:
        self._done("BEGIN TRANSACTION")
        try:
            yield
        finally:
            self._roll_back()

    def execute(self, statement: Sql) -> int:
        if self._read_only:
            raise DatabaseError(
                f"{self._connection.display}: a statement that writes came to a read-only session.",
                "Nothing was written.",
                "Report it: sources are only read.",
            )
        return self._done(render(statement, DIALECT))

    def _done(self, text: str) -> int:
        with self.translated():
            return self._ran(text)

    def _ran(self, text: str) -> int:
        """Hears all answers: an error may come with the last one, and a trigger counts before its statement does."""
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
        """Turns the driver's errors into ours."""
        try:
            yield
        except (TidegateError, GeneratorExit):
            raise
        except Exception as problem:
            raise ours(problem, self._number(problem), self._connection) from None

    def _number(self, problem: BaseException) -> int:
        """Of the error that this session met last; 0 where it cannot be told, LOST where nobody answers any more: the
        server hangs up after its worst errors."""
        if is_lost(problem):
            return LOST
        try:
            with self._driver.cursor() as cursor:
                cursor.execute("SELECT @@ERROR")
                return int(cursor.fetchone()[0])
        except Exception as silence:
            return LOST if is_lost(silence) else 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._done("BEGIN TRANSACTION")
        self.is_in_transaction = True
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.is_in_transaction = False
        try:
            self._ran("COMMIT TRANSACTION")
        except Exception as problem:
            number = self._number(problem)
            if number > 0 and number != _NO_TRANSACTION:  # the server said no, and said why
                raise ours(problem, number, self._connection) from None
            raise OutcomeUnknown(
                f"{self._connection.display}: {self._what_became_of_a_commit(number)}.",
                "Either all of the transaction is there or nothing.",
                "Run again: it looks first and repeats only what is missing.",
            ) from None

    @staticmethod
    def _what_became_of_a_commit(number: int) -> str:
        if number == _NO_TRANSACTION:
            return f"its transaction had ended before it was committed (error {number})"
        return "the connection was lost while a commit was under way"

    def _roll_back(self) -> None:
        with suppress(DatabaseError):
            self._done("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")

    @property
    def is_open(self) -> bool:
        if self._driver.closed:
            return False
        with suppress(DatabaseError):
            return self._asked("SELECT 1") == [(1,)]
        return False

    def close(self) -> None:
        with suppress(Exception):
            self._driver.close()

    def renew(self) -> bool:
        """What a load set or locked besides, it has given back itself."""
        self._done("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        return True

    # The catalog

    def identity(self) -> str:
        return self.identities()[0]

    def identities(self) -> tuple[str, ...]:
        """Of an availability group the database's own number there, which is the same on every replica; and the name of
        its server, by which it was known before it joined."""
        told = [str(name) for name in self._asked(server.IDENTITIES.strip())[0] if name is not None]
        return tuple(one if len(one) <= 200 else hashlib.sha256(one.encode()).hexdigest() for one in told)

    def shapes(self, names: Sequence[TableName]) -> dict[TableName, Shape]:
        some = [names[start : start + _TABLES_AT_ONCE] for start in range(0, len(names), _TABLES_AT_ONCE)]
        return {name: shape for part in some for name, shape in self._shapes(part).items()}

    def _shapes(self, names: Sequence[TableName]) -> dict[TableName, Shape]:
        numbers = catalog.numbered(self.query, names)
        real = spelled(names, numbers)
        if not real:
            return {}
        asked = {numbers[there]: there for there in real.values()}
        can = self.abilities
        if can.is_warehouse:
            raise Unsupported(
                f"{self._connection.display} is Azure Synapse, whose SQL is not that of SQL Server.",
                "Nothing was read or written.",
                "Name an SQL Server, a Managed Instance or an Azure SQL Database.",
            )
        answers = [self.query(question) for question in catalog.questions(asked, DIALECT, can)]
        found = self._with_layouts(catalog.shapes(asked, *answers, can=can), numbers)
        return {name: found[there] for name, there in real.items() if there in found}

    def _with_layouts(self, found: dict[TableName, Shape], numbers: dict[TableName, int]) -> dict[TableName, Shape]:
        partitioned = {numbers[name]: name for name, shape in found.items() if shape.partitioned_by}
        if not partitioned:
            return found
        told = layout.remarks(*map(self.query, layout.questions(partitioned)))
        shapes = {name: found[name] for number, name in partitioned.items() if number in told}
        more = {name: told[numbers[name]] for name in shapes}
        return found | {name: replace(one, remarks=(*one.remarks, *more[name])) for name, one in shapes.items()}

    def describe(self, shape: Shape) -> list[Section]:
        from tidegate.databases.sqlserver import description  # no run needs it

        number = catalog.numbered(self.query, [shape.name])[shape.name]
        return [*described(shape), *description.sections(self.query, number, self.abilities)]

    def existing(self, names: Sequence[TableName]) -> set[TableName]:
        return set(spelled(names, catalog.numbered(self.query, names)))

    @cached_property
    def abilities(self) -> server.Abilities:
        return server.Abilities.of(*self._asked(server.ABILITIES.strip())[0])

    def remarks(self) -> tuple[str, ...]:
        if self._login_by in _LOGINS_WITHOUT_COPIES:
            return (_NO_COPIES_FOR_LOGIN.format(self._login_by),)
        return () if self.copies_in_bulk else (_NO_BULK_COPIES,)

    @property
    def copies_in_bulk(self) -> bool:
        return self.abilities.bulk_copies and self._login_by not in _LOGINS_WITHOUT_COPIES

    @property
    def _login_by(self) -> str:
        return dict(self._connection.options).get("authentication", "")

    def tables(self) -> list[TableName]:
        return catalog.users_own(self.query)

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        # An index over a text is in the order of its collation, which calls unlike texts equal.
        ask = sought_values if indexed and not column.collation else distinct_values
        return [str(row[0]) for row in self.query(ask(table, column, limit))]

    def now(self) -> str:
        text = str(self._asked("SELECT CONVERT(varchar(26), CONVERT(datetime2(6), SYSUTCDATETIME()), 121)")[0][0])
        return text.replace(" ", "T") + "+00:00"

    def room(self) -> str:
        return server.room(self._asked)

    # Rows

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        from tidegate.databases.sqlserver.reading import batches

        with self.translated(), self._driver.cursor() as cursor:
            cursor.execute(render(select_rows(request), DIALECT))
            yield from batches(self, cursor, request)

    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        with self.staged(table, columns, lambda: batches) as take_over:
            return take_over()

    @contextmanager
    def staged(
        self, table: TableName, columns: Sequence[Column], batches: Callable[[], Iterator[pa.RecordBatch]]
    ) -> Iterator[Callable[[], int]]:
        from tidegate.databases.sqlserver.stage import Stage

        with Stage(self, table, columns) as stage:
            stage.fill(batches())
            yield stage.take_over

    def copy(self, table: TableName, columns: Sequence[str], batches: Iterable[pa.RecordBatch]) -> None:
        """Bulk copy, over a connection of its own."""
        with self._driver.cursor() as cursor:
            try:
                # Every column by name: what a server says of a table's columns has been seen to be incomplete.
                cursor.bulkcopy_arrow(
                    render(Name.of(table), DIALECT),
                    batches,
                    timeout=self._driver.timeout,
                    column_mappings=list(columns),
                    table_lock=True,
                    keep_nulls=True,
                )
            except Exception as problem:
                raise of_bulk_copy(problem, self._connection) from None

    def insert(self, statement: Sql, table: TableName, columns: Sequence[Column]) -> int:
        """How many rows the table took. Raises ValueProblem where the server refuses a value."""
        # Counts that come with the answers may be those of a trigger's statements, as rows may be a trigger's.
        counted = sql("{insert};\nSELECT ROWCOUNT_BIG()", insert=statement)
        try:
            return self._last_number(render(counted, DIALECT))
        except Exception as problem:
            number = self._number(problem)
            if number in NO_ROOM_IN_COLUMN:
                raise not_taken(str(table), columns, problem, number) from None
            raise ours(problem, number, self._connection) from None

    # Snapshots and locks

    def export_snapshot(self) -> str:
        if self.abilities.snapshot_of_transaction:
            self._done("SET TRANSACTION ISOLATION LEVEL SNAPSHOT")
        self._done("BEGIN TRANSACTION")
        return ""

    def try_lock(self, name: str) -> bool:
        return self._lock(name, 0, "Session")

    def take_turns(self, table: TableName) -> None:
        """Where readers wait for writers, two loads that read back what they wrote by a scan would wait for each other.
        Staging is done by then."""
        if not self.abilities.snapshot_of_statement:
            self.lock_in_transaction(f"tidegate turn {table}")

    def lock_in_transaction(self, name: str) -> None:
        if not self._lock(name, self._longest_wait, "Transaction"):
            raise Transient(
                f"{self._connection.display}: another run holds `{name}` for more than"
                f" {self._longest_wait // 1000} seconds.",
                "The transaction was rolled back.",
                "Run again: it completes what is missing.",
            )

    def _lock(self, name: str, wait: int, owner: str) -> bool:
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
        return int(answer[0][0]) >= 0

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
        """Readable, and told from every other one of 255 characters. A compatible server has one list for all of its
        databases, so theirs is in it."""
        digest = hashlib.sha256(f"{self._connection.database.casefold()} {name}".encode()).hexdigest()[:16]
        return Literal(f"tidegate {digest} {name.removeprefix('tidegate ')[:200]}")
