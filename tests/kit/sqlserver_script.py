"""Record the statements that sessions send to a real SQL Server as a readable script.

Parts that differ from run to run (names of databases and staging tables, numbers, times) are replaced by fixed words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidegate.databases.sqlserver import session as product

_OPENS = re.compile(r"^SET ANSI_NULLS.*SET CONTEXT_INFO 0x(?P<purpose>[0-9a-f]*)", re.DOTALL)
_WORDS = [
    (re.compile(r"stage_[0-9a-f]{32}"), "stage_1"),
    (re.compile(r"#tidegate_[0-9a-f]{32}"), "#tidegate_1"),
    (re.compile(r"conf_[0-9a-f]{12}"), "db"),
    (re.compile(r"tidegate [0-9a-f]{16} "), "tidegate 0123456789abcdef "),
    (re.compile(r"r-\d{8}-\d{6}-[0-9a-f]{6}"), "r-1"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?"), "2024-01-31 07:00:00"),
    (re.compile(r"\d{4}(-\d\d){5}"), "2024-01-31-07-00-00"),
    (re.compile(r"\([^()']* on [^()']*, process \d+\)"), "(somebody on a machine, process 1)"),
    (re.compile(r"N'db on [^']*'"), "N'db on server'"),
    (re.compile(r"N'\d+[ :/-]\d{10,}'"), "N'its size and time'"),
    (re.compile(r"COLLATE bbf_unicode_cp1_ci_as"), "COLLATE SQL_Latin1_General_CP1_CI_AS"),
    (re.compile(r"(INSERT INTO \[tidegate\]\.\[runs\] .*?VALUES \(N'r-1', N'[^']*', )N'.*'\)", re.DOTALL), r"\1N'{}')"),
]
_CATALOG = re.compile(
    r"FROM (INFORMATION_SCHEMA\.|sys\.(columns|indexes|partitions|tables AS t WHERE t\.is))"
    r"|HAS_PERMS_BY_NAME|DECLARE @all"
)
_LOOKS = "-- looks into the catalog, as in golden/sqlserver/session_shapes.sql"


class Script:
    """The statements of each session. Sessions run at the same time, so only each session is ordered."""

    def __init__(self) -> None:
        self._sessions: list[_Session] = []

    def session(self, side: str) -> _Session:
        self._sessions.append(_Session(side))
        return self._sessions[-1]

    def text(self) -> str:
        by_side = sorted(self._sessions, key=lambda session: session.side)
        return "\n".join(session.text() for session in by_side)


class _Session:
    def __init__(self, side: str) -> None:
        self.side = side
        self._purpose = ""
        self._lines: list[str] = []

    def note(self, text: str) -> None:
        written = text.strip()
        if opens := _OPENS.search(written):
            self._purpose = bytes.fromhex(opens["purpose"]).decode()
            return
        if written.startswith("INSERT INTO [tidegate].[stage_"):
            written = "-- rows into the stage"
        if _CATALOG.search(written):
            written = _LOOKS
        for pattern, word in _WORDS:
            written = pattern.sub(word, written)
        if self._lines[-1:] != [_LOOKS] or written != _LOOKS:
            self._lines.append(written if written.startswith("--") else f"{written};")

    def text(self) -> str:
        return "\n".join([f"-- at the {self.side}: {self._purpose}", *self._lines]) + "\n"


@contextmanager
def written_down(monkeypatch: Any, side_of: Callable[[str], str]) -> Iterator[Script]:
    """Record all statements of the block. `side_of` returns the side for a connection string."""
    script, connect = Script(), product.mssql_python.connect
    with monkeypatch.context() as patched:
        patched.setattr(
            product.mssql_python,
            "connect",
            lambda login, **options: _Connection(connect(login, **options), script.session(side_of(login))),
        )
        yield script


class _Connection:
    def __init__(self, real: Any, session: _Session) -> None:
        self._real, self._session = real, session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        with self._real.cursor() as cursor:
            yield _Cursor(cursor, self._session)


class _Cursor:
    def __init__(self, real: Any, session: _Session) -> None:
        self._real, self._session = real, session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, text: str) -> None:
        self._session.note(text)
        self._real.execute(text)

    def bulkcopy_arrow(self, *arguments: Any, **options: Any) -> Any:
        self._session.note("-- rows into the stage")
        return self._real.bulkcopy_arrow(*arguments, **options)
