"""Planning an incremental table: where reading starts, how far the watermark goes, and which gaps are carried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate.changes._incremental.plan import plan
from tidegate.changes._incremental.state import IncrementalState, OpenTransaction
from tidegate.model.plan import DAILY, Extract, Load, Notice, Request, Step
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue
from tidegate.model.tokens import Gap, IncrementalWindow, Token
from tidegate.model.values import Value, ValueKind
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.settings import Retain


class Rules:
    on_target_change = "report"
    retain = Retain()
    max_hold = 900
    null_cursor = "refuse"


def at(minute: int) -> Value:
    return Value.of(f"2024-01-31 10:{minute:02}:00", ValueKind.TIMESTAMP)


def name(letter: str) -> Value:
    return Value.of(letter, ValueKind.TEXT)


def in_sync(**facts: Any) -> IncrementalState:
    """Return a table of which one window was read and loaded, up to minute 10."""
    window = IncrementalWindow(None, at(10), at(10), "as it was")
    entry = LedgerEntry(1, "loaded", 5, "h", token=window, target_rows=5, at="1")
    file = LakeEntry("a", "e", 5, "h", token=window, read_at="1")
    state = IncrementalState(
        source={ALL: SourceValue()},
        lake={name("a"): file},
        target={ALL: 5},
        ledger={name("a"): entry},
        in_lake={name("a"): window},
        in_ledger={name("a"): window},
        next_window=name("b"),
        newest=at(10),
        newest_past=at(10),
        clock=at(30),
        lookback_fingerprint="as it was",
        target_rows=5,
    )
    return replace(state, **facts)


def planned(state: IncrementalState, request: Request = DAILY) -> list[Step]:
    return plan(Rules(), state, request, lambda watermark, clock: watermark.minus(60))[1]  # type: ignore[arg-type]


def window_of(state: IncrementalState) -> IncrementalWindow:
    [extract] = [step for step in planned(state) if isinstance(step, Extract)]
    assert isinstance(extract.token, IncrementalWindow)
    return extract.token


def grown(**facts: Any) -> IncrementalState:
    return in_sync(newest=at(20), newest_past=at(20), lookback_fingerprint="", rows=3, **facts)


def with_gap(state: IncrementalState) -> IncrementalState:
    window = replace(state.in_lake[name("a")], gaps=(Gap(at(4), "7 x", "app", ""),))
    return replace(state, in_lake={name("a"): window}, in_ledger={name("a"): window})


def holder(low: int, age: int, session: str = "7 x") -> OpenTransaction:
    return OpenTransaction(session, "app", age, at(low))


def test_nothing_new_plans_nothing():
    assert planned(in_sync()) == []


def test_reading_starts_a_look_back_before_the_watermark():
    window = window_of(grown())
    assert (window.after, window.upto, window.watermark, window.reached) == (at(9), at(20), at(20), at(10))
    assert [type(step) for step in planned(grown())] == [Extract, Load]


def test_open_transaction_holds_the_watermark():
    window = window_of(grown(holders=(holder(15, 60),)))
    assert (window.upto, window.watermark, window.gaps) == (at(20), at(15), ())
    assert window.held_by == ("session 7 (app, open for 60 s)",)


def test_watermark_never_goes_back():
    assert window_of(grown(holders=(holder(5, 600),))).watermark == at(10)


def test_transaction_beyond_max_hold_becomes_a_gap():
    window = window_of(grown(holders=(holder(15, 901),)))
    assert (window.watermark, [gap.low for gap in window.gaps]) == (at(20), [at(15)])


def test_gap_is_carried_while_its_transaction_is_open():
    window = window_of(with_gap(grown(holders=(holder(4, 2000),))))
    assert (window.after, [gap.low for gap in window.gaps]) == (at(9), [at(4)])


def test_gap_is_read_again_when_its_transaction_ended():
    state = with_gap(in_sync())
    window = window_of(state)
    assert (window.after, window.gaps) == (at(4), ())
    assert any("has ended" in step.why for step in planned(state) if isinstance(step, Extract))


def test_held_window_is_read_once_more_when_nobody_holds_it():
    window = replace(in_sync().in_lake[name("a")], held_by=("session 7",))
    state = in_sync(in_lake={name("a"): window}, in_ledger={name("a"): window})
    assert window_of(state).held_by == ()
    assert planned(replace(state, holders=(holder(5, 60),))) == []


def test_future_values_do_not_advance_the_watermark():
    state = in_sync(newest=at(59), newest_past=at(20), lookback_fingerprint="")
    assert (window_of(state).upto, window_of(state).watermark) == (at(59), at(20))
    assert any("in the future" in step.text for step in planned(state) if isinstance(step, Notice))


@pytest.mark.parametrize("lost", ["lake", "ledger"])
def test_lost_window_is_read_or_loaded_again(lost: str):
    empty: dict[Value, Token] = {}
    facts = {lost: {}, f"in_{lost}": empty}
    steps = [type(step) for step in planned(in_sync(**facts))]
    assert steps == ([Extract, Load] if lost == "lake" else [Load])


def test_lost_rows_are_loaded_from_the_lake():
    [load] = planned(in_sync(target_rows=3))
    assert isinstance(load, Load)
    assert load.why == "the target holds 3 of 5 rows"


def test_every_window_is_whole_where_the_load_asks():
    steps = plan(Rules(), grown(), DAILY, lambda watermark, clock: watermark, all_rows=True)[1]
    assert isinstance(steps[0], Extract)
    assert isinstance(steps[0].token, IncrementalWindow)
    assert steps[0].token.after is None


def test_watermark_stays_behind_the_clock():
    """A transaction that has just begun may not be listed yet. Its row is older than one that was read."""
    second = Value.of("2024-01-31 10:19:59", ValueKind.TIMESTAMP)
    assert window_of(replace(grown(), clock=second, newest=second, newest_past=second)).watermark == Value.of(
        "2024-01-31 10:19:57", ValueKind.TIMESTAMP
    )
    assert window_of(replace(grown(), clock=at(21))).watermark == at(20)


def test_clock_that_was_set_back_is_read_from():
    """Rows that were written since have times from before the watermark."""
    state = in_sync(set_back=1800)
    [extract, *_] = planned(state)
    assert isinstance(extract, Extract) and "was set back by 1,800 s" in extract.why
    assert window_of(state).after == Value.of("2024-01-31 09:39:00", ValueKind.TIMESTAMP)


def test_prepared_transaction_keeps_all_gaps():
    """It has left its session, so its name is another one. What it may bring is not read too early."""
    state = with_gap(in_sync(holders=(holder(10, 5, "prepared gid-1"),)))
    assert state.settled == () and state.still_open(state.gaps) == state.gaps


def test_rows_since_a_clock_went_ahead_are_read():
    """The newest window was planned when the clock had been corrected: below its watermark, which stays."""
    ahead = replace(in_sync().in_lake[name("a")], clock=at(3))
    state = grown(in_lake={name("a"): ahead}, in_ledger={name("a"): ahead})
    assert (window_of(state).after, window_of(state).watermark) == (at(2), at(20))


@pytest.mark.parametrize(("first", "second", "follows"), [(2, "2", False), (2, "4", True), (1, "4", False)])
def test_windows_follow_again_after_an_interrupted_reload(first: int, second: str, follows: bool):
    """Window a was loaded for the second time, after b: the run that was to load b again, too, was interrupted."""
    state = in_sync()
    window, entry, file = (places[name("a")] for places in (state.in_lake, state.ledger, state.lake))
    loaded = {name("a"): replace(entry, generation=first, at=second), name("b"): replace(entry, at="3")}
    both = {name("a"): window, name("b"): window}
    files = {name("a"): file, name("b"): replace(file, id="b")}
    state = replace(state, lake=files, ledger=loaded, in_lake=both, in_ledger=both, next_window=name("c"))
    assert [step.value for step in planned(state) if isinstance(step, Load)] == ([name("b")] if follows else [])
