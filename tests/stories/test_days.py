"""Partition tables day by day: new, late, restated, incomplete, retained, forgotten and purged days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit.project import (
    FIVE_DAYS,
    FRIDAY,
    MONDAY,
    SATURDAY,
    SUNDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    Story,
    assert_same_rows,
)
from tidegate.errors import ConfigError
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres]


def steps(report: RunReport, outcome: str = "done") -> list[str]:
    return [f"{step.step} {step.value}" for step in report.steps if step.outcome == outcome]


def reasons(report: RunReport) -> set[str]:
    return {step.why for step in report.steps}


def notices(story: Story) -> list[str]:
    return [step.text for step in story.steps() if isinstance(step, Notice)]


# Restated days


@pytest.mark.spark
def test_restated_day_with_new_count_is_reloaded(story: Story):
    """When the row count of a loaded day changes in the source, the next run extracts and loads that day again."""
    story.run()
    story.fill(THURSDAY, first=201, last=250)
    story.in_source("DELETE FROM trades WHERE cob = %s AND id > 120", FRIDAY)

    report = story.run()

    assert reasons(report) == {
        "restated: 250 rows in the source, 200 were extracted",
        "restated: 120 rows in the source, 200 were extracted",
    }
    assert story.ledger()[THURSDAY] == (2, "loaded", 250)
    story.assert_in_step(*FIVE_DAYS)


def test_restatement_column_detects_a_restated_day(story: Story):
    """When a day keeps its row count but its greatest `load_id` grows, the next run extracts and loads it again."""
    story.settings["restatement_column"] = "load_id"
    story.run()
    story.restate(FRIDAY)

    report = story.run()

    assert sorted(steps(report)) == [f"extract {FRIDAY}", f"load {FRIDAY}"]
    assert reasons(report) == {"restated: max(load_id) moved from 1 to 2"}
    story.assert_in_step(*FIVE_DAYS)


def test_content_hash_detects_a_restated_day(story: Story):
    """With `restatement: hash`, days in the look-back are extracted again, and only a day whose content differs is
    loaded."""
    story.settings |= {"restatement": "hash", "look_back": 2}
    story.run()
    story.restate(FRIDAY)

    report = story.run()

    assert sorted(steps(report)) == [f"extract {THURSDAY}", f"extract {FRIDAY}", f"load {FRIDAY}"]
    assert steps(report, "skipped") == [f"load {THURSDAY}"]
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    assert story.tidegate().verify().outcome == "equal"


def test_count_only_detection_warns_and_repair_fixes(story: Story):
    """When only counts are compared and a day changes with an equal count, the plan warns, `verify` finds it, `repair`
    fixes it."""
    story.run()
    story.restate(FRIDAY)

    assert notices(story) == ["only row counts tell a restated value; name a `restatement_column` to see more"]
    assert story.run().outcome == "nothing to do"
    assert story.tidegate().verify().outcome == "differences"

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_change_before_the_look_back_is_left_to_repair(story: Story):
    """When a day outside of the look-back changes, a run ignores it. `verify` reports it and `repair` loads it."""
    story.settings["look_back"] = 2
    story.run()
    story.fill(MONDAY, first=201, last=210)

    assert story.run().outcome == "nothing to do"
    assert [finding.value for finding in story.tidegate().verify().findings] == [str(MONDAY)]

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_restatement_is_found_after_skipped_runs(story: Story):
    """When Monday is restated and two more days arrive before the next run, that run still reloads Monday."""
    story.run()
    story.fill(MONDAY, first=201, last=210)
    story.fill(SATURDAY, SUNDAY)

    story.run()

    story.assert_in_step(*FIVE_DAYS, SATURDAY, SUNDAY)


# New columns


@pytest.mark.spark
def test_new_column_is_backfilled_in_the_target(story: Story):
    """When the source adds a column, the next run adds it to the target and reloads the loaded days with its values."""
    story.run()
    story.in_source("ALTER TABLE trades ADD COLUMN desk text")
    story.in_source("UPDATE trades SET desk = 'desk ' || id")
    story.fill(SATURDAY)

    report = story.run()

    assert reasons(report) == {
        "the source's columns changed",
        "it was extracted with other columns",
        "new in the source",
    }
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_purged_day_verifies_after_a_new_column(story: Story):
    """When the source purges a day and then adds a column, `verify` still reports the purged day as equal."""
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_source("ALTER TABLE trades ADD COLUMN desk text")
    story.run()

    verification = story.tidegate().verify()

    assert verification.outcome == "equal"


# Scope, retention and excluded values


def test_hold_back_delays_the_newest_day(story: Story):
    """With `hold_back: 1`, the newest day is loaded only after the next day exists in the source."""
    story.settings["hold_back"] = 1
    story.run()
    assert list(story.counts_in_target()) == [MONDAY, TUESDAY, WEDNESDAY, THURSDAY]
    assert f"not ready yet: {FRIDAY}" in notices(story)

    story.fill(SATURDAY)
    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_day_waits_for_the_ready_query(story: Story):
    """A day that `ready_query` does not return is loaded by the first run after the query returns it."""
    story.in_source("CREATE TABLE batches (cob integer, status text)")
    story.in_source("INSERT INTO batches SELECT DISTINCT cob, 'done' FROM trades WHERE cob <> %s", WEDNESDAY)
    story.settings["ready_query"] = "SELECT cob FROM batches WHERE status = 'done';"
    story.run()
    assert list(story.counts_in_target()) == [MONDAY, TUESDAY, THURSDAY, FRIDAY]

    story.in_source("INSERT INTO batches VALUES (%s, 'done')", WEDNESDAY)
    story.run()

    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_late_day_between_loaded_days_is_loaded(story: Story):
    """When a day arrives after newer days were loaded, the next run loads it."""
    story.in_source("DELETE FROM trades WHERE cob = %s", WEDNESDAY)
    story.run()
    story.fill(WEDNESDAY)

    report = story.run()

    assert steps(report) == [f"extract {WEDNESDAY}", f"load {WEDNESDAY}"]
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.spark
def test_first_run_loads_only_the_newest_days(story: Story):
    """With `initial_load_count: 2`, the first run loads two days. Later runs do not treat older days as missing."""
    story.settings["initial_load_count"] = 2
    story.run()
    story.fill(SATURDAY)
    story.in_source("INSERT INTO trades (cob, id) VALUES (20231229, 1)")

    report = story.run()

    assert steps(report) == [f"extract {SATURDAY}", f"load {SATURDAY}"]
    story.assert_in_step(THURSDAY, FRIDAY, SATURDAY)


def test_backfill_adds_only_its_range(story: Story):
    """A backfill loads the days of its range, and later runs keep the gap outside of that range."""
    story.settings["initial_load_count"] = 1
    story.run()

    story.tidegate().backfill("trades", TUESDAY, WEDNESDAY)

    story.assert_in_step(TUESDAY, WEDNESDAY, FRIDAY)
    story.fill(SATURDAY)
    story.run()
    story.assert_in_step(TUESDAY, WEDNESDAY, FRIDAY, SATURDAY)


def test_backfill_with_reversed_range_is_refused(story: Story):
    """When a backfill ends before it begins, it is refused with both values in the message."""
    with pytest.raises(ConfigError, match=f"a backfill from {FRIDAY} to {MONDAY} holds nothing"):
        story.tidegate().backfill("trades", FRIDAY, MONDAY)


def test_purged_day_stays_in_lake_and_target(story: Story):
    """When the source deletes a day, lake and target keep it, and `verify` reports it as a note."""
    story.run()
    before = story.rows_in_target()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)

    report = story.run()

    assert report.outcome == "nothing to do"
    assert_same_rows(story.rows_in_target(), before)
    assert story.lake_file(MONDAY).exists()
    verification = story.tidegate().verify()
    assert verification.outcome == "equal"
    assert [finding.what for finding in verification.findings] == [
        "no longer in the source; the target holds what was loaded"
    ]


def test_forgotten_day_is_ignored_until_a_backfill(story: Story):
    """After `forget`, runs do not reload the day and `verify` skips it. A backfill adds it to the scope again."""
    story.run()
    scope = story.tidegate().forget("trades", TUESDAY)
    assert str(scope) == f"from {MONDAY}, without {TUESDAY}"
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)

    assert story.run().outcome == "nothing to do"
    assert story.tidegate().verify().outcome == "equal"

    story.tidegate().backfill("trades", TUESDAY, TUESDAY)
    story.assert_in_step(*FIVE_DAYS)


def test_forget_outside_of_the_scope_is_refused(story: Story):
    """`forget` refuses a day that is not in the scope and names the scope."""
    story.run()

    with pytest.raises(ConfigError, match=rf"{SUNDAY - 100} is not in the scope \(from {MONDAY}\)"):
        story.tidegate().forget("trades", SUNDAY - 100)


@pytest.mark.spark
def test_retention_removes_the_oldest_days(story: Story):
    """With `retain`, days beyond the limit leave target and lake, and later runs do not load them again."""
    story.settings["retain"] = {"target": 3, "lake": 4}
    story.run()
    assert list(story.counts_in_target()) == [WEDNESDAY, THURSDAY, FRIDAY]
    story.fill(SATURDAY)

    report = story.run()

    assert steps(report) == [
        f"extract {SATURDAY}",
        f"load {SATURDAY}",
        f"remove {WEDNESDAY}",
    ]
    assert list(story.counts_in_target()) == [THURSDAY, FRIDAY, SATURDAY]
    assert story.ledger()[WEDNESDAY][1] == "removed"
    assert story.lake_files() == [story.lake_file(day) for day in (WEDNESDAY, THURSDAY, FRIDAY, SATURDAY)]

    assert story.run().outcome == "nothing to do"
    assert story.tidegate().verify().outcome == "equal"
    story.fill(SUNDAY)
    story.run()
    assert story.lake_files() == [story.lake_file(day) for day in (THURSDAY, FRIDAY, SATURDAY, SUNDAY)]


@pytest.mark.thorough
def test_shorter_retention_removes_loaded_days(story: Story):
    """When `retain` is set after the first run, the next run removes the days beyond it from target and lake."""
    story.run()
    story.settings["retain"] = {"target": 2, "lake": 2}

    report = story.run()

    assert sorted(steps(report)) == sorted(2 * [f"remove {day}" for day in (MONDAY, TUESDAY, WEDNESDAY)])
    story.assert_in_step(THURSDAY, FRIDAY)


def test_null_partition_values_are_reported(story: Story):
    """Rows whose partition value is null are not copied. The run reports their count and `verify` fails."""
    story.in_source("INSERT INTO trades (cob, id) VALUES (NULL, 1), (NULL, 2)")

    report = story.run()

    assert [finding.what for finding in report.findings] == ["2 rows have no partition value and are not copied"]
    assert_same_rows(story.rows_in_target(), story.rows_in_source(*FIVE_DAYS))
    verified = story.tidegate().verify()
    errors = [finding for finding in verified.findings if finding.severity == "error"]
    assert (verified.outcome, verified.exit_code) == ("differences", 3)
    assert [(finding.check, finding.what.split(";")[0]) for finding in errors] == [
        ("coverage", "2 rows have no partition value and are not copied")
    ]


@pytest.mark.thorough
def test_null_partition_values_can_be_excluded(story: Story):
    """With `values: {nulls: exclude}`, rows with a null partition value are skipped, and `verify` reports a note."""
    story.in_source("INSERT INTO trades (cob, id) VALUES (NULL, 1), (NULL, 2)")
    story.settings["values"] = {"nulls": "exclude"}

    report = story.run()

    assert report.findings == ()
    story.assert_in_step(*FIVE_DAYS)
    (note,) = story.tidegate().verify().findings
    left_out = "2 rows without a partition value are excluded (values: {nulls: exclude})"
    assert (note.check, note.severity, note.what) == ("coverage", "note", left_out)
    assert f"note: {left_out}" in story.tidegate().status()[0].notes


def test_verify_counts_days_outside_of_the_scope(story: Story):
    """`verify` reports how many days each setting leaves out: the first load, `values` and `forget`."""
    story.settings |= {"initial_load_count": 2, "values": {"exclude": [TUESDAY]}}
    story.run()
    story.tidegate().forget("trades", THURSDAY)

    report = story.tidegate().verify()

    assert (report.outcome, report.exit_code) == ("equal", 0)
    assert [finding.what for finding in report.findings] == [
        "2 of 5 values are not in scope (initial_load_count: 2)",
        "1 of 5 values are not in scope (values)",
        "1 of 5 values are not in scope (forget)",
        f"only in the target, outside of the scope: 1 value ({THURSDAY})",
    ]


@pytest.mark.thorough
def test_verify_of_an_empty_scope_is_incomplete(story: Story):
    """When every day is forgotten and the target is empty, no value can differ. `verify` reports `incomplete`, not
    `equal`."""
    story.run()
    for day in FIVE_DAYS:
        story.tidegate().forget("trades", day)
    story.in_target("DELETE FROM trades")

    report = story.tidegate().verify()

    assert (report.outcome, report.exit_code) == ("incomplete", 0)
    assert ("warning", "the source has rows and the target has none: nothing is copied") in [
        (finding.severity, finding.what) for finding in report.findings
    ]


def test_excluded_sentinels_are_not_newest_days(story: Story):
    """Excluded sentinel values such as `99991231` do not count among the newest days of the first run."""
    story.in_source("INSERT INTO trades (cob, id) VALUES (0, 1), (-1, 2), (99991231, 3)")
    story.settings |= {"initial_load_count": 2, "values": {"exclude": [0, -1, 99991231]}}

    story.run()

    story.assert_in_step(THURSDAY, FRIDAY)


@pytest.mark.thorough
def test_values_outside_of_the_range_are_ignored(story: Story):
    """With `values: {from, to}`, only days of that range are loaded."""
    story.settings["values"] = {"from": TUESDAY, "to": THURSDAY}

    story.run()

    story.assert_in_step(TUESDAY, WEDNESDAY, THURSDAY)
