"""Days as they come: new, late, restated, held back, retained, forgotten, purged."""

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

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


def steps(report: RunReport, outcome: str = "done") -> list[str]:
    return [f"{step.step} {step.value}" for step in report.steps if step.outcome == outcome]


def reasons(report: RunReport) -> set[str]:
    return {step.why for step in report.steps}


def notices(story: Story) -> list[str]:
    return [step.text for step in story.steps() if isinstance(step, Notice)]


# Restated days


def test_a_day_with_another_count_is_restated(story: Story):
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


def test_a_day_with_equal_count_is_restated_when_its_load_moved(story: Story):
    story.settings["restatement_column"] = "load_id"
    story.run()
    story.restate(FRIDAY)

    report = story.run()

    assert sorted(steps(report)) == [f"land {FRIDAY}", f"load {FRIDAY}"]
    assert reasons(report) == {"restated: max(load_id) moved from 1 to 2"}
    story.assert_in_step(*FIVE_DAYS)


def test_a_day_with_equal_count_is_restated_when_its_content_is_compared(story: Story):
    story.settings |= {"restatement": "hash", "look_back": 2}
    story.run()
    story.restate(FRIDAY)

    report = story.run()

    assert sorted(steps(report)) == [f"land {THURSDAY}", f"land {FRIDAY}", f"load {FRIDAY}"]
    assert steps(report, "skipped") == [f"load {THURSDAY}"]
    assert_same_rows(story.rows_in_target(), story.rows_in_source())
    assert story.tidegate().verify().outcome == "equal"


def test_counts_alone_do_not_tell_a_day_of_equal_count_and_the_plan_says_so(story: Story):
    story.run()
    story.restate(FRIDAY)

    assert notices(story) == ["only row counts tell a restated value; name a `restatement_column` to see more"]
    assert story.run().outcome == "nothing to do"
    assert story.tidegate().verify().outcome == "differences"

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


def test_a_day_older_than_the_look_back_is_left_to_verify_and_repair(story: Story):
    story.settings["look_back"] = 2
    story.run()
    story.fill(MONDAY, first=201, last=210)

    assert story.run().outcome == "nothing to do"
    assert [finding.value for finding in story.tidegate().verify().findings] == [str(MONDAY)]

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


def test_a_day_restated_before_mornings_without_a_run_is_not_overlooked(story: Story):
    """Monday was in the look-back when it was restated; now two more days are there, and no run came in between."""
    story.run()
    story.fill(MONDAY, first=201, last=210)
    story.fill(SATURDAY, SUNDAY)

    story.run()

    story.assert_in_step(*FIVE_DAYS, SATURDAY, SUNDAY)


# Columns


def test_a_new_column_reaches_the_target_with_the_values_of_the_days_before(story: Story):
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


def test_a_day_that_the_source_purged_is_still_proven_after_a_new_column(story: Story):
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_source("ALTER TABLE trades ADD COLUMN desk text")
    story.run()

    told = story.tidegate().verify()

    assert told.outcome == "equal"


# Which days


def test_the_newest_day_is_held_back_until_the_next_one_is_there(story: Story):
    story.settings["hold_back"] = 1
    story.run()
    assert list(story.counts_in_target()) == [MONDAY, TUESDAY, WEDNESDAY, THURSDAY]
    assert f"not ready yet: {FRIDAY}" in notices(story)

    story.fill(SATURDAY)
    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_a_day_waits_until_the_control_table_calls_it_complete(story: Story):
    story.in_source("CREATE TABLE batches (cob integer, status text)")
    story.in_source("INSERT INTO batches SELECT DISTINCT cob, 'done' FROM trades WHERE cob <> %s", WEDNESDAY)
    story.settings["ready_query"] = "SELECT cob FROM batches WHERE status = 'done';"
    story.run()
    assert list(story.counts_in_target()) == [MONDAY, TUESDAY, THURSDAY, FRIDAY]

    story.in_source("INSERT INTO batches VALUES (%s, 'done')", WEDNESDAY)
    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_a_late_day_is_found_among_those_that_are_there(story: Story):
    story.in_source("DELETE FROM trades WHERE cob = %s", WEDNESDAY)
    story.run()
    story.fill(WEDNESDAY)

    report = story.run()

    assert steps(report) == [f"land {WEDNESDAY}", f"load {WEDNESDAY}"]
    story.assert_in_step(*FIVE_DAYS)


def test_the_first_run_takes_the_newest_days_and_older_history_never_looks_like_a_hole(story: Story):
    story.settings["initial_load_count"] = 2
    story.run()
    story.fill(SATURDAY)
    story.in_source("INSERT INTO trades (cob, id) VALUES (20231229, 1)")

    report = story.run()

    assert steps(report) == [f"land {SATURDAY}", f"load {SATURDAY}"]
    story.assert_in_step(THURSDAY, FRIDAY, SATURDAY)


def test_a_backfill_adds_its_range_and_nothing_else(story: Story):
    story.settings["initial_load_count"] = 1
    story.run()

    story.tidegate().backfill("trades", TUESDAY, WEDNESDAY)

    story.assert_in_step(TUESDAY, WEDNESDAY, FRIDAY)
    story.fill(SATURDAY)
    story.run()
    story.assert_in_step(TUESDAY, WEDNESDAY, FRIDAY, SATURDAY)


def test_a_backfill_that_ends_before_it_begins_is_refused(story: Story):
    with pytest.raises(ConfigError, match=f"a backfill from {FRIDAY} to {MONDAY} holds nothing"):
        story.tidegate().backfill("trades", FRIDAY, MONDAY)


def test_a_day_that_the_source_purged_stays_in_lake_and_target(story: Story):
    story.run()
    before = story.rows_in_target()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)

    report = story.run()

    assert report.outcome == "nothing to do"
    assert_same_rows(story.rows_in_target(), before)
    assert story.lake_file(MONDAY).exists()
    told = story.tidegate().verify()
    assert told.outcome == "equal"
    assert [finding.what for finding in told.findings] == ["no longer in the source; the target holds what was loaded"]


def test_a_forgotten_day_is_neither_healed_nor_verified_until_a_backfill_remembers_it(story: Story):
    story.run()
    scope = story.tidegate().forget("trades", TUESDAY)
    assert str(scope) == f"from {MONDAY}, without {TUESDAY}"
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)

    assert story.run().outcome == "nothing to do"
    assert story.tidegate().verify().outcome == "equal"

    story.tidegate().backfill("trades", TUESDAY, TUESDAY)
    story.assert_in_step(*FIVE_DAYS)


def test_what_was_not_in_the_scope_cannot_be_forgotten(story: Story):
    story.run()

    with pytest.raises(ConfigError, match=rf"{SUNDAY - 100} is not in the scope \(from {MONDAY}\)"):
        story.tidegate().forget("trades", SUNDAY - 100)


def test_retention_removes_the_oldest_days_and_nothing_heals_them_back(story: Story):
    story.settings["retain"] = {"target": 3, "lake": 4}
    story.run()
    assert list(story.counts_in_target()) == [WEDNESDAY, THURSDAY, FRIDAY]
    story.fill(SATURDAY)

    report = story.run()

    assert steps(report) == [
        f"land {SATURDAY}",
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


def test_a_shorter_retention_removes_what_was_loaded_before(story: Story):
    story.run()
    story.settings["retain"] = {"target": 2, "lake": 2}

    report = story.run()

    assert sorted(steps(report)) == sorted(2 * [f"remove {day}" for day in (MONDAY, TUESDAY, WEDNESDAY)])
    story.assert_in_step(THURSDAY, FRIDAY)


def test_rows_without_a_day_are_counted_and_not_copied(story: Story):
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


def test_rows_without_a_day_may_be_left_out_on_purpose(story: Story):
    story.in_source("INSERT INTO trades (cob, id) VALUES (NULL, 1), (NULL, 2)")
    story.settings["values"] = {"nulls": "exclude"}

    report = story.run()

    assert report.findings == ()
    story.assert_in_step(*FIVE_DAYS)
    (note,) = story.tidegate().verify().findings
    left_out = "2 rows without a partition value stay outside (values: {nulls: exclude})"
    assert (note.check, note.severity, note.what) == ("coverage", "note", left_out)
    assert f"note: {left_out}" in story.tidegate().status()[0].notes


def test_verify_says_how_many_days_stay_outside(story: Story):
    story.settings |= {"initial_load_count": 2, "values": {"exclude": [TUESDAY]}}
    story.run()
    story.tidegate().forget("trades", THURSDAY)

    report = story.tidegate().verify()

    assert (report.outcome, report.exit_code) == ("equal", 0)
    assert [finding.what for finding in report.findings] == [
        "2 of 5 values stay outside (initial_load_count: 2)",
        "1 of 5 values stay outside (values)",
        "1 of 5 values stay outside (forget)",
        f"the target has more than the scope and the source account for, 1 value: {THURSDAY}",
    ]


def test_a_table_of_which_nothing_is_copied_is_not_equal(story: Story):
    """Somebody forgot every day and emptied the target: no value is left that could differ."""
    story.run()
    for day in FIVE_DAYS:
        story.tidegate().forget("trades", day)
    story.in_target("DELETE FROM trades")

    report = story.tidegate().verify()

    assert (report.outcome, report.exit_code) == ("incomplete", 0)
    assert ("warning", "the source has rows and the target has none: nothing is copied") in [
        (finding.severity, finding.what) for finding in report.findings
    ]


def test_sentinels_do_not_count_as_the_newest_days(story: Story):
    story.in_source("INSERT INTO trades (cob, id) VALUES (0, 1), (-1, 2), (99991231, 3)")
    story.settings |= {"initial_load_count": 2, "values": {"exclude": [0, -1, 99991231]}}

    story.run()

    story.assert_in_step(THURSDAY, FRIDAY)


def test_values_outside_of_the_range_do_not_count(story: Story):
    story.settings["values"] = {"from": TUESDAY, "to": THURSDAY}

    story.run()

    story.assert_in_step(TUESDAY, WEDNESDAY, THURSDAY)
