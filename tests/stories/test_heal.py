"""Lost files, rows and ledgers are restored, and rows that others changed stay until a setting or a person decides."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.crash import Interrupter
from kit.pairs import first_daily
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
from tidegate.errors import DatabaseError, ForeignTarget, RunFailed
from tidegate.runs import adopt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres]


def steps(report: RunReport, outcome: str = "done") -> list[tuple[str, str]]:
    return [(f"{step.step} {step.value}", step.why) for step in report.steps if step.outcome == outcome]


def findings(report: RunReport) -> list[str]:
    return [f"{finding.severity} {finding.value}: {finding.what}" for finding in report.findings]


# The lake


@pytest.mark.parametrize("lost", first_daily((THURSDAY,), FIVE_DAYS), ids=["one file", "all of it"])
def test_lost_files_are_extracted_again(story: Story, lost: tuple[int, ...]):
    """When files of the lake are lost, the next run extracts them again and does not write to the target."""
    story.run()
    loaded_by = story.writers()
    for day in lost:
        shutil.rmtree(story.lake_file(day).parent)

    report = story.run()

    assert sorted(steps(report)) == [(f"extract {day}", "missing in the lake") for day in lost]
    assert story.writers() == loaded_by
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_truncated_file_is_extracted_again(story: Story):
    """When a file is cut off, the next run extracts it again."""
    story.run()
    whole = story.lake_file(THURSDAY).read_bytes()
    story.lake_file(THURSDAY).write_bytes(whole[: len(whole) // 2])

    report = story.run()

    ((step, why),) = steps(report)
    assert step == f"extract {THURSDAY}"
    assert why.startswith("its file cannot be used: ")
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.parametrize("proof", first_daily("hash", "count"))
def test_damaged_file_is_never_loaded(story: Story, proof: str):
    """One bit of a number has flipped. The footer is intact, so the damage is found when the rows are read, before they
    load."""
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


def test_file_of_another_table_is_refused(story: Story):
    """When a file of another table has the expected name, the run fails and neither reads nor overwrites it."""
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


@pytest.mark.thorough
def test_file_of_another_day_is_refused(story: Story):
    """When a file of another day has the expected name, the run fails and neither reads nor overwrites it."""
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


def test_day_missing_in_the_target_is_reloaded(story: Story):
    """When the target loses whole days, the next run loads them from the lake."""
    story.run()
    story.in_target("DELETE FROM trades WHERE cob IN (20240101, 20240104)")

    report = story.run()

    assert sorted(steps(report)) == [
        (f"load {MONDAY}", "gone from the target"),
        (f"load {THURSDAY}", "gone from the target"),
    ]
    story.assert_in_step(*FIVE_DAYS)


def test_day_with_missing_rows_is_reloaded(story: Story):
    """When the target loses rows of a day, the next run loads that day from the lake."""
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s AND id > 150", THURSDAY)

    report = story.run()

    assert steps(report) == [(f"load {THURSDAY}", "the target holds 150 of 200 rows")]
    story.assert_in_step(*FIVE_DAYS)


def test_dropped_target_table_is_restored(story: Story):
    """When the target table is dropped, the next run creates and fills it."""
    story.run()
    story.in_target("DROP TABLE trades")

    report = story.run()

    assert steps(report)[0] == ("change schema ", "the target table does not exist yet")
    story.assert_in_step(*FIVE_DAYS)


def test_lost_ledger_is_rebuilt(story: Story):
    """When the ledger is dropped, the next run writes it again from lake and target and loads no row."""
    story.settings["initial_load_count"] = 3
    story.run()
    story.in_target("DROP SCHEMA tidegate CASCADE")
    loaded_by = story.writers()

    report = story.run()

    found = "the target holds it, the ledger does not know it; the target holds it already"
    assert sorted(steps(report, "skipped")) == [(f"load {day}", found) for day in (WEDNESDAY, THURSDAY, FRIDAY)]
    assert story.writers() == loaded_by
    story.assert_in_step(WEDNESDAY, THURSDAY, FRIDAY)


@pytest.mark.thorough
def test_lost_ledger_hides_no_missing_rows(story: Story):
    """When the ledger is lost and the target lost rows, the next run restores the rows, too."""
    story.run()
    story.in_target("DROP SCHEMA tidegate CASCADE")
    story.in_target("DELETE FROM trades WHERE cob = %s AND id > 10", TUESDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", THURSDAY)

    story.run()

    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_forgotten_day_survives_a_lost_ledger(story: Story):
    """When the ledger is dropped after `forget`, the day stays out of the scope."""
    story.run()
    story.tidegate().forget("trades", TUESDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)
    story.in_target("DROP SCHEMA tidegate CASCADE")

    story.run()

    assert TUESDAY not in story.counts_in_target()


# Restored targets


@pytest.fixture
def restored(story: Story, postgres: EmbeddedPostgres) -> Iterator[Story]:
    """A copy of the target with four loaded days replaces the target, as a restored backup."""
    story.settings["hold_back"] = 1
    story.run()
    original = story.target.rpartition("/")[2]
    story.target = copy_database(postgres, original, f"{original}_copy")
    story.settings.clear()
    yield story
    postgres.drop_database(f"{original}_copy")


def test_restored_target_is_refused(restored: Story):
    """When the target is a restored copy of a database, plan and run are refused until a person decides."""
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


@pytest.mark.thorough
def test_target_is_recognized_by_either_identity(story: Story, monkeypatch: pytest.MonkeyPatch):
    """A database may get a second identity, as when it joins an availability group and moves. It is known by both."""
    story.run()
    by_server = PostgresqlSession.identity
    monkeypatch.setattr(PostgresqlSession, "known_identities", lambda session: ("its own number", by_server(session)))
    assert not story.tidegate().plan().does_something
    story.run()  # it records the new identity
    monkeypatch.setattr(PostgresqlSession, "known_identities", lambda session: ("its own number", "another server"))
    story.run()
    monkeypatch.setattr(PostgresqlSession, "known_identities", lambda session: ("a copy", "somewhere else"))

    with pytest.raises(ForeignTarget):
        story.run()


def test_restored_target_can_be_adopted(restored: Story):
    """After `adopt`, a restored target keeps its rows and the next run loads the missing day."""
    loaded_by = restored.writers()

    report = restored.tidegate().adopt()

    reason = "held by the target before us"
    assert sorted(steps(report)) == [(f"adopt {day}", reason) for day in (MONDAY, TUESDAY, WEDNESDAY, THURSDAY)]
    assert restored.writers() == loaded_by
    assert steps(restored.run())[-1] == (f"load {FRIDAY}", "new in the source")
    assert_same_rows(restored.rows_in_target(), restored.rows_in_source())
    assert restored.tidegate().verify().outcome == "equal"


def test_interrupted_adoption_changes_nothing(restored: Story, tmp_path: Path):
    """When an adoption is interrupted before its commit, the restored target is still refused."""
    with suppress(KeyboardInterrupt):
        restored.tidegate(Interrupter("adoption about to commit", 1, tmp_path / "tally")).adopt()

    with pytest.raises(ForeignTarget):
        restored.run()

    restored.tidegate().adopt()
    restored.run()
    assert_same_rows(restored.rows_in_target(), restored.rows_in_source())


@pytest.mark.thorough
def test_failed_adoption_adopts_no_day(story: Story, monkeypatch: pytest.MonkeyPatch):
    """When one day cannot be read during `adopt`, no day is adopted."""
    story.run()
    shutil.rmtree(story.lake)
    story.in_target("DROP SCHEMA tidegate CASCADE")
    received = adopt._received

    def one_fails(run: Any, candidate: Any, window: Any, result: Any) -> Any:
        failed = replace(result, result=None, error=DatabaseError("The connection was lost."))
        return received(run, candidate, window, failed if int(window.text) == WEDNESDAY else result)

    with monkeypatch.context() as patched:
        patched.setattr(adopt, "_received", one_fails)
        report = story.tidegate().adopt(check=False)

    assert (report.exit_code, report.failures) == (1, (("trades", "The connection was lost."),))
    outcomes = {int(step.value): step.outcome for step in report.steps}
    assert outcomes == {**dict.fromkeys(FIVE_DAYS, "skipped"), WEDNESDAY: "failed"}
    assert story.ledger() == {}
    with pytest.raises(RunFailed, match="The target holds rows of 5 values that no ledger knows"):
        story.run()


@pytest.mark.thorough
def test_restored_target_can_be_reloaded(restored: Story):
    """`run --reload` loads every day of a restored target again."""
    restored.in_target("UPDATE trades SET amount = 0 WHERE cob = %s", MONDAY)

    restored.tidegate().run(reload=True)

    restored.assert_in_step(*FIVE_DAYS)


def test_foreign_rows_are_never_replaced(story: Story):
    """When the target has rows that no ledger knows, a run is refused and the rows stay."""
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


@pytest.mark.thorough
def test_lost_adopted_day_comes_from_the_source(story: Story):
    """An adopted day has no file in the lake. When the target loses it, the run extracts it from the source."""
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


def test_added_rows_are_reported_until_repair(story: Story):
    """When somebody adds rows to the target, runs warn and keep them, `verify` fails and `repair` removes them."""
    a_tester_adds_rows(story)

    report = story.run()

    assert report.outcome == "nothing to do"
    assert findings(report) == [f"warning {THURSDAY}: {ADDED}; `tidegate repair` restores it"]
    assert story.counts_in_target()[THURSDAY] == 203

    verification = story.tidegate().verify()
    assert verification.exit_code == 3
    assert findings(verification) == [
        f"error {THURSDAY}: 200 rows in the source, 203 in the target; the target was changed after it was loaded"
    ]

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


def test_added_rows_are_removed_with_restore(story: Story):
    """With `on_target_change: restore`, the next run removes rows that somebody added."""
    a_tester_adds_rows(story)
    story.settings["on_target_change"] = "restore"

    report = story.run()

    assert steps(report) == [(f"load {THURSDAY}", ADDED)]
    story.assert_in_step(*FIVE_DAYS)


def test_edits_stay_when_the_ledger_is_lost(story: Story):
    """Without a ledger nobody knows who changed a row: the run warns and keeps it, `repair` restores it."""
    story.run()
    story.in_target("UPDATE trades SET note = 'a tester' WHERE cob = %s AND id = 7", THURSDAY)
    story.in_target("INSERT INTO trades (cob, id) VALUES (%s, -1)", FRIDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s AND id > 100", MONDAY)
    sides.forget_loads(story.target)

    report = story.run()

    kept = "rows that differ from the lake's, and no ledger tells who changed them: they stay."
    remedy = "`tidegate repair` restores what the source has, `tidegate adopt` takes them over."
    assert sorted(findings(report)) == [
        f"warning {THURSDAY}: the target holds 200 {kept} {remedy}",
        f"warning {FRIDAY}: the target holds 201 {kept} {remedy}",
    ]
    edited = "SELECT note FROM trades WHERE cob = %s AND id = 7"
    assert sides.ask(story.target, edited, THURSDAY) == [("a tester",)]
    assert story.counts_in_target()[MONDAY] == 200, "lost rows are healed"
    assert story.tidegate().verify().exit_code == 3

    story.tidegate().repair()
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_a_restated_day_is_loaded_when_the_ledger_is_lost(story: Story):
    """The target holds what the lake's entry says: the rows are Tidegate's own, and the new ones replace them."""
    story.run()
    sides.forget_loads(story.target)
    story.in_source("DELETE FROM trades WHERE cob = %s AND id > 150", FRIDAY)

    report = story.run()

    assert findings(report) == []
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_added_rows_stay_with_keep(story: Story):
    """With `on_target_change: keep`, added rows stay and `verify` skips their day with a note."""
    a_tester_adds_rows(story)
    story.settings["on_target_change"] = "keep"

    report, verification = story.run(), story.tidegate().verify()

    assert report.outcome == "nothing to do"
    assert findings(report) == []
    assert verification.outcome == "equal"
    assert findings(verification) == [
        f"note {THURSDAY}: left out of the proof: `on_target_change: keep` and the target holds 3 rows more"
    ]
    assert story.counts_in_target()[THURSDAY] == 203


def test_changed_rows_are_found_by_key_and_repaired(story: Story):
    """With `keys`, `verify --deep` lists missing, added and changed rows by key, and `repair` restores them."""
    story.settings["keys"] = ["cob", "id"]
    story.run()
    story.in_target("UPDATE trades SET amount = amount + 1 WHERE cob = %s AND id IN (7, 8)", TUESDAY)
    story.in_target("UPDATE trades SET id = -9 WHERE cob = %s AND id = 9", TUESDAY)

    verification = story.tidegate().verify(deep=True)

    assert story.run().outcome == "nothing to do"
    assert findings(verification) == [
        f"error {TUESDAY}: equal counts, other content; the target was changed after it was loaded"
        f"; 1 missing in the target ({TUESDAY}, 9); 1 only in the target ({TUESDAY}, -9)"
        f"; 2 changed ({TUESDAY}, 7, {TUESDAY}, 8)"
    ]

    repaired = story.tidegate().repair()
    assert steps(repaired) == [(f"extract {TUESDAY}", "reload asked for"), (f"load {TUESDAY}", "reload asked for")]
    story.assert_in_step(*FIVE_DAYS)


# Days that the source purged


def test_file_of_a_purged_day_comes_from_the_target(story: Story):
    """When the source purged a day and its file is lost, the next run extracts the file from the target."""
    story.run()
    before = story.rows_in_target(MONDAY)
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()

    report = story.run()

    assert steps(report) == [(f"extract {MONDAY}", "missing in the lake, and no longer in the source")]
    assert_same_rows(story.rows_in_lake(MONDAY), before)
    assert_same_rows(story.rows_in_target(MONDAY), before)
    assert story.run().outcome == "nothing to do"


@pytest.mark.thorough
def test_file_from_a_changed_target_fails_verify(story: Story):
    """When a file was extracted from a target that somebody had changed, `verify` still reports the change."""
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()
    story.in_target("UPDATE trades SET amount = 0 WHERE cob = %s AND id = 7", MONDAY)

    story.run()

    verification = story.tidegate().verify()
    assert findings(verification) == [
        f"error {MONDAY}: no longer in the source; the target differs from what was loaded"
    ]


def test_day_lost_everywhere_is_reported(story: Story):
    """When source, lake and target all lost a day, the run warns that it cannot be restored."""
    story.run()
    story.in_source("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", MONDAY)
    story.lake_file(MONDAY).unlink()

    report = story.run()

    assert findings(report) == [
        f"warning {MONDAY}: gone from the target, and neither the source nor the lake holds it any more"
    ]


@pytest.mark.thorough
def test_day_without_a_file_comes_from_the_source(story: Story):
    """When the lake no longer retains a day and the target loses it, the run extracts it from the source."""
    story.settings["retain"] = {"lake": 2}
    story.run()
    story.in_target("DELETE FROM trades WHERE cob = %s", TUESDAY)

    story.run()

    assert_same_rows(story.rows_in_target(), story.rows_in_source())
