"""Where the time goes: of one slice each step by itself, in one process, on the same rows; and of daily runs."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from bench import measure
from bench.cases import Daily
from bench.contenders import HERE, TOOLS
from bench.tables import TRADES
from bench.world import SOURCE, Side, World
from tidegate import plugins
from tidegate.config.urls import parse_connection
from tidegate.databases.postgresql import encoding
from tidegate.hashing.rows import ReceiptBuilder
from tidegate.interfaces import ReadRequest
from tidegate.lakes._files import FileWriter
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.storage.local import LocalFolder

ROWS = 500_000
DAILY_ROWS = 1_000_000
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
        "what": "one slice, seconds per million rows",
        "steps": {step: round(statistics.median(seconds) * per_million, 2) for step, seconds in steps.items()},
    }


def of_days(world: World, database: str) -> Iterator[dict[str, Any]]:
    """Of a daily run of each kind: the median of some days, the first load not among them."""
    [tool] = [tool for tool in TOOLS if tool.name == "tidegate"]
    for kind in ("partition", "scd2", "static"):
        case = Daily(f"profile-{kind}", "", database, rows=DAILY_ROWS, kind=kind)
        days: list[dict[str, Any]] = []
        case.prepare(tool, world, lambda tool, job: _a_day(job))
        for number in range(ROUNDS):
            case.begin(world, number)
            days.append(_a_day(case.job(tool, world)))
        steps = {step: statistics.median(day["steps"][step] for day in days) for step in days[0]["steps"]}
        total = statistics.median(day["total"] for day in days)
        what = f"a daily run, {kind}, 1% of {DAILY_ROWS:,} rows, seconds"
        yield {"database": database, "what": what, "steps": {**steps, "from begin to end": total}}


def _a_day(job: dict[str, Any]) -> dict[str, Any]:
    measured = measure.run([sys.executable, str(HERE / "tools" / "daily_profile.py"), json.dumps(job)], 600)
    return dict(measured.facts)


def _once(side: Side, table: str, folder: Path, steps: _Steps) -> None:
    copied = f"CREATE TABLE {table}_copy {_like(side, table)}"
    side.execute(SOURCE, [f"DROP TABLE IF EXISTS {table}_copy", copied])
    database = plugins.database(parse_connection(side.url(SOURCE)))
    with database.connect("profile") as session:
        name = TableName("", table).within(database.default_schema)
        shape = session.table_schemas([name])[name]
        batches = steps.timed("wire and decode", lambda: list(session.read(ReadRequest(name, shape.columns))))
        if side.database == "postgresql":
            steps.timed("wire alone", lambda: _forgotten(side, table))
        steps.timed("hash", lambda: _hashed(batches))
        steps.timed("write the file", lambda: _written(folder, batches))
        read = steps.timed("read the file", lambda: _read(folder))
        copy = TableName(name.schema, f"{table}_copy")
        if side.database == "postgresql":
            steps.timed("encode alone", lambda: _encoded(shape.columns, read))
        steps.timed("encode and load", lambda: session.write(copy, shape.columns, iter(read)))


def as_text(profile: dict[str, Any]) -> str:
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in profile["steps"].items())
    return f"\n{profile['database']}, {profile['what']}: {steps}"


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


def _forgotten(side: Side, table: str) -> None:
    """What libpq, the server and the kernel take, when nobody looks at the rows."""
    with psycopg.connect(side.url(SOURCE), autocommit=True) as connection:
        link = connection.pgconn
        link.exec_(f"COPY {table} TO STDOUT (FORMAT binary)".encode())
        while link.get_copy_data(0)[0] > 0:
            pass
        link.get_result()
        link.get_result()


def _encoded(columns: Sequence[Column], batches: list[pa.RecordBatch]) -> None:
    schema = batches[0].schema
    writers = encoding.writers(columns, schema)
    assert writers is not None
    for _ in encoding.encoded(iter(batches), schema, writers):
        pass


def _hashed(batches: list[pa.RecordBatch]) -> None:
    receipts = ReceiptBuilder()
    for batch in batches:
        receipts.add(batch)
    receipts.receipt()


def _read(folder: Path) -> list[pa.RecordBatch]:
    with pq.ParquetFile(folder / "rows.parquet", page_checksum_verification=True) as file:
        return list(file.iter_batches(10_000))


def _written(folder: Path, batches: list[pa.RecordBatch]) -> None:
    writer = FileWriter(LocalFolder(folder), "rows.parquet", batches[0].schema)
    for batch in batches:
        writer.write(batch)
    writer.close({})
