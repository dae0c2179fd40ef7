"""Recorders in place of the drivers' connections: they record every statement, and answer as a server would.

Each database has one class here. Its columns are the ones that it declares for the types of `statements.py`.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import mssql_python
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq_files
import pytest
from psycopg import pq

from tidegate.databases.mysql import Mysql
from tidegate.databases.mysql import session as mysql_session
from tidegate.databases.postgresql import Postgresql
from tidegate.databases.redshift import Redshift
from tidegate.databases.redshift import session as redshift_session
from tidegate.databases.sqlserver import SqlServer
from tidegate.databases.sqlserver import session as sqlserver_session
from tidegate.databases.sqlserver import stage as sqlserver_stage
from tidegate.interfaces import Database
from tidegate.model.connection import Connection

Rows = list[tuple[Any, ...]]

NOW: Rows = [("now",)]
IDENTITY: Rows = [("1/2",)]


class Recorder(ABC):
    """One connection without a server.

    Args:
        server: the version that the server reports; if empty, a current one.
        answers: rows by a part of the statement; they replace the usual answers of this kind of server.
        lock_is_free: whether a requested lock is granted.
    """

    database: ClassVar[Database]
    answers: ClassVar[Mapping[str, Rows]]
    asks_for_lock: ClassVar[str]

    def __init__(self, *, server: str = "", answers: Mapping[str, Rows] | None = None, lock_is_free: bool = True):
        self.sent: list[str] = []
        self.server = server
        usual = {**self.answers, self.asks_for_lock: [(int(lock_is_free),)]}
        self._answers = {**usual, **(answers or {})}

    @abstractmethod
    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the product connect to this recorder."""

    def note(self, text: str) -> Rows:
        """Record a statement, and return what a server would answer."""
        self.sent.append(text.strip())
        return next((rows for part, rows in self._answers.items() if part in text), [])

    def note_rows(self, content: bytes) -> None:
        self.sent += ["-- then its rows:", *(f"-- {line}" for line in content.decode().splitlines())]


BETWEEN = ";\n\n"
"""Between the statements that SQL Server gets in one round trip."""
NO_ROWS = b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xff"
"""COPY's binary format without rows: header and end."""


class PostgresqlRecorder(Recorder):
    """Replaces psycopg's connection, its cursor, its copy and libpq's connection."""

    database = Postgresql(Connection("postgresql", "nowhere", 5432, "none"))
    answers: ClassVar[Mapping[str, Rows]] = {
        "to_char(now()": NOW,
        "system_identifier": IDENTITY,
        "pg_export_snapshot": [("00000003-1",)],
    }
    asks_for_lock = "pg_try_advisory_lock"
    closed = False
    rowcount = 0
    _messages: list[bytes]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(psycopg, "connect", lambda **arguments: self)
        monkeypatch.setattr(uuid, "uuid4", lambda: SimpleNamespace(hex="1"))

    def execute(self, text: str, parameters: object = None) -> SimpleNamespace:
        rows = self.note(text)
        self.sent += [f"-- with {parameters}"] if parameters else []
        return SimpleNamespace(rowcount=0, statusmessage=text, fetchall=lambda: rows)

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        yield

    @contextmanager
    def cursor(self) -> Iterator[PostgresqlRecorder]:
        yield self

    @contextmanager
    def copy(self, text: str) -> Iterator[PostgresqlRecorder]:
        self.note(text)
        yield self

    def write(self, content: bytes | memoryview) -> None:
        if isinstance(content, bytes):
            self.note_rows(content)
        else:
            self.sent += [f"-- then {bytes(content).hex(' ')}"]

    # Rows are read straight from libpq.

    @property
    def pgconn(self) -> PostgresqlRecorder:
        return self

    def exec_(self, text: bytes) -> SimpleNamespace:
        self.note(text.decode())
        self._messages = [NO_ROWS] if b"FORMAT binary" in text else []
        return SimpleNamespace(status=pq.ExecStatus.COPY_OUT)

    def get_copy_data(self, asynchronous: int) -> tuple[int, bytes]:
        return (1, self._messages.pop()) if self._messages else (-1, b"")

    def get_result(self) -> SimpleNamespace:
        return SimpleNamespace(status=pq.ExecStatus.COMMAND_OK)


class MysqlRecorder(Recorder):
    """Replaces `Wire`. The version is MySQL's unless MariaDB's is given."""

    database = Mysql(Connection("mysql", "nowhere", 3306, "none"))
    answers: ClassVar[Mapping[str, Rows]] = {
        "UTC_TIMESTAMP": NOW,
        "SELECT CONCAT(DATABASE(), ' on ',": IDENTITY,
        "@@local_infile": [(1,)],
    }
    asks_for_lock = "GET_LOCK"
    open = True

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mysql_session, "Wire", lambda **arguments: self)
        monkeypatch.setattr(uuid, "uuid4", lambda: SimpleNamespace(hex="1"))

    @property
    def server_version(self) -> str:
        return self.server or "8.4.3"

    def query(self, text: str | bytes) -> int:
        self.note(text.decode() if isinstance(text, bytes) else text)
        return 0

    @contextmanager
    def cursor(self) -> Iterator[SimpleNamespace]:
        answers: list[Rows] = []
        yield SimpleNamespace(
            execute=lambda text: answers.append(self.note(text)), fetchall=lambda: answers.pop() if answers else []
        )

    def blocks(self, text: str, size: object) -> Generator[Any, None, None]:
        self.note(text)
        yield from ()

    def load(self, text: str, blocks: Iterable[bytes]) -> tuple[int, int]:
        """Return as many warnings as SHOW WARNINGS has rows."""
        self.note(text)
        for block in blocks:
            self.note_rows(block)
        return 0, len(self._answers.get("SHOW WARNINGS", []))

    def commit(self) -> None:
        self.note("COMMIT")

    def rollback(self) -> None:
        self.note("ROLLBACK")


class SqlServerRecorder(Recorder):
    """Replaces mssql-python's connection and cursor."""

    database = SqlServer(Connection("sqlserver", "nowhere", 1433, "none"))
    answers: ClassVar[Mapping[str, Rows]] = {
        "SYSUTCDATETIME": NOW,
        "SELECT DB_NAME()": IDENTITY,
        "d.snapshot_isolation_state": [(1, 0, 2, 3, -220, None, "READ_WRITE", 1, 1)],
        "SELECT MAX(CASE WHEN": [(-1,)],
        "SELECT @@ERROR": [(0,)],
        "ROWCOUNT_BIG": [(2,)],
    }
    asks_for_lock = "sp_getapplock"
    closed = False
    timeout = 0
    _copied: Sequence[int] = ()
    """The rows of the last bulk copy, and the values in each column."""

    def __init__(self, *, lock_is_free: bool = True, **rest: Any):
        super().__init__(**rest)
        self._arrow: list[Any] = list(self._answers.pop("in Arrow", []))
        self._answers[self.asks_for_lock] = [(0 if lock_is_free else -1,)]

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlserver_session.mssql_python, "connect", lambda *login, **arguments: self)
        monkeypatch.setattr(sqlserver_session, "require_listener", lambda connection, timeout: None)
        monkeypatch.setattr(sqlserver_stage, "FEW_ROWS", 0)  # otherwise these few rows would go by INSERT
        monkeypatch.setattr(uuid, "uuid4", lambda: SimpleNamespace(hex="1"))

    @contextmanager
    def cursor(self) -> Iterator[SimpleNamespace]:
        answers: list[Rows] = []
        yield SimpleNamespace(
            execute=lambda text: answers.extend(map(self.note, text.split(BETWEEN))),
            fetchall=lambda: answers[0],
            fetchone=lambda: answers[0][0],
            arrow_batch=lambda rows: self._arrow.pop(0) if self._arrow else SimpleNamespace(num_rows=0),
            bulkcopy_arrow=self._copy,
            nextset=lambda: bool(answers) and answers.pop(0) is not None and bool(answers),
            description=[("column",)],
            rowcount=2,
        )

    def note(self, text: str) -> Rows:
        """A number as an answer is the number of the error that the statement raises."""
        answer = super().note(text)
        if text.startswith("SELECT COUNT_BIG(*), COUNT_BIG([c0])"):
            one_row_without_nulls = [1] * text.count("COUNT_BIG(")
            return [tuple(self._copied or one_row_without_nulls)]
        if isinstance(answer, int):
            self._answers["SELECT @@ERROR"] = [(answer,)]
            raise mssql_python.DataError("refused", "")
        return answer

    def _copy(self, table: str, batches: Iterable[pa.RecordBatch], **options: object) -> None:
        self.note(f"-- bulk copy into {table} with {options}")
        table_of_rows = pa.Table.from_batches(batches)
        self.note_rows("\n".join(str(row) for row in table_of_rows.to_pylist()).encode())
        values = [table_of_rows.num_rows - column.null_count for column in table_of_rows.columns]
        self._copied = [table_of_rows.num_rows, *values]


class RedshiftRecorder(Recorder):
    """Replaces libpq's connection, and the bucket."""

    database = Redshift(Connection("redshift", "nowhere", 5439, "none", options=(("iam_role", "arn:role"),)))
    answers: ClassVar[Mapping[str, Rows]] = {"SYSDATE": NOW, "CURRENT_NAMESPACE": IDENTITY}
    asks_for_lock = 'LOCK TABLE "tidegate"."lock_'
    status = pq.ConnStatus.OK
    transaction_status = pq.TransactionStatus.IDLE
    error_message = b"refused"
    _rows = 1

    def __init__(self, *, lock_is_free: bool = True, **rest: Any):
        super().__init__(**rest)
        self._is_free = lock_is_free
        self._files: dict[str, pa.BufferOutputStream] = {}
        self._answers[self.asks_for_lock] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(redshift_session, "pq", SimpleNamespace(**{**vars(pq), "PGconn": self}))
        monkeypatch.setattr(self.database, "store", self)
        monkeypatch.setattr(uuid, "uuid4", lambda: SimpleNamespace(hex="1"))

    def connect_start(self, text: bytes) -> RedshiftRecorder:
        return self

    def connect_poll(self) -> pq.PollingStatus:
        return pq.PollingStatus.OK

    def is_busy(self) -> bool:
        return False

    def send_query(self, text: bytes) -> None:
        self._answered = [self._answer(text)]

    def get_result(self) -> SimpleNamespace | None:
        return self._answered.pop() if self._answered else None

    def _answer(self, text: bytes) -> SimpleNamespace:
        rows = self.note(text.decode())
        if self.asks_for_lock in text.decode() and not self._is_free:
            return SimpleNamespace(status=pq.ExecStatus.FATAL_ERROR, error_field=lambda field: b"57014")
        if b'SELECT count(*) FROM "tidegate_copy' in text:
            rows = [(self._rows,)]
        texts = [[None if value is None else _text(value) for value in row] for row in rows]
        kinds = {int: 23, bool: 16}
        return SimpleNamespace(
            status=pq.ExecStatus.TUPLES_OK,
            nfields=len(rows[0]) if rows else 0,
            ntuples=len(rows),
            ftype=lambda number: kinds.get(type(rows[0][number]), 25),
            get_value=lambda row, number: texts[row][number],
            command_tuples=2,
            command_status=text,
        )

    def set_single_row_mode(self) -> None:
        """Nothing is answered."""

    def finish(self) -> None:
        """Nothing is open."""

    # The bucket

    def output(self, path: str) -> pa.BufferOutputStream:
        self._files[path] = pa.BufferOutputStream()
        return self._files[path]

    def flush(self, path: str) -> int:
        table = pq_files.read_table(pa.BufferReader(self._files[path].getvalue()))
        self._rows = table.num_rows
        self.sent.append(f"-- a file {path}:")
        self.sent += [f"-- {row}" for row in table.to_pylist()]
        return 1

    def write_text(self, path: str, text: str) -> None:
        self.sent.append(f"-- a file {path}:")
        self.sent += [f"-- {line}" for line in text.splitlines()]

    def delete_folder(self, folder: str) -> None:
        """The files stay nowhere."""

    def full_path(self, path: str) -> str:
        return f"s3://bucket/{path}"


def _text(value: object) -> bytes:
    return (b"t" if value else b"f") if isinstance(value, bool) else str(value).encode()


RECORDERS: dict[str, type[Recorder]] = {
    recorder.database.kind: recorder
    for recorder in (PostgresqlRecorder, MysqlRecorder, SqlServerRecorder, RedshiftRecorder)
}
