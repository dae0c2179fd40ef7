"""`Witness`: the server as psql shows it. Plain psycopg, without the code under test."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType

import psycopg
from psycopg import sql

# These settings differ from Tidegate's, so that equal results do not depend on a format.
_OTHER_EYES = """
SET client_encoding = 'UTF8'; SET timezone = 'Asia/Kathmandu'; SET datestyle = 'ISO, DMY';
SET intervalstyle = 'postgres_verbose'; SET bytea_output = 'escape'; SET extra_float_digits = 3;
SET lc_monetary = 'C'; SET xmloption = 'content'; SET standard_conforming_strings = on; SET search_path = public
"""
_HEADER_BYTES = 19

Cell = bytes | None


class Witness:
    """An open connection that commits every statement."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(_OTHER_EYES)

    def do(self, statement: str | sql.Composable, *values: object) -> None:
        self._connection.execute(statement, values or None)

    def do_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def ask(self, statement: str | sql.Composable, *values: object) -> list[tuple[object, ...]]:
        return self._connection.execute(statement, values or None).fetchall()

    def create(self, table: sql.Composable, columns: Mapping[str, str], more: str = "") -> None:
        """Create a table with column types as in DDL. `more` follows the last column."""
        parts = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in columns.items()]
        parts += [sql.SQL(more)] if more else []
        self.do(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(parts)))

    def insert(self, table: sql.Composable, columns: Mapping[str, str], rows: Sequence[Sequence[str | None]]) -> None:
        """Insert rows. Each cell is a text, which the server converts to the column's type."""
        holes = [sql.SQL("CAST(%s AS {})").format(sql.SQL(kind.replace("%", "%%"))) for kind in columns.values()]
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        begin = sql.SQL("INSERT INTO {} ({}) VALUES ").format(table, names).as_string(self._connection)
        # A name may contain a percent sign, which begins a placeholder.
        whole = sql.SQL(begin.replace("%", "%%")) + sql.SQL("({})").format(sql.SQL(", ").join(holes))
        with self._connection.cursor() as cursor:
            cursor.executemany(whole, rows)

    def bits(
        self, table: sql.Composable, columns: Iterable[str], seen_as: Mapping[str, str] | None = None
    ) -> list[tuple[Cell, ...]]:
        """Return every row as the binary format of its values, sorted by these bytes.

        `seen_as` casts columns whose binary format contains numbers of one database, such as OIDs.
        """
        expressions = (_seen(name, (seen_as or {}).get(name, "")) for name in columns)
        names = sql.SQL(", ").join(expressions)
        statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT binary)").format(names, table)
        with self._connection.cursor().copy(statement) as copy:
            dump = b"".join(copy)
        return sorted(_rows(dump), key=lambda row: [(cell is not None, cell or b"") for cell in row])

    def text_of(self, kind: str, cell: Cell) -> str:
        """Return a cell of `bits` as readable text."""
        return "null" if cell is None else f"{kind} {cell[:60]!r}"

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Witness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _seen(name: str, kind: str) -> sql.Composable:
    if not kind:
        return sql.Identifier(name)
    return sql.SQL("CAST({} AS {})").format(sql.Identifier(name), sql.SQL(kind))


def _rows(dump: bytes) -> Iterator[tuple[Cell, ...]]:
    """Parse a binary COPY: a header, then per row the number of fields, then each field after its length."""
    place = _HEADER_BYTES
    while (count := struct.unpack_from(">h", dump, place)[0]) >= 0:
        place += 2
        row: list[Cell] = []
        for _ in range(count):
            (length,) = struct.unpack_from(">i", dump, place)
            place += 4
            row.append(None if length < 0 else dump[place : place + length])
            place += max(length, 0)
        yield tuple(row)


def differences(
    source: Witness,
    target: Witness,
    table: sql.Composable,
    columns: Mapping[str, str],
    seen_as: Mapping[str, str] | None = None,
) -> list[str]:
    """Return a text for each cell that differs between source and target, bit by bit."""
    ours, theirs = source.bits(table, columns, seen_as), target.bits(table, columns, seen_as)
    if len(ours) != len(theirs):
        return [f"{len(ours)} rows in the source, {len(theirs)} in the target"]
    return [
        f"{name}: {source.text_of(kind, left)} became {target.text_of(kind, right)}"
        for left_row, right_row in zip(ours, theirs, strict=True)
        for (name, kind), left, right in zip(columns.items(), left_row, right_row, strict=True)
        if left != right
    ]
