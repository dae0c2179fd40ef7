"""Partition switching through `IncrementalSQLServerParquetPipeline`: detection, loads, and switches by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.pairs import first_daily
from kit.project import database_on
from tidegate import IncrementalSQLServerParquetPipeline
from tidegate.errors import MissingObject, ProofFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

DAYS = [20240815, 20240816, 20240817]
SETTINGS: dict[str, Any] = {
    "partition_column": "cobid",
    "initial_load_count": 3,
    "sql_server_partitioned": True,
    "partition_switching": {"enabled": True, "switch_method": "auto", "staging_table_suffix": "_TRANSFORM"},
}


@dataclass
class Fact:
    """A source with three days, and a target that is partitioned by day."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    pipeline: IncrementalSQLServerParquetPipeline

    def rows(self, side: str, day: int) -> list[Any]:
        return sorted(sides.ask(getattr(self, side), "SELECT id, amount FROM fact WHERE cobid = %s", day))

    def run(self) -> dict[str, Any]:
        return self.pipeline.run_daily_incremental_pipeline(partition_tables={"fact": SETTINGS})


@pytest.fixture(params=first_daily("postgresql", "mysql"))
def fact(
    request: pytest.FixtureRequest, postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path: Path
) -> Iterator[Fact]:
    server: Any = {"postgresql": postgres, "mysql": mariadb}[request.param]
    with ExitStack() as opened:
        source, target = (opened.enter_context(database_on(server)) for _ in range(2))
        columns = "(cobid int NOT NULL, id int NOT NULL, amount decimal(38,18), PRIMARY KEY (cobid, id))"
        sides.do(source, f"CREATE TABLE fact {columns}")
        for day in DAYS:
            sides.do(source, "INSERT INTO fact VALUES (%s, 1, 1.5), (%s, 2, 2.5)", day, day)
        create(target, request.param, columns)
        yield Fact(source, target, IncrementalSQLServerParquetPipeline(source, target, tmp_path, spark=spark))


def create(target: str, kind: str, columns: str) -> None:
    if kind == "postgresql":
        sides.do(target, f"CREATE TABLE fact {columns} PARTITION BY RANGE (cobid)")
        for day in DAYS:
            sides.do(target, f"CREATE TABLE fact_{day} PARTITION OF fact FOR VALUES FROM ({day}) TO ({day + 1})")
    else:
        parts = ", ".join(f"PARTITION p{day} VALUES LESS THAN ({day + 1})" for day in DAYS)
        sides.do(target, f"CREATE TABLE fact {columns} PARTITION BY RANGE (cobid) ({parts})")


def test_partitions_are_detected(fact: Fact):
    """Detection tells column, boundaries and partitions; a value has a number; answers survive JSON."""
    found = fact.pipeline.detect_sql_server_partitions("fact")

    assert json.loads(json.dumps(found)) == found
    assert (found["is_partitioned"], found["partition_column"], found["range"]) == (True, "cobid", "RIGHT")
    assert found["boundary_values"][-1] == DAYS[-1] + 1
    assert [fact.pipeline.get_partition_number("fact", day) for day in DAYS] == [1, 2, 3]
    assert fact.pipeline.get_partition_number("fact", 20991231) is None
    assert all(fact.pipeline.validate_partition_switching_prerequisites("fact").values())
    alignment = fact.pipeline.validate_partition_alignment("fact")
    assert (alignment["boundary_mismatches"], alignment["problems"]) == ([], [])
    sides.do(fact.source, "INSERT INTO fact VALUES (20991231, 1, 1)")
    assert fact.pipeline.validate_partition_alignment("fact")["boundary_mismatches"] == [20991231]
    assert fact.pipeline.report_partition_boundary_issues("fact") == ["fact: no partition has bounds for 20991231"]


@pytest.mark.parametrize("fact", ["postgresql", "mysql"], indirect=True)
def test_days_are_loaded_in_parallel(fact: Fact):
    """`parallel_partition_load` extracts and loads the values that it is given, and no others."""
    assert fact.pipeline.determine_load_strategy("fact", DAYS[0], SETTINGS) == "switch"

    done = fact.pipeline.parallel_partition_load("fact", DAYS[:2], SETTINGS, max_parallel=2)

    assert (done["fact"]["rows_loaded"], sorted(done["fact"]["values"])) == (4, [str(day) for day in DAYS[:2]])
    assert [fact.rows("target", day) for day in DAYS] == [*(fact.rows("source", day) for day in DAYS[:2]), []]
    fact.run()
    assert fact.rows("target", DAYS[2]) == fact.rows("source", DAYS[2])


def test_stage_is_switched_by_hand(fact: Fact):
    """A staging table that a user filled takes the place of a day. One with rows of another day is refused."""
    fact.run()
    stage = fact.pipeline.create_staging_table("fact", DAYS[0])
    assert "_TRANSFORM_20240815_" in stage
    named = ".".join(f'"{part}"' if fact.target.startswith("postgresql") else f"`{part}`" for part in stage.split("."))
    named = named.replace('""', '"')
    sides.do(fact.target, f"INSERT INTO {named} VALUES ({DAYS[0]}, 9, 9)")  # noqa: S608
    if fact.target.startswith("mysql"):  # PostgreSQL's stage has a check of the partition's bounds
        sides.do(fact.target, f"INSERT INTO {named} VALUES ({DAYS[1]}, 9, 9)")  # noqa: S608
        with pytest.raises(ProofFailed, match="has rows of other values than 20240815"):
            fact.pipeline.switch_partition("fact", stage, DAYS[0])
        assert fact.rows("target", DAYS[0]) == fact.rows("source", DAYS[0])
        sides.do(fact.target, f"DELETE FROM {named} WHERE cobid <> {DAYS[0]}")  # noqa: S608
    fact.pipeline.rebuild_staging_indexes(stage)
    switched = fact.pipeline.switch_partition("fact", stage, DAYS[0])

    assert switched["rows"] == 1
    assert [row[0] for row in fact.rows("target", DAYS[0])] == [9]
    assert fact.rows("target", DAYS[1]) == fact.rows("source", DAYS[1])
    fact.pipeline.update_statistics("fact")
    assert fact.pipeline.find_orphaned_staging_tables() == []


def test_orphans_are_found_and_dropped(fact: Fact):
    """Staging tables are found and dropped by pattern. Tables of users are refused."""
    first, second = (fact.pipeline.create_staging_table("fact", day) for day in DAYS[:2])

    assert sorted(fact.pipeline.find_orphaned_staging_tables()) == sorted([first, second])
    assert fact.pipeline.cleanup_staging_tables("*_20240815_*") == [first]
    with pytest.raises(MissingObject, match="is no staging table of Tidegate"):
        fact.pipeline.drop_table("fact")
    for table in fact.pipeline.find_orphaned_staging_tables():
        fact.pipeline.drop_table(table)
    assert fact.pipeline.find_orphaned_staging_tables() == []
