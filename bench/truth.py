"""Whether a result is exact: every cell of it, against what the source itself says, by no code of a contender."""

from __future__ import annotations

import io
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from bench.tables import COLUMNS


def of_table(url: str, table: str, schema: str = "public") -> pa.Table:
    """All cells as the server spells them, in the order of their number."""
    read = pcsv.ReadOptions(column_names=list(COLUMNS), block_size=64 * 1024 * 1024)
    convert = pcsv.ConvertOptions(
        column_types=dict.fromkeys(COLUMNS, pa.string()), strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    data = io.BytesIO()
    query = f"COPY (SELECT {', '.join(COLUMNS)} FROM {schema}.{table} ORDER BY id) TO STDOUT (FORMAT csv)"
    with psycopg.connect(url) as connection, connection.cursor() as cursor, cursor.copy(query) as copy:
        for part in copy:
            data.write(part)
    data.seek(0)
    return pcsv.read_csv(data, read_options=read, convert_options=convert).combine_chunks()


def of_files(folder: Path) -> pa.Table:
    """The same of Parquet files, whatever their types."""
    files = sorted(path for path in folder.rglob("*.parquet") if not path.name.startswith(("_", ".")))
    wanted = [path for path in files if set(COLUMNS) <= set(pq.read_schema(path).names)]
    if not wanted:
        raise ValueError("no file has the columns of the source")
    tables = [pq.read_table(path, columns=list(COLUMNS), partitioning=None) for path in wanted]
    whole = pa.concat_tables(tables, promote_options="permissive").sort_by("id")
    return pa.table({name: _spelled(whole[name]) for name in COLUMNS})


def _spelled(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """As PostgreSQL spells them."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_boolean(cells.type):
        return pc.if_else(cells, "t", "f")
    if pa.types.is_timestamp(cells.type):
        text = cells.cast(pa.timestamp("us")).cast(pa.string())
        return pc.replace_substring_regex(text, r"\.?0*$", "")
    return cells.cast(pa.string())


def difference(expected: pa.Table, found: pa.Table) -> str:
    """What is not equal; empty when all of it is."""
    if expected.num_rows != found.num_rows:
        return f"{found.num_rows:,} rows of {expected.num_rows:,}"
    for name in COLUMNS:
        here, there = _comparable(name, expected[name]), _comparable(name, found[name])
        unlike = pc.fill_null(pc.not_equal(here, there), False)
        nulls = pc.not_equal(here.is_null(), there.is_null())
        count = pc.sum(pc.or_(unlike, nulls)).as_py()
        if count:
            place = pc.index(pc.or_(unlike, nulls), True).as_py()
            return f"{count:,} cells of {name}: {there[place].as_py()!r} instead of {here[place].as_py()!r}"
    return ""


def _comparable(name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """A number may be spelled with more zeros, a moment with fewer digits: that is no loss."""
    if name in ("amount", "rate", "traded_at"):
        return pc.if_else(pc.match_substring(cells, "."), pc.replace_substring_regex(cells, r"\.?0+$", ""), cells)
    return cells
