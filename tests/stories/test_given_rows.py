"""`load(table, frame)`: rows of a program go into the lake as one window, and into the target."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kit import sides
from kit.project import Story
from tidegate import Tidegate
from tidegate.errors import ConfigError, Unsupported, ValueProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

CREATE = """
CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(20,4), updated_at timestamp);
INSERT INTO orders VALUES (1, 1, '2024-01-01'), (2, 2, '2024-01-02'), (3, 3, '2024-01-03');
CREATE TABLE log (id bigint, word text, updated_at timestamp);
INSERT INTO log VALUES (1, 'one', '2024-01-01');
CREATE TABLE rates (code varchar(3) PRIMARY KEY, rate numeric(10,4));
INSERT INTO rates VALUES ('CHF', 1)
"""
BY_TIME: dict[str, Any] = {"kind": "incremental", "changes": "timestamp", "timestamp_column": "updated_at"}
TABLES: dict[str, Any] = {
    "orders": {**BY_TIME, "deletes": "key_compare"},
    "log": {**BY_TIME, "load": "append"},
    "rates": {"kind": "static"},
}
ROWS = pa.table(
    {
        "id": pa.array([2, 9], pa.int64()),
        "amount": pa.array([Decimal("-2.5000"), None], pa.decimal128(20, 4)),
        "updated_at": pa.array([datetime(2024, 1, 2, 0, 0, 0, 1), datetime(2020, 1, 1)], pa.timestamp("us")),
    }
)
KINDS: dict[str, Callable[[Any], Any]] = {
    "arrow": lambda spark: ROWS,
    "pandas": lambda spark: ROWS.to_pandas(),
    "polars": lambda spark: pl.from_arrow(ROWS),
    "spark": lambda spark: spark.createDataFrame(
        ROWS, "id bigint, amount decimal(20,4), updated_at timestamp_ntz"
    ).repartition(2),
}


@pytest.fixture
def project(story: Story, spark: SparkSession) -> Tidegate:
    story.in_source(CREATE)
    places = {"source": story.source, "target": story.target, "lake": str(story.lake), "spark": story.spark}
    tidegate = Tidegate(**places, tables=TABLES)
    tidegate.run()
    return tidegate


def in_target(story: Story, query: str) -> list[tuple[object, ...]]:
    return sides.ask(story.target, query)


@pytest.mark.parametrize(
    "kind",
    ["arrow", "spark", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("pandas", "polars"))],
)
def test_rows_of_every_kind_of_frame_are_merged(project: Tidegate, story: Story, spark: SparkSession, kind: str):
    """One row is changed, one is new; the row that the frame does not have stays, although deletes are followed."""
    report = project.load("orders", KINDS[kind](spark))
    assert report.outcome == "done"
    assert in_target(story, "SELECT * FROM orders ORDER BY id") == [
        (1, Decimal("1.0000"), datetime(2024, 1, 1)),
        (2, Decimal("-2.5000"), datetime(2024, 1, 2, 0, 0, 0, 1)),
        (3, Decimal("3.0000"), datetime(2024, 1, 3)),
        (9, None, datetime(2020, 1, 1)),
    ]
    assert not project.plan("orders").does_something, "rows of a program say nothing about the source"
    assert project.dataframe("orders").count() == 4


@pytest.mark.thorough
def test_the_watermark_stays_where_it_was(project: Tidegate, story: Story):
    future = ROWS.set_column(2, "updated_at", pa.array([datetime(2030, 1, 1)] * 2, pa.timestamp("us")))
    project.load("orders", future)
    story.in_source("INSERT INTO orders VALUES (4, 4, '2024-01-04')")
    assert project.run("orders").outcome == "done"
    assert in_target(story, "SELECT amount FROM orders WHERE id = 4") == [(Decimal(4),)]


def test_rows_are_appended_once(project: Tidegate, story: Story):
    rows = pd.DataFrame({"id": [1, 7], "word": ["one", "seven"], "updated_at": [datetime(2024, 1, 1)] * 2})
    project.load("log", rows)
    project.load("log", rows)
    assert in_target(story, "SELECT id, word FROM log ORDER BY id") == [(1, "one"), (7, "seven")]


@pytest.mark.thorough
def test_a_lost_target_gets_given_rows_again(project: Tidegate, story: Story):
    project.load("orders", ROWS)
    story.in_target("DROP TABLE orders")
    project.run("orders")
    assert in_target(story, "SELECT id FROM orders ORDER BY id") == [(1,), (2,), (3,), (9,)]


def test_tables_that_take_no_rows_say_why(project: Tidegate):
    with pytest.raises(Unsupported, match="takes no rows from a program"):
        project.load("rates", pa.table({"code": ["EUR"], "rate": [1]}))


def test_wrong_frames_are_refused(project: Tidegate, story: Story):
    with pytest.raises(ConfigError, match="differ in the columns amount"):
        project.load("orders", ROWS.drop(["amount"]))
    with pytest.raises(ConfigError, match="Rows cannot be taken from int"):
        project.load("orders", 5)
    unnamed = ROWS.set_column(0, "id", pa.array([None, 9], pa.int64()))
    with pytest.raises(ValueProblem, match=r"nulls where there must be a value: id \(1 row\)"):
        project.load("orders", unnamed)
    wide = ROWS.set_column(1, "amount", pa.array([Decimal("1.00001"), None], pa.decimal128(20, 5)))
    with pytest.raises(ValueProblem, match="amount"):
        project.load("orders", wide)
    assert in_target(story, "SELECT count(*) FROM orders") == [(3,)]
    assert not project.plan("orders").does_something
    assert not list((story.lake / ".tidegate" / "tmp").glob("*")), "no part stays behind"


def test_an_empty_frame_changes_nothing(project: Tidegate):
    assert project.load("orders", ROWS.slice(0, 0)).outcome == "nothing to do"
