"""Watch a sync by way of Iceberg: initial sync, changes, incremental sync, verification, time travel.

    make demo-iceberg

It needs no server: source and target are databases of an embedded PostgreSQL. The warehouse stays for you to look at.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

import psycopg

from tidegate import IcebergReader, IncrementalSyncCoordinator, SyncOptions, SyncResult
from tidegate.demo.embedded import EmbeddedPostgres

HERE = Path(__file__).parent
SETUP = """
CREATE TABLE customers (customer_id integer PRIMARY KEY, name text, city text, modified_date timestamp);
CREATE INDEX ON customers (modified_date);
INSERT INTO customers
SELECT number, 'Customer ' || number, 'Bern', now()::timestamp - interval '1 day'
FROM generate_series(1, 1000) AS number
"""
OPTIONS = SyncOptions(watermark_column="modified_date", primary_key_column="customer_id")


def main() -> int:
    arguments = argparse.ArgumentParser(description="Watch a sync by way of Iceberg.")
    arguments.add_argument(
        "--warehouse", type=Path, default=Path("iceberg-demo"), help="A folder that this demo makes."
    )
    arguments.add_argument("--engine", choices=["spark", "process"], help="What moves the rows.")
    given = arguments.parse_args()
    if given.warehouse.exists() and not (given.warehouse / "catalog.db").exists():
        say(f"{given.warehouse} is there already, and no demo made it. Name another folder: --warehouse")
        return 2
    shutil.rmtree(given.warehouse, ignore_errors=True)
    with EmbeddedPostgres(durable=False) as server:
        source, target = (server.create_database(name) for name in ("demo_source", "demo_target"))
        with IncrementalSyncCoordinator(given.warehouse, engine=given.engine) as coordinator:
            return show(coordinator, source, target)


def show(coordinator: IncrementalSyncCoordinator, source: str, target: str) -> int:
    do(source, SETUP)
    say("1. Initial sync: 1,000 customers")
    first = sync(coordinator, source, target)
    say("2. Changes in the source: examples/iceberg/changes.sql")
    do(source, (HERE / "changes.sql").read_text())
    say("3. Incremental sync")
    second = sync(coordinator, source, target)
    say("4. Nothing has changed since")
    third = sync(coordinator, source, target)
    say("5. Verification: examples/iceberg/verify.sql")
    answers = [ask(url, (HERE / "verify.sql").read_text()) for url in (source, target)]
    for side, (customers, moved, content) in zip(("source", "target"), answers, strict=True):
        say(f"   {side}: {customers:,} customers, {moved} in Zürich, content {content}")
    say("6. Time travel: the Iceberg table as it was after the first sync, and what came since")
    reader = IcebergReader(coordinator.warehouse)
    for version in reader.snapshots("customers"):
        say(f"   snapshot {version.id}  {version.at[:19]}  {version.rows:,} rows, by run {version.run}")
    then = list(reader.read_snapshot("customers", first.new_snapshot_id or 0))
    say(f"   then: {len(then):,} customers, all in {', '.join({row['city'] for row in then})}")
    say(f"Look around: {coordinator.warehouse.absolute()} (pyiceberg, DuckDB and Spark read it; docs/iceberg.md)")
    good = all(result.success for result in (first, second, third)) and answers[0] == answers[1] and len(then) == 1000
    return 0 if good else 1


def sync(coordinator: IncrementalSyncCoordinator, source: str, target: str) -> SyncResult:
    result = coordinator.sync(source, "customers", "customers", target, "customers", OPTIONS)
    say(
        f"   {result.rows_extracted:,} rows extracted, {result.rows_imported:,} imported, snapshot"
        f" {result.new_snapshot_id}, {result.duration.total_seconds():.1f} s"
        if result.success
        else f"   failed: {result.error_message}"
    )
    return result


def do(url: str, statements: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statements)


def ask(url: str, query: str) -> Any:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchone()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
