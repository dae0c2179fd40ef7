"""Changes of a million keys through change feeds, to the same end state, beside dlt and a reader written by hand.

    PYTHONPATH=tests:. python -m bench.feeds --database postgresql --rows 1000000

Every contender has a slot, or a place in the binary log, and a target of its own. All of them hold the first state;
then the source changes once. What is timed is one process for each contender, from its start to the new state in the
target, which is compared. `--prefix` starts the timed part by a command of yours, such as one that waits for a quiet
machine.
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

import yaml

from kit.logged import logging_server
from kit.sides import ask, do
from tidegate.demo.embedded import EmbeddedPostgres

HERE = Path(__file__).parent / "tools"
CREATE = "CREATE TABLE items (id int PRIMARY KEY, name varchar(40), price numeric(12,2), note varchar(80))"
FILL = {
    "postgresql": "INSERT INTO items SELECT n, 'n' || n, n * 1.5, repeat('x', 40) FROM generate_series(1, {rows}) AS n",
    "mysql": "INSERT INTO items SELECT seq, concat('n', seq), seq * 1.5, repeat('x', 40) FROM seq_1_to_{rows}",
}
CHANGES = (
    "UPDATE items SET price = price + 1 WHERE id > {rows} / 10",
    "DELETE FROM items WHERE id <= {rows} / 20",
    "UPDATE items SET note = NULL WHERE id <= {rows} / 10",
)
IDLE = ", nothing to do"
STATE = "SELECT count(*), sum(price), count(note) FROM items"
OURS = {
    "tidegate, keys": {"mode": "keys"},
    "tidegate, images": {"mode": "images"},
    "tidegate, images, process": {"mode": "images", "engine": "process"},
}


class Bench:
    """Servers with one source, and a target for each contender."""

    def __init__(self, given: argparse.Namespace, folder: Path, source_server: Any, target_server: Any) -> None:
        self.given, self.folder, self.kind = given, folder, given.database
        self.source = source_server.create_database("feed_source") or source_server.url("feed_source")
        self._targets = target_server
        self.jobs: list[dict[str, Any]] = []

    def prepare(self) -> None:
        rows = {"rows": self.given.rows}
        do(self.source, CREATE)
        do(self.source, FILL[self.kind].format(**rows))
        for name, settings in OURS.items():
            self._add_ours(name, settings)
        self._add_plain()
        again = [{**job, "name": f"{job['name']}{IDLE}"} for job in self.jobs if job["name"] in OURS]
        if self.given.dlt and self.kind == "postgresql":
            self._add_dlt()
        for statement in CHANGES:
            do(self.source, statement.format(**rows))
        self.jobs[len(OURS) + 1 : len(OURS) + 1] = again

    def _target(self, name: str) -> str:
        return str(self._targets.create_database("feed_" + "".join(filter(str.isalpha, name))))

    def _add_ours(self, name: str, settings: dict[str, Any]) -> None:
        place = self.folder / name.replace(", ", "_")
        place.mkdir()
        target = self._target(name)
        table = {"kind": "incremental", "changes": "cdc", "mode": settings["mode"]}
        places = {"source": self.source, "target": target, "lake": str(place / "lake")}
        engine = {"engine": settings["engine"]} if "engine" in settings else {}
        (place / "tidegate.yml").write_text(yaml.safe_dump({**places, **engine, "tables": {"items": table}}))
        command = [str(Path(sys.executable).parent / "tidegate")]
        words = ["-c", str(place / "tidegate.yml")]
        if self.kind == "postgresql":
            subprocess.run([*command, "feed", "create", "--yes", *words], check=True, capture_output=True)
        subprocess.run([*command, "run", *words], check=True, capture_output=True)
        self.jobs.append({"name": name, "command": [*command, "run", *words], "target": target})

    def _add_plain(self) -> None:
        target = self._target("plain")
        do(target, CREATE)
        do(target, FILL["postgresql"].format(rows=self.given.rows))
        job: dict[str, Any] = {"source": self.source, "target": target, "database": self.kind}
        if self.kind == "postgresql":
            do(self.source, "CREATE PUBLICATION plain FOR TABLE items")
            do(self.source, "SELECT pg_create_logical_replication_slot('plain', 'pgoutput')")
            job |= {"slot": "plain", "publication": "plain"}
        else:
            [(file, offset, *_)] = ask(self.source, "SHOW MASTER STATUS")
            job |= {"file": file, "offset": offset}
        python = str(self.given.plain_python)
        command = [python, str(HERE / "plain_feed.py"), json.dumps(job)]
        self.jobs.append({"name": "by hand", "command": command, "target": target})

    def _add_dlt(self) -> None:
        target, python, sources = self._target("dlt"), *self.given.dlt
        job = {"source": self.source, "target": target, "slot": "dlt", "publication": "dlt", "sources": sources}
        job["state"] = str(self.folder / "dlt")
        command = [python, str(HERE / "dlt_feed.py")]
        first = subprocess.run([*command, json.dumps({**job, "step": "first"})], capture_output=True, text=True)
        if first.returncode:
            sys.stdout.write(f"dlt takes no part: {first.stderr[-300:]}\n")
            return
        whole = [*command, json.dumps({**job, "step": "changes"})]
        self.jobs.append({"name": "dlt, pg_replication", "command": whole, "target": target})

    def wrong(self) -> list[str]:
        """Return the contenders whose target is not as the source."""
        expected = [tuple(map(str, row)) for row in ask(self.source, STATE)]
        found = {job["name"]: [tuple(map(str, row)) for row in ask(job["target"], STATE)] for job in self.jobs}
        return [name for name, rows in found.items() if rows != expected]


@contextmanager
def opened(given: argparse.Namespace) -> Iterator[Bench]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        targets = stack.enter_context(EmbeddedPostgres(durable=False))
        sources = targets if given.database == "postgresql" else stack.enter_context(logging_server())
        yield Bench(given, folder, sources, targets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", default="postgresql", choices=["postgresql", "mysql"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument(
        "--dlt", nargs=2, metavar=("PYTHON", "SOURCES"), help="a Python with dlt, and the folder of its sources"
    )
    parser.add_argument("--plain-python", default=sys.executable, help="a Python with psycopg, and mysql-replication")
    parser.add_argument("--prefix", default="", help="a command that starts the timed part")
    parser.add_argument("--jobs", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.jobs:
        _time(json.loads(Path(given.jobs).read_text()))
        return
    with opened(given) as bench:
        bench.prepare()
        path = bench.folder / "jobs.json"
        path.write_text(json.dumps(bench.jobs))
        subprocess.run([*given.prefix.split(), sys.executable, "-m", "bench.feeds", "--jobs", str(path)])
        sys.stdout.write(f"not as the source: {', '.join(bench.wrong()) or 'none'}\n")


def _time(jobs: list[dict[str, Any]]) -> None:
    for job in jobs:
        repeats = 3 if job["name"].endswith(IDLE) else 1
        seconds = []
        for _ in range(repeats):
            started = time.monotonic()
            done = subprocess.run(job["command"], capture_output=True, text=True, env=os.environ)
            seconds.append(time.monotonic() - started)
        note = "" if done.returncode == 0 else f"   exit {done.returncode}: {done.stderr[-300:]}"
        sys.stdout.write(f"{job['name']:45} {statistics.median(seconds):7.2f} s{note}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
