"""Plain Python, as a good engineer writes it by hand: COPY, pyarrow, two processes; no ledger and no proof."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

TYPES = {
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "varchar": pa.string(),
    "text": pa.string(),
}
_PART = 8 * 1024 * 1024


def extract(job: dict[str, Any]) -> dict[str, Any]:
    with psycopg.connect(job["source"]) as connection:
        days = [row[0] for row in connection.execute(f"SELECT DISTINCT cob FROM {job['table']} ORDER BY cob DESC")]
    Path(job["folder"]).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:
        return {"rows": sum(pool.map(_extracted, [(job, day) for day in days[: job["days"]]]))}


def _schema(job: dict[str, Any]) -> pa.Schema:
    return pa.schema([(name, _type(declared)) for name, declared in job["columns"].items()])


def _type(declared: str) -> pa.DataType:
    numeric = re.match(r"numeric\((\d+),(\d+)\)", declared)
    return pa.decimal128(int(numeric[1]), int(numeric[2])) if numeric else TYPES[re.split(r"[ (]", declared)[0]]


def _extracted(part: tuple[dict[str, Any], int]) -> int:
    job, day = part
    schema, rows = _schema(job), 0
    query = f"COPY (SELECT * FROM {job['table']} WHERE cob = {day}) TO STDOUT (FORMAT csv)"
    with (
        psycopg.connect(job["source"]) as connection,
        connection.cursor() as cursor,
        pq.ParquetWriter(f"{job['folder']}/{day}.parquet", schema, compression="zstd") as writer,
        cursor.copy(query) as copy,
    ):
        pending, size = [], 0
        for data in copy:
            pending.append(data)
            size += len(data)
            if size >= _PART:
                rows += _written(pending, writer, schema)
                pending, size = [], 0
        rows += _written(pending, writer, schema)
    return rows


def _written(pending: list[Any], writer: pq.ParquetWriter, schema: pa.Schema) -> int:
    if not pending:
        return 0
    options = pcsv.ConvertOptions(
        column_types=schema,
        true_values=["t"],
        false_values=["f"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    read = pcsv.ReadOptions(column_names=schema.names, block_size=_PART * 2)
    table = pcsv.read_csv(io.BytesIO(b"".join(pending)), read_options=read, convert_options=options)
    writer.write_table(table)
    return int(table.num_rows)


def load(job: dict[str, Any]) -> dict[str, Any]:
    with ProcessPoolExecutor(2) as pool:
        files = sorted(Path(job["folder"]).rglob("*.parquet"))
        return {"rows": sum(pool.map(_loaded, [(job, str(path)) for path in files]))}


def _loaded(part: tuple[dict[str, Any], str]) -> int:
    job, path = part
    rows = 0
    with (
        psycopg.connect(job["target"]) as connection,
        connection.cursor() as cursor,
        cursor.copy(f"COPY {job['table']} FROM STDIN (FORMAT csv)") as copy,
    ):
        for batch in pq.ParquetFile(path).iter_batches(50_000):
            data = io.BytesIO()
            options = pcsv.WriteOptions(include_header=False, quoting_style="needed")
            pcsv.write_csv(pa.Table.from_batches([batch]), data, options)
            copy.write(data.getvalue())
            rows += batch.num_rows
    return rows


def daily(job: dict[str, Any]) -> dict[str, Any]:
    """From one connection into the other: what is newer than what the target has, or all of it."""
    with psycopg.connect(job["source"]) as source, psycopg.connect(job["target"]) as target:
        for table in job["tables"]:
            _made(source, target, table)
            {"partition": _appended, "scd2": _upserted, "static": _replaced}[job["kind"]](source, target, table)
    return {}


def _made(source: psycopg.Connection[Any], target: psycopg.Connection[Any], table: str) -> None:
    query = (
        "SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)"
        " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
    )
    columns = source.execute(query, [table]).fetchall()[0][0]
    key = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'"
    target.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns}, {source.execute(key, [table]).fetchall()[0][0]})")


def _appended(source: psycopg.Connection[Any], target: psycopg.Connection[Any], table: str) -> None:
    newest = target.execute(f"SELECT coalesce(max(cob), 0) FROM {table}").fetchall()[0][0]
    _piped(source, target, f"SELECT * FROM {table} WHERE cob > {newest}", table)


def _upserted(source: psycopg.Connection[Any], target: psycopg.Connection[Any], table: str) -> None:
    newest = target.execute(f"SELECT coalesce(max(changed_at), '0001-01-01') FROM {table}").fetchall()[0][0]
    target.execute(f"CREATE TEMPORARY TABLE changed AS SELECT * FROM {table} WITH NO DATA")
    _piped(source, target, f"SELECT * FROM {table} WHERE changed_at > '{newest}'", "changed")
    names = [column.name for column in target.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]
    updates = ", ".join(f"{name} = excluded.{name}" for name in names)
    target.execute(f"INSERT INTO {table} SELECT * FROM changed ON CONFLICT (id, valid_from) DO UPDATE SET {updates}")
    target.execute("DROP TABLE changed")


def merge(job: dict[str, Any]) -> dict[str, Any]:
    """What is newer than what the target has, by COPY into a table of its own, and from there by one statement."""
    with psycopg.connect(job["source"]) as source, psycopg.connect(job["target"]) as target:
        started, table = time.monotonic(), job["table"]
        _made(source, target, table)
        newest = target.execute(f"SELECT max(updated_at) FROM {table}").fetchall()[0][0]
        if newest is None:
            _piped(source, target, f"SELECT * FROM {table}", table)
            target.execute(f"CREATE INDEX newest_{table} ON {table} (updated_at)")
            return {"seconds": time.monotonic() - started}
        target.execute(f"CREATE TEMPORARY TABLE changed AS SELECT * FROM {table} WITH NO DATA")
        _piped(source, target, f"SELECT * FROM {table} WHERE updated_at > '{newest}'", "changed")
        names = [column.name for column in target.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]
        updates = ", ".join(f"{name} = excluded.{name}" for name in names)
        target.execute(f"INSERT INTO {table} SELECT * FROM changed ON CONFLICT (id) DO UPDATE SET {updates}")
        target.commit()
        return {"seconds": time.monotonic() - started}


def _replaced(source: psycopg.Connection[Any], target: psycopg.Connection[Any], table: str) -> None:
    target.execute(f"TRUNCATE {table}")
    _piped(source, target, f"SELECT * FROM {table}", table)


def _piped(source: psycopg.Connection[Any], target: psycopg.Connection[Any], query: str, into: str) -> None:
    with (
        source.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as rows,
        target.cursor().copy(f"COPY {into} FROM STDIN (FORMAT binary)") as copy,
    ):
        for row in rows:
            copy.write(row)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load, "daily": daily, "merge": merge}[job["work"]](job)))
