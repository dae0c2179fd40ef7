"""Two runs at the same time: on one table, on one lake, and a run that lost its lock to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from typing import TYPE_CHECKING

import pytest

from kit.copies import database_at
from kit.meanwhile import At, Before
from kit.project import FIVE_DAYS, FRIDAY, SATURDAY, Story, assert_same_rows, cli
from kit.witness import Witness
from tidegate import Tidegate
from tidegate.state import lock

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres]


def steps(report: RunReport, outcome: str = "done") -> list[str]:
    return sorted(f"{step.step} {step.value}" for step in report.steps if step.outcome == outcome)


# One table


def test_second_run_names_the_lock_holder(story: Story, tmp_path: Path):
    """When a second run starts on the same table, it fails and names the run that holds the lock and since when."""
    results: list[tuple[int, str, str]] = []
    configuration = story.file(tmp_path / "tidegate.yml")

    first = story.tidegate(At("planned", lambda: results.append(cli("run", "-c", configuration)))).run()

    ((code, _, errors),) = results
    assert code == 1
    happened, safe, remedy = (line.strip() for line in errors.splitlines())
    holder = rf"{first.run} \(\S+ on \S+, process \d+\)"
    assert re.fullmatch(rf"trades: public\.trades is held by {holder} since 2\S+T\S+\+00:00\.", happened)
    assert safe == "Nothing was read or written; the other run goes on undisturbed."
    assert remedy == "Wait for it to end. A run that died frees its lock by itself."
    story.assert_in_step(*FIVE_DAYS)


def test_lock_released_by_this_process_is_awaited(story: Story):
    """When another run of the same process is about to release the lock, the second run waits for it."""
    story.run()
    target = database_at(story.target)
    with target.connect("first") as first, target.connect("second") as second:
        lock.take(first, "public.trades", "r-1")
        Timer(0.3, first.close).start()
        lock.take(second, "public.trades", "r-2")
        assert lock.newest_run(second, "public.trades") == "r-2"


def test_locked_table_does_not_stop_the_others(story: Story):
    """When one table is locked by another run, the other tables are loaded."""
    story.in_source("CREATE TABLE fees (cob integer, fee numeric); INSERT INTO fees VALUES (20240105, 1.5)")
    reports: list[RunReport] = []
    both = {**story.configuration(), "spark": story.spark}
    both["tables"] = {**both["tables"], "fees": {"kind": "partition", "partition_column": "cob"}}
    other = Tidegate(**both)

    story.tidegate(At("planned", lambda: reports.append(other.run(check=False)))).run()

    assert [table for table, _ in reports[0].failures] == ["trades"]
    assert steps(reports[0]) == ["change schema ", f"extract {FRIDAY}", f"load {FRIDAY}"]
    assert_same_rows(story.rows_in_target(), story.rows_in_source())


@pytest.mark.thorough
def test_concurrent_first_runs_create_one_ledger(story: Story):
    """When two first runs of different tables start at once, both create the ledger safely."""
    story.in_source("CREATE TABLE fees (cob integer, fee numeric); INSERT INTO fees VALUES (20240105, 1.5)")
    other = {**story.configuration(), "tables": {"fees": {"kind": "partition", "partition_column": "cob"}}}
    projects = [story.tidegate(), Tidegate(**{**other, "spark": story.spark})]

    with ThreadPoolExecutor(2) as both:
        reports = list(both.map(Tidegate.run, projects))

    assert [report.outcome for report in reports] == ["done", "done"]
    assert [project.verify().outcome for project in projects] == ["equal", "equal"]


# One lake, two targets


@pytest.fixture
def other(story: Story, postgres: EmbeddedPostgres) -> Iterator[Story]:
    """The same source and lake, another target."""
    name = f"{story.target.rpartition('/')[2]}_other"
    yield replace(story, target=postgres.create_database(name), settings={}, project={})
    postgres.drop_database(name)


def test_second_target_loads_from_the_shared_lake(story: Story, other: Story):
    """When two targets share a lake, the second one loads the files that the first one extracted."""
    story.run()

    report = other.run()

    assert steps(report) == ["change schema ", *(f"load {day}" for day in FIVE_DAYS)]
    story.assert_in_step(*FIVE_DAYS)
    other.assert_in_step(*FIVE_DAYS)


def test_two_targets_can_fill_one_lake_at_once(story: Story, other: Story):
    """When two targets with one lake run at the same time, both end equal to the source."""
    with ThreadPoolExecutor(2) as both:
        reports = list(both.map(Story.run, (story, other)))

    assert [report.outcome for report in reports] == ["done", "done"]
    story.assert_in_step(*FIVE_DAYS)
    other.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_restatement_between_two_runs_reaches_both(story: Story, other: Story):
    """When a day is restated between the runs of two targets, both end with its newest rows."""

    def overtake() -> None:
        story.restate(FRIDAY)
        other.run()

    story.tidegate(At("published", overtake)).run()

    story.assert_in_step(*FIVE_DAYS)
    other.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_older_snapshot_never_replaces_newer_files(story: Story, other: Story):
    """The first run's tasks start after the other run but read an older snapshot. They do not overwrite its newer
    file."""

    def overtake() -> None:
        story.restate(FRIDAY)
        other.run()

    story.tidegate(listener=Before("extract", overtake)).run()

    assert_same_rows(story.rows_in_lake(FRIDAY), story.rows_in_source(FRIDAY))
    story.assert_in_step(*FIVE_DAYS)
    other.assert_in_step(*FIVE_DAYS)


# A run that lost its lock without noticing


def cut_off(story: Story) -> None:
    """Close the connection that holds the lock, as a firewall could."""
    with Witness(story.target) as target:
        target.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'tidegate run %'"
        )


def test_overtaken_run_loads_nothing(story: Story):
    """When a run loses its lock and another run loads the table, the tasks of the first one load nothing."""

    def overtake() -> None:
        cut_off(story)
        story.restate(FRIDAY)
        story.fill(SATURDAY)
        story.tidegate().run(reload=True)

    late = story.tidegate(listener=Before("load", overtake)).run(check=False)

    assert not [step for step in steps(late) if step.startswith("load")]
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(
        (*FIVE_DAYS, SATURDAY), 1
    )
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_newer_run_wins_over_late_tasks(story: Story):
    """The old run loads Friday's former rows after the new run planned to load its current rows. The new rows win."""
    story.settings |= {"initial_load_count": 1, "restatement_column": "load_id"}
    cut, planned, loaded = Event(), Event(), Event()

    def lose_the_lock() -> None:
        cut_off(story)
        cut.set()
        assert planned.wait(60)

    def let_the_old_one_finish() -> None:
        planned.set()
        assert loaded.wait(60)

    def old_run() -> None:
        story.tidegate(listener=Before("load", lose_the_lock)).run(check=False)
        loaded.set()

    with ThreadPoolExecutor(1) as other_thread:
        old = other_thread.submit(old_run)
        assert cut.wait(60)
        story.restate(FRIDAY)
        story.tidegate(At("planned", let_the_old_one_finish)).run()
        old.result()

    assert_same_rows(story.rows_in_target(), story.rows_in_source(FRIDAY))
    story.assert_in_step(FRIDAY)
