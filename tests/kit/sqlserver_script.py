"""Writes down what our sessions send to real servers, as a script that a person can read.

What differs from run to run (names of databases and stages, numbers, times) is written as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidegate.databases.sqlserver import session as product

_OPENS = re.compile(r"^SET ANSI_NULLS.*$", re.DOTALL)
_WORDS = [
    (re.compile(r"stage_[0-9a-f]{32}"), "stage_1"),
    (re.compile(r"conf_[0-9a-f]{12}"), "db"),
    (re.compile(r"tidegate [0-9a-f]{16} "), "tidegate 0123456789abcdef "),
    (re.compile(r"r-\d{8}-\d{6}-[0-9a-f]{6}"), "r-1"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00)?"), "2024-01-31 07:00:00"),
    (re.compile(r"\([^()']* on [^()']*, process \d+\)"), "(somebody on a machine, process 1)"),
    (re.compile(r"N'db on [^']*'"), "N'db on server'"),
    (re.compile(r"N'\d+[ :/-]\d{10,}'"), "N'its size and time'"),
    (re.compile(r"COLLATE bbf_unicode_cp1_ci_as"), "COLLATE SQL_Latin1_General_CP1_CI_AS"),
    (re.compile(r"(INSERT INTO \[tidegate\]\.\[runs\] .*?VALUES \(N'r-1', N'[^']*', )N'.*'\)", re.DOTALL), r"\1N'{}')"),
]
_CATALOG = re.compile(
    r"FROM (INFORMATION_SCHEMA\.|sys\.(columns|indexes|partitions|tables AS t WHERE t\.is))|HAS_PERMS_BY_NAME"
)
_LOOKS = "-- looks into the catalog, as in golden/sqlserver/session_shapes.sql"


class Script:
    """What was sent, in its order, with the side that it went to."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._side = ""

    def note(self, side: str, text: str) -> None:
        written = _OPENS.sub("-- a session opens", text.strip())
        if written.startswith("INSERT INTO [tidegate].[stage_"):
            written = "-- rows into the stage"
        if _CATALOG.search(written):
            written = _LOOKS
        for pattern, word in _WORDS:
            written = pattern.sub(word, written)
        if (side, written) == (self._side, _LOOKS) and self._lines[-1] == _LOOKS:
            return
        if side != self._side:
            self._lines.append(f"\n-- at the {side}")
            self._side = side
        self._lines.append(written if written.startswith("--") else f"{written};")

    def text(self) -> str:
        return "\n".join(self._lines).strip() + "\n"


@contextmanager
def written_down(monkeypatch: Any, side_of: Callable[[str], str]) -> Iterator[Script]:
    """`side_of` tells the side by the text that the driver logs in with."""
    script, connect = Script(), product.mssql_python.connect
    with monkeypatch.context() as patched:
        patched.setattr(
            product.mssql_python,
            "connect",
            lambda login, **options: _Connection(connect(login, **options), script, side_of(login)),
        )
        yield script


class _Connection:
    def __init__(self, real: Any, script: Script, side: str) -> None:
        self._real, self._script, self._side = real, script, side

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        with self._real.cursor() as cursor:
            yield _Cursor(cursor, self._script, self._side)


class _Cursor:
    def __init__(self, real: Any, script: Script, side: str) -> None:
        self._real, self._script, self._side = real, script, side

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, text: str) -> None:
        self._script.note(self._side, text)
        self._real.execute(text)

    def bulkcopy_arrow(self, *arguments: Any, **options: Any) -> Any:
        self._script.note(self._side, "-- rows into the stage")
        return self._real.bulkcopy_arrow(*arguments, **options)
