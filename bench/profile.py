"""Where the time of one slice goes: each step of extract and load by itself, in one process, on the same rows."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.tables import TRADES
from bench.world import SOURCE, Side
from tidegate import plugins
from tidegate.config.urls import parse_connection
from tidegate.interfaces import ReadRequest
from tidegate.lakes.parquet import FileWriter, ParquetLake
from tidegate.model.names import TableName
from tidegate.rows.hashing import ReceiptBuilder

ROWS = 500_000
ROUNDS = 3


def of(side: Side) -> dict[str, Any]:
    """Seconds per million rows of every step, the median of some rounds."""
    table = f"{TRADES.name}_profile"
    side.execute(SOURCE, [*TRADES.create(side.database, table), TRADES.fill(side.database, table, ROWS)])
    side.settle(SOURCE, table)
    steps: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            _once(side, table, Path(folder), _Steps(steps))
    per_million = 1_000_000 / ROWS
    return {
        "database": side.database,
        "rows": ROWS,
        "steps": {step: round(statistics.median(seconds) * per_million, 2) for step, seconds in steps.items()},
    }


def _once(side: Side, table: str, folder: Path, steps: _Steps) -> None:
    copied = f"CREATE TABLE {table}_copy {_like(side, table)}"
    side.execute(SOURCE, [f"DROP TABLE IF EXISTS {table}_copy", copied])
    database = plugins.database(parse_connection(side.url(SOURCE)))
    with database.connect("profile") as session:
        name = TableName("", table).within(database.default_schema)
        shape = session.shapes([name])[name]
        batches = steps.timed("wire and decode", lambda: list(session.read(ReadRequest(name, shape.columns))))
        steps.timed("hash", lambda: _hashed(batches))
        file, lake = folder / "rows.parquet", ParquetLake(folder)
        steps.timed("write the file", lambda: _written(file, batches))
        read = steps.timed("read the file", lambda: list(lake.batches(file, 10_000, 16 * 1024 * 1024)))
        copy = TableName(name.schema, f"{table}_copy")
        steps.timed("encode and load", lambda: session.write(copy, shape.columns, iter(read)))


def as_text(profile: dict[str, Any]) -> str:
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in profile["steps"].items())
    return f"\nOne slice on {profile['database']}, seconds per million rows: {steps}"


class _Steps:
    def __init__(self, steps: dict[str, list[float]]) -> None:
        self._steps = steps

    def timed(self, step: str, work: Callable[[], Any]) -> Any:
        started = time.monotonic()
        result = work()
        self._steps.setdefault(step, []).append(time.monotonic() - started)
        return result


def _like(side: Side, table: str) -> str:
    return f"(LIKE {table})" if side.database == "postgresql" else f"LIKE {table}"


def _hashed(batches: list[pa.RecordBatch]) -> None:
    receipts = ReceiptBuilder()
    for batch in batches:
        receipts.add(batch)
    receipts.receipt()


def _written(file: Path, batches: list[pa.RecordBatch]) -> None:
    writer = FileWriter(file, batches[0].schema)
    for batch in batches:
        writer.write(batch)
    writer.close({})
