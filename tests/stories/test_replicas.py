"""Read-only sources: a PostgreSQL standby and a read-only MariaDB, each with a login that may only SELECT."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from kit import sides
from kit.meanwhile import Before
from kit.project import FIVE_DAYS, FRIDAY, MONDAY, SATURDAY, Story, database_on
from kit.standby import Standby
from tidegate import Tidegate
from tidegate.demo.embedded import EmbeddedPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb

pytestmark = [pytest.mark.postgres]


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
    """The standby, which cancels conflicting sessions at once instead of delaying the replay."""
    sides.do(standby.url(), "ALTER SYSTEM SET max_standby_streaming_delay = 0")
    sides.do(standby.url(), "SELECT pg_reload_conf()")
    yield standby
    sides.do(standby.url(), "ALTER SYSTEM RESET max_standby_streaming_delay")
    sides.do(standby.url(), "SELECT pg_reload_conf()")


@pytest.fixture
def shop(primary: EmbeddedPostgres, standby: Standby) -> Iterator[str]:
    """A database on primary and standby with five days of trades."""
    url = primary.create_database("shop")
    sides.create(url)
    sides.do(url, "GRANT SELECT ON trades TO reader")
    sides.fill(url, FIVE_DAYS, 1, 200)
    standby.wait_until_replayed()
    yield url
    primary.drop_database("shop")


@pytest.fixture
def read_only(mariadb: MariaDb) -> Iterator[str]:
    """A database with five days of trades on a read-only server. Only the tests' login can write, like replication."""
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
def story(standby: Standby, shop: str, database: str, engine: SparkSession, tmp_path: Path) -> Story:
    return Story(as_reader(standby.url("shop")), database, tmp_path, engine, {"restatement_column": "load_id"})


def as_reader(url: str) -> str:
    return f"{url.partition('://')[0]}://reader:reads@{url.rpartition('@')[2]}"


def a_day_later(writable: str) -> None:
    sides.fill(writable, [SATURDAY], 1, 200)
    sides.do(writable, "UPDATE trades SET amount = amount + 1, load_id = load_id + 1 WHERE cob = %s", FRIDAY)


def assert_day_after_day(story: Story) -> None:
    """Assert that a run loads the changes of `a_day_later`, and the next run does nothing."""
    report = story.run()
    assert sorted({step.value for step in report.steps}) == [str(FRIDAY), str(SATURDAY)]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)
    assert story.run().outcome == "nothing to do"


def test_standby_can_be_the_source(story: Story, shop: str, standby: Standby):
    """A PostgreSQL standby works as a source: first run, new day, restated day."""
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        sides.do(standby.url("shop"), "DELETE FROM trades")
    story.run()
    story.assert_in_step(*FIVE_DAYS)

    a_day_later(shop)
    standby.wait_until_replayed()

    assert_day_after_day(story)


def test_standby_conflict_fails_and_next_run_resumes(story: Story, shop: str, impatient: Standby):
    """When the standby cancels the snapshot of a run, the run fails with a hint, and the next run completes."""

    def vacuum() -> None:
        sides.do(shop, "DELETE FROM trades WHERE cob = %s AND id > 100", MONDAY)
        sides.do(shop, "VACUUM trades")
        impatient.wait_until_replayed()

    ((_, why),) = story.tidegate(listener=Before("extract", vacuum)).run(check=False).failures
    assert "the snapshot of this run is gone" in why
    assert "hot_standby_feedback" in why
    assert story.counts_in_target() == {}

    story.run()
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.mysql
def test_read_only_mariadb_can_be_the_source(read_only: str, database: str, engine: SparkSession, tmp_path: Path):
    """A MariaDB with `read_only = ON` works as a source: first run, new day, restated day."""
    story = Story(as_reader(read_only), database, tmp_path, engine, {"restatement_column": "load_id"})
    assert sides.ask(story.source, "SELECT @@read_only") == [(1,)]
    story.run()
    story.assert_in_step(*FIVE_DAYS)

    a_day_later(read_only)

    assert_day_after_day(story)


@pytest.mark.thorough
def test_change_feed_of_a_standby(standby: Standby, primary: EmbeddedPostgres, tmp_path: Path):
    """From PostgreSQL 16 on a slot can be on a standby. The publication is made on the primary."""
    with database_on(primary) as source, database_on(primary) as target:
        name = source.rpartition("/")[2].partition("?")[0]
        tables = {"items": {"kind": "incremental", "changes": "cdc", "feed_name": "on_a_standby"}}
        sides.do(source, "CREATE TABLE items (id int PRIMARY KEY, name text)")
        sides.do(source, "INSERT INTO items VALUES (1, 'a'), (2, 'b')")
        sides.do(source, "CREATE PUBLICATION on_a_standby FOR TABLE items")
        sides.do(primary.url(), "ALTER SYSTEM SET wal_receiver_status_interval = 1")
        standby.wait_until_replayed()
        synced = Tidegate(
            source=standby.url(name), target=target, lake=tmp_path / "lake", engine="process", tables=tables
        )
        with ThreadPoolExecutor(1) as threads:
            made = threads.submit(synced.create_feed)
            while not made.done():  # the standby waits until the primary tells which transactions are open
                sides.do(primary.url(), "SELECT pg_log_standby_snapshot()")
                time.sleep(0.2)
            made.result()
        try:
            synced.run()
            for statement in ("UPDATE items SET name = 'c' WHERE id = 1", "DELETE FROM items WHERE id = 2"):
                sides.do(source, statement)
            standby.wait_until_replayed()
            synced.run()
            assert sides.ask(target, "SELECT id, name FROM items") == [(1, "c")]
        finally:
            synced.drop_feed()
            assert sides.ask(standby.url(name), "SELECT count(*) FROM pg_replication_slots") == [(0,)]
