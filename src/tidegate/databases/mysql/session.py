"""One open connection to MySQL or MariaDB.

Facts that shape this file
 * The session fixes every setting that text output and strictness depend on. Zero dates and invalid dates are kept as
   they are, and a 0 in an identity column stays 0.
 * Sessions cannot share a snapshot: each task reads in a consistent transaction of its own.
 * A lock of GET_LOCK belongs to the session, not to the transaction: so we release it when the transaction ends.
 * Lock names are shared by the whole server and have 64 characters at most.
 * LOAD DATA LOCAL only warns of values that it cannot store: each warning is an error here.
 * DDL commits the open transaction.
 * A wait for a lock ends after five minutes; the default is a day.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import encoders

from tidegate.databases._key_ranges import split_by_key
from tidegate.databases.mysql import catalog, constraints, structure, transactions
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.databases.mysql.failures import LOST, VALUE_REFUSED, code_of, translated, unreachable, value_refused
from tidegate.databases.mysql.statements import distinct_values, select_rows
from tidegate.databases.mysql.wire import FILE_NAME, Wire
from tidegate.errors import DatabaseError, OutcomeUnknown, Transient
from tidegate.interfaces import Database, ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName, resolve_names
from tidegate.model.structure import Structure
from tidegate.sql.text import Literal, Name, Sql, names, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.interfaces.native_partitions import NativePartitions

_SETTINGS = """
SET NAMES utf8mb4 COLLATE {collation}, SESSION time_zone = '+00:00', SESSION wait_timeout = 28800,
SESSION sql_mode =
'NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION',
SESSION sql_notes = 1,
SESSION net_write_timeout = 3600, SESSION net_read_timeout = 3600,
SESSION autocommit = 1, SESSION lock_wait_timeout = 300, SESSION innodb_lock_wait_timeout = 300
"""
_NUMBERS = (FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG)
_SECONDS_TO_WAIT = 300
LONGEST_IDENTITY = 200


class MysqlSession(Session):
    """Statements, catalog, rows and locks of one connection."""

    def __init__(
        self, database: Database, arguments: dict[str, Any], *, read_only: bool, query_timeout: float | None
    ) -> None:
        self.database = database
        self._connection = database.connection
        self._locks: list[str] = []
        self._is_joined = False
        try:
            # Whole numbers become int; everything else stays the text that the server wrote.
            self._driver = Wire(autocommit=None, conv={**encoders, **dict.fromkeys(_NUMBERS, int)}, **arguments)
            for statement in self._settings(read_only, query_timeout):
                self._driver.query(statement)
        except (pymysql.Error, OSError, RuntimeError) as problem:  # RuntimeError: a login that needs TLS without TLS
            raise unreachable(problem, self._connection) from None

    @property
    def wire(self) -> Wire:
        """The connection itself, for the binary log."""
        return self._driver

    @property
    def is_mariadb(self) -> bool:
        return "mariadb" in str(self._driver.server_version).lower()

    @property
    def collation(self) -> str:
        """Return the exact collation of this server: different texts are never equal, also with trailing blanks."""
        if self.is_mariadb:
            return "utf8mb4_nopad_bin"
        return "utf8mb4_0900_bin" if self.version >= (8, 0, 17) else "utf8mb4_bin"

    @property
    def version(self) -> tuple[int, ...]:
        digits = str(self._driver.server_version).split("-")[0].split(".")
        return tuple(int(part) for part in digits if part.isdigit())

    def _settings(self, read_only: bool, query_timeout: float | None) -> Iterator[str]:
        yield _SETTINGS.strip().format(collation=self.collation)
        yield "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED" + (", READ ONLY" if read_only else "")
        # Also without a time-out: the server's default would apply to loads, too.
        if self.is_mariadb:
            yield f"SET SESSION max_statement_time = {float(query_timeout or 0)}"
        else:
            yield f"SET SESSION max_execution_time = {int((query_timeout or 0) * 1000)}"

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        return self._fetch_all(render(statement, DIALECT))

    def _fetch_all(self, text: str) -> list[tuple[Any, ...]]:
        with translated(self._connection), self._driver.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def query_user_sql(self, query: str) -> list[str | None]:
        return [None if row[0] is None else str(row[0]) for row in self._fetch_all(query)]

    def scanned_tables(self, query: str) -> frozenset[str]:
        """EXPLAIN answers a row per table: its alias is the third column, and how it is read (`ALL`) is among the rest.

        MySQL has one column more than MariaDB, before the way."""
        rows = self._fetch_all(render(sql("EXPLAIN {query}", query=raw(query)), DIALECT))
        return frozenset(str(row[2]) for row in rows if "ALL" in row[3:5] and row[2] is not None)

    def execute(self, statement: Sql) -> int:
        return self._run(render(statement, DIALECT))

    def _run(self, text: str | bytes) -> int:
        with translated(self._connection):
            return max(int(self._driver.query(text)), 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._is_joined:
            yield
            return
        self._run("START TRANSACTION")
        try:
            try:
                yield
            except BaseException:
                with suppress(pymysql.Error, OSError):
                    self._driver.rollback()
                raise
            self._commit()
        finally:
            self._release()

    def foreign_keys(self, tables: Sequence[TableName]) -> list[ForeignKey]:
        return constraints.as_foreign_keys(self.query(constraints.foreign_keys(tables))) if tables else []

    @contextmanager
    def one_transaction(self, tables: Sequence[TableName], without_triggers: Sequence[TableName]) -> Iterator[None]:
        # Also keys of other tables: with the checks off, rows that they refer to could leave.
        with self.transaction(), constraints.set_aside(self, self.foreign_keys(tables)):
            self._is_joined = True
            try:
                yield
            finally:
                self._is_joined = False

    def _commit(self) -> None:
        try:
            self._driver.commit()
        except (pymysql.Error, OSError) as problem:
            if code_of(problem) in LOST or isinstance(problem, (OSError, pymysql.InternalError)):
                raise OutcomeUnknown(
                    f"{self._connection.display}: the connection was lost while a commit was under way.",
                    "The transaction is committed as a whole or not at all.",
                    "Run again: it checks first and repeats only what is missing.",
                ) from None
            with translated(self._connection):
                raise problem

    @property
    def is_open(self) -> bool:
        return bool(self._driver.open)

    def close(self) -> None:
        with suppress(pymysql.Error, OSError):
            self._driver.close()

    def reset(self) -> bool:
        self._run("ROLLBACK")
        return True

    # The catalog

    def identity(self) -> str:
        """MySQL has a server UUID. MariaDB has none: host, port and data directory identify it."""
        place = "CONCAT(@@hostname, ':', @@port, ':', @@datadir)" if self.is_mariadb else "@@server_uuid"
        found = str(self.query(sql("SELECT CONCAT(DATABASE(), ' on ', {place})", place=raw(place)))[0][0])
        return found if len(found) <= LONGEST_IDENTITY else hashlib.sha256(found.encode()).hexdigest()

    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        existing = [TableName(str(schema), str(table)) for schema, table in self.query(catalog.spellings())]
        real_names = resolve_names(names, existing)
        if not real_names:
            return {}
        tables = sorted(set(real_names.values()))
        found = catalog.table_schemas(
            *(self.query(question(tables)) for question in (catalog.columns, catalog.keys, catalog.guards))
        )
        return {name: found[real] for name, real in real_names.items() if real in found}

    def tables(self) -> list[TableName]:
        return [TableName(str(schema), str(table)) for schema, table in self.query(catalog.tables())]

    def structures(self, tables: Sequence[TableName]) -> dict[TableName, Structure]:
        found = self.query(structure.structure(tables)) if tables else []
        return structure.as_structures(found, is_mariadb=self.is_mariadb)

    def columns_set_at_changes(self, table: TableName) -> frozenset[str]:
        return frozenset(str(name) for (name,) in self.query(catalog.columns_set_on_update(table)))

    def not_listed(self) -> dict[TableName, str]:
        return {TableName(str(schema), str(view)): "a view" for schema, view in self.query(catalog.views())}

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        # An index over texts is ordered by their collation, in which different texts can be equal.
        by_index = indexed and (not column.collation or column.collation == self.collation)
        return [str(row[0]) for row in self.query(distinct_values(table, column, limit, by_index=by_index))]

    def now(self) -> str:
        return str(self.query(sql("SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00')"))[0][0])

    # Rows

    def open_transactions(self, table: TableName) -> str | None:
        try:
            monitor = str(self._fetch_all(transactions.MONITOR)[0][2])
        except DatabaseError:
            if not self.is_open:
                raise
            return None  # without the right PROCESS
        found = transactions.writers(monitor)
        return None if found is None else transactions.as_json(found)

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        from tidegate.databases.mysql.decoding import decode
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        statement = render(select_rows(request), DIALECT)
        with translated(self._connection), closing(self._driver.blocks(statement, request.batch)) as blocks:
            for block in blocks:
                yield decode(block, schema)

    def split(self, window: Divisible, parts: int) -> list[ReadRequest]:
        return split_by_key(self, window, parts)

    def change_mark(self, window: Divisible) -> str:
        """Return the time of the table's last change; empty when that was a moment ago, or for engines without rows'
        versions."""
        if not self.is_mariadb:
            self._run("SET SESSION information_schema_stats_expiry = 0")  # by default the answer is up to a day old
        found = self.query(catalog.last_change(window.request.table))
        return str(found[0][0]) if found and found[0][1] else ""

    def last_change(self, table: TableName) -> str:
        """Return the time of the table's last commit; empty where nobody changed it since the server was started."""
        if not self.is_mariadb:
            self._run("SET SESSION information_schema_stats_expiry = 0")
        found = self.query(catalog.last_change(table))
        return str(found[0][0]) if found and found[0][1] and found[0][0] != "never" else ""

    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        allowed = self.query(sql("SELECT @@local_infile"))[0][0] in (1, "1", "ON")
        return self._load(table, columns, batches) if allowed else self._insert(table, columns, batches)

    def _load(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        from tidegate.databases.mysql.encoding import field_targets, lines

        into, computed = field_targets(columns)
        statement = sql(
            "LOAD DATA LOCAL INFILE {file} INTO TABLE {table} CHARACTER SET utf8mb4\n"
            "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\n' ({into})",
            file=Literal(FILE_NAME),
            table=Name.of(table),
            into=into,
        )
        if computed:
            statement = sql("{load} SET {computed}", load=statement, computed=computed)
        with translated(self._connection):
            rows, warnings = self._driver.load(render(statement, DIALECT), (lines(batch) for batch in batches))
        if warnings:
            _, code, message = (self._fetch_all("SHOW WARNINGS LIMIT 1") or [("", 0, "no reason given")])[0]
            raise value_refused(str(table), columns, int(code), str(message))
        return rows

    def _insert(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        """Load by INSERT, for servers that forbid LOAD DATA LOCAL: as many rows in a statement as the server takes."""
        from tidegate.databases.mysql.encoding import rows

        begin = sql(
            "INSERT INTO {table} ({columns}) VALUES ",
            table=Name.of(table),
            columns=names(column.name for column in columns),
        )
        text = render(begin, DIALECT).encode()
        pieces = (piece for batch in batches for piece in rows(batch, columns))
        with translated(self._connection):
            try:
                return sum(int(self._driver.query(text + piece)) for piece in pieces)
            except pymysql.Error as problem:
                if code_of(problem) not in VALUE_REFUSED:
                    raise
                raise value_refused(str(table), columns, code_of(problem), str(problem.args[1])) from None

    # Native partitions

    @property
    def native_partitions(self) -> NativePartitions:
        from tidegate.databases.mysql.native_partitions import MysqlPartitions

        return MysqlPartitions(self)

    # Snapshots and locks

    def export_snapshot(self) -> str:
        self._run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return ""

    def try_lock(self, name: str) -> bool:
        return self._lock(name, 0)

    def lock_in_transaction(self, name: str) -> None:
        if not self._lock(name, _SECONDS_TO_WAIT):
            raise Transient(
                f"{self._connection.display}: another run has had the lock `{name}` for more than"
                f" {_SECONDS_TO_WAIT} seconds.",
                "The transaction was rolled back.",
                "Run again: it completes what is missing.",
            )
        self._locks.append(name)

    def _lock(self, name: str, seconds: int) -> bool:
        statement = sql("SELECT GET_LOCK({name}, {wait})", name=self._lock_name(name), wait=Literal(seconds))
        return self.query(statement)[0][0] in (1, "1")

    def _release(self) -> None:
        while self._locks:
            name = self._locks.pop()
            if self.is_open:
                with suppress(DatabaseError):
                    self.query(sql("SELECT RELEASE_LOCK({name})", name=self._lock_name(name)))

    def _lock_name(self, name: str) -> Literal:
        digest = hashlib.sha256(f"{self._connection.database} {name}".encode()).hexdigest()[:40]
        return Literal(f"tidegate {digest}")
