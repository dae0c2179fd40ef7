"""Sling: one command for a stream, into files or into a database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def _sling(*arguments: str, job: dict[str, Any]) -> dict[str, Any]:
    from sling_linux_amd64 import SLING_BIN

    started = time.monotonic()
    # With DuckDB it once wrote a third of the rows and said that it wrote all of them.
    settings = {"SLING_HOME_DIR": job["state"], "SLING_DUCKDB_COMPUTE": "false", "SLING_CLI_TELEMETRY": "false"}
    done = subprocess.run(
        [SLING_BIN, "run", *arguments], env={**os.environ, **settings}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit((done.stdout + done.stderr)[-800:])
    return {"seconds": time.monotonic() - started}


def extract(job: dict[str, Any]) -> dict[str, Any]:
    place = f"file://{job['folder']}/{job['table']}.parquet"
    return _sling(
        "--src-conn",
        job["source"] + "?sslmode=disable",
        "--src-stream",
        f"public.{job['table']}",
        "--tgt-object",
        place,
        job=job,
    )


def load(job: dict[str, Any]) -> dict[str, Any]:
    files = f"file://{job['folder']}"
    options = json.dumps({"format": "parquet"})
    return _sling(
        *("--src-stream", files, "--src-options", options, "--tgt-conn", job["target"] + "?sslmode=disable"),
        *("--tgt-object", f"public.{job['table']}", "--mode", "full-refresh"),
        job=job,
    )


def nothing(job: dict[str, Any]) -> dict[str, Any]:
    """Rows that are newer than those that the target has; the first time all."""
    streams = {f"public.{table}": None for table in job["tables"]}
    defaults = {"mode": "incremental", "update_key": "id", "primary_key": ["id"], "object": "public.{stream_table}"}
    replication = {
        "source": job["source"] + "?sslmode=disable",
        "target": job["target"] + "?sslmode=disable",
        "defaults": defaults,
        "streams": streams,
    }
    place = Path(job["state"]) / "replication.json"
    place.write_text(json.dumps(replication))
    return _sling("-r", str(place), job=job)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "load": load, "nothing": nothing}[job["work"]](job)))
