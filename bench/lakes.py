"""Appends to Iceberg and Delta tables by Tidegate, by Spark's own writers and by the formats' Python libraries, and the
time that planning needs for a table with thousands of snapshots.

    PYTHONPATH=tests:. python -m bench.lakes --jars FOLDER --rows 1000000 --rounds 3

`FOLDER` holds `iceberg-spark-runtime`, `delta-spark`, `delta-storage` and `sqlite-jdbc`, for Spark's own writers. All
append the rows of the same Parquet files in one warm session of two cores; rounds are interleaved.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate import plugins
from tidegate.interfaces.lake import EntryFacts, Lake, LakeTable, Layout, Part
from tidegate.model.names import TableName
from tidegate.model.tokens import CursorWindow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES, PLACES = 4, LakeTable(TableName("", "ours"), Layout.LOG, "bench")
CONFIGURATION = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
    "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.tidegate": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.tidegate.type": "jdbc",
    "spark.sql.catalog.tidegate.jdbc.schema-version": "V1",
    "spark.sql.catalog.tidegate.cache-enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.memory": "4g",
}


def rows(count: int, seed: int) -> pa.Table:
    """Return rows of ten columns: keys, decimals, texts, times."""
    made = np.random.default_rng(seed)
    moments = pa.array(1_700_000_000_000_000 + np.arange(count) * 1_000_000).cast(pa.timestamp("us"))
    whole = pa.array(made.integers(-(10**12), 10**12, count))
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "cob": pa.array((20240101 + np.arange(count) % 12).astype(np.int32)),
            "amount": whole.cast(pa.decimal128(38, 18)),
            "price": pa.array(made.integers(0, 10**6, count)).cast(pa.decimal128(23, 4)),
            "trader": pa.array([f"trader {n % 500}" for n in range(count)]),
            "note": pa.array([f"note {n}" for n in range(count)]),
            "traded_at": moments,
            "settled": pa.array((19_000 + np.arange(count) % 400).astype(np.int32)).cast(pa.date32()),
            "is_open": pa.array(np.arange(count) % 7 == 0),
            "rate": pa.array(made.random(count)),
        }
    )


@dataclass(frozen=True)
class Ours:
    """Writes one file of rows into a part, inside of a task."""

    lake: Lake
    files: tuple[str, ...]
    run: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            with pq.ParquetFile(self.files[number]) as file:
                schema = file.schema_arrow.remove_metadata()
                writer, count = self.lake.writer(PLACES, self.run, f"part-{number}", schema), 0
                for rows in file.iter_batches(10_000):
                    writer.write(rows.cast(schema))
                    count += rows.num_rows
            part = writer.close(facts(self.run, count))
            yield pa.RecordBatch.from_pydict({"id": [part.id], "rows": [part.rows], "bytes": [part.bytes]})


def facts(run: str, count: int) -> EntryFacts:
    return EntryFacts(run, count, "0" * 32, ("id",), "x", ("int64",), (), CursorWindow(), run, "bench", run, "")


def ours(spark: SparkSession, lake: Lake, files: tuple[str, ...]) -> None:
    run = f"r-20240101-000000-{uuid.uuid4().hex[:6]}"
    lake.begin(run)
    schema = pq.read_schema(files[0]).remove_metadata()
    task = Ours(lake.prepared(PLACES, schema), files, run)
    written = spark.range(0, FILES, 1, FILES).mapInArrow(task, "id string, rows long, bytes long").collect()
    parts = [Part(row["id"], "rows", row["rows"], row["bytes"]) for row in written]
    lake.commit(PLACES, run, parts, facts=facts(run, sum(part.rows for part in parts)))
    lake.end(run)


def contenders(spark: SparkSession, folder: Path, files: tuple[str, ...]) -> dict[str, Callable[[], object]]:
    """Return who appends, by name."""
    from deltalake import write_deltalake
    from pyiceberg.catalog.sql import SqlCatalog

    iceberg, delta = (plugins.lake(kind).at(folder / kind) for kind in ("iceberg", "delta"))
    catalog = SqlCatalog("tidegate", uri=f"sqlite:///{folder}/iceberg/catalog.db", warehouse=f"file://{folder}/iceberg")
    catalog.create_namespace_if_not_exists("default")
    schema = pq.read_schema(files[0]).remove_metadata()
    for name in ("pyiceberg", "spark"):
        catalog.create_table(f"default.{name}", schema)
    frame = spark.read.parquet(*files)
    return {
        "Iceberg: Tidegate": lambda: ours(spark, iceberg, files),
        "Iceberg: Spark": lambda: frame.writeTo("tidegate.default.spark").append(),
        "Iceberg: pyiceberg": lambda: catalog.load_table("default.pyiceberg").append(pq.read_table(list(files))),
        "Delta: Tidegate": lambda: ours(spark, delta, files),
        "Delta: Spark": lambda: frame.write.format("delta").mode("append").save(str(folder / "delta" / "by_spark")),
        "Delta: delta-rs": lambda: write_deltalake(
            str(folder / "delta" / "by_rust"), pq.read_table(list(files)), mode="append"
        ),
    }


def session(jars: Path, folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config(map=CONFIGURATION)
    builder = builder.config("spark.driver.extraClassPath", f"{jars}/*")
    builder = builder.config("spark.sql.catalog.tidegate.uri", f"jdbc:sqlite:file:{folder}/iceberg/catalog.db")
    return builder.config("spark.sql.catalog.tidegate.warehouse", f"file://{folder}/iceberg").getOrCreate()


def planning(folder: Path, snapshots: int) -> dict[str, float]:
    """Return the seconds, by the clock and of CPU, to find the entries of tables with so many snapshots. The history is
    one commit, copied many times: planning reads metadata alone."""
    _grow_iceberg(folder / "iceberg", snapshots)
    _grow_delta(folder / "delta", snapshots)
    found = {}
    for kind in ("iceberg", "delta"):
        for again in ("first", "again"):
            started, cpu = time.monotonic(), time.process_time()
            entries = plugins.lake(kind).at(folder / kind).entries(PLACES, {})
            found[f"{kind}, {again}"] = round(time.monotonic() - started, 2)
            found[f"{kind}, {again}, CPU"] = round(time.process_time() - cpu, 2)
            assert len(entries.by_window) >= snapshots
    return found


def _grow_iceberg(folder: Path, snapshots: int) -> None:
    with sqlite3.connect(folder / "catalog.db") as catalog:
        [(location,)] = catalog.execute("SELECT metadata_location FROM iceberg_tables WHERE table_name = 'ours'")
        path = Path(location.removeprefix("file://"))
        metadata = json.loads(path.read_text())
        last = metadata["snapshots"][-1]
        for number in range(snapshots):
            summary = {**last["summary"], "tidegate.window": f"w{number}", "tidegate.parts": f'["p{number}"]'}
            parent = metadata["current-snapshot-id"]
            copy = {**last, "snapshot-id": number + 1, "parent-snapshot-id": parent, "summary": summary}
            metadata["snapshots"].append(copy)
            metadata["current-snapshot-id"] = number + 1
        grown = path.with_name(f"99999-{uuid.uuid4()}.metadata.json")
        grown.write_text(json.dumps(metadata))
        new = f"file://{grown}"
        catalog.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'ours'", (new,))


def _grow_delta(folder: Path, snapshots: int) -> None:
    log = folder / "default" / "ours" / "_delta_log"
    last = max(log.glob("*.json"))
    lines = [json.loads(line) for line in last.read_text().splitlines()]
    for number in range(snapshots):
        for line in lines:
            if "commitInfo" in line:
                told = json.loads(line["commitInfo"]["userMetadata"])
                told["tidegate"]["window"] = f"w{number}"
                line["commitInfo"]["userMetadata"] = json.dumps(told)
        (log / f"{int(last.stem) + 1 + number:020d}.json").write_text("\n".join(map(json.dumps, lines)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--snapshots", type=int, default=5_000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tidegate-lakes-"))
    try:
        for name in ("iceberg", "delta", "rows"):
            (folder / name).mkdir()
        files = tuple(str(folder / "rows" / f"{number}.parquet") for number in range(FILES))
        for number, file in enumerate(files):
            pq.write_table(rows(given.rows // FILES, number), file)
        spark = session(given.jars.absolute(), folder)
        appends = contenders(spark, folder, files)
        found: dict[str, list[float]] = {}
        for number in range(given.rounds + 1):  # the first round warms up
            for name, append in appends.items():
                started = time.monotonic()
                append()
                seconds = round(time.monotonic() - started, 2)
                sys.stderr.write(f"{name}, round {number}: {seconds} s\n")
                if number:
                    found.setdefault(name, []).append(seconds)
        shown: dict[str, Any] = {
            name: {"median": statistics.median(each), "rounds": each} for name, each in found.items()
        }
        sys.stdout.write(
            json.dumps({"rows": given.rows, **shown, "planning": planning(folder, given.snapshots)}, indent=1)
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
