"""`values: {nulls: load}`: rows without a partition value are one window, which every run compares.

The trades have the key `id`, which does not contain the day. So a trade that gets its day meets its own older row.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.mariadb import MariaDb
from kit.pairs import BOTH_WAYS, first_daily
from kit.project import FIVE_DAYS, FRIDAY, MONDAY, SATURDAY, Stories, Story, assert_same_rows, database_on
from tidegate.errors import RunFailed
from tidegate.model.values import NULL_TEXT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), spark, tmp_path_factory, opened)


@pytest.fixture(params=first_daily(*BOTH_WAYS), ids=" to ".join)
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    return with_nulls(stories(*request.param))


def with_nulls(story: Story) -> Story:
    """Two of 25 trades of five days have no day; only the id names a trade."""
    story.in_source("DELETE FROM trades")
    for number, day in enumerate(FIVE_DAYS):
        story.fill(day, first=5 * number + 2, last=5 * number + 6)
    story.in_source("UPDATE trades SET cob = NULL WHERE id IN (3, 8)")
    story.in_source("ALTER TABLE trades ADD PRIMARY KEY (id)")
    story.settings |= {"values": {"nulls": "load"}, "initial_load_count": "all"}
    return story


def assert_equal(story: Story) -> None:
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    verified = story.tidegate().verify()
    assert (verified.outcome, verified.exit_code) == ("equal", 0)
    assert not story.tidegate().plan().does_something


def loaded(report: RunReport) -> set[str]:
    return {step.value for step in report.steps if (step.step, step.outcome) == ("load", "done")}


def test_rows_without_a_value_are_loaded_and_compared(story: Story):
    """They come with the first run. A further one, one that goes and one that gets its day are each noticed."""
    assert NULL_TEXT in loaded(story.run())
    assert_equal(story)

    story.in_source("UPDATE trades SET cob = NULL WHERE id = 25")
    assert loaded(story.run()) == {NULL_TEXT, str(FRIDAY)}
    assert_equal(story)

    story.in_source("UPDATE trades SET cob = %s WHERE id IN (3, 8, 25)", MONDAY)
    story.run()
    assert_equal(story)
    assert sides.ask(story.target, "SELECT count(*) FROM trades WHERE cob IS NULL") == [(0,)]


def test_newest_values_are_counted_without_null(story: Story):
    """`initial_load_count: 2` takes two days, and the rows without a day; so does `retain`."""
    story.settings |= {"initial_load_count": 2, "retain": {"target": 2}}

    story.run()

    expected = story.rows_in_source(*FIVE_DAYS[3:])
    assert story.rows_in_target().total() == expected.total() + 2
    story.fill(SATURDAY, first=31, last=35)
    story.run()
    assert {*story.counts_in_target()} == {None, FRIDAY, SATURDAY}


@pytest.mark.parametrize("lost", ["ledger", "lake", "rows"])
def test_lost_rows_without_a_value_heal(story: Story, lost: str):
    """Whatever is lost, the next run ends with the same rows."""
    story.run()
    if lost == "ledger":
        sides.forget_loads(story.target)
    elif lost == "lake":
        shutil.rmtree(story.lake)
    else:
        story.in_target("DELETE FROM trades WHERE cob IS NULL")

    story.run()

    assert_equal(story)


@pytest.mark.parametrize("lake", ["iceberg", "delta"])
def test_table_lakes_keep_rows_without_a_value(stories: Stories, lake: str):
    """In Iceberg they are the partition of null. They are replaced like any other value."""
    story = with_nulls(stories())
    story.project["lake"] = {"kind": lake, "path": str(story.lake)}
    story.run()
    assert_equal(story)

    story.in_source("UPDATE trades SET load_id = load_id + 1, cob = NULL WHERE id IN (3, 4)")
    story.run()
    assert_equal(story)

    story.in_source("DELETE FROM trades WHERE cob IS NULL")
    story.run()
    assert_equal(story)


def test_text_that_names_null_is_refused(stories: Stories):
    """A text column that holds the name of the null value cannot be told from it."""
    story = stories()
    story.in_source("ALTER TABLE trades ADD COLUMN desk text")
    story.in_source("UPDATE trades SET desk = %s", NULL_TEXT)
    story.settings |= {"partition_column": "desk", "values": {"nulls": "load"}}

    with pytest.raises(RunFailed) as failed:
        story.run()

    [(_, text)] = failed.value.report.failures
    assert f"rows whose desk is the text {NULL_TEXT}, which names rows without a value" in text
