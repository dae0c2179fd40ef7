"""The planner of tables that are read by a mark: how far lake and ledger reach, and from where to read.

Marks are numbers, batches are `a`, `b`, `c` in the order of their reading. `in_step(5, 9)` is a table whose first batch
reached up to mark 5 and whose second one up to mark 9. Steps are written as `land from 5 to 9`, `load a as 2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.changes.mark import MarkEvidence, Window, as_counted, plan, reach, start_of
from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, LedgerEntry
from tidegate.model.plan import DAILY, Land, Load, Notice, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value

FLOOR = 1
ROWS = 10
"""Of each batch."""
RELOAD = Request(reload_all=True)


@dataclass(frozen=True)
class Rules:
    on_target_change: str = "report"


def mark(number: int) -> Value:
    return Value.of(number, Kind.INTEGER)


def batch(name: str) -> Value:
    return Value.of(name, Kind.TEXT)


def window(after: int | None, upto: int, **facts: Any) -> Window:
    low = None if after is None else mark(after)
    return Window(low, mark(upto), mark(upto), **{"tail": f"tail at {upto}", **facts})


def file(**facts: Any) -> LakeFile:
    return LakeFile("lake/file.parquet", "stamp", ROWS, "c" * 32, **{"columns_id": "columns", **facts})


def entry(generation: int = 1, kind: str = "loaded") -> LedgerEntry:
    return LedgerEntry(generation, kind, ROWS, "c" * 32, columns_id="columns")


def in_step(*marks: int) -> MarkEvidence:
    """Batches that follow on one another from the floor on, each landed and loaded."""
    lows = (FLOOR, *marks)
    windows = {
        batch(chr(ord("a") + place)): window(lows[place], upto, held=ROWS * (place + 1), read_at=str(place))
        for place, upto in enumerate(marks)
    }
    newest = marks[-1] if marks else FLOOR
    return MarkEvidence(
        source={},
        lake={name: file(read_at=one.read_at) for name, one in windows.items()},
        target={},
        ledger={name: entry() for name in windows},
        scope=Scope(mark(FLOOR)) if marks else None,
        is_ours=bool(marks),
        columns_id="columns",
        in_lake=windows,
        in_ledger=windows,
        next_batch=batch("z"),
        newest=mark(newest),
        settled=mark(newest),
        tail=f"tail at {newest}",
        floor=mark(FLOOR),
        rows=ROWS,
        held=ROWS * len(marks) if marks else None,
    )


def grown(seen: MarkEvidence, upto: int, **facts: Any) -> MarkEvidence:
    """The source has marks up to this one."""
    return replace(seen, **{"newest": mark(upto), "settled": mark(upto), "tail": f"tail at {upto}", **facts})


def without(seen: MarkEvidence, names: str, *, lake: bool = False, ledger: bool = False) -> MarkEvidence:
    """These batches are lost there."""

    def rest(held: Any) -> dict[Value, Any]:
        return {name: fact for name, fact in held.items() if name.text not in names}

    if lake:
        seen = replace(seen, lake=rest(seen.lake), in_lake=rest(seen.in_lake))
    return replace(seen, ledger=rest(seen.ledger), in_ledger=rest(seen.in_ledger)) if ledger else seen


def planned(seen: MarkEvidence, asked: Request = DAILY, look_back: int = 0, **rules: Any) -> list[Step]:
    return plan(Rules(**rules), seen, asked, look_back)[1]


def told(steps: Sequence[Step]) -> list[str]:
    words = []
    for step in steps:
        match step:
            case Land():
                read = Window.from_json(step.window, Kind.INTEGER)
                words.append(f"land from {read.after} to {read.upto}")
            case Load(value, _, generation, _, is_newest=is_newest, exact=exact):
                how = " exactly" if exact else "" if is_newest else " as an older one"
                words.append(f"load {value} as {generation}{how}")
    return words


def reasons(steps: Sequence[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Land, Load))]


def warnings(steps: Sequence[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice)]


# How far windows reach


@pytest.mark.parametrize(
    ("windows", "floor", "reached"),
    [
        ([], 1, None),
        ([(1, 5)], 1, 5),
        ([(0, 5)], 1, 5),
        ([(2, 5)], 1, None),
        ([(None, 5)], 1, 5),
        ([(None, 5)], None, 5),
        ([(1, 5)], None, None),
        ([(1, 5), (5, 9)], 1, 9),
        ([(5, 9), (1, 5)], 1, 9),
        ([(1, 5), (3, 9)], 1, 9),
        ([(1, 5), (6, 9)], 1, 5),
        ([(1, 9), (2, 5)], 1, 9),
        ([(1, 5), (7, 9), (5, 7)], 1, 9),
        ([(1, 5), (7, 9)], 7, 9),
    ],
)
def test_windows_reach_as_far_as_they_follow_on_one_another(
    windows: list[tuple[int | None, int]], floor: int | None, reached: int | None
):
    found = reach([window(*one) for one in windows], None if floor is None else mark(floor))
    assert found == (None if reached is None else mark(reached))


def test_reading_starts_at_the_smaller_of_what_lake_and_ledger_reach():
    ahead, behind = [window(1, 5), window(5, 9)], [window(1, 5)]
    assert start_of(ahead, behind, mark(FLOOR)) == mark(5)
    assert start_of(behind, ahead, mark(FLOOR)) == mark(5)
    assert start_of(ahead, [], mark(FLOOR)) is None
    assert start_of([], ahead, mark(FLOOR)) is None


WINDOWS = st.lists(st.tuples(st.none() | st.integers(0, 30), st.integers(0, 30)), max_size=8)


@given(WINDOWS, st.integers(0, 10))
def test_every_mark_from_the_floor_to_the_reach_was_read(windows: list[tuple[int | None, int]], floor: int):
    found = reach([window(*one) for one in windows], mark(floor))

    upto = floor if found is None else int(found.text)
    for number in range(floor, upto + 1):
        assert found is None or any((low is None or low <= number) and number <= high for low, high in windows)


@given(WINDOWS, st.integers(0, 10), st.randoms())
def test_the_order_of_windows_says_nothing(windows: list[tuple[int | None, int]], floor: int, chance: Any):
    made = [window(*one) for one in windows]
    shuffled = made.copy()
    chance.shuffle(shuffled)
    assert reach(shuffled, mark(floor)) == reach(made, mark(floor))


@given(WINDOWS, WINDOWS, st.integers(0, 10), st.integers(0, 5), st.integers(0, 40))
def test_nothing_is_skipped_between_the_floor_and_what_is_planned(
    lake: list[tuple[int | None, int]], ledger: list[tuple[int | None, int]], floor: int, look_back: int, newest: int
):
    """Every mark of the scope is in a file that is or will be loaded, or in the ledger, or in what is read now."""

    def named(windows: list[tuple[int | None, int]], prefix: str) -> dict[Value, Window]:
        return {batch(f"{prefix}{place}"): window(*one) for place, one in enumerate(windows)}

    in_lake, in_ledger = named(lake, "a"), named(ledger, "b")
    seen = replace(
        grown(in_step(), newest),
        lake={name: file() for name in in_lake},
        ledger={name: entry() for name in in_ledger},
        in_lake=in_lake,
        in_ledger=in_ledger,
        scope=Scope(mark(floor)),
        floor=mark(floor),
        is_ours=True,
        tail="something new",
    )

    steps = planned(seen, look_back=look_back)

    (land,) = (step for step in steps if isinstance(step, Land))
    read = Window.from_json(land.window, Kind.INTEGER)
    assert read.after is not None and read.upto == mark(newest)
    assert read.after >= mark(floor)
    for number in range(floor, int(read.after.text)):
        for side in (lake, ledger + lake):
            assert any((low is None or low <= number) and number <= high for low, high in side), number
    files = {step.value for step in steps if isinstance(step, Load)} - {land.value}
    assert files == set(in_lake)


# What follows from what is held


@pytest.mark.parametrize(
    ("seen", "steps", "why"),
    [
        (in_step(5, 9), [], ""),
        (
            replace(in_step(), floor=mark(FLOOR), newest=mark(9)),
            ["land from 1 to 9", "load z as 1"],
            "new in the source",
        ),
        (grown(in_step(5, 9), 12), ["land from 9 to 12", "load z as 1"], "changes in the source"),
        (replace(in_step(5, 9), tail="3 rows at 9"), ["land from 9 to 9", "load z as 1"], "changes in the source"),
        (without(in_step(5, 9), "b", lake=True), ["land from 5 to 9", "load z as 1"], "missing in the lake"),
        (without(in_step(5, 9), "a", lake=True), ["land from 1 to 9", "load z as 1"], "missing in the lake"),
        (without(in_step(5, 9), "ab", lake=True), ["land from 1 to 9", "load z as 1"], "missing in the lake"),
        (
            without(in_step(5, 9, 12), "b", lake=True),
            ["land from 5 to 12", "load z as 1"],
            "missing in the lake",
        ),
        (without(in_step(5, 9), "b", ledger=True), ["load b as 1"], "in the lake, not in the target"),
        (without(in_step(5, 9), "ab", ledger=True), ["load a as 1", "load b as 1"], "in the lake, not in the target"),
        (
            without(in_step(5, 9), "a", ledger=True),
            ["load a as 1 as an older one"],
            "in the lake, not in the target",
        ),
    ],
    ids=[
        "in step",
        "a first run",
        "new marks",
        "as many marks, other rows",
        "the newest file is lost",
        "the first file is lost",
        "all files are lost",
        "a hole between files",
        "landed, and not loaded",
        "a lost ledger",
        "an older batch comes after a newer one",
    ],
)
def test_what_follows_from_what_is_held(seen: MarkEvidence, steps: list[str], why: str):
    found = planned(seen)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_a_broken_file_is_read_again_and_never_loaded():
    seen = without(in_step(5, 9), "b", lake=True)
    broken = replace(seen, lake={**seen.lake, batch("b"): file(broken="it is cut off")})
    assert told(planned(broken)) == ["land from 5 to 9", "load z as 1"]
    assert told(planned(without(broken, "b", ledger=True))) == ["land from 5 to 9", "load z as 1"]


@pytest.mark.parametrize(("look_back", "low"), [(0, 9), (3, 6), (8, 1), (100, 1)])
def test_a_look_back_is_read_again_and_ends_at_the_floor(look_back: int, low: int):
    assert told(planned(grown(in_step(5, 9), 12), look_back=look_back))[0] == f"land from {low} to 12"


def test_other_columns_are_read_from_the_floor_on_and_older_files_are_left():
    seen = replace(without(in_step(5, 9), "b", ledger=True), columns_id="more columns")
    steps = planned(seen)
    assert told(steps) == ["land from 1 to 9", "load z as 1"]
    assert set(reasons(steps)) == {"it was extracted with other columns"}


def test_marks_in_the_future_are_read_and_do_not_advance_the_mark():
    steps = planned(grown(in_step(5, 9), 99, settled=mark(10)))
    (land,) = (step for step in steps if isinstance(step, Land))
    assert Window.from_json(land.window, Kind.INTEGER) == Window(mark(9), mark(99), mark(10))
    assert warnings(steps) == ["marks in the future, up to 99, are read and do not advance the mark"]


def test_where_all_marks_lie_in_the_future_the_mark_stays():
    steps = planned(grown(in_step(), 99, settled=None))
    (land,) = (step for step in steps if isinstance(step, Land))
    assert Window.from_json(land.window, Kind.INTEGER).mark == mark(FLOOR)


# Marks that a database counts for itself


def test_a_count_that_stands_where_it_was_reached_changes_nothing():
    assert as_counted(in_step(5, 9), mark(9)) == in_step(5, 9)


def test_of_a_source_that_was_restored_everything_is_read_again():
    """Its row versions are lower now than what was reached: what came since would never be read."""
    seen = as_counted(replace(grown(in_step(5, 9), 7), rows=ROWS), mark(7))
    steps = planned(seen)
    assert told(steps) == ["land from 1 to 7", "load z as 1"]
    assert reasons(steps)[0].startswith("the source was restored")
    [land] = [step for step in steps if isinstance(step, Land)]
    assert Window.from_json(land.window, Kind.INTEGER).mark == mark(7)


@pytest.mark.parametrize("now", [7, 8, 9, 20])
def test_after_that_only_what_is_new_is_read_whatever_the_count_has_passed(now: int):
    """What was reached before the restore is not reached once the count is as high again."""
    again = {batch("a"): window(FLOOR, 5), batch("b"): window(5, 9), batch("c"): window(FLOOR, 7)}
    files = {name: file() for name in again}
    ledger = {name: entry() for name in again}
    restored = replace(in_step(5, 9), lake=files, ledger=ledger, in_lake=again, in_ledger=again, tail="tail at 7")
    seen = as_counted(replace(restored, newest=mark(now), settled=mark(now)), mark(now))
    assert told(planned(seen if now == 7 else replace(seen, tail=""))) == (
        [] if now == 7 else [f"land from 7 to {now}", "load z as 1"]
    )


# What a person asks for


@pytest.mark.parametrize(
    ("asked", "loaded"), [(RELOAD, "load z as 1"), (Request(reload=frozenset({batch("a")})), "load z as 1 exactly")]
)
def test_a_reload_reads_the_whole_scope_and_a_repair_leaves_nothing_else(asked: Request, loaded: str):
    steps = planned(without(in_step(5, 9), "b", ledger=True), asked)
    assert told(steps) == ["land from 1 to 9", loaded]
    assert set(reasons(steps)) == {"reload asked for"}


@pytest.mark.parametrize(("between", "floor"), [((-9, 3), -9), ((3, 7), 1)])
def test_a_backfill_moves_the_floor_down_and_never_up(between: tuple[int, int], floor: int):
    low, high = map(mark, between)
    scope, steps = plan(Rules(), in_step(5, 9), Request(between=(low, high)), 0)
    assert scope == Scope(mark(floor))
    assert told(steps) == [f"land from {floor} to 9", "load z as 1"]


def test_the_scope_of_the_first_run_stays_when_the_floor_moves_on():
    scope, steps = plan(Rules(), replace(in_step(5, 9), floor=mark(8)), DAILY, 0)
    assert (scope, told(steps)) == (Scope(mark(FLOOR)), [])


@pytest.mark.parametrize("lost", ["in_lake", "in_ledger"])
def test_lost_scope_begins_where_the_oldest_window_does(lost: str):
    seen = replace(in_step(5, 9), floor=mark(8), scope=None, **{lost: {}})
    assert plan(Rules(), seen, DAILY, 0)[0] == Scope(mark(FLOOR))


def test_lost_scope_of_a_full_load_holds_everything():
    seen = replace(in_step(5), floor=mark(3), scope=None, in_lake={batch("a"): window(None, 5)})
    assert plan(Rules(), seen, DAILY, 0)[0] == Scope(None)


# The target


@pytest.mark.parametrize(
    ("held", "why"), [(19, "the target holds 19 of 20 versions"), (0, "the target holds 0 of 20 versions")]
)
def test_lost_versions_are_loaded_again_each_file_in_its_turn(held: int, why: str):
    steps = planned(replace(in_step(5, 9), held=held))
    assert told(steps) == ["load a as 2", "load b as 2"]
    assert set(reasons(steps)) == {why}


def test_a_target_that_is_gone_is_loaded_again():
    steps = planned(replace(in_step(5, 9), held=None))
    assert (told(steps), set(reasons(steps))) == (["load a as 2", "load b as 2"], {"gone from the target"})


@pytest.mark.parametrize(("policy", "noted"), [("report", 1), ("restore", 1), ("keep", 0)])
def test_versions_that_somebody_added_are_told(policy: str, noted: int):
    steps = planned(replace(in_step(5, 9), held=23), on_target_change=policy)
    assert told(steps) == []
    assert (
        warnings(steps) == ["the target holds 23 versions, 20 were there after the last load: somebody added 3"][:noted]
    )


FOREIGN = replace(in_step(), held=7)


def test_versions_that_no_ledger_knows_are_refused():
    with pytest.raises(ForeignTarget, match="The target holds 7 versions that no ledger knows"):
        planned(FOREIGN)


@pytest.mark.parametrize(
    ("seen", "asked", "policy"),
    [
        (FOREIGN, DAILY, "restore"),
        (FOREIGN, RELOAD, "report"),
        (replace(FOREIGN, is_ours=True), DAILY, "report"),
        (replace(FOREIGN, held=0), DAILY, "report"),
        (replace(FOREIGN, ledger={batch("all versions"): entry(kind="adopted")}), DAILY, "report"),
    ],
    ids=["they may be written over", "reload", "ours, with a lost ledger", "no rows", "adopted"],
)
def test_or_are_completed(seen: MarkEvidence, asked: Request, policy: str):
    assert told(planned(seen, asked, on_target_change=policy)) == ["land from 1 to 1", "load z as 1"]


# Sources without a mark


def whole(tail: str, **facts: Any) -> MarkEvidence:
    return replace(in_step(5, 9), is_whole=True, tail=tail, **facts)


@pytest.mark.parametrize(
    ("seen", "steps", "why"),
    [
        (whole("tail at 9"), [], ""),
        (whole("other rows"), ["land from None to None", "load z as 1"], "its content changed in the source"),
        (
            without(whole("tail at 9"), "ab", lake=True),
            ["land from None to None", "load z as 1"],
            "missing in the lake",
        ),
    ],
    ids=["nothing changed", "changed", "a lost lake"],
)
def test_a_source_that_is_compared_as_a_whole(seen: MarkEvidence, steps: list[str], why: str):
    found = planned(seen)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_a_reload_of_a_whole_source_is_no_exact_one():
    """What left the source is closed, not deleted."""
    assert told(planned(whole("tail at 9"), Request(reload=frozenset({batch("a")}))))[-1] == "load z as 1"


# What a person should know


@pytest.mark.parametrize(
    ("seen", "noted"),
    [
        (replace(in_step(), newest=None), "the source holds no versions"),
        (
            replace(in_step(), left_out=3),
            "3 versions that still hold, older than the window: left out; `initial_load: latest+window` takes them",
        ),
    ],
)
def test_what_a_plan_warns_of(seen: MarkEvidence, noted: str):
    steps = planned(seen)
    assert [step for step in steps if isinstance(step, Notice)] == [Notice(noted, severity="warning")]


@given(
    st.none() | st.integers(-99, 99),
    st.none() | st.integers(-99, 99),
    st.text(),
    st.none() | st.integers(0),
    st.booleans(),
)
def test_a_window_is_read_back_as_it_was_written(
    after: int | None, upto: int | None, tail: str, held: int | None, is_given: bool
):
    low, high = (None if one is None else mark(one) for one in (after, upto))
    written = Window(low, high, high, tail, held, "2024-01-31T10:00:00+00:00", is_given)
    assert Window.from_json(written.to_json(), Kind.INTEGER) == written


# Versions that are made here: one that says nothing new leaves no trace


def loaded_at(seen: MarkEvidence, **times: str) -> MarkEvidence:
    """Each batch was loaded then; what is named nowhere was not loaded."""
    ledger = {batch(name): replace(entry(), at=at) for name, at in times.items()}
    windows = {name: one for name, one in seen.in_ledger.items() if name in ledger}
    return replace(seen, ledger=ledger, in_ledger=windows, collapses=True)


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        ({"a": "1", "b": "2", "c": "3"}, []),
        ({"a": "1", "c": "3"}, ["load b as 1 as an older one", "load c as 2"]),
        ({"b": "1", "c": "2"}, ["load a as 1 as an older one", "load b as 2 as an older one", "load c as 2"]),
        ({"a": "1", "b": "3", "c": "2"}, ["load c as 2"]),
        ({"a": "4", "b": "5", "c": "2"}, ["load c as 2"]),
        ({"a": "3", "b": "1", "c": "2"}, ["load b as 2 as an older one", "load c as 2"]),
    ],
)
def test_what_was_read_after_a_late_batch_comes_again(times: dict[str, str], steps: list[str]):
    """Also where the run that loaded the late one was interrupted before the others."""
    seen = loaded_at(in_step(5, 7, 9), **times)
    assert told(planned(seen)) == steps
    assert [step for step in told(planned(replace(seen, collapses=False))) if "as 2" in step] == []


@pytest.mark.parametrize(("first_mark", "again"), [(None, True), (8, True), (9, True), (10, False)])
def test_what_was_read_comes_again_after_rows_that_were_handed_in(first_mark: int | None, again: bool):
    """Unless all of them lie behind it."""
    seen = loaded_at(in_step(9), a="1")
    given = Window(None if first_mark is None else mark(first_mark), None, None, is_given=True)
    seen = replace(seen, lake={**seen.lake, batch("b"): file(read_at="1")}, given={batch("b"): given})
    assert told(planned(seen)) == ["load b as 1", *(["load a as 2 as an older one"] if again else [])]


def test_how_many_versions_were_there_is_told_by_the_last_load_whichever_batch_it_was():
    seen = loaded_at(in_step(5, 9), a="2", b="1")
    late = {name: replace(one, held=ROWS * 3) if name == batch("a") else one for name, one in seen.in_ledger.items()}
    assert replace(seen, in_ledger=late).held_before == ROWS * 3


def test_where_keys_are_read_a_window_says_when():
    seen = grown(in_step(5), 9, seen_at=mark(12))
    land = next(step for step in planned(seen) if isinstance(step, Land))
    assert Window.from_json(land.window, Kind.INTEGER).seen_at == mark(12)


def test_when_the_newest_row_is_gone_what_was_reached_stays_reached():
    seen = grown(in_step(5, 9), 7)
    land = next(step for step in planned(seen) if isinstance(step, Land))
    read = Window.from_json(land.window, Kind.INTEGER)
    assert (read.upto, read.mark) == (mark(7), mark(9))


# Columns that left the source

TWO = {"columns": ("id", "name"), "storage_types": ("int32", "string"), "columns_id": "before"}


@pytest.mark.parametrize(
    ("now", "is_read"),
    [({"id": "int32"}, False), ({"id": "int32", "city": "string"}, True), ({"id": "int64"}, True)],
    ids=["one left", "one left, one came", "one left, one wider"],
)
def test_a_dropped_column_is_no_reason_to_read_all(now: dict[str, str], is_read: bool):
    seen = in_step(5, 9)
    files = {name: replace(found, **TWO) for name, found in seen.lake.items()}
    entries = {name: replace(found, **TWO) for name, found in seen.ledger.items()}

    steps = planned(replace(seen, lake=files, ledger=entries, storage_types=now))

    assert bool(told(steps)) == is_read


def test_a_dropped_column_that_comes_back_is_read():
    """A run wrote into the ledger that the column had left; the file does not know of it."""
    seen = in_step(5, 9)
    files = {name: replace(found, **TWO) for name, found in seen.lake.items()}
    entries = {name: replace(found, **TWO) for name, found in seen.ledger.items()}
    dropped = replace(seen, lake=files, ledger=entries, storage_types={"id": "int32"})
    marked = {name: dropped.without_dropped(found) for name, found in entries.items()}

    steps = planned(replace(dropped, ledger=marked, storage_types={"id": "int32", "name": "string"}))

    assert reasons(steps)[0] == "it was extracted with other columns"
