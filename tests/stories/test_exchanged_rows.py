"""Rows move from one day to another while the key (id) lacks the day: such days are loaded together.

`load_id` is the restatement column: a day with the same count and the same greatest `load_id` is not detected by
itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.mariadb import MariaDb
from kit.meanwhile import At
from kit.pairs import ALL_ARE_ASKED_FOR, BOTH_WAYS, first_daily
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
    database_on,
)
from kit.proxy import Wire
from kit.sides import ask, sessions_of
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

PAIRS = first_daily(*BOTH_WAYS, *([("mysql", "mysql")] if ALL_ARE_ASKED_FOR else []))
WEEK = dict(zip((*FIVE_DAYS, SATURDAY), range(100, 700, 100), strict=True))
"""For each day, the number before its first trade: Monday has the trades 101 to 105."""


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), engine, tmp_path_factory, opened)


@pytest.fixture(params=PAIRS, ids=" to ".join)
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    return loaded(stories(*request.param))


@pytest.fixture
def on_postgresql(stories: Stories) -> Story:
    return loaded(stories())


def loaded(story: Story) -> Story:
    """Load five days with five trades each. The target has the key of the source."""
    with_key(story)
    story.settings["restatement_column"] = "load_id"
    story.run()
    return story


def with_key(story: Story) -> None:
    story.in_source("DELETE FROM trades")
    for day in FIVE_DAYS:
        fill(story, day)
    story.in_source("ALTER TABLE trades ADD PRIMARY KEY (id)")


def fill(story: Story, day: int) -> None:
    story.fill(day, first=WEEK[day] + 1, last=WEEK[day] + 5)


def move(story: Story, days: Mapping[int, int]) -> None:
    """Move the trades with these numbers to these days."""
    for number, day in days.items():
        story.in_source("UPDATE trades SET cob = %s WHERE id = %s", day, number)


def notice(story: Story, *days: int) -> None:
    """Increase `load_id` on these days, so that the next run detects them."""
    for day in days:
        story.in_source(
            "UPDATE trades SET load_id = load_id + 1 WHERE cob = %s AND id BETWEEN %s AND %s",
            day,
            WEEK[day] + 3,
            WEEK[day] + 5,
        )


def loads(report: RunReport) -> list[tuple[int, str]]:
    return [(int(step.value), step.outcome) for step in report.steps if step.step == "load"]


def writers_of(story: Story) -> dict[int, list[str]]:
    """Return the transactions that wrote the rows of each day."""
    return dict(ask(story.target, "SELECT cob, array_agg(DISTINCT xmin::text) FROM trades GROUP BY cob"))


def failure(failed: pytest.ExceptionInfo[RunFailed]) -> str:
    [(_, text)] = failed.value.report.failures  # type: ignore[attr-defined]
    return str(text)


def test_plan_announces_joint_loads(on_postgresql: Story):
    """When the key does not contain the partition column, the plan says that days with exchanged rows load together."""
    notes = [step.text for step in on_postgresql.steps() if isinstance(step, Notice)]

    assert (
        "its key (id) does not contain cob: values that exchange rows are loaded together, in one transaction" in notes
    )


def test_rows_moved_between_days_are_loaded(story: Story):
    """When rows move to another day and counts change, one run brings both days up to date."""
    move(story, {101: TUESDAY, 102: TUESDAY, 201: MONDAY})

    assert story.run().outcome == "done"

    story.assert_in_step(*FIVE_DAYS)


def test_days_with_exchanged_rows_share_a_commit(on_postgresql: Story):
    """When two days exchange rows, both are loaded in one transaction."""
    story = on_postgresql
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, MONDAY, TUESDAY)

    report = story.run()

    assert loads(report)[-2:] == [(MONDAY, "done"), (TUESDAY, "done")]
    writers = writers_of(story)
    assert writers[MONDAY] == writers[TUESDAY]
    assert len(writers[MONDAY]) == 1
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_undetected_day_of_an_exchange_is_loaded(story: Story):
    """When two days exchange rows and only one is detected, the run also extracts and loads the other."""
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, TUESDAY)

    report = story.run()

    assert loads(report) == [(TUESDAY, "skipped"), (MONDAY, "done"), (TUESDAY, "done")]
    story.assert_in_step(*FIVE_DAYS)


def test_content_hash_detects_exchanged_rows(story: Story):
    """With `restatement: hash`, days that exchanged rows are detected by their content."""
    story.settings |= {"restatement_column": None, "restatement": "hash"}
    move(story, {101: TUESDAY, 201: MONDAY})

    story.run()

    assert story.rows_in_target() == story.rows_in_source()
    assert story.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_row_moved_to_a_new_day_reloads_the_old_day(story: Story):
    """When a row moves from a day outside of the look-back to a new day, the run loads both days."""
    story.settings["look_back"] = 1
    fill(story, SATURDAY)
    move(story, {101: SATURDAY})

    report = story.run()

    assert loads(report) == [(SATURDAY, "skipped"), (MONDAY, "done"), (SATURDAY, "done")]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_three_days_exchanging_rows_load_together(story: Story):
    """Three days pass rows around and only Wednesday is detected. It conflicts with Tuesday, and Tuesday with
    Monday."""
    move(story, {101: TUESDAY, 201: WEDNESDAY, 301: MONDAY})
    notice(story, WEDNESDAY)

    report = story.run()

    assert loads(report)[-3:] == [(MONDAY, "done"), (TUESDAY, "done"), (WEDNESDAY, "done")]
    story.assert_in_step(*FIVE_DAYS)


def test_unaffected_day_is_not_rewritten(on_postgresql: Story):
    """When two days exchange rows, a third day is not written again."""
    story = on_postgresql
    before = writers_of(story)[THURSDAY]
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, TUESDAY)

    story.run()

    assert writers_of(story)[THURSDAY] == before


@pytest.mark.parametrize("nth", first_daily(1, 2))
def test_killed_joint_load_commits_nothing(story: Story, tmp_path: Path, nth: int):
    """When a run is killed before the common commit, the target keeps its rows, and the next run loads both days."""
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, MONDAY, TUESDAY)
    before = story.rows_in_target()
    configuration = story.file(tmp_path / "tidegate.yml")

    killed = child("-m", "kit.crash", configuration, "task about to commit", nth, tmp_path / "tally", "all in one")
    killed.communicate(timeout=200)

    assert killed.returncode == -9
    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the dead run let go")
    assert story.rows_in_target() == before
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_joint_commit_without_answer_is_resolved(on_postgresql: Story):
    """When the connection breaks after COMMIT was sent, the run finds out that both days were committed once."""
    story = on_postgresql
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, MONDAY, TUESDAY)

    with Wire(story.target, "load", "COMMIT", 0) as wire:
        story.project["target"] = wire.end
        report = story.run()

    assert wire.cuts
    assert report.outcome == "done"
    story.project.pop("target")
    story.assert_in_step(*FIVE_DAYS)
    assert {generation for day, (generation, _, _) in story.ledger().items() if day in (MONDAY, TUESDAY)} == {2}


@pytest.mark.thorough
def test_files_from_an_aborted_run_are_replaced(stories: Stories):
    """An aborted first run left Monday's file with a row that is now in Tuesday's. The next run extracts both days
    again."""
    story = stories()
    with_key(story)
    story.settings["look_back"] = 1

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        story.tidegate(At("extract done", stop)).run()
    move(story, {101: TUESDAY})
    story.lake_file(TUESDAY).unlink()

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_joint_load_over_max_apply_rows_is_refused(on_postgresql: Story):
    """When the days together have more rows than `max_apply_rows`, the load is refused and the target is unchanged."""
    story = on_postgresql
    story.settings["max_apply_rows"] = 9
    move(story, {101: TUESDAY, 201: MONDAY})
    notice(story, TUESDAY)
    before = story.rows_in_target()

    with pytest.raises(RunFailed) as failed:
        story.run()

    assert "They have 10 rows, `max_apply_rows` allows 9." in failure(failed)
    assert story.rows_in_target() == before
    story.settings["max_apply_rows"] = 10
    story.run()
    story.assert_in_step(*FIVE_DAYS)


def test_conflict_with_a_purged_day_is_refused(story: Story):
    """When new rows have the keys of a day that the source purged, the load is refused. A person must decide."""
    for number in range(101, 106):
        move(story, {number: TUESDAY})
    before = story.rows_in_target()

    with pytest.raises(RunFailed) as failed:
        story.run()

    assert f"Rows of cob {MONDAY} have the same keys." in failure(failed)
    assert "`tidegate forget` such a value, delete its rows in the target, and run again." in failure(failed)
    assert story.rows_in_target() == before
    story.tidegate().forget("trades", MONDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.run()
    assert story.rows_in_target() == story.rows_in_source()


@pytest.mark.thorough
def test_conflict_with_an_expired_day_is_resolved(story: Story):
    """When new rows have the keys of a day beyond retention, that day leaves the target in the same run."""
    story.settings["retain"] = {"target": 5, "lake": 5}
    fill(story, SATURDAY)
    move(story, {101: SATURDAY})

    story.run()

    story.assert_in_step(TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY)


def test_conflict_with_foreign_rows_is_refused(on_postgresql: Story):
    """When new rows have the keys of rows that no run loaded, the load is refused and the message names their value."""
    story = on_postgresql
    story.in_target("INSERT INTO trades (cob, id) VALUES (NULL, 601), (1, 602)")
    fill(story, SATURDAY)

    with pytest.raises(RunFailed) as failed:
        story.run()

    assert "Rows of cob 1 have the same keys." in failure(failed)
    assert sides.counts_of(story.target)[1] == 1
    story.in_target("DELETE FROM trades WHERE id IN (601, 602)")
    story.run()
    story.assert_in_step(*FIVE_DAYS, SATURDAY)
