"""Tidegate itself, through its public door: a project with one table, and the verb that the work asks for."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from tidegate import Tidegate
from tidegate.spark.engine import Engine


class _Landed(Exception):
    """Rows rest in the lake: an extract ends here."""


def _project(job: dict[str, Any]) -> Tidegate:
    tables = {name: {"kind": "partition", "partition_column": "cob"} for name in job["tables"]}
    return Tidegate(source=job["source"], target=job["target"], lake=job["folder"], tables=tables)


def start(job: dict[str, Any]) -> dict[str, Any]:
    """The session that a run opens, and a first job of two slices."""
    started = time.monotonic()
    engine = Engine("local[2]", None, {})
    engine.session().range(2).repartition(2).count()
    seconds = time.monotonic() - started
    engine.close()
    return {"seconds": seconds}


def extract(job: dict[str, Any]) -> dict[str, Any]:
    """A run that is stopped when all rows are in the lake."""

    def stop(at: str) -> None:
        if at == "land done":
            raise _Landed

    with _project(job) as tidegate:
        tidegate.boundary = stop  # type: ignore[assignment]
        started = time.monotonic()
        try:
            tidegate.run()
        except _Landed:
            return {"seconds": time.monotonic() - started}
    raise SystemExit("nothing was landed")


def run(job: dict[str, Any]) -> dict[str, Any]:
    with _project(job) as tidegate:
        report = tidegate.run()
        return {"seconds": report.seconds, "outcome": report.outcome, **report.timings}


def plan(job: dict[str, Any]) -> dict[str, Any]:
    with _project(job) as tidegate:
        return {"tables": len(tidegate.plan().tables)}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    works = {"start": start, "extract": extract, "load": run, "nothing": run, "plan": plan}
    print(json.dumps(works[job["work"]](job)))
