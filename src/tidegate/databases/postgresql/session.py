"""One open PostgreSQL connection.

Facts that shape this file
 * The session fixes every setting that text output depends on. So dates, intervals, floats, bytes, money and the time
   zone read the same on every server.
 * COMMIT of a failed transaction answers ROLLBACK, without an error.
 * A wait for a lock ends after five minutes. A snapshot that many tasks read may stay open for hours.
 * An exported snapshot lives as long as the transaction that exported it. SET TRANSACTION SNAPSHOT must be the first
   statement of the transaction that uses it, in REPEATABLE READ.
 * A standby can export a snapshot, too. It ends sessions whose snapshot blocks its replay for too long.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors, pq

from tidegate.databases._key_ranges import split_by_key
from tidegate.databases.postgresql import catalog, constraints, counters, structure
from tidegate.databases.postgresql.dialect import DIALECT
from tidegate.databases.postgresql.failures import (
    NotWritable,
    not_writable,
    snapshot_gone,
    translated,
    unreachable,
    value_refused,
)
from tidegate.databases.postgresql.indexes import set_aside
from tidegate.databases.postgresql.last_change import last_change
from tidegate.databases.postgresql.splitting import split_by_place
from tidegate.databases.postgresql.statements import distinct_by_index, distinct_by_scan, select_rows
from tidegate.errors import DatabaseError, OutcomeUnknown
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import MappedTable, TableName
from tidegate.model.structure import Structure
from tidegate.sql.text import Literal, Name, Sql, names, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.postgresql.decoding import Block
    from tidegate.interfaces.native_partitions import NativePartitions

_SETTINGS = """
SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET datestyle = 'ISO, YMD';
SET intervalstyle = 'iso_8601'; SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex';
SET lc_monetary = 'C'; SET xmloption = 'content'; SET default_transaction_isolation = 'read committed';
SET search_path = ''; SET lock_timeout = '5min'; SET idle_in_transaction_session_timeout = 0
"""
_READ_ONLY = "; SET default_transaction_read_only = on"


class PostgresqlSession(Session):
    """Statements, catalog, rows, snapshots and locks of one connection."""

    def __init__(
        self,
        database: Database,
        arguments: dict[str, Any],
        *,
        read_only: bool,
        query_timeout: float | None,
    ) -> None:
        self.database = database
        self._connection = connection = database.connection
        self._is_joined = False
        try:
            self._driver: psycopg.Connection[Any] = psycopg.connect(autocommit=True, **arguments)
            timeout = sql("; SET statement_timeout = {ms}", ms=Literal(int((query_timeout or 0) * 1000)))
            settings = _SETTINGS + (_READ_ONLY if read_only else "") + render(timeout, DIALECT)
            self._driver.execute(settings)
        except psycopg.Error as problem:
            raise unreachable(problem, connection) from None

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        with translated(self._connection):
            return self._driver.execute(render(statement, DIALECT)).fetchall()

    def query_user_sql(self, query: str) -> list[str | None]:
        self.execute(sql("RESET search_path"))
        try:
            wrapped = sql("SELECT CAST(theirs.value AS text) FROM ({query}) AS theirs(value)", query=raw(query))
            return [None if row[0] is None else str(row[0]) for row in self.query(wrapped)]
        finally:
            if self.is_open:
                self.execute(sql("SET search_path = ''"))

    def scanned_tables(self, query: str) -> frozenset[str]:
        self.execute(sql("RESET search_path"))
        try:
            [(plan,)] = self.query(sql("EXPLAIN (FORMAT JSON) {query}", query=raw(query)))
        finally:
            if self.is_open:
                self.execute(sql("SET search_path = ''"))
        return frozenset(catalog.scanned(plan))

    def execute(self, statement: Sql) -> int:
        with translated(self._connection):
            return max(self._driver.execute(render(statement, DIALECT)).rowcount, 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._is_joined:
            yield
            return
        self.execute(sql("BEGIN"))
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self._driver.execute("ROLLBACK")
            raise
        self._commit()

    def foreign_keys(self, tables: Sequence[TableName]) -> list[ForeignKey]:
        return constraints.as_foreign_keys(self.query(constraints.foreign_keys(tables))) if tables else []

    @contextmanager
    def one_transaction(self, tables: Sequence[TableName], without_triggers: Sequence[TableName]) -> Iterator[None]:
        among_them = [key for key in self.foreign_keys(tables) if {key.table, key.parent} <= {*tables}]
        with self.transaction(), constraints.set_aside(self, among_them, without_triggers):
            self._is_joined = True
            try:
                yield
            finally:
                self._is_joined = False

    def _commit(self) -> None:
        try:
            answer = self._driver.execute("COMMIT").statusmessage
        except psycopg.OperationalError:
            raise OutcomeUnknown(
                f"{self._connection.display}: the connection was lost while a commit was under way.",
                "The transaction is committed as a whole or not at all.",
                "Run again: it checks first and repeats only what is missing.",
            ) from None
        except psycopg.Error as problem:
            # A deferred constraint is checked at commit.
            with translated(self._connection):
                raise problem
        if answer != "COMMIT":
            raise DatabaseError(
                f"{self._connection.display}: the server rolled the transaction back.",
                "Nothing was written.",
                "Run again; look at the server's log when it repeats.",
            )

    @property
    def is_open(self) -> bool:
        return not self._driver.closed

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._driver.close()

    def reset(self) -> bool:
        if self._driver.info.transaction_status != pq.TransactionStatus.IDLE:
            self.execute(sql("ROLLBACK"))
        return True

    # The catalog

    def identity(self) -> str:
        with translated(self._connection):
            return str(self._driver.execute(catalog.IDENTITY).fetchall()[0][0])

    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        parameters = [[name.schema for name in names], [name.name for name in names]]
        with translated(self._connection), self._pipeline():
            columns = self._driver.execute(catalog.COLUMNS, parameters)
            keys = self._driver.execute(catalog.KEYS, parameters)
            guards = self._driver.execute(catalog.GUARDS, [*parameters, *parameters, *parameters])
            return catalog.table_schemas(names, columns.fetchall(), keys.fetchall(), guards.fetchall())

    def _pipeline(self) -> AbstractContextManager[object]:
        """One round trip for several statements, where the client library can."""
        return self._driver.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()

    def tables(self) -> list[TableName]:
        with translated(self._connection):
            return [TableName(*row) for row in self._driver.execute(catalog.TABLES).fetchall()]

    def unknown_types(self, types: Sequence[str]) -> set[str]:
        rows = (
            self.query(
                sql(
                    "SELECT name FROM (VALUES {names}) AS asked(name) WHERE to_regtype(name) IS NULL",
                    names=[sql("({name})", name=Literal(name)) for name in types],
                )
            )
            if types
            else []
        )
        return {str(name) for (name,) in rows}

    def structures(self, tables: Sequence[TableName]) -> dict[TableName, Structure]:
        return structure.as_structures(self.query(structure.structure(tables))) if tables else {}

    def type_definitions(self, types: Sequence[str]) -> dict[str, str]:
        rows = self.query(structure.type_definitions(types)) if types else []
        schemas = sorted({str(schema) for _, schema, _ in rows} - {"public"})
        create = {
            f"schema {schema}": render(sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(schema)), DIALECT)
            for schema in schemas
        }
        return {**create, **{str(name): str(ddl) for name, _, ddl in rows}}

    def columns_set_at_changes(self, table: TableName) -> frozenset[str]:
        return frozenset(str(name) for (name,) in self.query(catalog.columns_set_by_triggers(table)))

    def not_listed(self) -> dict[TableName, str]:
        with translated(self._connection):
            rows = self._driver.execute(catalog.NOT_LISTED).fetchall()
        return {TableName(schema, name): why for schema, name, why in rows}

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        statement = distinct_by_index if indexed else distinct_by_scan
        return [str(row[0]) for row in self.query(statement(table, column, limit))]

    def advance_counters(self, table: TableName) -> tuple[str, ...]:
        refused = []
        for row in self.query(counters.counters_of(table)):
            column, schema, name, ascending, may_move = row
            counter = counters.Counter(str(column), TableName(str(schema), str(name)), bool(ascending), bool(may_move))
            if counter.may_move:
                self.query(counters.move(table, counter))
            else:
                refused.append(f"{counter.sequence} of column {counter.column}")
        return tuple(refused)

    def now(self) -> str:
        return str(self.query(sql('SELECT to_char(now(), \'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"\')'))[0][0])

    # Rows

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        from tidegate.databases.postgresql import csv, decoding
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        forms = decoding.forms(request.columns, schema)
        if forms is None:
            query = sql("COPY ({query}) TO STDOUT (FORMAT csv)", query=select_rows(request))
            yield from self._read(query, request, lambda blocks: csv.decoded(blocks, schema))
        else:
            as_text = [column.name for column, form in zip(request.columns, forms, strict=True) if form.as_text]
            query = sql("COPY ({query}) TO STDOUT (FORMAT binary)", query=select_rows(request, as_text))
            yield from self._read(query, request, lambda blocks: decoding.decoded(blocks, schema, forms))

    def split(self, window: Divisible, parts: int) -> list[ReadRequest]:
        if isinstance(window.request.table, MappedTable):  # a query has no ctid
            return split_by_key(self, window, parts)
        return split_by_place(self, window, parts)

    def _read(
        self, statement: Sql, request: ReadRequest, decoded: Callable[[Iterator[Block]], Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        blocks = self._copied(render(statement, DIALECT), request.batch)
        with translated(self._connection), closing(blocks):
            yield from decoded(blocks)

    def copied(self, query: Sql, size: BatchSize) -> Generator[Block, None, None]:
        """Yield what COPY sends of a query in its binary format."""
        blocks = self._copied(render(sql("COPY ({query}) TO STDOUT (FORMAT binary)", query=query), DIALECT), size)
        with translated(self._connection), closing(blocks):
            yield from blocks

    def _copied(self, statement: str, size: BatchSize) -> Generator[Block, None, None]:
        """Yield what COPY sends, one message per row, straight from libpq: psycopg's iteration is three times slower.

        A caller that stops early can go on using the connection: the rest is read and dropped.
        """
        link, ended = self._driver.pgconn, False
        answer = link.exec_(statement.encode())
        if answer.status != pq.ExecStatus.COPY_OUT:
            raise self._failure(answer)
        block, ends = bytearray(), list[int]()
        take, most_rows, most_bytes = link.get_copy_data, size.rows, size.bytes
        try:
            while not ended:
                block, ends, total = bytearray(), [], 0
                for _ in range(most_rows):  # runs a million times a second
                    length, message = take(1)
                    while not length:
                        _await_bytes(link)
                        length, message = take(1)
                    if length < 0:
                        ended = True
                        break
                    block += message
                    total += length
                    ends.append(total)
                    if total >= most_bytes:
                        break
                if not ended:
                    yield block, ends
        finally:
            while not ended:
                length = take(1)[0]
                ended = length < 0
                if not length:
                    _await_bytes(link)
            answer = link.get_result() or answer
            link.get_result()
        if answer.status != pq.ExecStatus.COMMAND_OK:
            raise self._failure(answer)
        if ends:
            yield block, ends

    def _failure(self, answer: pq.abc.PGresult) -> psycopg.Error:
        """Return the error of a failed COPY. OperationalError for a lost connection: only that can be retried."""
        link = self._driver.pgconn
        if link.status != pq.ConnStatus.OK:
            return psycopg.OperationalError(link.get_error_message())
        return errors.error_from_result(answer)

    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        first = next(batches, None)
        if first is None:
            return 0
        return self._write(table, columns, first.schema, chain([first], batches))

    def _write(
        self, table: TableName, columns: Sequence[Column], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
    ) -> int:
        from tidegate.databases.postgresql import csv, encoding

        writers = encoding.writers(columns, schema)
        way = "csv" if writers is None else "binary"
        named = names(column.name for column in columns)
        into = sql("COPY {table} ({columns}) FROM STDIN", table=Name.of(table), columns=named)
        statement = sql("{into} (FORMAT {way})", into=into, way=raw(way))
        blocks = csv.encoded(batches, columns) if writers is None else encoding.encoded(batches, schema, writers)
        with translated(self._connection), self._driver.cursor() as cursor:
            try:
                with cursor.copy(render(statement, DIALECT)) as copy:
                    for block in blocks:
                        copy.write(block)
            except psycopg.DataError as problem:
                raise value_refused(problem, str(table), columns) from None
            except NotWritable as problem:
                raise not_writable(problem, str(table)) from None
            return cursor.rowcount

    # Native partitions

    @property
    def native_partitions(self) -> NativePartitions:
        from tidegate.databases.postgresql.native_partitions import PostgresqlPartitions

        return PostgresqlPartitions(self)

    # Snapshots and locks

    def export_snapshot(self) -> str:
        self.execute(sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        return str(self.query(sql("SELECT pg_export_snapshot()"))[0][0])

    def use_snapshot(self, snapshot: str) -> None:
        self.execute(sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        statement = sql("SET TRANSACTION SNAPSHOT {snapshot}", snapshot=Literal(snapshot))
        with translated(self._connection):
            try:
                self._driver.execute(render(statement, DIALECT))
            except (errors.UndefinedObject, errors.InvalidParameterValue):  # the second before version 17
                raise snapshot_gone(self._connection) from None

    def set_indexes_aside(self, table: TableName) -> list[Sql]:
        return set_aside(self, table)

    def last_change(self, table: TableName) -> str:
        """Return what the server's counts of changed rows say."""
        return str(self.query(last_change(table))[0][0] or "")

    def try_lock(self, name: str) -> bool:
        answer = self.query(sql("SELECT pg_try_advisory_lock(hashtextextended({name}, 0))", name=Literal(name)))
        return bool(answer[0][0])

    def lock_in_transaction(self, name: str) -> None:
        self.query(sql("SELECT pg_advisory_xact_lock(hashtextextended({name}, 0))", name=Literal(name)))


def _await_bytes(link: pq.abc.PGconn) -> None:
    """Wait for more bytes from the server, and take them.

    Where psycopg lets libpq wait, in `get_copy_data(0)`, it keeps the interpreter: no other thread of the process runs
    until the server sends something."""
    arrived = select.poll()
    arrived.register(link.socket, select.POLLIN)
    arrived.poll()
    link.consume_input()
