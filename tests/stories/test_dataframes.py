"""The lake as DataFrames: the state of a table, its past, and every row that was ever extracted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.project import FRIDAY, SATURDAY, Story
from kit.s3 import s3_server
from kit.sides import Rows
from tidegate import Tidegate
from tidegate.errors import ConfigError, LakeError, Unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

FORMATS = ["parquet", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("iceberg", "delta"))]
CREATE = """
CREATE TABLE orders (id integer PRIMARY KEY, amount numeric(30,10), at time, updated_at timestamp);
INSERT INTO orders SELECT n, n / 3.0, '07:30:00.000001', timestamp '2024-01-01' + n * interval '1 hour'
FROM generate_series(1, 20) AS n;
CREATE TABLE log (id integer, word text, updated_at timestamp);
INSERT INTO log VALUES (1, 'one', '2024-01-01'), (1, 'one', '2024-01-01'), (2, 'two', '2024-01-02');
CREATE TABLE prices (code varchar(3), price numeric(10,2), changed_at timestamp, PRIMARY KEY (code));
INSERT INTO prices VALUES ('CHF', 1, '2024-01-01'), ('EUR', 2, '2024-01-01')
"""
CHANGE = """
UPDATE orders SET amount = -1, updated_at = '2024-02-01' WHERE id = 7;
DELETE FROM orders WHERE id = 8;
INSERT INTO orders VALUES (21, 0.0000000001, NULL, '2024-02-02');
INSERT INTO log VALUES (2, 'two', '2024-01-02'), (3, 'three', '2024-01-03');
UPDATE prices SET price = 3, changed_at = '2024-02-01' WHERE code = 'EUR'
"""
BY_TIME: dict[str, Any] = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at"}
QUERIES = {"orders": "SELECT id, amount, at, updated_at FROM orders", "log": "SELECT id, word, updated_at FROM log"}
TABLES: dict[str, Any] = {
    "orders": {**BY_TIME, "deletes": "key_compare"},
    "log": {**BY_TIME, "load": "append", "look_back": "3 days"},
    "prices": {
        "kind": "scd2",
        "history": "generate",
        "business_keys": ["code"],
        "cursor_column": "changed_at",
        "initial_load": "full",
    },
}


@dataclass
class Project:
    """Two databases and a lake. Threads of the process move the rows, Spark reads the lake."""

    story: Story
    lake: Any
    tables: dict[str, Any] = field(default_factory=lambda: TABLES)

    @property
    def tidegate(self) -> Tidegate:
        return Tidegate(**self._places, tables=self.tables, engine="process")

    def run(self) -> None:
        self.tidegate.run()

    def frame(self, table: str, *arguments: object, **options: Any) -> DataFrame:
        return Tidegate(**self._places, tables=self.tables, spark=self.story.spark).dataframe(
            table, *arguments, **options
        )

    def rows(self, table: str, *arguments: object, **options: Any) -> Rows:
        return Counter(tuple(row) for row in self.frame(table, *arguments, **options).collect())

    def in_target(self, table: str) -> Rows:
        return Counter(sides.ask(self.story.target, QUERIES[table]))

    @property
    def _places(self) -> dict[str, Any]:
        return {"source": self.story.source, "target": self.story.target, "lake": self.lake}


@pytest.fixture(params=FORMATS)
def project(story: Story, request: pytest.FixtureRequest) -> Project:
    story.in_source(CREATE)
    return Project(story, f"{request.param}:{story.lake}")


def test_state_of_a_log_is_what_the_target_holds(project: Project):
    """Updates, a deleted row, repeated rows of the look-back: the frame has each row as the target has it."""
    project.run()
    assert {table: project.rows(table).total() for table in TABLES} == {"orders": 20, "log": 3, "prices": 2}
    project.story.in_source(CHANGE)
    project.run()
    assert project.rows("orders") == project.in_target("orders") and project.rows("orders").total() == 20
    assert project.rows("log") == project.in_target("log") and project.rows("log").total() == 5
    assert project.rows("prices").total() == 3


def test_raw_has_every_row_that_was_extracted(project: Project):
    project.run()
    project.story.in_source(CHANGE)
    project.run()
    raw = project.frame("orders", raw=True).where("id = 7").collect()
    assert sorted(row.amount for row in raw) == [Decimal(-1), Decimal("2.3333333333")]
    assert 8 in {row.id for row in project.frame("orders", raw=True).collect()}


def test_state_as_of_a_time_before_the_change(project: Project):
    project.run()
    before = project.in_target("orders")
    moment = datetime.now(UTC)
    time.sleep(1.1)
    project.story.in_source(CHANGE)
    project.run()
    assert project.rows("orders", as_of=moment) == before
    assert project.rows("orders", moment.isoformat()) == before
    assert project.rows("orders", as_of=datetime.now(UTC)) == project.in_target("orders")
    with pytest.raises(ConfigError, match="no version at 2001"):
        project.frame("orders", as_of="2001-01-01")


@pytest.mark.thorough
def test_a_row_that_came_back_is_in_the_state(project: Project):
    project.run()
    project.story.in_source("DELETE FROM orders WHERE id = 8")
    project.run()
    assert 8 not in {row[0] for row in project.rows("orders")}
    project.story.in_source("INSERT INTO orders VALUES (8, 8, NULL, '2024-03-01')")
    project.run()
    assert project.rows("orders") == project.in_target("orders")
    assert 8 in {row[0] for row in project.rows("orders")}


def test_past_of_partitions_in_parquet(story: Story):
    """A state without a day that came later is known. One in which a day had other rows is refused, with the day."""
    story.run()
    moment = datetime.now(UTC)
    story.fill(SATURDAY)
    story.run()
    assert story.tidegate().dataframe("trades", as_of=moment).count() == 1000
    assert story.tidegate().dataframe("trades", as_of=datetime.now(UTC)).count() == 1200
    assert story.tidegate().dataframe("trades", since=moment).count() == 200
    story.in_source("DELETE FROM trades WHERE cob = %s AND id > 150", FRIDAY)
    story.run()
    with pytest.raises(LakeError, match=f"what {FRIDAY} held"):
        story.tidegate().dataframe("trades", as_of=moment)
    assert story.tidegate().dataframe("trades", as_of=datetime.now(UTC)).count() == 1150


def test_past_of_a_static_table_in_parquet(story: Story):
    """Each run that found changes wrote a file of its own: all of them can be read, by the time of their reading."""
    tables: dict[str, Any] = {"trades": {"kind": "static"}}
    places: dict[str, Any] = {"source": story.source, "target": story.target, "lake": str(story.lake)}
    with Tidegate(**places, tables=tables, spark=story.spark) as tidegate:
        tidegate.run()
        moment = datetime.now(UTC)
        time.sleep(1.1)
        story.fill(SATURDAY)
        tidegate.run()
        assert tidegate.dataframe("trades", as_of=moment).count() == 1000
        assert tidegate.dataframe("trades", as_of=datetime.now(UTC)).count() == 1200
        with pytest.raises(Unsupported, match="does not tell what came"):
            tidegate.dataframe("trades", since=moment)


def test_a_value_that_came_as_text_is_text_in_the_frame(story: Story):
    """One day has a NaN, which Arrow's decimals cannot hold: the column is text, and no digit of it is lost."""
    story.in_source("UPDATE trades SET amount = 'NaN' WHERE cob = %s AND id = 3", FRIDAY)
    story.run()
    frame = story.tidegate().dataframe("trades")
    assert dict(frame.dtypes)["amount"] == "string"
    found = Counter(str(Decimal(row.amount)) for row in frame.collect())
    assert found == Counter(str(amount) for (amount,) in sides.ask(story.source, "SELECT amount FROM trades"))


def test_a_lake_without_the_table_says_what_to_do(project: Project):
    with pytest.raises(LakeError, match="holds nothing of"):
        project.frame("orders").collect()


@pytest.mark.thorough
def test_state_in_a_bucket(story: Story):
    """The same from object storage, and no credentials in the plan."""
    story.in_source(CREATE)
    with s3_server() as server:
        server.make_bucket("frames")
        project = Project(story, {"path": "s3://frames/lake", "store": server.options})
        project.run()
        project.story.in_source(CHANGE)
        project.run()
        assert project.rows("orders") == project.in_target("orders")
        assert project.rows("log") == project.in_target("log")


@pytest.fixture
def feed(story: Story) -> Iterator[Project]:
    """A table that is kept in sync by the database's own log."""
    story.in_source("CREATE TABLE items (id integer PRIMARY KEY, name text)")
    yield Project(story, str(story.lake), {"items": {"kind": "incremental", "changes": "cdc"}})
    sides.ask(story.source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


def test_state_of_a_change_feed(feed: Project):
    """Rows that came, changed, left and came back, in windows of a log that also tells what left."""
    feed.story.in_source("INSERT INTO items SELECT n, 'n' || n FROM generate_series(1, 10) AS n")
    feed.tidegate.create_feed()
    feed.run()
    for change in (
        "UPDATE items SET name = 'changed' WHERE id = 1",
        "DELETE FROM items WHERE id IN (2, 3)",
        "INSERT INTO items VALUES (2, 'back'), (11, 'new')",
        "DELETE FROM items WHERE id = 11",
    ):
        feed.story.in_source(change)
        feed.run()
        expected = Counter(sides.ask(feed.story.target, "SELECT id, name FROM items"))
        assert feed.rows("items") == expected and expected
