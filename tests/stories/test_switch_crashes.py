"""Switches that are killed at every step, raced or blocked: the next run completes them, and no stage is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit import processes, sides
from kit.pairs import first_daily
from kit.processes import wait_until
from kit.project import FIVE_DAYS, FRIDAY, SATURDAY, Stories, Story, child, database_on
from kit.sides import ask, sessions_of
from stories.test_switch_partition import daily, partitioned, tables_beside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.mysql,
    pytest.mark.spark,
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

PLACES = ("stage created", "stage filled", "switched", "task about to commit", "task committed")
EVERYDAY = ("stage filled", "switched")
CASES = [
    pytest.param(place, id=place.replace(" ", "_"), marks=[] if place in EVERYDAY else [pytest.mark.thorough])
    for place in PLACES
]


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), engine, tmp_path_factory, opened)


@pytest.fixture(params=first_daily("postgresql", "mysql"))
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    """Five days are in their partitions; one of them was restated, and a new one waits."""
    story = stories("postgresql", request.param)
    story.settings |= {"switch": "auto", "restatement_column": "load_id", "archive_retention_days": 7}
    partitioned(story.target, *daily(*FIVE_DAYS))
    story.run()
    story.restate(FRIDAY)
    story.fill(SATURDAY)
    return story


def rows_of_archive(story: Story, name: str) -> list[tuple[object, ...]]:
    """Return rows, first and last day and newest load of an archive."""
    quoted = f"`{name}`" if sides.kind_of(story.target) == "mysql" else f'"{name}"'
    return ask(story.target, f"SELECT count(*), min(cob), max(cob), max(load_id) FROM {quoted}")  # noqa: S608


@pytest.mark.parametrize("place", CASES)
def test_killed_switch_is_completed(story: Story, tmp_path: Path, place: str):
    """Whatever step a switch is killed at, the target has each day once before and after the next run, the replaced day
    is in one archive, and no stage is left."""
    before, configuration = story.rows_in_target(FRIDAY), story.file(tmp_path / "tidegate.yml")

    run = child("-m", "kit.crash", configuration, place, 1, tmp_path / "tally", "all in one")
    _, errors = run.communicate(timeout=100)

    assert run.returncode == -9, f"the run came to its end: {errors}"
    wait_until(lambda: not sessions_of(story.target), "the dead run let go")
    assert story.rows_in_target(FRIDAY) in (before, story.rows_in_source(FRIDAY))
    story.run()
    story.assert_in_step(*FIVE_DAYS, SATURDAY)
    [archive] = tables_beside(story)
    assert sides.kind_of(story.target) == "mysql" or "ARCHIVE" in archive
    assert rows_of_archive(story, archive) == [(200, FRIDAY, FRIDAY, 1)]
