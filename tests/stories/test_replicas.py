"""The source takes no writes: a standby of PostgreSQL, a read-only MariaDB, each by a login that may only SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from kit import sides
from kit.meanwhile import Before
from kit.project import FIVE_DAYS, FRIDAY, MONDAY, SATURDAY, Story
from kit.standby import Standby
from tidegate.demo.embedded import EmbeddedPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


@pytest.fixture(scope="module")
def primary() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(durable=False) as server:
        sides.do(server.url(), "CREATE ROLE reader LOGIN PASSWORD 'reads'")
        yield server


@pytest.fixture(scope="module")
def standby(primary: EmbeddedPostgres) -> Iterator[Standby]:
    with Standby(primary) as server:
        yield server


@pytest.fixture
def impatient(standby: Standby) -> Iterator[Standby]:
    """The standby, which ends at once whoever is in the way of what it must replay."""
    sides.do(standby.url(), "ALTER SYSTEM SET max_standby_streaming_delay = 0")
    sides.do(standby.url(), "SELECT pg_reload_conf()")
    yield standby
    sides.do(standby.url(), "ALTER SYSTEM RESET max_standby_streaming_delay")
    sides.do(standby.url(), "SELECT pg_reload_conf()")


@pytest.fixture
def shop(primary: EmbeddedPostgres, standby: Standby) -> Iterator[str]:
    """A database of the primary with five days of trades, which the standby has too."""
    url = primary.create_database("shop")
    sides.create(url)
    sides.do(url, "GRANT SELECT ON trades TO reader")
    sides.fill(url, FIVE_DAYS, 1, 200)
    standby.wait_until_replayed()
    yield url
    primary.drop_database("shop")


@pytest.fixture
def read_only(mariadb: MariaDb) -> Iterator[str]:
    """A database with five days of trades that nobody may write to but us, who fill it as replication would."""
    with mariadb.database() as url:
        sides.create(url)
        sides.fill(url, FIVE_DAYS, 1, 200)
        sides.do(url, "CREATE USER reader IDENTIFIED BY 'reads'")
        sides.do(url, "GRANT SELECT ON trades TO reader")
        sides.do(url, "SET GLOBAL read_only = ON")
        yield url
        sides.do(url, "SET GLOBAL read_only = OFF")
        sides.do(url, "DROP USER reader")


@pytest.fixture
def story(standby: Standby, shop: str, database: str, spark: SparkSession, tmp_path: Path) -> Story:
    return Story(as_reader(standby.url("shop")), database, tmp_path, spark, {"restatement_column": "load_id"})


def as_reader(url: str) -> str:
    return f"{url.partition('://')[0]}://reader:reads@{url.rpartition('@')[2]}"


def a_day_later(writable: str) -> None:
    sides.fill(writable, [SATURDAY], 1, 200)
    sides.do(writable, "UPDATE trades SET amount = amount + 1, load_id = load_id + 1 WHERE cob = %s", FRIDAY)


def assert_day_after_day(story: Story) -> None:
    """The second day has arrived in the source."""
    report = story.run()
    assert sorted({step.value for step in report.steps}) == [str(FRIDAY), str(SATURDAY)]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)
    assert story.run().outcome == "nothing to do"


def test_a_standby_is_a_source_like_its_primary(story: Story, shop: str, standby: Standby):
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        sides.do(standby.url("shop"), "DELETE FROM trades")
    story.run()
    story.assert_in_step(*FIVE_DAYS)

    a_day_later(shop)
    standby.wait_until_replayed()

    assert_day_after_day(story)


def test_a_standby_that_ends_the_snapshot_says_so_and_the_next_run_completes(
    story: Story, shop: str, impatient: Standby
):
    def vacuum() -> None:
        sides.do(shop, "DELETE FROM trades WHERE cob = %s AND id > 100", MONDAY)
        sides.do(shop, "VACUUM trades")
        impatient.wait_until_replayed()

    ((_, why),) = story.tidegate(listener=Before("land", vacuum)).run(check=False).failures
    assert "the snapshot that this run reads is gone" in why
    assert "hot_standby_feedback" in why
    assert story.counts_in_target() == {}

    story.run()
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.mysql
def test_a_mariadb_that_is_read_only_is_a_source(read_only: str, database: str, spark: SparkSession, tmp_path: Path):
    story = Story(as_reader(read_only), database, tmp_path, spark, {"restatement_column": "load_id"})
    assert sides.ask(story.source, "SELECT @@read_only") == [(1,)]
    story.run()
    story.assert_in_step(*FIVE_DAYS)

    a_day_later(read_only)

    assert_day_after_day(story)
