"""The stories of every pair of databases once more, with SQL Server at one end or at both.

They need a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pymssql
import pytest

from conformance.servers import sqlserver
from conformance.servers.postgresql import Absent
from kit import processes
from kit.processes import wait_until
from kit.project import FIVE_DAYS, Stories, Story, database_on
from kit.proxy import Wire
from kit.sides import ask, sessions_of
from kit.summary import GAPS, RAN
from stories import test_databases
from stories.test_databases import (
    run_until_killed,
    test_a_column_comes_and_another_grows,
    test_a_second_run_is_told_who_holds_the_table,
    test_day_after_day,
    test_the_ledger_may_be_lost_too,
    test_verify_finds_what_somebody_changed,
    test_what_is_lost_heals,
)
from tidegate.errors import RunFailed

__all__ = [
    "test_a_column_comes_and_another_grows",
    "test_a_second_run_is_told_who_holds_the_table",
    "test_day_after_day",
    "test_the_ledger_may_be_lost_too",
    "test_verify_finds_what_somebody_changed",
    "test_what_is_lost_heals",
]
pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

PAIRS = [
    ("sqlserver", "sqlserver"),
    ("sqlserver", "postgresql"),
    ("postgresql", "sqlserver"),
    ("mysql", "sqlserver"),
    ("sqlserver", "mysql"),
]
CASES = ["published", "task about to commit", "task committed"]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[sqlserver.Server | Absent]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(sqlserver.running())
        except Absent as absence:
            yield absence
            return
        request.config.stash[RAN][found.name] = found.version
        yield found


@pytest.fixture
def stories(server: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    if isinstance(server, Absent):
        request.config.stash[GAPS][str(server)] += 1
        pytest.skip(str(server))

    def database(kind: str) -> AbstractContextManager[str]:
        if kind == "sqlserver":
            return server.database()
        return database_on(request.getfixturevalue({"mysql": "mariadb", "postgresql": "postgres"}[kind]))

    with ExitStack() as opened:
        yield Stories(database, request.getfixturevalue("spark"), tmp_path_factory, opened)


@pytest.fixture(params=PAIRS, ids=" to ".join)
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    return stories(*request.param)


def test_a_null_that_the_target_refuses_is_told_before_and_named(story: Story, request: pytest.FixtureRequest):
    try:
        test_databases.test_a_null_that_the_target_refuses_is_told_before_and_named(story)
    except pymssql.Error as problem:
        if "not currently supported" not in str(problem):
            raise
        missing = "ALTER COLUMN ... NOT NULL: a compatible server has none"
        request.config.stash[GAPS][missing] += 1
        pytest.skip(missing)


@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize("place", CASES)
def test_a_run_that_is_killed_there_loses_nothing(stories: Stories, place: str, tmp_path: Path):
    story = stories("sqlserver", "sqlserver")
    run = run_until_killed(story, tmp_path, place)
    assert run.returncode == -9, f"the run came to its end: {run.returncode}"
    wait_until(lambda: not sessions_of(story.target), "the dead run let go")

    story.run()

    story.assert_in_step(*FIVE_DAYS)
    left = ask(story.target, "SELECT name FROM sys.tables WHERE name LIKE 'stage[_]%'")
    assert left == [], "the stage of the dead was dropped"


def test_tasks_of_spark_load_by_bulk_copy_and_a_wire_that_breaks_there_loses_nothing(
    stories: Stories, request: pytest.FixtureRequest
):
    """The wire is cut where it meets the words that begin a bulk copy: so a task has sent them."""
    story = stories("sqlserver", "sqlserver")
    story.fill(*FIVE_DAYS)
    straight = story.target
    with Wire(_in_the_clear(straight), "", "INSERT BULK", encoding="utf-16-le") as wire:
        story.target = wire.end
        with suppress(RunFailed):
            story.run()
        if not wire.cuts:
            told = "a bulk copy on a wire that is not encrypted: the server has no bulk copies, or encrypts all"
            request.config.stash[GAPS][told] += 1
            pytest.skip(told)
        story.run()
        story.target = straight
        story.assert_in_step(*FIVE_DAYS)


def _in_the_clear(url: str) -> str:
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name.lower() != "encrypt"]
    return urlunsplit(parts._replace(query=urlencode([*kept, ("Encrypt", "optional")])))
