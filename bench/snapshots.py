"""Snapshots of frames: changes against the last snapshot, beside writing the same rows as Parquet.

    PYTHONPATH=tests:. python -m bench.snapshots --rows 1000000 --columns 276

One row in a hundred changed since the snapshot. Nothing is archived: what is measured is how changes are found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kit.mariadb import MariaDb
from tidegate import ChangeDetector, HybridSnapshotManager
from tidegate.demo.embedded import EmbeddedPostgres

FILTER, EVERY = "GREYSON", 100


def frame(rows: int, columns: int, *, changed: bool) -> pa.Table:
    """Return orders: a key, texts, numbers and times in turn. With `changed`, a hundredth differs in one column."""
    numbers = np.arange(rows)
    made: dict[str, Any] = {"order number": pa.array([f"A{number:09}" for number in range(rows)])}
    texts = pa.array([f"style {number}" for number in range(1_000)])
    for place in range(1, columns):
        if place % 4 == 0:
            made[f"c{place}"] = texts.take(pa.array((numbers + place) % 1_000))
        elif place % 4 == 1:
            made[f"c{place}"] = pa.array((numbers * place) % 100_003)
        elif place % 4 == 2:
            made[f"c{place}"] = pa.array((numbers % 9_973) / (place + 1))
        else:
            made[f"c{place}"] = pa.array(numbers * 60_000_000 + place, pa.timestamp("us"))
    if changed:
        made["c1"] = pa.array(np.where(numbers % EVERY == 0, -1, made["c1"].to_numpy()))
    return pa.table(made)


def manager(url: str) -> HybridSnapshotManager:
    return HybridSnapshotManager(url, "orders_snapshot", ["order number"], archive=False, attributes=())


def prepare(url: str, rows: int, columns: int) -> None:
    manager(url).save_snapshot(frame(rows, columns, changed=False), FILTER)


def measure(url: str, rows: int, columns: int, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what was done and its seconds."""
    news = frame(rows, columns, changed=True)
    yield "write as Parquet", _seconds(lambda: pq.write_table(news, folder / "orders.parquet", compression="zstd"))
    os.unlink(folder / "orders.parquet")
    found: list[Any] = []
    yield "find changes", _seconds(lambda: found.append(ChangeDetector(manager(url)).detect(news, FILTER)))
    assert found[0].rows == {
        "new": 0,
        "changed": -(-rows // EVERY),
        "unchanged": rows - -(-rows // EVERY),
        "deleted": 0,
    }, found[0].rows


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=276)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {
            "PostgreSQL": stack.enter_context(EmbeddedPostgres(durable=True)),
            "MariaDB": stack.enter_context(MariaDb("--innodb-buffer-pool-size=1G")),
        }
        for name, server in servers.items():
            url = server.create_database("orders")
            prepare(url, given.rows, given.columns)
            for what, seconds in measure(url, given.rows, given.columns, folder):
                sys.stdout.write(f"{name}, {given.rows:,} rows x {given.columns} columns, {what}: {seconds:.1f} s\n")


if __name__ == "__main__":
    main()
