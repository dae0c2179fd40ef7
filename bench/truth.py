"""Whether a result is exact: every cell of it, against what the source itself says, by no code of a contender."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pymysql

from bench.tables import TableSchema
from kit.mysql_witness import opened as mysql_opened
from kit.sqlserver_witness import SqlServerWitness

_AT_ONCE = 100_000
_TRUTHS = {"t": "1", "f": "0", "true": "1", "false": "0"}


@dataclass
class Cells:
    """All cells of a table, in the order of its key. Read as a table only where their spelling leaves a doubt: that
    takes longer than most contenders do."""

    read: Callable[[], pa.Table]
    spelled: bytes | None = None

    @cached_property
    def table(self) -> pa.Table:
        return self.read()


def unlike(expected: Cells, found: Cells) -> str:
    """What is not equal; empty when all of it is."""
    if expected.spelled is not None and expected.spelled == found.spelled:
        return ""
    return difference(expected.table, found.table)


def of_postgresql(url: str, table: str, shape: TableSchema) -> Cells:
    """As the server spells them."""
    data = io.BytesIO()
    order = ", ".join(shape.key)
    query = f"COPY (SELECT {', '.join(shape.names)} FROM {table} ORDER BY {order}) TO STDOUT (FORMAT csv)"
    with psycopg.connect(url) as connection, connection.cursor() as cursor, cursor.copy(query) as copy:
        for part in copy:
            data.write(part)
    spelled = data.getvalue()
    return Cells(lambda: _of_csv(spelled, list(shape.names)), spelled)


def _of_csv(data: bytes, names: list[str]) -> pa.Table:
    if not data:
        return pa.table({name: pa.array([], pa.string()) for name in names})
    read = pcsv.ReadOptions(column_names=names, block_size=64 * 1024 * 1024)
    convert = pcsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    return pcsv.read_csv(io.BytesIO(data), read_options=read, convert_options=convert).combine_chunks()


def of_mysql(url: str, table: str, shape: TableSchema) -> Cells:
    return Cells(lambda: _of_mysql(url, table, shape))


def _of_mysql(url: str, table: str, shape: TableSchema) -> pa.Table:
    texts = ", ".join(f"CAST({name} AS char)" for name in shape.names)
    parts = []
    with mysql_opened(url) as connection, connection.cursor(pymysql.cursors.SSCursor) as cursor:
        cursor.execute(f"SELECT {texts} FROM {table} ORDER BY {', '.join(shape.key)}")
        while rows := cursor.fetchmany(_AT_ONCE):
            parts.append(pa.table([pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)], shape.names))
    return pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.string()) for name in shape.names})


def of_sqlserver(url: str, table: str, shape: TableSchema) -> Cells:
    return Cells(lambda: _of_sqlserver(url, table, shape))


def _of_sqlserver(url: str, table: str, shape: TableSchema) -> pa.Table:
    texts = ", ".join(
        f"CONVERT(nvarchar(max), {name}{', 121' if name.endswith('_at') else ''})" for name in shape.names
    )
    with SqlServerWitness(url) as witness:
        rows = witness.ask(f"SELECT {texts} FROM {table} ORDER BY {', '.join(shape.key)}")
    cells = zip(*rows, strict=True) if rows else ([] for _ in shape.names)
    return pa.table([pa.array(one, pa.string()) for one in cells], list(shape.names))


def of_files(folder: Path, shape: TableSchema) -> pa.Table:
    """The same of Parquet files, whatever their types."""
    names = list(shape.names)
    files = sorted(path for path in _files(folder) if not path.name.startswith(("_", ".")))
    wanted = [path for path in files if set(names) <= set(pq.read_schema(path).names)]
    if not wanted:
        raise ValueError("no file has the columns of the source")
    tables = [pq.read_table(path, columns=names, partitioning=None) for path in wanted]
    whole = pa.concat_tables(tables, promote_options="permissive")
    whole = whole.sort_by([(name, "ascending") for name in shape.key])
    return pa.table({name: _spelled(whole[name]) for name in names})


def rows_of_files(folder: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in _files(folder))


def _files(folder: Path) -> list[Path]:
    """A window of several parts is a folder that has the name of a file."""
    return [path for path in folder.rglob("*.parquet") if path.is_file()]


def _spelled(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_timestamp(cells.type):
        return cells.cast(pa.timestamp("us")).cast(pa.string())
    if pa.types.is_decimal(cells.type):  # of which a zero is spelled 0E-18
        return pc.replace_substring_regex(cells.cast(pa.string()), "^0E.*", "0")
    return cells.cast(pa.string())


def at_least(cells: pa.ChunkedArray, least: str) -> pa.ChunkedArray:
    """Which of these numbers, all of the same length, are no smaller."""
    return pc.greater_equal(cells, least)


def difference(expected: pa.Table, found: pa.Table) -> str:
    """What is not equal; empty when all of it is."""
    if expected.num_rows != found.num_rows:
        return f"{found.num_rows:,} rows of {expected.num_rows:,}"
    for name in expected.column_names:
        here, there = _comparable(name, expected[name]), _comparable(name, found[name])
        unlike = pc.fill_null(pc.not_equal(here, there), False)
        nulls = pc.not_equal(here.is_null(), there.is_null())
        count = pc.sum(pc.or_(unlike, nulls)).as_py()
        if count:
            place = pc.index(pc.or_(unlike, nulls), True).as_py()
            return f"{count:,} cells of {name}: {there[place].as_py()!r} instead of {here[place].as_py()!r}"
    return ""


def _comparable(name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """A number may be spelled with more zeros, a moment with fewer digits, a truth as a letter: that is no loss."""
    if name in ("account", "currency", "note", "document"):
        return cells
    for spelled, as_number in _TRUTHS.items() if name.startswith("is_") else ():
        cells = pc.if_else(pc.equal(cells, spelled), as_number, cells)
    return pc.if_else(pc.match_substring(cells, "."), pc.replace_substring_regex(cells, r"\.?0+$", ""), cells)
