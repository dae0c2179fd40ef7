"""A lake in object storage: the stories of every kind of table on an S3 server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest

from kit import sides
from kit.crash import Interrupter
from kit.pairs import first_daily
from kit.project import FRIDAY, MONDAY, Story, assert_same_rows
from kit.s3 import S3Server, s3_server
from tidegate import Tidegate
from tidegate.interfaces.lake import EntryFacts, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import TableName
from tidegate.model.tokens import PartitionToken
from tidegate.storage.objects import Bucket

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

TRADES = LakeTable(TableName("", "trades"), Layout.VALUES, "cob")


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture
def lake(server: S3Server, tmp_path: Path) -> dict[str, Any]:
    server.make_bucket("stories")
    return {"path": f"s3://stories/{tmp_path.name}", "store": server.options}


@pytest.fixture
def bucket_story(story: Story, lake: dict[str, Any]) -> Story:
    """Five days of trades, and a lake in a bucket."""
    story.project["lake"] = lake
    return story


def objects_of(lake: dict[str, Any]) -> list[str]:
    bucket = Bucket.of(lake["path"], lake["store"])
    return sorted(meta["path"] for batch in obstore.list(bucket._store) for meta in batch)


def assert_in_step(story: Story) -> None:
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    assert story.tidegate().verify().outcome == "equal"
    assert not story.tidegate().plan().does_something


def test_partition_table_is_synced_through_a_bucket(bucket_story: Story, lake: dict[str, Any]):
    """A run, a restated day, a lost object and a lost target row: each next run completes what is missing."""
    story = bucket_story
    assert story.run().outcome == "done"
    assert_in_step(story)
    assert story.run().outcome == "nothing to do"
    commits = [path for path in objects_of(lake) if path.endswith("_committed.json")]
    assert len(commits) == 5 and not [path for path in objects_of(lake) if "/tmp/" in path]

    story.in_source("DELETE FROM trades WHERE cob = %s AND id > 150", FRIDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    obstore.delete(Bucket.of(lake["path"], lake["store"])._store, commits[1])
    assert story.run().outcome == "done"
    assert_in_step(story)
    parts = [path for path in objects_of(lake) if path.endswith(".parquet")]
    assert len(parts) == 5, "a replaced day leaves no part behind"


def test_plan_says_that_the_store_honours_conditions(bucket_story: Story):
    assert "was not asked yet" in bucket_story.tidegate().plan().notes[0]
    bucket_story.run()
    assert "honours the conditions of a PUT" in bucket_story.tidegate().plan().notes[0]


def test_a_store_that_overwrites_in_silence_is_refused(bucket_story: Story, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Bucket, "probe", lambda bucket, folder: False)
    report = bucket_story.tidegate().run(check=False)
    assert report.exit_code == 1 and "ignores the conditions of a PUT" in report.failures[0][1]
    assert sides.ask(bucket_story.target, "SELECT count(*) FROM trades") == [(0,)]


def test_spark_reads_a_lake_in_a_bucket(bucket_story: Story):
    bucket_story.run()
    with bucket_story.tidegate() as tidegate:
        frame = tidegate.dataframe("trades")
        assert frame.count() == 1000
        plan = frame._jdf.queryExecution().toString() if hasattr(frame, "_jdf") else ""
        assert "secret-of-tests" not in plan and "key-of-tests" not in plan


def test_credentials_appear_in_no_report(bucket_story: Story):
    report = bucket_story.run()
    assert "secret-of-tests" not in json.dumps(report.to_dict())
    assert "secret-of-tests" not in repr(bucket_story.tidegate().project)


def test_a_bucket_that_is_not_there_fails_before_rows_move(bucket_story: Story, lake: dict[str, Any]):
    bucket_story.project["lake"] = {**lake, "path": "s3://no-such-bucket/lake"}
    report = bucket_story.tidegate().run(check=False)
    assert report.exit_code == 1 and "s3://no-such-bucket/lake cannot be used" in report.failures[0][1]


@pytest.mark.parametrize("boundary", first_daily("published", "loaded"))
def test_an_interrupted_run_is_completed_through_a_bucket(bucket_story: Story, boundary: str, tmp_path: Path):
    """The run ends at this boundary. The next one completes it: nothing lost, nothing twice."""
    with pytest.raises(KeyboardInterrupt):
        bucket_story.tidegate(boundary=Interrupter(boundary, 2, tmp_path / "tally")).run()
    bucket_story.run()
    assert_in_step(bucket_story)


@pytest.fixture
def small_lake(lake: dict[str, Any]) -> ParquetLake:
    return ParquetLake.at_bucket(lake["path"], lake["store"])


def write(lake: ParquetLake, run: str, read_at: str, rows: int) -> Part:
    schema = pa.schema([("id", pa.int64())])
    writer = lake.writer(TRADES, run, "0", schema)
    writer.write(pa.record_batch([pa.array(range(rows))], schema=schema))
    return writer.close(facts(run, read_at, rows))


def facts(run: str, read_at: str, rows: int) -> EntryFacts:
    token = PartitionToken(None)
    return EntryFacts("7", rows, "00", ("id",), "x", ("int64",), (), token, run, "new", read_at, "")


def test_one_of_many_committers_wins(small_lake: ParquetLake):
    """Eight runs commit the same new window at once. One entry is there, with the rows of one run."""
    runs = [f"r{number}" for number in range(8)]
    parts = {run: write(small_lake, run, f"2024-01-01T00:00:0{run[1]}", 10 + int(run[1])) for run in runs}
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda run: small_lake.commit(TRADES, "7", [parts[run]]), runs))
    assert results[7][1], "the newest reading wins in the end, whoever was first"
    entry = small_lake.entries(TRADES, {}).by_window["7"]
    assert entry.rows == 17
    assert sum(batch.num_rows for batch in small_lake.read(TRADES, entry.id, BatchSize())) == 17


@pytest.mark.thorough
def test_a_repeated_commit_changes_nothing(small_lake: ParquetLake):
    part = write(small_lake, "r1", "2024-01-01", 3)
    first, _ = small_lake.commit(TRADES, "7", [part])
    again, is_ours = small_lake.commit(TRADES, "7", [part])
    assert (again, is_ours) == (first, True)


@pytest.mark.thorough
def test_parts_without_a_commit_file_do_not_count(small_lake: ParquetLake):
    """A run that is killed between the parts and the commit file leaves nothing that anybody sees."""
    part = write(small_lake, "r1", "2024-01-01", 3)
    small_lake.storage.publish(part.id, "organized/cob_7/trades_cob_7.parquet/part-0001-killed.parquet")
    assert small_lake.entries(TRADES, {}).by_window == {}
    small_lake.commit(TRADES, "7", [part])
    names = small_lake.storage.names("organized/cob_7/trades_cob_7.parquet")
    assert len(names) == 2 and not [name for name in names if "killed" in name]


DIMENSIONS = """
CREATE TABLE currencies (code varchar(3) PRIMARY KEY, rate numeric(20,10));
INSERT INTO currencies VALUES ('CHF', 0.9431), ('EUR', 1), ('XXX', NULL);
CREATE TABLE customers (id integer, name text, changed_at timestamp NOT NULL, PRIMARY KEY (id));
INSERT INTO customers SELECT n, 'name ' || n, timestamp '2024-01-01' + n * interval '1 hour'
FROM generate_series(1, 50) AS n
"""
OTHER_KINDS = {
    "currencies": {"kind": "static", "allow_deletes": True},
    "customers": {
        "kind": "scd2",
        "history": "generate",
        "business_keys": ["id"],
        "cursor_column": "changed_at",
        "deletes": "close",
        "initial_load": "full",
    },
}


def test_static_tables_and_versions_are_synced_through_a_bucket(story: Story, lake: dict[str, Any]):
    """Changes, a deleted entity and a deleted reference row arrive; the log keeps rows and keys."""
    story.in_source(DIMENSIONS)
    places = {"source": story.source, "target": story.target, "lake": lake, "spark": story.spark}

    def run() -> str:
        tidegate = Tidegate(**places, tables=OTHER_KINDS)
        outcome = tidegate.run().outcome
        assert tidegate.verify().outcome == "equal"
        return outcome

    assert (run(), run()) == ("done", "nothing to do")
    story.in_source("UPDATE customers SET name = 'moved', changed_at = now() WHERE id = 7")
    story.in_source("DELETE FROM customers WHERE id = 8")
    story.in_source("DELETE FROM currencies WHERE code = 'XXX'")
    assert (run(), run()) == ("done", "nothing to do")
    assert sides.ask(story.target, "SELECT count(*) FROM customers WHERE id = 7") == [(2,)]
    assert sides.ask(story.target, "SELECT count(*) FROM currencies") == [(2,)]
