"""dlt: its SQL source with the Arrow backend, into files or into a database."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import dlt
from dlt.sources.filesystem import filesystem, read_parquet
from dlt.sources.sql_database import sql_table


def extract(job: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    rows = sql_table(
        credentials=job["source"].replace("postgresql://", "postgresql+psycopg2://"),
        table=job["table"],
        backend="pyarrow",
        chunk_size=100_000,
        reflection_level="full_with_precision",
    )
    pipeline = dlt.pipeline(
        "extract",
        destination=dlt.destinations.filesystem(job["folder"]),
        dataset_name="data",
        pipelines_dir=job["state"],
    )
    pipeline.run(rows, loader_file_format="parquet")
    return {"seconds": time.monotonic() - started}


def load(job: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    files = filesystem(bucket_url=Path(job["folder"]).as_uri(), file_glob="**/*.parquet") | read_parquet(
        use_pyarrow=True, chunksize=100_000
    )
    destination = dlt.destinations.postgres(job["target"])
    pipeline = dlt.pipeline("load", destination=destination, dataset_name="public", pipelines_dir=job["state"])
    pipeline.run(files.with_name(job["table"]), write_disposition="append", loader_file_format="parquet")
    return {"seconds": time.monotonic() - started}


def nothing(job: dict[str, Any]) -> dict[str, Any]:
    """Rows that are newer than those that were read before; the first time all."""
    started = time.monotonic()
    credentials = job["source"].replace("postgresql://", "postgresql+psycopg2://")
    pipeline = dlt.pipeline(
        "nothing",
        destination=dlt.destinations.postgres(job["target"]),
        dataset_name="public",
        pipelines_dir=job["state"],
    )
    newer = [
        sql_table(
            credentials=credentials,
            table=table,
            backend="pyarrow",
            reflection_level="full_with_precision",
            incremental=dlt.sources.incremental("id", range_start="open"),
        )
        for table in job["tables"]
    ]
    pipeline.run(newer, write_disposition="append")
    return {"seconds": time.monotonic() - started}


if __name__ == "__main__":
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load, "nothing": nothing}[job["work"]](job)))
