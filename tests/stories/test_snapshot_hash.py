"""A table without a cursor: every run compares all rows with the last snapshot, and moves what changed."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from kit.pairs import pairs
from tidegate import Tidegate
from tidegate.changes import snapshot_hash
from tidegate.errors import RunFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.copied import Copied, Copies

TABLES = {"items": {"kind": "incremental", "changes": "snapshot_hash"}}
CREATE = "CREATE TABLE items (id integer PRIMARY KEY, name varchar(40), price numeric(12,2), note varchar(40))"
ALL = "SELECT id, name, price, note FROM items"
FILL = {
    "mysql": "INSERT INTO items SELECT seq, CONCAT('n', seq), seq * 1.5, NULL FROM seq_1_to_100",
    "postgresql": "INSERT INTO items SELECT n, 'n' || n, n * 1.5, NULL FROM generate_series(1, 100) AS n",
}
CHANGES = """
INSERT INTO items VALUES (101, 'new, "quoted"', 1.10, '');
UPDATE items SET name = NULL WHERE id < 10;
DELETE FROM items WHERE id BETWEEN 20 AND 29;
UPDATE items SET id = 500 WHERE id = 50
"""

DAYS = (
    "DELETE FROM items WHERE id = {}",
    "UPDATE items SET price = {1} WHERE id = {0}",
    "INSERT INTO items VALUES ({}, 'again', {}, NULL) ON CONFLICT DO NOTHING",
)
RENAMED = "UPDATE items SET name = '{}' WHERE id = 7"
REPRICED = "UPDATE items SET price = {}"


def filled(copies: Copies, source: str, target: str) -> Copied:
    copied = copies(source, target)
    copied.in_source(CREATE)
    copied.in_source(FILL[source])
    return copied


def windows(synced: Any) -> list[int | None]:
    """Return the rows of each window in the lake, oldest first."""
    [table] = synced.status()
    return [batch.rows for batch in table.batches]


@pytest.mark.parametrize(("source", "target"), [*pairs("postgresql to mysql"), *pairs("mysql to postgresql")])
def test_changes_and_deletes_arrive(copies: Copies, source: str, target: str):
    copied = filled(copies, source, target)
    with copied.tidegate(TABLES) as synced:
        synced.run()
        copied.assert_equal(ALL)
        assert not synced.plan().does_something
        copied.in_source(CHANGES)
        assert "22 changes" in str(synced.plan())  # 2 new rows, 9 changed, 11 gone
        assert synced.run().exit_code == 0
        copied.assert_equal(ALL)
        assert windows(synced) == [100, 11]
        assert not synced.plan().does_something
        assert synced.verify().outcome == "equal"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables count as large: they are compared inside of a task, in buckets that lie in a file."""
    monkeypatch.setattr(snapshot_hash, "LIGHT_ROWS", 0)
    monkeypatch.setattr(snapshot_hash, "buckets_for", lambda rows: 7)


@pytest.mark.usefixtures("large")
def test_large_table_is_compared_in_buckets(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate(TABLES) as synced:
        synced.run()
        copied.in_source(CHANGES)
        synced.run()
        copied.assert_equal(ALL)
        assert windows(synced) == [100, 11]
        synced.run()
        copied.assert_equal(ALL)
        assert windows(synced) == [100, 11, 0]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_random_days(copies: Copies, seed: int):
    """Keys come, change, leave and come again; runs end after the extraction, and windows leave the lake."""
    chance = random.Random(seed)
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate(TABLES) as synced:
        for _ in range(8):
            keys = sorted(chance.sample(range(1, 130), 12))
            for key in keys:
                copied.in_source(chance.choice(DAYS).format(key, chance.randint(1, 3)))
            if chance.random() < 0.3:
                synced.extract()
            else:
                synced.run()
                copied.assert_equal(ALL)
        synced.run()
        copied.assert_equal(ALL)
        assert synced.verify().outcome == "equal"


def test_changes_are_applied_in_their_order(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate({"items": {**TABLES["items"], "load": "apply_changes"}}) as synced:
        synced.run()
        copied.in_source(CHANGES)
        synced.run()
        copied.assert_equal(ALL)


def test_last_snapshot_lies_in_an_iceberg_table(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    places = {"source": copied.source, "target": copied.target}
    lake = {"path": str(copied.lake), "format": "iceberg"}
    with Tidegate(**places, lake=lake, tables=TABLES, engine="process") as synced:
        synced.run()
        copied.in_source(CHANGES)
        synced.run()
        copied.assert_equal(ALL)
        assert not synced.plan().does_something


@pytest.mark.thorough
@pytest.mark.usefixtures("large")
def test_tasks_of_spark_compare(copies: Copies, spark: SparkSession):
    copied = filled(copies, "postgresql", "postgresql")
    places = {"source": copied.source, "target": copied.target, "lake": copied.lake}
    with Tidegate(**places, tables=TABLES, spark=spark) as synced:
        synced.run()
        copied.in_source(CHANGES)
        assert synced.run().rows_extracted == 11
        copied.assert_equal(ALL)
        assert synced.dataframe("items").count() == 91


def test_lost_lake_is_read_anew(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate(TABLES) as synced:
        synced.run()
    shutil.rmtree(copied.lake)
    copied.in_source(CHANGES)
    with copied.tidegate(TABLES) as synced:
        synced.run()
        copied.assert_equal(ALL)
        assert not synced.plan().does_something


def test_retention_keeps_the_last_snapshot(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    tables = {"items": {**TABLES["items"], "retain": {"lake": 1}}}
    with copied.tidegate(tables) as synced:
        synced.run()
        for name in ("a", "b", "c"):
            copied.in_source(RENAMED.format(name))
            synced.run()
            copied.assert_equal(ALL)
        assert windows(synced) == [100, 1, 1, 1]


def test_many_changes_make_a_new_snapshot(copies: Copies, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_hash, "LIGHT_ROWS", 0)
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate(TABLES) as synced:
        for price in (0, 1, 2):
            copied.in_source(REPRICED.format(price))
            synced.run()
        copied.in_source("UPDATE items SET price = 3")
        assert "its windows have more rows than the table" in str(synced.plan())
        synced.run()
        copied.assert_equal(ALL)
        copied.in_source("UPDATE items SET price = 4 WHERE id = 1")
        synced.run()
        copied.assert_equal(ALL)
        assert windows(synced) == [100, 100, 100, 100, 1]


def test_repeated_key_is_refused(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    tables = {"items": {**TABLES["items"], "keys": ["note"]}}
    copied.in_source("UPDATE items SET note = CAST(id AS varchar)")
    with copied.tidegate(tables) as synced:
        synced.run()
        copied.in_source("UPDATE items SET note = 'same' WHERE id < 3")
        with pytest.raises(RunFailed, match="several rows have the key same"):
            synced.run()
        assert copied.rows("target", "SELECT count(*) FROM items WHERE note = 'same'") == {(0,): 1}


def test_added_column_is_extracted(copies: Copies):
    copied = filled(copies, "postgresql", "postgresql")
    with copied.tidegate(TABLES) as synced:
        synced.run()
        copied.in_source("ALTER TABLE items ADD COLUMN size integer DEFAULT 5;\nUPDATE items SET size = 6 WHERE id = 1")
        synced.run()
        copied.assert_equal("SELECT id, name, price, note, size FROM items")
