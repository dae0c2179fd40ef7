"""The stories of every pair of databases with SQL Server as source, target or both.

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
    test_daily_runs_load_new_and_restated_days,
    test_lost_ledger_is_rebuilt,
    test_lost_rows_and_files_are_restored,
    test_new_column_is_added_to_the_target,
    test_second_run_names_the_lock_holder,
    test_verify_finds_a_changed_row,
)
from tidegate.errors import RunFailed

__all__ = [
    "test_daily_runs_load_new_and_restated_days",
    "test_lost_ledger_is_rebuilt",
    "test_lost_rows_and_files_are_restored",
    "test_new_column_is_added_to_the_target",
    "test_second_run_names_the_lock_holder",
    "test_verify_finds_a_changed_row",
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


def test_null_in_a_not_null_column_is_refused(story: Story, request: pytest.FixtureRequest):
    """The story of `test_databases.py`. It is skipped on compatible servers that cannot change a column to NOT NULL."""
    try:
        test_databases.test_null_in_a_not_null_column_is_refused(story)
    except pymssql.Error as problem:
        if "not currently supported" not in str(problem):
            raise
        missing = "ALTER COLUMN ... NOT NULL: a compatible server has none"
        request.config.stash[GAPS][missing] += 1
        pytest.skip(missing)


@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize("place", CASES)
def test_killed_run_resumes(stories: Stories, place: str, tmp_path: Path):
    """When a run is killed at a boundary, the next run completes it and drops the orphaned staging table."""
    story = stories("sqlserver", "sqlserver")
    run = run_until_killed(story, tmp_path, place)
    assert run.returncode == -9, f"the run came to its end: {run.returncode}"
    wait_until(lambda: not sessions_of(story.target), "the dead run let go")

    story.run()

    story.assert_in_step(*FIVE_DAYS)
    left = ask(story.target, "SELECT name FROM sys.tables WHERE name LIKE 'stage[_]%'")
    assert left == [], "the stage of the dead was dropped"


def test_broken_bulk_copy_is_retried(stories: Stories, request: pytest.FixtureRequest):
    """The connection breaks where a bulk copy begins, which proves that a Spark task used one. The next run loads every
    row."""
    story = stories("sqlserver", "sqlserver")
    story.fill(*FIVE_DAYS)
    straight = story.target
    with Wire(_in_the_clear(straight), "", "INSERT BULK", encoding="utf-16-le") as wire:
        story.target = wire.end
        with suppress(RunFailed):
            story.run()
        if not wire.cuts:
            gap = "a bulk copy on a wire that is not encrypted: the server has no bulk copies, or encrypts all"
            request.config.stash[GAPS][gap] += 1
            pytest.skip(gap)
        story.run()
        story.target = straight
        story.assert_in_step(*FIVE_DAYS)


def _in_the_clear(url: str) -> str:
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name.lower() != "encrypt"]
    return urlunsplit(parts._replace(query=urlencode([*kept, ("Encrypt", "optional")])))
