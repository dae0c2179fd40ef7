"""The same table through a local folder and through a bucket, on one core and on three workers of a cluster.

    PYTHONPATH=tests:. python -m bench.places --rows 2000000 --rounds 3

Needs versitygw for the bucket (`tests/kit/stores.py` says how to get it): moto is too slow to say anything. Each
place is a process of its own with a warm session; rounds are interleaved. Every load is proved and verified.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from kit.standalone import standalone_cluster
from kit.stores import versitygw
from tidegate.demo.embedded import EmbeddedPostgres

CREATE = """
CREATE TABLE trades (cob integer, id bigint PRIMARY KEY, amount numeric(38,18), note text, traded_at timestamp);
INSERT INTO trades SELECT 20240101 + n % 12, n, n / 7.0, 'note ' || n, timestamp '2024-01-01' + n * interval '1 second'
FROM generate_series(1, {rows}) AS n;
CREATE INDEX ON trades (cob);
ANALYZE trades
"""
PHASES = ("extract", "load", "verify")


def measure(job: dict[str, Any]) -> dict[str, float]:
    """Sync the table into an empty target and return the seconds of each phase. Runs in a process of its own."""
    from tidegate import Tidegate

    tables = {"trades": {"kind": "partition", "partition_column": "cob", "initial_load_count": "all"}}
    places = {name: job[name] for name in ("source", "target", "lake", "spark")}
    with Tidegate(**places, tables=tables, max_connections=3) as tidegate:
        tidegate._engine.session().range(1).mapInArrow(lambda batches: batches, "id long").collect()
        found = {}
        for phase in PHASES:
            started = time.monotonic()
            report = getattr(tidegate, phase)()
            found[phase] = round(time.monotonic() - started, 2)
            assert report.exit_code == 0, report
        return found


@contextmanager
def _places(folder: Path) -> Iterator[dict[str, dict[str, Any]]]:
    with ExitStack() as opened:
        store = opened.enter_context(versitygw(folder / "s3"))
        cluster = opened.enter_context(standalone_cluster(folder / "cluster"))
        bucket = {"path": store.url, "store": store.options}
        workers = {"master": cluster.address, "options": {"spark.executor.memory": "512m"}}
        yield {
            "local folder, one core": {"lake": str(folder / "lake"), "spark": {"master": "local[1]"}},
            "bucket, one core": {"lake": bucket, "spark": {"master": "local[1]"}},
            "bucket, three workers": {"lake": bucket, "spark": workers},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        sys.stdout.write(json.dumps(measure(json.loads(given.job))) + "\n")
        return
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as made, EmbeddedPostgres(durable=False) as server:
        source = server.create_database("bench_source")
        with psycopg.connect(source, autocommit=True) as connection:
            connection.execute(CREATE.format(rows=given.rows))
        with _places(Path(made)) as places:
            for number in range(given.rounds):
                for name, place in places.items():
                    target = server.create_database(f"bench_{number}_{len(name)}")
                    lake = _below(place["lake"], f"round-{number}-{len(name)}")
                    for phase, seconds in _measured(
                        {**place, "lake": lake, "source": source, "target": target}
                    ).items():
                        found.setdefault(name, {}).setdefault(phase, []).append(seconds)
                    server.drop_database(f"bench_{number}_{len(name)}")
    _show(found, given.rows)


def _below(lake: Any, folder: str) -> Any:
    return f"{lake}/{folder}" if isinstance(lake, str) else {**lake, "path": f"{lake['path']}/{folder}"}


def _measured(job: dict[str, Any]) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.places", "--job", json.dumps(job)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    seconds: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds


def _show(found: dict[str, dict[str, list[float]]], rows: int) -> None:
    lines = [f"{rows:,} rows; median seconds, in brackets the slowest round over the fastest", ""]
    for name, phases in found.items():
        cells = (
            f"{phase} {statistics.median(times)} ({max(times) / min(times):.2f})" for phase, times in phases.items()
        )
        lines.append(f"{name:26} " + "   ".join(cells))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
