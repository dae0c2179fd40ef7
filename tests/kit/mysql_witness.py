"""`MysqlWitness`: the server as the `mariadb` client shows it. Plain PyMySQL, without the code under test.

Facts that shape this file
 * The server converts a quoted text to the type of its column, except for BIT, binary strings and geometries, which
   take bytes.
 * FLOAT is shown with six digits. As a DOUBLE it is shown with enough digits to be exact.
"""

from __future__ import annotations

import ssl
import struct
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.constants import FIELD_TYPE

# These settings differ from Tidegate's, so that equal results do not depend on a format. Zero dates and 31 February are
# accepted, a zero in an AUTO_INCREMENT column stays zero, and values that do not fit are refused.
_OTHER_EYES = """
SET SESSION time_zone = '+05:45', SESSION div_precision_increment = 9, SESSION sql_mode =
'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,STRICT_ALL_TABLES'
"""
_CREATE = "CREATE TABLE {} ({}) {}"
_INSERT = "INSERT INTO {} ({}) VALUES ({})"
_SELECT = "SELECT {} FROM {}"
_NO_ROWS = "SELECT {} FROM {} LIMIT 0"

# Other types are cast to bytes: a string in its own character set, a number as its digits. A multiplication keeps the
# sign of a zero, an addition would lose it.
_AS_BYTES = "CAST({} AS BINARY)"
_SEEN = {
    FIELD_TYPE.FLOAT: "{} * 1e0",
    FIELD_TYPE.DOUBLE: "{} * 1e0",
    FIELD_TYPE.TIMESTAMP: "DATE_FORMAT({}, '%Y-%m-%d %H:%i:%s.%f')",
    FIELD_TYPE.DATETIME: "DATE_FORMAT({}, '%Y-%m-%d %H:%i:%s.%f')",
    FIELD_TYPE.TIME: "TIME_FORMAT({}, '%H:%i:%s.%f')",
}
_FLOATS = (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE)

Cell = bytes | None


class MysqlWitness:
    """An open connection that commits every statement. Tables are in the URL's database and named without it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = opened(url, charset="utf8mb4", init_command=_OTHER_EYES.strip())

    def do(self, statement: str, *values: object) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)

    def do_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return list(cursor.fetchall())

    def create(self, table: str, columns: Mapping[str, str], more: str = "", options: str = "") -> None:
        """Create a table with column types as in DDL. `more` follows the last column, `options` the bracket."""
        parts = [f"{quoted(name)} {kind}" for name, kind in columns.items()] + ([more] if more else [])
        self.do(_CREATE.format(quoted(table), ", ".join(parts), options))

    def insert(self, table: str, columns: Iterable[str], rows: Sequence[Sequence[str | bytes | None]]) -> None:
        """Insert rows. A cell is a text, which the server converts to the column's type, or bytes."""
        # A name may contain a percent sign, which begins a placeholder.
        names = ", ".join(quoted(name).replace("%", "%%") for name in columns)
        for row in rows:
            self.do(_INSERT.format(quoted(table).replace("%", "%%"), names, ", ".join(["%s"] * len(row))), *row)

    def cells(self, table: str, columns: Iterable[str]) -> list[tuple[Cell, ...]]:
        """Return every row as exact bytes, sorted by these bytes.

        A string or BIT is its stored bytes. FLOAT and DOUBLE are a big-endian double. DATETIME, TIMESTAMP and TIME are
        text with six decimal digits, a TIMESTAMP in the time zone +05:45. All other types are the server's text.
        """
        names = [quoted(name) for name in columns]
        with self._connection.cursor() as cursor:
            cursor.execute(_NO_ROWS.format(", ".join(names), quoted(table)))
            kinds = [field[1] for field in cursor.description]
            expressions = [_SEEN.get(kind, _AS_BYTES).format(name) for name, kind in zip(names, kinds, strict=True)]
            cursor.execute(_SELECT.format(", ".join(expressions), quoted(table)))
            rows = [tuple(map(_cell, kinds, row)) for row in cursor.fetchall()]
            # The server shows a value that it cannot convert as NULL, with a warning.
            assert not cursor.warning_count, self.ask("SHOW WARNINGS")
        return sorted(rows, key=lambda row: [(cell is not None, cell or b"") for cell in row])

    def text_of(self, kind: str, cell: Cell) -> str:
        """Return a cell of `cells` as readable text."""
        return "null" if cell is None else f"{kind} {cell[:60]!r}"

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> MysqlWitness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def quoted(name: str) -> str:
    """Return the quoted name, valid in every sql_mode."""
    return f"`{name.replace('`', '``')}`"


class _Connection(pymysql.connections.Connection):
    """Encrypts if the server can, without loading or checking certificate authorities."""

    def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def opened(url: str, **settings: Any) -> pymysql.connections.Connection:
    return _Connection(**login(url), autocommit=True, **settings)


def login(url: str) -> dict[str, Any]:
    """Return the arguments of PyMySQL for a URL such as mysql://user:password@host:port/database."""
    parts = urlsplit(url)
    return {
        "host": parts.hostname or "127.0.0.1",
        "port": parts.port or 3306,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.lstrip("/")) or None,
    }


def differences(source: MysqlWitness, target: MysqlWitness, table: str, columns: Mapping[str, str]) -> list[str]:
    """Return a text for each cell that differs between source and target, byte by byte."""
    ours, theirs = source.cells(table, columns), target.cells(table, columns)
    if len(ours) != len(theirs):
        return [f"{len(ours)} rows in the source, {len(theirs)} in the target"]
    return [
        f"{name}: {source.text_of(kind, left)} became {target.text_of(kind, right)}"
        for left_row, right_row in zip(ours, theirs, strict=True)
        for (name, kind), left, right in zip(columns.items(), left_row, right_row, strict=True)
        if left != right
    ]


def _cell(kind: int, value: Any) -> Cell:
    if value is None or isinstance(value, bytes):
        return value
    return struct.pack(">d", value) if kind in _FLOATS else str(value).encode()
