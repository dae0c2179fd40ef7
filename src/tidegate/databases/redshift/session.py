"""One open connection to Redshift, over PostgreSQL's protocol.

Facts that shape this file
 * The server says that its encoding is UNICODE, which Python does not know. So the protocol is spoken by libpq alone,
   and every statement is a simple query.
 * A transaction sees the snapshot of its first statement, but LOCK takes none. So every transaction locks the ledger
   first: what it reads is what the transaction before it left, and two loads never conflict by it (error 1023).
 * There are no locks by name. A run holds a table by the lock of a small table of ours, in a transaction of its own
   that stays open. It ends with its connection, also after a crash.
 * A statement that fails ends its transaction; there are no savepoints.
 * The server enforces no keys: after each load we look for keys that are there twice.
"""

from __future__ import annotations

import hashlib
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import conninfo, pq

from tidegate.databases.redshift import catalog
from tidegate.databases.redshift.copying import Copy, is_copied_as_is, without_store
from tidegate.databases.redshift.dialect import DIALECT
from tidegate.databases.redshift.failures import CANCELLED, ServerError, translated, unreachable
from tidegate.databases.redshift.statements import distinct_values, repeated_keys, select_rows
from tidegate.errors import DatabaseError, DuplicateKey, OutcomeUnknown, Transient
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.sql.text import Name, Sql, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.redshift import Redshift
    from tidegate.interfaces.stored_files import StoredFile

_SETTINGS = (
    "SET datestyle TO 'ISO, YMD'",
    "SET timezone TO 'UTC'",
    "SET extra_float_digits TO 2",
    "SET enable_case_sensitive_identifier TO false",
)
_SECONDS_FOR_THE_LEDGER, _SECONDS_FOR_A_TABLE = 300, 2
_INTEGERS = (20, 21, 23, 26)
_BOOL = 16
_OK = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class RedshiftSession(Session):
    """Statements, catalog, rows and locks of one connection."""

    database: Redshift

    def __init__(self, database: Redshift, arguments: dict[str, Any], *, query_timeout: float | None) -> None:
        self.database = database
        self._place = database.connection
        self._arguments = arguments
        self._timeout = int((query_timeout or 0) * 1000)
        self._locks: dict[str, RedshiftSession] = {}
        self._has_ledger = False
        self._link = _opened(conninfo.make_conninfo("", **arguments).encode(), float(arguments["connect_timeout"]))
        if self._link.status != pq.ConnStatus.OK:
            lines = self._link.error_message.decode(errors="replace").strip().split("\n")
            raise unreachable(lines[-1] or "no answer in time", self._place)
        for setting in _SETTINGS:
            self._run(setting)
        self._set_timeout(self._timeout)

    def _set_timeout(self, milliseconds: int) -> None:
        self._run(f"SET statement_timeout TO {milliseconds:d}")

    def _run(self, text: str) -> pq.abc.PGresult:
        try:
            return self._answer(text)
        except ServerError as problem:
            raise translated(problem, self._place) from None

    def _answer(self, text: str) -> pq.abc.PGresult:
        self._send(text)
        found = None
        while (answer := self._result()) is not None:
            if found is None or found.status in _OK:
                found = answer
        if found is None or found.status not in _OK:
            raise ServerError.of(self._link, found)
        return found

    def _result(self) -> pq.abc.PGresult | None:
        """Return the next result of a query; None after the last one. Other threads go on while this one waits."""
        link = self._link
        try:
            while link.is_busy():
                _wait(link.socket, select.POLLIN)
                link.consume_input()
            return link.get_result()
        except psycopg.Error:
            raise ServerError.of(link, None) from None

    def _send(self, text: str) -> None:
        try:
            self._link.send_query(text.encode())
        except psycopg.Error:
            raise ServerError.of(self._link, None) from None

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        answer = self._run(render(statement, DIALECT))
        kinds = [answer.ftype(number) for number in range(answer.nfields)]
        return [
            tuple(_value(answer.get_value(row, number), kind) for number, kind in enumerate(kinds))
            for row in range(answer.ntuples)
        ]

    def query_user_sql(self, query: str) -> list[str | None]:
        return [None if row[0] is None else str(row[0]) for row in self.query(sql("{query}", query=raw(query)))]

    def execute(self, statement: Sql) -> int:
        return self._run(render(statement, DIALECT)).command_tuples or 0

    # Transactions and locks

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._begin()
        try:
            yield
        except BaseException:
            # A rollback also brings back the time-out of the lock.
            with suppress(ServerError, DatabaseError):
                self._answer("ROLLBACK")
                self._set_timeout(self._timeout)
            raise
        self._commit()

    def _begin(self) -> None:
        """Open a transaction and lock the ledger as its first statement. Until there is one, a table beside it."""
        ledger = self.database.own_table("ledger")
        self._has_ledger = self._has_ledger or bool(self.query(catalog.existing(ledger)))
        first = ledger if self._has_ledger else self._small_table("guard")
        self._set_timeout(_SECONDS_FOR_THE_LEDGER * 1000)
        self._run("BEGIN")
        try:
            self._answer(render(sql("LOCK TABLE {table}", table=Name.of(first)), DIALECT))
        except ServerError as problem:
            self._has_ledger = False
            with suppress(ServerError):
                self._answer("ROLLBACK")
            if problem.state == CANCELLED:
                raise Transient(
                    f"{self._place.display}: another load has held {first} for {_SECONDS_FOR_THE_LEDGER} seconds.",
                    "Nothing was written.",
                    "Run again: it completes what is missing. SVV_TRANSACTIONS shows who holds it.",
                ) from None
            raise translated(problem, self._place) from None
        self._set_timeout(0)

    def _small_table(self, name: str) -> TableName:
        """Return a table that is only there to be locked. Creates it where it is missing."""
        table = self.database.own_table(name)
        if not self.query(catalog.existing(table)):
            self._create(sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(table.schema)))
            self._create(sql("CREATE TABLE IF NOT EXISTS {table} (held smallint)", table=Name.of(table)))
        return table

    def _create(self, statement: Sql) -> None:
        """Run DDL that another session may run at the same time: what is there afterwards counts."""
        try:
            self._answer(render(statement, DIALECT))
        except ServerError as problem:
            if problem.lost or not (problem.is_violation or problem.state in ("42P07", "42P06", "23505", "XX000")):
                raise translated(problem, self._place) from None

    def _commit(self) -> None:
        try:
            answer = self._answer("COMMIT")
        except ServerError as problem:
            if problem.lost:
                raise OutcomeUnknown(
                    f"{self._place.display}: the connection was lost while a commit was under way.",
                    "The transaction is committed as a whole or not at all.",
                    "Run again: it checks first and repeats only what is missing.",
                ) from None
            raise translated(problem, self._place) from None
        if answer.command_status != b"COMMIT":
            raise Transient(
                f"{self._place.display}: the server rolled the transaction back.", "Nothing was written.", "Run again."
            )
        if self._timeout:
            self._set_timeout(self._timeout)

    def lock_in_transaction(self, name: str) -> None:
        """Every transaction has the lock of the ledger, which is a stronger one."""

    def try_lock(self, name: str) -> bool:
        if name in self._locks and self._locks[name].is_open:
            return True
        table = self._small_table(f"lock_{hashlib.sha256(name.encode()).hexdigest()[:32]}")
        holder = RedshiftSession(self.database, self._arguments, query_timeout=_SECONDS_FOR_A_TABLE)
        try:
            holder._answer("BEGIN")
            holder._answer(render(sql("LOCK TABLE {table}", table=Name.of(table)), DIALECT))
        except ServerError as problem:
            holder.close()
            if problem.state in (CANCELLED, "55P03"):
                return False
            raise translated(problem, self._place) from None
        self._locks[name] = holder
        return True

    @property
    def is_open(self) -> bool:
        return bool(self._link.status == pq.ConnStatus.OK)

    def close(self) -> None:
        for holder in self._locks.values():
            holder.close()
        self._locks.clear()
        self._link.finish()

    def reset(self) -> bool:
        if self._locks:
            return False
        if self._link.transaction_status != pq.TransactionStatus.IDLE:
            self._run("ROLLBACK")
        return True

    # The catalog

    def identity(self) -> str:
        return str(self.query(catalog.IDENTITY)[0][0])

    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        if not names:
            return {}
        return catalog.table_schemas(names, self.query(catalog.columns(names)), self.query(catalog.keys(names)))

    def tables(self) -> list[TableName]:
        return [TableName(str(schema), str(table)) for schema, table in self.query(catalog.TABLES)]

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        return [str(row[0]) for row in self.query(distinct_values(table, column, limit))]

    def now(self) -> str:
        return str(self.query(catalog.NOW)[0][0])

    def target_notes(self) -> tuple[str, ...]:
        return ("Redshift enforces no keys: each load looks for keys that are there twice",)

    # Rows

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        from tidegate.databases.redshift.decoding import decode
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        rows: list[list[bytes | None]] = []
        size = 0
        for row in self._streamed(render(select_rows(request), DIALECT)):
            rows.append(row)
            size += sum(len(value) for value in row if value is not None)
            if len(rows) >= request.batch.rows or size >= request.batch.bytes:
                yield decode(rows, schema)
                rows, size = [], 0
        if rows:
            yield decode(rows, schema)

    def _streamed(self, text: str) -> Iterator[list[bytes | None]]:
        """Yield rows as the server sends them: a whole result would lie in memory. A caller that stops early can go on
        using the connection."""
        link = self._link
        problem = None
        try:
            self._send(text)
            link.set_single_row_mode()
            while (answer := self._result()) is not None:
                if answer.status == pq.ExecStatus.SINGLE_TUPLE:
                    yield [answer.get_value(0, number) for number in range(answer.nfields)]
                elif answer.status not in _OK and problem is None:
                    problem = ServerError.of(link, answer)
        except ServerError as lost:
            problem = lost
        finally:
            with suppress(ServerError):
                while self._result() is not None:
                    pass
        if problem is not None:
            raise translated(problem, self._place)

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
        """Copy the rows into a temporary table; yield what moves them into the table."""
        database = self.database
        if database.store is None:
            raise without_store(database.label)
        with Copy(self, database.store, table, columns, database.iam_role) as copy:
            copy.fill(batches(), files() if files is not None else ())
            yield lambda: self._inserted(table, copy)

    @contextmanager
    def staging_table(
        self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[TableName]:
        """Copy the rows straight into the staging table, where COPY knows the types of its columns."""
        first, store = next(batches, None), self.database.store
        rows = batches if first is None else chain([first], batches)
        if first is None or store is None or not is_copied_as_is(columns, first.schema):
            with super().staging_table(table, columns, rows) as stage:
                yield stage
        else:
            with Copy(self, store, table, columns, self.database.iam_role) as copy:
                copy.fill(rows, ())
                yield copy.name

    def _inserted(self, table: TableName, copy: Copy) -> int:
        rows = copy.insert_into_table()
        if rows and table.schema:
            self._require_keys(table)
        return rows

    def _require_keys(self, table: TableName) -> None:
        """Raise DuplicateKey where a declared key is there twice: the server does not look."""
        schema = self.table_schemas([table]).get(table)
        for key in (schema.primary_key, *schema.unique_keys) if schema is not None else ():
            if key and self.query(repeated_keys(table, key)):
                raise DuplicateKey(
                    f"{table}: the declared key ({', '.join(key)}) would be there twice.",
                    "The transaction was rolled back.",
                    "Look at the rows that the target has under the same key (`tidegate verify --deep`).",
                )

    def export_snapshot(self) -> str:
        self._run("BEGIN")
        return ""


def _opened(place: bytes, seconds: float) -> pq.abc.PGconn:
    """Return a connection, open or failed. libpq's own way to wait would stop all threads of the process."""
    link, end = pq.PGconn.connect_start(place), time.monotonic() + seconds
    while link.status != pq.ConnStatus.BAD:
        match link.connect_poll():
            case pq.PollingStatus.READING:
                event = select.POLLIN
            case pq.PollingStatus.WRITING:
                event = select.POLLOUT
            case _:
                break
        if not _wait(link.socket, event, end - time.monotonic()):
            link.finish()
            break
    return link


def _wait(socket: int, event: int, seconds: float | None = None) -> bool:
    waiting = select.poll()
    waiting.register(socket, event)
    return bool(waiting.poll(None if seconds is None else max(seconds, 0) * 1000))


def _value(value: bytes | None, kind: int) -> object:
    if value is None:
        return None
    if kind in _INTEGERS:
        return int(value)
    return value == b"t" if kind == _BOOL else value.decode()
