"""What went missing is brought back, and what somebody else changed is theirs until a rule says otherwise."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from kit.crash import Interrupter
from kit.project import (
    FIVE_DAYS,
    FRIDAY,
    MONDAY,
    SATURDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    Story,
    assert_same_rows,
    copy_database,
)
from tidegate import Tidegate
from tidegate.databases.postgresql.session import PostgresqlSession
from tidegate.errors import ForeignTarget, RunFailed
from tidegate.ops import adopt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


def steps(report: RunReport, outcome: str = "done") -> list[tuple[str, str]]:
    return [(f"{step.step} {step.value}", step.why) for step in report.steps if step.outcome == outcome]


def findings(report: RunReport) -> list[str]:
    return [f"{finding.severity} {finding.value}: {finding.what}" for finding in report.findings]


# The lake


@pytest.mark.parametrize("lost", [(THURSDAY,), FIVE_DAYS], ids=["one file", "all of it"])
def test_lost_files_are_extracted_again_and_the_target_is_left_alone(story: Story, lost: tuple[int, ...]):
    story.run()
    loaded_by = story.writers()
    for day in lost:
        shutil.rmtree(story.lake_file(day).parent)

    report = story.run()

    assert sorted(steps(report)) == [(f"land {day}", "missing in the lake") for day in lost]
    assert story.writers() == loaded_by
    story.assert_in_step(*FIVE_DAYS)


def test_a_truncated_file_is_extracted_again(story: Story):
    story.run()
    whole = story.lake_file(THURSDAY).read_bytes()
    story.lake_file(THURSDAY).write_bytes(whole[: len(whole) // 2])

    report = story.run()

    ((step, why),) = steps(report)
    assert step == f"land {THURSDAY}"
    assert why.startswith("its file cannot be used: ")
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.parametrize("proof", ["hash", "count"])
def test_rows_of_a_damaged_file_never_reach_the_target(story: Story, proof: str):
    """One bit of a number has flipped. The footer is whole, so the damage shows only when the rows are read."""
    story.settings["proof"] = proof
    story.run()
    file = story.lake_file(THURSDAY)
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 0x10
    file.write_bytes(content)
    story.in_target("DELETE FROM trades WHERE cob = %s", THURSDAY)

    with pytest.raises(RunFailed) as failed:
        story.run()
    (problem,) = [problem for _, problem in failed.value.report.failures]
    happened, safe, remedy = problem.splitlines()
    assert str(file) in happened
    assert safe == "The target keeps what it had."
    assert remedy == "Delete the file: the next run extracts it again."
    assert THURSDAY not in story.counts_in_target()

    file.unlink()
    story.run()

    story.settings.clear()
    story.assert_in_step(*FIVE_DAYS)


def test_a_file_of_another_table_under_our_name_is_neither_read_nor_overwritten(story: Story):
    story.in_source("CREATE TABLE payments (cob integer, id bigint); INSERT INTO payments VALUES (20240106, 1)")
    configuration = story.configuration()
    configuration["tables"] = {"payments": {"kind": "partition", "partition_column": "cob"}}
    story.run()
    Tidegate(**{**configuration, "spark": story.spark}).run()
    theirs = story.lake / "organized" / f"cob_{SATURDAY}" / f"payments_cob_{SATURDAY}.parquet"
    shutil.copyfile(theirs, story.lake_file(SATURDAY))
    story.fill(SATURDAY)

    with pytest.raises(RunFailed) as failed:
        story.run()

    ((_, problem),) = failed.value.report.failures
    assert problem.splitlines() == [
        f"{story.lake_file(SATURDAY)} says that it holds payments by cob, not trades by cob.",
        "It was neither read nor overwritten.",
        "Move it away, or give this project a lake of its own.",
    ]
    assert story.lake_file(SATURDAY).read_bytes() == theirs.read_bytes()
    assert SATURDAY not in story.counts_in_target()


def test_a_file_copied_under_the_name_of_another_day_is_neither_read_nor_overwritten(story: Story):
    story.run()
    story.fill(SATURDAY)
    story.lake_file(SATURDAY).parent.mkdir()
    shutil.copyfile(story.lake_file(FRIDAY), story.lake_file(SATURDAY))

    with pytest.raises(RunFailed) as failed:
        story.run()

    ((_, problem),) = failed.value.report.failures
    assert problem.splitlines() == [
        f"{story.lake_file(SATURDAY)} holds the value {FRIDAY}, not the one in its name.",
        "It was neither read nor overwritten.",
        "Move it away: the next run extracts what is missing.",
    ]
    assert story.lake_file(SATURDAY).read_bytes() == story.lake_file(FRIDAY).read_bytes()

    story.lake_file(SATURDAY).unlink()
    story.run()
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


# The target


def test_a_day_that_is_gone_from_the_target_is_loaded_from_the_lake(story: Story):
    story.run()
    story.in_target("DELETE FROM trades WHERE cob IN (20240101, 20240104)")

    report = story.run()

    assert sorted(steps(report)) == [
        (f"load {MONDAY}", "gone from the target"),
        (f"load {THURSDAY}", "gone from the target"),
    ]
    story.assert_in_step(*FIVE_DAYS)


def test_a_day_with_too_few_rows_is_loaded_from_the_lake(story: Story):
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s AND id > 150", THURSDAY)

    report = story.run()

    assert steps(report) == [(f"load {THURSDAY}", "the target holds 150 of 200 rows")]
    story.assert_in_step(*FIVE_DAYS)


def test_a_table_that_was_dropped_is_made_and_filled_again(story: Story):
    story.run()
    story.in_target("DROP TABLE trades")

    report = story.run()

    assert steps(report)[0] == ("change schema ", "the target table does not exist yet")
    story.assert_in_step(*FIVE_DAYS)


def test_a_lost_ledger_is_written_again_from_what_lake_and_target_hold(story: Story):
    story.settings["initial_load_count"] = 3
    story.run()
    story.in_target("DROP SCHEMA tidegate CASCADE")
    loaded_by = story.writers()

    report = story.run()

    found = "the target holds it, the ledger does not know it; the target holds it already"
    assert sorted(steps(report, "skipped")) == [(f"load {day}", found) for day in (WEDNESDAY, THURSDAY, FRIDAY)]
    assert story.writers() == loaded_by
    story.assert_in_step(WEDNESDAY, THURSDAY, FRIDAY)


def test_a_lost_ledger_hides_no_damage(story: Story):
    story.run()
    story.in_target("DROP SCHEMA tidegate CASCADE")
    story.in_target("DELETE FROM trades WHERE cob = %s AND id > 10", TUESDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", THURSDAY)

    story.run()

    story.assert_in_step(*FIVE_DAYS)


def test_a_day_that_was_forgotten_stays_forgotten_when_the_ledger_is_lost(story: Story):
    story.run()
    story.tidegate().forget("trades", TUESDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)
    story.in_target("DROP SCHEMA tidegate CASCADE")

    story.run()

    assert TUESDAY not in story.counts_in_target()


# A target that was restored


@pytest.fixture
def restored(story: Story, postgres: EmbeddedPostgres) -> Iterator[Story]:
    """Four days were loaded and backed up; then the fifth came, and the backup took the target's place."""
    story.settings["hold_back"] = 1
    story.run()
    original = story.target.rpartition("/")[2]
    story.target = copy_database(postgres, original, f"{original}_copy")
    story.settings.clear()
    yield story
    postgres.drop_database(f"{original}_copy")


def test_a_restored_target_is_not_touched_until_somebody_decides(restored: Story):
    before = restored.rows_in_target()

    with pytest.raises(ForeignTarget) as refusal:
        restored.run()
    with pytest.raises(ForeignTarget):
        restored.tidegate().plan()

    assert str(refusal.value).splitlines() == [
        "The ledger in this target was written for another database: the target was restored or copied.",
        "Nothing was read or written; the ledger is not trusted.",
        "`tidegate adopt` takes over what the target holds; `tidegate run --reload` loads its scope again.",
    ]
    assert_same_rows(restored.rows_in_target(), before)


def test_a_target_that_gets_another_identity_is_known_by_both(story: Story, monkeypatch: pytest.MonkeyPatch):
    """As a database does that joins an availability group, and then moves to another server."""
    story.run()
    by_server = PostgresqlSession.identity
    monkeypatch.setattr(PostgresqlSession, "identities", lambda session: ("its own number", by_server(session)))
    assert not story.tidegate().plan().does_something
    story.run()  # which writes the new one down
    monkeypatch.setattr(PostgresqlSession, "identities", lambda session: ("its own number", "another server"))
    story.run()
    monkeypatch.setattr(PostgresqlSession, "identities", lambda session: ("a copy", "somewhere else"))

    with pytest.raises(ForeignTarget):
        story.run()


def test_a_restored_target_can_be_adopted_as_it_is(restored: Story):
    loaded_by = restored.writers()

    report = restored.tidegate().adopt()

    held = "held by the target before us"
    assert sorted(steps(report)) == [(f"adopt {day}", held) for day in (MONDAY, TUESDAY, WEDNESDAY, THURSDAY)]
    assert restored.writers() == loaded_by
    assert steps(restored.run())[-1] == (f"load {FRIDAY}", "new in the source")
    assert_same_rows(restored.rows_in_target(), restored.rows_in_source())
    assert restored.tidegate().verify().outcome == "equal"


def test_an_interrupted_adoption_leaves_a_restored_target_foreign(restored: Story, tmp_path: Path):
    with suppress(KeyboardInterrupt):
        restored.tidegate(Interrupter("adoption about to commit", 1, tmp_path / "tally")).adopt()

    with pytest.raises(ForeignTarget):
        restored.run()

    restored.tidegate().adopt()
    restored.run()
    assert_same_rows(restored.rows_in_target(), restored.rows_in_source())


def test_when_one_day_cannot_be_read_none_is_adopted(story: Story, monkeypatch: pytest.MonkeyPatch):
    story.run()
    shutil.rmtree(story.lake)
    story.in_target("DROP SCHEMA tidegate CASCADE")
    run_slices = adopt.run_slices

    def one_fails(mover: Any, slices: Any, workspace: Any, finished: Any, *more: Any) -> None:
        def failing(number: int, facts: dict[str, Any]) -> None:
            failed = {"outcome": "failed", "error": "The connection was lost."}
            finished(number, {**facts, **failed} if number == 2 else facts)

        run_slices(mover, slices, workspace, failing, *more)

    with monkeypatch.context() as patched:
        patched.setattr(adopt, "run_slices", one_fails)
        report = story.tidegate().adopt(check=False)

    assert (report.exit_code, report.failures) == (1, (("trades", "The connection was lost."),))
    outcomes = {int(step.value): step.outcome for step in report.steps}
    assert outcomes == {**dict.fromkeys(FIVE_DAYS, "skipped"), WEDNESDAY: "failed"}
    assert story.ledger() == {}
    with pytest.raises(RunFailed, match="The target holds rows of 5 values that no ledger knows"):
        story.run()


def test_a_restored_target_can_be_loaded_again(restored: Story):
    restored.in_target("UPDATE trades SET amount = 0 WHERE cob = %s", MONDAY)

    restored.tidegate().run(reload=True)

    restored.assert_in_step(*FIVE_DAYS)


def test_rows_that_were_there_before_us_are_not_ours_to_replace(story: Story):
    story.in_target("CREATE TABLE trades (cob integer, id bigint, amount numeric(38,18), note text,"
                    " traded_at timestamp, load_id bigint); INSERT INTO trades VALUES (20240103, 7)")  # fmt: skip

    with pytest.raises(RunFailed) as failed:
        story.run()

    ((_, problem),) = failed.value.report.failures
    assert problem.splitlines() == [
        f"The target holds rows of 1 values that no ledger knows: {WEDNESDAY}.",
        "Nothing was written.",
        "`tidegate adopt` takes them over as they are; `tidegate run --reload` replaces them.",
    ]
    assert story.counts_in_target() == {WEDNESDAY: 1}


def test_an_adopted_day_that_is_lost_comes_from_the_source(story: Story):
    """An adopted day has no file in the lake."""
    story.run()
    shutil.rmtree(story.lake)
    story.in_target("DROP SCHEMA tidegate CASCADE")
    story.tidegate().adopt()
    story.in_target("DELETE FROM trades WHERE cob = %s", THURSDAY)

    story.run()

    assert_same_rows(story.rows_in_target(), story.rows_in_source())


# Rows that somebody added or changed in the target


def a_tester_adds_rows(story: Story) -> None:
    story.run()
    story.in_target("INSERT INTO trades (cob, id) VALUES (20240104, -1), (20240104, -2), (20240104, -3)")


ADDED = "the target holds 203 rows, 200 were loaded: somebody added 3"


def test_added_rows_are_reported_and_kept_until_repair(story: Story):
    a_tester_adds_rows(story)

    report = story.run()

    assert report.outcome == "nothing to do"
    assert findings(report) == [f"warning {THURSDAY}: {ADDED}; `tidegate repair` restores it"]
    assert story.counts_in_target()[THURSDAY] == 203

    told = story.tidegate().verify()
    assert told.exit_code == 3
    assert findings(told) == [
        f"error {THURSDAY}: 200 rows in the source, 203 in the target; the target was changed after it was loaded"
    ]

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


def test_added_rows_leave_where_the_table_is_to_be_restored(story: Story):
    a_tester_adds_rows(story)
    story.settings["on_target_change"] = "restore"

    report = story.run()

    assert steps(report) == [(f"load {THURSDAY}", ADDED)]
    story.assert_in_step(*FIVE_DAYS)


def test_added_rows_stay_out_of_the_proof_where_they_are_to_be_kept(story: Story):
    a_tester_adds_rows(story)
    story.settings["on_target_change"] = "keep"

    report, told = story.run(), story.tidegate().verify()

    assert report.outcome == "nothing to do"
    assert findings(report) == []
    assert told.outcome == "equal"
    assert findings(told) == [
        f"note {THURSDAY}: left out of the proof: `on_target_change: keep` and the target holds 3 rows more"
    ]
    assert story.counts_in_target()[THURSDAY] == 203


def test_changed_rows_are_found_by_their_keys_and_repaired(story: Story):
    story.settings["keys"] = ["cob", "id"]
    story.run()
    story.in_target("UPDATE trades SET amount = amount + 1 WHERE cob = %s AND id IN (7, 8)", TUESDAY)
    story.in_target("UPDATE trades SET id = -9 WHERE cob = %s AND id = 9", TUESDAY)

    told = story.tidegate().verify(deep=True)

    assert story.run().outcome == "nothing to do"
    assert findings(told) == [
        f"error {TUESDAY}: equal counts, other content; the target was changed after it was loaded"
        f"; 1 missing in the target ({TUESDAY}, 9); 1 only in the target ({TUESDAY}, -9)"
        f"; 2 changed ({TUESDAY}, 7, {TUESDAY}, 8)"
    ]

    repaired = story.tidegate().repair()
    assert steps(repaired) == [(f"land {TUESDAY}", "reload asked for"), (f"load {TUESDAY}", "reload asked for")]
    story.assert_in_step(*FIVE_DAYS)


# Lake and target against a source that has moved on


def test_a_file_that_is_lost_after_the_source_purged_the_day_is_made_from_the_target(story: Story):
    story.run()
    before = story.rows_in_target(MONDAY)
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()

    report = story.run()

    assert steps(report) == [(f"land {MONDAY}", "missing in the lake, and no longer in the source")]
    assert_same_rows(story.rows_in_lake(MONDAY), before)
    assert_same_rows(story.rows_in_target(MONDAY), before)
    assert story.run().outcome == "nothing to do"


def test_a_file_made_from_a_target_that_was_changed_proves_nothing(story: Story):
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()
    story.in_target("UPDATE trades SET amount = 0 WHERE cob = %s AND id = 7", MONDAY)

    story.run()

    told = story.tidegate().verify()
    assert findings(told) == [f"error {MONDAY}: no longer in the source; the target differs from what was loaded"]


def test_nothing_brings_back_what_all_but_the_ledger_have_lost(story: Story):
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()

    report = story.run()

    assert findings(report) == [
        f"warning {MONDAY}: gone from the target, and neither the source nor the lake holds it any more"
    ]


def test_a_day_beyond_the_retention_of_the_lake_is_healed_from_the_source(story: Story):
    story.settings["retain"] = {"lake": 2}
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)

    story.run()

    assert_same_rows(story.rows_in_target(), story.rows_in_source())
