"""Tidegate itself, by its public doors: the commands of every day, and its classes where a session is given or a run
is stopped half way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from tidegate import Tidegate

KINDS: dict[str, dict[str, Any]] = {
    "partition": {"kind": "partition", "partition_column": "cob"},
    "scd2": {
        "kind": "scd2",
        "business_keys": ["id"],
        "version_key": ["id", "valid_from"],
        "cursor_column": "changed_at",
        "flag_column": "is_latest",
        "flags": "source",
        "initial_load": "full",
    },
    "static": {"kind": "static", "primary_keys": ["id"]},
    "incremental": {"kind": "incremental", "timestamp_column": "updated_at", "id_column": "id"},
}


# What moves the rows. A warm engine is left behind by the run that prepares a case, which is not measured.
ENGINES: dict[str, Any] = {"": {"warm": "never"}, "warm": {"warm": "auto", "idle": "5m"}, "process": "process"}


class _Landed(Exception):
    """Rows rest in the lake: an extract ends here."""


def _settings(job: dict[str, Any]) -> dict[str, Any]:
    table = dict(KINDS[job.get("kind", "partition")])
    if table["kind"] == "partition":
        table["initial_load_count"] = job.get("days", 10)
    if "split_rows" in job:
        table["split_rows"] = job["rows"] // 2 if job["split_rows"] == "half" else job["split_rows"]
    tables = {name: dict(table) for name in job["tables"]}
    engine = ENGINES[job.get("engine", "")]
    return {"source": job["source"], "target": job["target"], "lake": job["folder"], "tables": tables, "engine": engine}


def project(job: dict[str, Any], session: Any = None) -> Tidegate:
    from tidegate import Tidegate

    spark = session or ({"master": job["master"]} if "master" in job else None)
    return Tidegate(**_settings(job), spark=spark)


def _first_job(session: Any) -> None:
    """Of the sort that moves rows."""
    session.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id bigint").collect()


def start(job: dict[str, Any]) -> dict[str, Any]:
    from tidegate.spark.session import close_session, open_session

    session = open_session("local[2]")
    _first_job(session)
    close_session(session)
    return {}


def extract(job: dict[str, Any]) -> dict[str, Any]:
    """A run that is stopped when all rows are in the lake."""

    def stop(at: str) -> None:
        if at == "extract done":
            raise _Landed

    session = _warm(job)
    with project(job, session) as tidegate:
        tidegate.boundary = stop  # type: ignore[assignment]
        started = time.monotonic()
        try:
            tidegate.run()
        except _Landed:
            return {"seconds": time.monotonic() - started}
    raise SystemExit("nothing was extracted")


def _warm(job: dict[str, Any]) -> Any:
    from tidegate.spark.session import open_session

    if not job.get("is_warm"):
        return None
    session = open_session(job.get("master", "local[2]"))
    _first_job(session)
    return session


def load(job: dict[str, Any]) -> dict[str, Any]:
    session = _warm(job)
    with project(job, session) as tidegate:
        started = time.monotonic()
        report = tidegate.run()
        return {"seconds": time.monotonic() - started, "outcome": report.outcome, "timings": dict(report.timings)}


def daily(job: dict[str, Any]) -> None:
    if job.get("verify"):
        subprocess.run(_command(job, "run"), check=True)
        _become(_command(job, "verify"))
    _become(_command(job, "run"))


def plan(job: dict[str, Any]) -> None:
    _become(_command(job, "plan"))


def _command(job: dict[str, Any], verb: str) -> list[str]:
    config = Path(job["state"]) / "tidegate.yml"
    config.write_text(json.dumps(_settings(job)))  # which is YAML, too
    os.environ["TIDEGATE_ENGINE_FOLDER"] = str(config.parent.parent / "engines")
    return [str(Path(sys.executable).with_name("tidegate")), verb, "--config", str(config)]


def _become(command: list[str]) -> NoReturn:
    """As one types it: nothing of this script is left."""
    os.execv(command[0], command)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    works = {
        "start": start,
        "extract": extract,
        "window": extract,
        "load": load,
        "across": load,
        "daily": daily,
        "append": daily,
        "merge": load,
        "plan": plan,
    }
    print(json.dumps(works[job["work"]](job)))
