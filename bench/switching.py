"""Partition switching: how long readers wait for a switch, and loads by switch beside direct loads.

    PYTHONPATH=tests:. python -m bench.switching --rows 10000000 --load-rows 1000000

Readers are a process of their own that asks for one row of the switched partition without a pause. The loads take the
same files from a lake into empty targets, on a warm session of two cores; every load is proved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit import sides
from kit.mariadb import MariaDb
from tidegate import Tidegate
from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.model.names import TableName

DAY, DAYS = 20240815, (20240815, 20240816, 20240817, 20240818)
COLUMNS = "cob int NOT NULL, id bigint NOT NULL, amount decimal(18,4) NOT NULL, PRIMARY KEY (cob, id)"
SERIES = {"postgresql": "generate_series(1, {}) AS n", "mysql": "(SELECT seq AS n FROM seq_1_to_{}) AS numbers"}
TABLES = {"trades": {"kind": "partition", "partition_column": "cob", "initial_load_count": "all"}}
WAYS: dict[str, dict[str, Any]] = {
    "direct": {"switch": "direct"},
    "by switch": {"switch": "auto"},
    "by switch, one partition after the other": {"switch": "auto", "parallel_load": False},
}


@dataclass(frozen=True)
class Waits:
    """What a reader saw: milliseconds of the longest reads, before and while a partition is switched."""

    reads: int
    longest: float
    longest_before: float
    seconds: float


def create(url: str) -> None:
    """Create the table with a partition for each day."""
    if sides.kind_of(url) == "postgresql":
        sides.do(url, f"CREATE TABLE trades ({COLUMNS}) PARTITION BY RANGE (cob)")
        for day in DAYS:
            sides.do(url, f"CREATE TABLE trades_{day} PARTITION OF trades FOR VALUES FROM ({day}) TO ({day + 1})")
    else:
        parts = ", ".join(f"PARTITION p{day} VALUES LESS THAN ({day + 1})" for day in DAYS)
        sides.do(url, f"CREATE TABLE trades ({COLUMNS}) PARTITION BY RANGE (cob) ({parts})")


def fill(url: str, table: str, day: int, rows: int) -> None:
    series = SERIES[sides.kind_of(url)].format(rows)
    sides.do(url, f"INSERT INTO {table} SELECT {day}, n, n * 1.25 FROM {series}")


def staged(source: str, target: str, lake: Path, rows: int) -> str:
    """Fill the partition, and beside it the table that is switched in. Return the name of that table."""
    fill(target, "trades", DAY, rows)
    with Tidegate(source=source, target=target, lake=lake, tables=TABLES, engine="process") as tidegate:
        stage = str(tidegate.table("trades").partitions.create_stage(DAY, "_STAGE"))
    quote = '"' if sides.kind_of(target) == "postgresql" else "`"
    fill(target, ".".join(f"{quote}{part}{quote}" for part in stage.split(".")), DAY, rows)
    return stage


def waits(source: str, target: str, lake: Path, stage: str) -> Waits:
    """Switch the table in while a reader polls."""
    reader = subprocess.Popen(
        [sys.executable, "-m", "bench.switching", "--read", target], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    time.sleep(5)
    began = time.time()
    with Tidegate(source=source, target=target, lake=lake, tables=TABLES, engine="process") as tidegate:
        tidegate.table("trades").partitions.switch(TableName.parse(stage), DAY)
    seconds = time.time() - began
    time.sleep(1)
    answer, _ = reader.communicate(b"\n")
    reads: list[list[float]] = json.loads(answer)
    before = [took for at, took in reads if at < began]
    return Waits(len(reads), 1000 * max(took for _, took in reads), 1000 * max(before), seconds)


def read_until_told(url: str) -> None:
    """Read one row after another, and print when each read began and how long it took, once a line comes."""
    import select

    reads: list[tuple[float, float]] = []
    with sides.opened(url) as witness:
        while not select.select([sys.stdin], [], [], 0)[0]:
            began = time.time()
            found = witness.ask(f"SELECT amount FROM trades WHERE cob = {DAY} AND id = 7")
            reads.append((began, time.time() - began))
            assert len(found) == 1, found
    sys.stdout.write(json.dumps(reads))


def loads(server: Any, folder: Path, rows: int, rounds: int, spark: Any) -> Iterator[tuple[str, str, float]]:
    """Yield what was loaded, how, and the seconds of each load."""
    for what, days in (("four days", DAYS), ("one day", DAYS[:1])):
        source = server.create_database(f"source_{len(days)}")
        sides.do(source, f"CREATE TABLE trades ({COLUMNS})")
        for day in days:
            fill(source, "trades", day, rows // len(days))
        lake = folder / f"lake {what}"
        with _target(server, f"first_{len(days)}") as target:
            Tidegate(source=source, target=target, lake=lake, tables=TABLES, spark=spark).extract()
        for number in range(rounds):
            for name, settings in WAYS.items():
                if what == "one day" and "parallel_load" in settings:
                    continue
                with _target(server, f"target_{len(days)}_{number}_{len(name)}") as target:
                    yield what, name, _load(source, target, lake, settings, spark)


def _load(source: str, target: str, lake: Path, settings: dict[str, Any], spark: Any) -> float:
    tables = {"trades": {**TABLES["trades"], **settings}}
    tidegate = Tidegate(source=source, target=target, lake=lake, tables=tables, spark=spark, max_connections=4)
    began = time.monotonic()
    report = tidegate.load()
    seconds = time.monotonic() - began
    assert report.exit_code == 0, report
    assert report.rows_loaded, report
    return seconds


@contextmanager
def _target(server: Any, name: str) -> Iterator[str]:
    url = server.create_database(name)
    create(url)
    yield url
    server.drop_database(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--load-rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--read", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read_until_told(given.read)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {
            "PostgreSQL": stack.enter_context(EmbeddedPostgres(durable=True)),
            "MariaDB": stack.enter_context(MariaDb("--innodb-buffer-pool-size=1G")),
        }
        for name, server in servers.items():
            source, target = server.create_database("source"), server.create_database("target")
            create(target)
            sides.do(source, f"CREATE TABLE trades ({COLUMNS})")
            stage = staged(source, target, folder / name, given.rows)
            sys.stdout.write(f"{name}: {waits(source, target, folder / name, stage)}\n")
        spark = _spark()
        for name, server in servers.items():
            for what, how, seconds in loads(server, folder / f"loads {name}", given.load_rows, given.rounds, spark):
                sys.stdout.write(f"{name}, {what}, {how}: {seconds:.2f} s\n")


def _spark() -> Any:
    """Return a session whose workers are warm."""
    from tidegate.spark.session import open_session

    spark = open_session("local[2]")
    spark.range(100).mapInArrow(lambda batches: batches, "id long").collect()
    return spark


if __name__ == "__main__":
    main()
