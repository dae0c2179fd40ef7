"""`SqlServerWitness`: the server as another driver shows it. Plain pymssql, without the code under test.

Facts that shape this file
 * FreeTDS, which pymssql uses, cuts timestamps to the precision of Python. The tests read them as text, in a style that
   shows every digit.
 * The server converts a quoted text to the type of its column, except for binary columns, which take 0x....
 * TDS 7.4 distinguishes an empty nvarchar from a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pymssql

Cell = str | bytes | None
_CREATE = "CREATE TABLE {} ({})"
_INSERT = "INSERT INTO {} ({}) VALUES ({})"


class SqlServerWitness:
    """An open connection that commits every statement. Tables are in the schema dbo and named without it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = pymssql.connect(**login(url), autocommit=True, tds_version="7.4", charset="UTF-8")

    def do(self, statement: str, *values: object) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, *_given(values))

    def do_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement, [tuple(row) for row in rows])

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, *_given(values))
            return list(cursor.fetchall())

    def create(self, table: str, columns: Mapping[str, str], more: str = "") -> None:
        """Create a table with column types as in DDL. `more` follows the last column."""
        parts = [f"{quoted(name)} {kind} NULL" for name, kind in columns.items()] + ([more] if more else [])
        self.do(_CREATE.format(quoted(table), ", ".join(parts)))

    def insert(self, table: str, columns: Iterable[str] | Mapping[str, str], rows: Sequence[Sequence[Cell]]) -> None:
        """Insert rows. A cell is a text, which the server converts to the column's type, or bytes."""
        names = ", ".join(map(quoted, columns))
        kinds = [columns[name] if isinstance(columns, Mapping) else "" for name in columns]
        for row in rows:
            cells = [_converted(written(cell), kind) for cell, kind in zip(row, kinds, strict=True)]
            self.do(_INSERT.format(quoted(table), names, ", ".join(cells)))

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> SqlServerWitness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _given(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return the arguments for the driver. Only without arguments it reads a percent sign literally."""
    return (values,) if values else ()


def _converted(cell: str, kind: str) -> str:
    """Add a conversion for types that a compatible server does not convert by itself."""
    return f"CONVERT({kind}, {cell}, 121)" if kind.startswith("datetimeoffset") and cell != "NULL" else cell


def written(cell: object) -> str:
    """Return the T-SQL literal of a value."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return "0x" + cell.hex()
    return "N'" + str(cell).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the quoted name. Compatible servers do not support doubled brackets, so it has double quotes."""
    return '"' + name.replace('"', '""') + '"'


def as_somebody(url: str, user: str, password: str) -> str:
    """Return the URL with another login."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{place}"))


def login(url: str) -> dict[str, Any]:
    """Return the arguments of pymssql.connect for a URL such as sqlserver://user:password@host:port/database."""
    parts = urlsplit(url)
    return {
        "server": parts.hostname or "127.0.0.1",
        "port": str(parts.port or 1433),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.lstrip("/")) or "master",
    }
