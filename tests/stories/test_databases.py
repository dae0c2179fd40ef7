"""The same days on every pair of databases: first run, new and restated days, what heals, what a crash leaves."""

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

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

# From PostgreSQL to itself go the stories of other files.
PAIRS = [*BOTH_WAYS, *([("mysql", "mysql")] if ALL_ARE_ASKED_FOR else [])]


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), spark, tmp_path_factory, opened)


@pytest.fixture(params=PAIRS, ids=" to ".join)
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    return stories(*request.param)


# Days


def test_day_after_day(story: Story):
    story.settings["restatement_column"] = "load_id"
    assert story.run().outcome == "done"
    story.assert_in_step(*FIVE_DAYS)
    assert story.run().outcome == "nothing to do"

    story.fill(SATURDAY)
    story.restate(FRIDAY)
    report = story.run()

    assert sorted({step.value for step in report.steps}) == [str(FRIDAY), str(SATURDAY)]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_what_is_lost_heals(story: Story):
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s AND id < 100", TUESDAY)
    story.lake_file(WEDNESDAY).unlink()

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_the_ledger_may_be_lost_too(story: Story):
    story.run()
    in_mysql = story.target.startswith("mysql")
    story.in_target("DELETE FROM tidegate_ledger" if in_mysql else "DELETE FROM tidegate.ledger")

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_a_column_comes_and_another_grows(story: Story):
    story.run()
    add = "ADD" if sides.kind_of(story.source) == "sqlserver" else "ADD COLUMN"
    story.in_source(f"ALTER TABLE trades {add} desk varchar(10) NOT NULL DEFAULT 'rates'")
    story.fill(SATURDAY)

    story.run()

    assert {name for (name,) in ask(story.target, "SELECT desk FROM trades")} == {"rates"}
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_a_null_that_the_target_refuses_is_told_before_and_named(story: Story):
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


def test_a_second_run_is_told_who_holds_the_table(story: Story, tmp_path: Path):
    told: list[tuple[int, str, str]] = []
    configuration = story.file(tmp_path / "tidegate.yml")

    first = story.tidegate(At("planned", lambda: told.append(cli("run", "-c", configuration)))).run()

    ((code, _, errors),) = told
    assert code == 1
    assert re.search(rf"trades is held by {first.run} \(\S+ on \S+, process \d+\) since 2\S+T\S+\+00:00\.", errors)
    story.assert_in_step(*FIVE_DAYS)


def test_verify_finds_what_somebody_changed(story: Story):
    story.run()
    story.in_target("UPDATE trades SET note = 'changed' WHERE cob = %s AND id = 7", THURSDAY)

    report = story.tidegate().verify(deep=True)

    assert report.outcome == "differences"
    assert [(finding.value, "changed" in finding.what) for finding in report.findings] == [(str(THURSDAY), True)]


# Crashes

# Landed, not yet committed, just committed: every boundary is walked through on PostgreSQL in test_crash.py.
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
    """Every run that dies, two at a time: starting a JVM takes longer than all the rest."""
    with ThreadPoolExecutor(2) as two:
        runs = {}
        for source, target, place in CASES:
            story = stories(source, target)
            folder = tmp_path_factory.mktemp("killed")
            runs[source, target, place] = story, two.submit(run_until_killed, story, folder, place)
        yield runs


@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize(("source", "target", "place"), CASES)
def test_a_run_that_is_killed_there_loses_nothing(killed, source: str, target: str, place: str):
    story, ended = killed[source, target, place]
    run = ended.result()
    assert run.returncode == -9, f"the run came to its end: {run.returncode}"
    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the dead run let go")

    story.run()

    story.assert_in_step(*FIVE_DAYS)


# What only MySQL and MariaDB have


def test_a_server_that_forbids_load_data_gets_its_rows_by_insert(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
):
    with MariaDb("--local-infile=0") as server, server.database() as source, server.database() as target:
        story = Story(source, target, tmp_path_factory.mktemp("lake"), spark)
        sides.create(source)
        story.fill(*FIVE_DAYS)
        story.run()
        story.assert_in_step(*FIVE_DAYS)


def test_a_target_without_transactions_is_refused(stories: Stories):
    story = stories("mysql", "mysql")
    sides.create(story.target)
    story.in_target("ALTER TABLE trades ENGINE = MyISAM")

    with pytest.raises(RunFailed) as refused:
        story.run()

    assert "engine without transactions" in str(refused.value)
    assert sides.counts_of(story.target) == {}


def test_a_source_without_transactions_can_be_read(stories: Stories):
    story = stories("mysql", "mysql")
    story.in_source("ALTER TABLE trades ENGINE = MyISAM")
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_a_ledger_that_was_never_finished_is_finished(stories: Stories):
    """DDL cannot be undone here: a first run may die between two tables of the ledger."""
    story = stories("mysql", "mysql")
    story.run()
    story.in_target("DROP TABLE tidegate_ledger, tidegate_locks, tidegate_runs")
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_the_name_of_a_table_does_not_lead_out_of_the_target(stories: Stories):
    story, other = stories("mysql", "mysql"), stories("mysql", "mysql")
    elsewhere = other.target.rpartition("/")[2]
    story.settings["target_table"] = f"{elsewhere}.trades"
    with pytest.raises(RunFailed, match="in another database than the target's URL names"):
        story.run()
    inside = story.target.rpartition("/")[2]
    story.settings = {"source_table": f"{inside}.trades"}
    with pytest.raises(RunFailed, match="in the database that is the target"):
        story.run()


def test_a_connection_that_the_server_ends_is_no_loss(stories: Stories):
    story = stories("mysql", "mysql")

    def end_others() -> None:
        for name in sessions_of(story.target):
            story.in_target(f"KILL CONNECTION {int(name.split()[-1])}")

    story.tidegate(At("land done", end_others)).run(check=False)  # however it ends, the next run completes it
    story.run()

    story.assert_in_step(*FIVE_DAYS)
