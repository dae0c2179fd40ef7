"""The stories of partition tables on every pair of databases: daily runs, healing, crashes and limits of MySQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING

import pytest

from kit import processes, sides
from kit.mariadb import MariaDb
from kit.meanwhile import At
from kit.pairs import ALL_ARE_ASKED_FOR, BOTH_WAYS
from kit.processes import wait_until
from kit.project import (
    FIVE_DAYS,
    FRIDAY,
    MONDAY,
    SATURDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    Stories,
    Story,
    child,
    cli,
    database_on,
)
from kit.sides import ask, sessions_of
from tidegate.errors import RunFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

# Other files have the stories from PostgreSQL to PostgreSQL.
PAIRS = [*BOTH_WAYS, *([("mysql", "mysql")] if ALL_ARE_ASKED_FOR else [])]


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), engine, tmp_path_factory, opened)


@pytest.fixture(params=PAIRS, ids=" to ".join)
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    return stories(*request.param)


# Daily runs and healing


def test_daily_runs_load_new_and_restated_days(story: Story):
    """The first run loads all days, the second does nothing, and the third loads one new and one restated day."""
    story.settings["restatement_column"] = "load_id"
    assert story.run().outcome == "done"
    story.assert_in_step(*FIVE_DAYS)
    assert story.run().outcome == "nothing to do"

    story.fill(SATURDAY)
    story.restate(FRIDAY)
    report = story.run()

    assert sorted({step.value for step in report.steps}) == [str(FRIDAY), str(SATURDAY)]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_lost_rows_and_files_are_restored(story: Story):
    """When the target loses rows and the lake loses a file, the next run restores both."""
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s AND id < 100", TUESDAY)
    story.lake_file(WEDNESDAY).unlink()

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_lost_ledger_is_rebuilt(story: Story):
    """When all ledger entries are deleted, the next run writes them again."""
    story.run()
    in_mysql = story.target.startswith("mysql")
    story.in_target("DELETE FROM tidegate_ledger" if in_mysql else "DELETE FROM tidegate.ledger")

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_new_column_is_added_to_the_target(story: Story):
    """When the source adds a column with a default, the next run adds it to the target with its values."""
    story.run()
    add = "ADD" if sides.kind_of(story.source) == "sqlserver" else "ADD COLUMN"
    story.in_source(f"ALTER TABLE trades {add} desk varchar(10) NOT NULL DEFAULT 'rates'")
    story.fill(SATURDAY)

    story.run()

    assert {name for (name,) in ask(story.target, "SELECT desk FROM trades")} == {"rates"}
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_null_in_a_not_null_column_is_refused(story: Story):
    """When a target column is NOT NULL and the source has a null, the plan warns and the load fails with the column's
    name."""
    story.in_source("UPDATE trades SET note = '' WHERE note IS NULL AND cob <> %s", FRIDAY)
    sides.create(story.target)
    sides.refuse_nulls(story.target)

    assert "a null would be refused by the target: note" in [getattr(step, "text", "") for step in story.steps()]
    ((_, why),) = story.tidegate().run(check=False).failures
    assert "trades: column note came with a null, which the target's column does not take." in why
    assert list(story.counts_in_target()) == [MONDAY, TUESDAY, WEDNESDAY, THURSDAY]

    sides.allow_nulls(story.target)
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_second_run_names_the_lock_holder(story: Story, tmp_path: Path):
    """When a second run starts on the same table, it fails and names the run that holds the lock."""
    results: list[tuple[int, str, str]] = []
    configuration = story.file(tmp_path / "tidegate.yml")

    first = story.tidegate(At("planned", lambda: results.append(cli("run", "-c", configuration)))).run()

    ((code, _, errors),) = results
    assert code == 1
    assert re.search(rf"trades is held by {first.run} \(\S+ on \S+, process \d+\) since 2\S+T\S+\+00:00\.", errors)
    story.assert_in_step(*FIVE_DAYS)


def test_verify_finds_a_changed_row(story: Story):
    """When somebody changes a row in the target, `verify --deep` reports its day."""
    story.run()
    story.in_target("UPDATE trades SET note = 'changed' WHERE cob = %s AND id = 7", THURSDAY)

    report = story.tidegate().verify(deep=True)

    assert report.outcome == "differences"
    assert [(finding.value, "changed" in finding.what) for finding in report.findings] == [(str(THURSDAY), True)]


# Crashes

# Three boundaries: extracted, not yet committed, just committed. test_crash.py tests all of them on PostgreSQL.
CASES = [
    ("mysql", "postgresql", "published"),
    ("mysql", "mysql", "task about to commit"),
    ("postgresql", "mysql", "task committed"),
]


def run_until_killed(story: Story, folder: Path, place: str) -> Popen[str]:
    victim = "session" if place.startswith("task") else "process"
    run = child("-m", "kit.crash", story.file(folder / "tidegate.yml"), place, 2, folder / "tally", victim)
    run.communicate(timeout=200)
    return run


@pytest.fixture(scope="module")
def killed(
    stories: Stories, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, str, str], tuple[Story, Future[Popen[str]]]]]:
    """Start all runs that are killed, two at a time, because starting a JVM takes most of the time."""
    with ThreadPoolExecutor(2) as two:
        runs = {}
        for source, target, place in CASES:
            story = stories(source, target)
            folder = tmp_path_factory.mktemp("killed")
            runs[source, target, place] = story, two.submit(run_until_killed, story, folder, place)
        yield runs


@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize(("source", "target", "place"), CASES)
@pytest.mark.thorough
def test_killed_run_resumes(killed, source: str, target: str, place: str):
    """When a run is killed at a boundary, the next run completes it."""
    story, ended = killed[source, target, place]
    run = ended.result()
    assert run.returncode == -9, f"the run came to its end: {run.returncode}"
    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the dead run let go")

    story.run()

    story.assert_in_step(*FIVE_DAYS)


# Properties of MySQL and MariaDB


def test_rows_arrive_by_insert_without_load_data(engine: SparkSession, tmp_path_factory: pytest.TempPathFactory):
    """When the server forbids LOAD DATA LOCAL, rows are loaded by INSERT."""
    with MariaDb("--local-infile=0") as server, server.database() as source, server.database() as target:
        story = Story(source, target, tmp_path_factory.mktemp("lake"), engine)
        sides.create(source)
        story.fill(*FIVE_DAYS)
        story.run()
        story.assert_in_step(*FIVE_DAYS)


def test_target_without_transactions_is_refused(stories: Stories):
    """When the target table is on MyISAM, the run is refused and no row is written."""
    story = stories("mysql", "mysql")
    sides.create(story.target)
    story.in_target("ALTER TABLE trades ENGINE = MyISAM")

    with pytest.raises(RunFailed) as refused:
        story.run()

    assert "engine without transactions" in str(refused.value)
    assert sides.counts_of(story.target) == {}


def test_source_without_transactions_is_read(stories: Stories):
    """A source table on MyISAM is extracted like any other."""
    story = stories("mysql", "mysql")
    story.in_source("ALTER TABLE trades ENGINE = MyISAM")
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_missing_ledger_tables_are_created(stories: Stories):
    """MySQL cannot roll back DDL, so a killed first run may create only some ledger tables. The next run creates the
    others."""
    story = stories("mysql", "mysql")
    story.run()
    story.in_target("DROP TABLE tidegate_ledger, tidegate_locks, tidegate_runs")
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_table_name_cannot_leave_the_target_database(stories: Stories):
    """When a table name contains the schema of another database, or names the target as a source, the run is
    refused."""
    story, other = stories("mysql", "mysql"), stories("mysql", "mysql")
    other_database = other.target.rpartition("/")[2]
    story.settings["target_table"] = f"{other_database}.trades"
    with pytest.raises(RunFailed, match="in another database than the target's URL names"):
        story.run()
    own_database = story.target.rpartition("/")[2]
    story.settings = {"source_table": f"{own_database}.trades"}
    with pytest.raises(RunFailed, match="in the database that is the target"):
        story.run()


def test_closed_connection_loses_no_rows(stories: Stories):
    """When the server closes the connections during a run, the next run completes the load."""
    story = stories("mysql", "mysql")

    def end_others() -> None:
        for name in sessions_of(story.target):
            story.in_target(f"KILL CONNECTION {int(name.split()[-1])}")

    story.tidegate(At("extract done", end_others)).run(check=False)  # this run may fail, the next one completes it
    story.run()

    story.assert_in_step(*FIVE_DAYS)
