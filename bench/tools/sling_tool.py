"""Sling: one command for a stream, into files or into a database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def _sling(*arguments: str, job: dict[str, Any]) -> dict[str, Any]:
    from sling_linux_amd64 import SLING_BIN

    # With DuckDB it once wrote a third of the rows and said that it wrote all of them.
    settings = {"SLING_HOME_DIR": job["state"], "SLING_DUCKDB_COMPUTE": "false", "SLING_CLI_TELEMETRY": "false"}
    done = subprocess.run(
        [SLING_BIN, "run", *arguments], env={**os.environ, **settings}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit((done.stdout + done.stderr)[-800:])
    return {}


def _url(job: dict[str, Any], which: str) -> str:
    url = str(job[which])
    if job["database"] == "sqlserver":
        place, _, database = url.partition("?")[0].rpartition("/")
        return f"{place}?database={database}&TrustServerCertificate=true"
    return url + ("?sslmode=disable" if job["database"] == "postgresql" else "")


def _schema(job: dict[str, Any], which: str) -> str:
    schemas = {"postgresql": "public", "sqlserver": "dbo"}
    return schemas.get(job["database"]) or str(job[which].rpartition("/")[2])


def extract(job: dict[str, Any]) -> dict[str, Any]:
    stream = f"{_schema(job, 'source')}.{job['table']}"
    if job["days"] < 10:
        stream = f"SELECT * FROM {stream} WHERE cob >= {20240801 + 10 - job['days']}"
    place = f"file://{job['folder']}/{job['table']}.parquet"
    return _sling("--src-conn", _url(job, "source"), "--src-stream", stream, "--tgt-object", place, job=job)


def daily(job: dict[str, Any]) -> dict[str, Any]:
    """What is newer than what the target has; of a table without a cursor all of it."""
    modes: dict[str, dict[str, Any]] = {
        "partition": {"mode": "incremental", "update_key": "cob"},
        "scd2": {"mode": "incremental", "update_key": "changed_at", "primary_key": ["id", "valid_from"]},
        "static": {"mode": "full-refresh"},
    }
    replication = {
        "source": _url(job, "source"),
        "target": _url(job, "target"),
        "defaults": {**modes[job["kind"]], "object": f"{_schema(job, 'target')}.{{stream_table}}"},
        "streams": {f"{_schema(job, 'source')}.{table}": None for table in job["tables"]},
    }
    place = Path(job["state"]) / "replication.json"
    place.write_text(json.dumps(replication))
    return _sling("-r", str(place), job=job)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"extract": extract, "daily": daily, "append": daily}[job["work"]](job)))
