"""dlt: its SQL source with the Arrow backend, into files or into a database."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import dlt
from dlt.sources.filesystem import filesystem, read_parquet
from dlt.sources.sql_database import sql_table


def _table(job: dict[str, Any], table: str, **more: Any) -> Any:
    return sql_table(
        credentials=job["source"].replace("postgresql://", "postgresql+psycopg2://"),
        table=table,
        backend="pyarrow",
        chunk_size=100_000,
        reflection_level="full_with_precision",
        **more,
    )


def extract(job: dict[str, Any]) -> dict[str, Any]:
    only = {}
    if job["days"] < 10:
        first = 20240801 + 10 - job["days"]
        only = {"query_adapter_callback": lambda query, table: query.where(table.c.cob >= first)}
    pipeline = dlt.pipeline(
        "extract",
        destination=dlt.destinations.filesystem(job["folder"]),
        dataset_name="data",
        pipelines_dir=job["state"],
    )
    pipeline.run(_table(job, job["table"], **only), loader_file_format="parquet")
    return {}


def load(job: dict[str, Any]) -> dict[str, Any]:
    files = filesystem(bucket_url=Path(job["folder"]).as_uri(), file_glob="**/*.parquet") | read_parquet(
        use_pyarrow=True, chunksize=100_000
    )
    destination = dlt.destinations.postgres(job["target"])
    pipeline = dlt.pipeline("load", destination=destination, dataset_name="public", pipelines_dir=job["state"])
    pipeline.run(files.with_name(job["table"]), write_disposition="append", loader_file_format="parquet")
    return {}


def daily(job: dict[str, Any]) -> dict[str, Any]:
    """What is newer than what was read before; of a table without a cursor all of it."""
    pipeline = dlt.pipeline(
        "daily", destination=dlt.destinations.postgres(job["target"]), dataset_name="public", pipelines_dir=job["state"]
    )
    if job["kind"] == "static":
        rows, disposition = [_table(job, table) for table in job["tables"]], "replace"
    else:
        cursor, disposition = {"partition": ("cob", "append"), "scd2": ("changed_at", "merge")}[job["kind"]]
        newer = {"incremental": dlt.sources.incremental(cursor, range_start="open")}
        rows = [_table(job, table, **newer) for table in job["tables"]]
    if job["kind"] == "scd2":
        keyed = {
            "primary_key": ("id", "valid_from"),
            "write_disposition": {"disposition": "merge", "strategy": "upsert"},
        }
        pipeline.run([one.apply_hints(**keyed) or one for one in rows], loader_file_format="parquet")
    else:
        pipeline.run(rows, write_disposition=disposition, loader_file_format="parquet")
    return {}


if __name__ == "__main__":
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load, "daily": daily}[job["work"]](job)))
