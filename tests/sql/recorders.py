"""What stands where a driver's connection stands: it writes down what it is given, and answers as a server would.

A database costs one class here. Its columns are those that it declares itself for the types of `statements.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import psycopg
import pytest
from psycopg import pq

from tidegate.databases.mysql import Mysql
from tidegate.databases.mysql import session as mysql_session
from tidegate.databases.postgresql import Postgresql
from tidegate.interfaces import Database
from tidegate.model.connection import Connection

Rows = list[tuple[Any, ...]]

NOW: Rows = [("now",)]
IDENTITY: Rows = [("1/2",)]


class Recorder(ABC):
    """One connection that leads nowhere.

    Args:
        server: the version that the server says it has; where it is empty, an ordinary one of today.
        answers: rows by a text that the statement holds; in place of what every server of this kind answers.
        lock_is_free: whether a lock that is asked for is granted.
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
        """From here on the product connects to this."""

    def note(self, text: str) -> Rows:
        """Write a statement down; what a server would answer."""
        self.sent.append(text.strip())
        return next((rows for part, rows in self._answers.items() if part in text), [])

    def note_rows(self, content: bytes) -> None:
        self.sent += ["-- then its rows:", *(f"-- {line}" for line in content.decode().splitlines())]


class PostgresqlRecorder(Recorder):
    """In the place of psycopg's connection, its cursor, its copy and what libpq has of them."""

    database = Postgresql(Connection("postgresql", "nowhere", 5432, "none"))
    answers: ClassVar[Mapping[str, Rows]] = {
        "to_char(now()": NOW,
        "system_identifier": IDENTITY,
        "pg_export_snapshot": [("00000003-1",)],
    }
    asks_for_lock = "pg_try_advisory_lock"
    closed = False
    rowcount = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(psycopg, "connect", lambda **arguments: self)

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

    def write(self, content: bytes) -> None:
        self.note_rows(content)

    # What is read comes straight from libpq.

    @property
    def pgconn(self) -> PostgresqlRecorder:
        return self

    def exec_(self, text: bytes) -> SimpleNamespace:
        self.note(text.decode())
        return SimpleNamespace(status=pq.ExecStatus.COPY_OUT)

    def get_copy_data(self, asynchronous: int) -> tuple[int, bytes]:
        return -1, b""

    def get_result(self) -> SimpleNamespace:
        return SimpleNamespace(status=pq.ExecStatus.COMMAND_OK)


class MysqlRecorder(Recorder):
    """In the place of the `Wire`. The version is MySQL's unless MariaDB's is given."""

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

    @property
    def server_version(self) -> str:
        return self.server or "8.4.3"

    def query(self, text: str | bytes) -> int:
        self.note(text.decode() if isinstance(text, bytes) else text)
        return 0

    @contextmanager
    def cursor(self) -> Iterator[SimpleNamespace]:
        answered: list[Rows] = []
        yield SimpleNamespace(
            execute=lambda text: answered.append(self.note(text)), fetchall=lambda: answered.pop() if answered else []
        )

    def blocks(self, text: str, size: object) -> Generator[Any, None, None]:
        self.note(text)
        yield from ()

    def load(self, text: str, blocks: Iterable[bytes]) -> tuple[int, int]:
        """As many warnings as the server shows."""
        self.note(text)
        for block in blocks:
            self.note_rows(block)
        return 0, len(self._answers.get("SHOW WARNINGS", []))

    def commit(self) -> None:
        self.note("COMMIT")

    def rollback(self) -> None:
        self.note("ROLLBACK")


RECORDERS: dict[str, type[Recorder]] = {
    recorder.database.kind: recorder for recorder in (PostgresqlRecorder, MysqlRecorder)
}
