"""Plain Python, as a good engineer writes it by hand: COPY as csv through pyarrow, two processes."""

from __future__ import annotations

import io
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

TYPES = {
    "cob": pa.int32(),
    "id": pa.int64(),
    "account": pa.string(),
    "currency": pa.string(),
    "amount": pa.decimal128(38, 18),
    "rate": pa.decimal128(18, 6),
    "desk": pa.int32(),
    "is_open": pa.bool_(),
    "traded_at": pa.timestamp("us"),
    "note": pa.string(),
}
_PART = 8 * 1024 * 1024


def extract(job: dict[str, Any]) -> dict[str, Any]:
    with psycopg.connect(job["source"]) as connection:
        days = [row[0] for row in connection.execute(f"SELECT DISTINCT cob FROM {job['table']} ORDER BY cob")]
    Path(job["folder"]).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:
        return {"rows": sum(pool.map(_extracted, [(job, day) for day in days]))}


def _extracted(part: tuple[dict[str, Any], int]) -> int:
    job, day = part
    schema, rows = pa.schema(TYPES.items()), 0
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
                rows += _written(pending, writer)
                pending, size = [], 0
        rows += _written(pending, writer)
    return rows


def _written(pending: list[Any], writer: pq.ParquetWriter) -> int:
    if not pending:
        return 0
    options = pcsv.ConvertOptions(
        column_types=TYPES,
        true_values=["t"],
        false_values=["f"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    read = pcsv.ReadOptions(column_names=list(TYPES), block_size=_PART * 2)
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


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load}[job["work"]](job)))
