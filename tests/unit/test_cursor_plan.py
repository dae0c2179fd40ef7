"""The planner of tables with a cursor: where reading starts and which batches are loaded.

Cursors are numbers. Batches are `a`, `b`, `c` in the order in which they were read. `in_sync(5, 9)` is a table whose
first batch ends at cursor 5 and whose second batch ends at cursor 9. Steps are written as `extract from 5 to 9`, `load
a as 2`, `remove a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.changes._watermarks import start_of, watermark_of
from tidegate.changes.cursor.plan import CursorState, plan, without_other_counters
from tidegate.errors import ForeignTarget
from tidegate.model.plan import DAILY, Extract, Load, Notice, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, TableState
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value, ValueKind

FLOOR = 1
ROWS = 10
"""Of each batch."""
RELOAD = Request(reload_all=True)


@dataclass(frozen=True)
class Retain:
    lake: int | None = None


@dataclass(frozen=True)
class Rules:
    on_target_change: str = "report"
    retain: Retain = Retain()


def cursor(number: int) -> Value:
    return Value.of(number, ValueKind.INTEGER)


def batch(name: str) -> Value:
    return Value.of(name, ValueKind.TEXT)


def window(after: int | None, upto: int, **facts: Any) -> CursorWindow:
    low = None if after is None else cursor(after)
    return CursorWindow(low, cursor(upto), cursor(upto), **{"lookback_fingerprint": f"rows at {upto}", **facts})


def file(**facts: Any) -> LakeEntry:
    return LakeEntry("lake/file.parquet", "etag", ROWS, "c" * 32, **{"columns_id": "columns", **facts})


def entry(generation: int = 1, kind: str = "loaded", **facts: Any) -> LedgerEntry:
    return LedgerEntry(generation, kind, ROWS, "c" * 32, columns_id="columns", **facts)


def in_sync(*cursors: int) -> CursorState:
    """Batches that follow on one another from the floor on, each extracted and loaded."""
    lows = (FLOOR, *cursors)
    windows = {
        batch(chr(ord("a") + place)): window(lows[place], upto, read_at=str(place))
        for place, upto in enumerate(cursors)
    }
    newest = cursors[-1] if cursors else FLOOR
    return CursorState(
        source={},
        lake={name: file(read_at=one.read_at) for name, one in windows.items()},
        target={},
        ledger={name: entry(target_rows=ROWS * (place + 1)) for place, name in enumerate(windows)},
        scope=Scope(cursor(FLOOR)) if cursors else None,
        is_ours=bool(cursors),
        columns_id="columns",
        in_lake=windows,
        in_ledger=windows,
        next_window=batch("z"),
        newest=cursor(newest),
        newest_past=cursor(newest),
        lookback_fingerprint=f"rows at {newest}",
        floor=cursor(FLOOR),
        rows=ROWS,
        target_rows=ROWS * len(cursors) if cursors else None,
    )


def grown(seen: CursorState, upto: int, **facts: Any) -> CursorState:
    """The source has cursors up to this one."""
    source = {"newest": cursor(upto), "newest_past": cursor(upto), "lookback_fingerprint": f"rows at {upto}"}
    return replace(seen, **{**source, **facts})


def without(seen: CursorState, names: str, *, lake: bool = False, ledger: bool = False) -> CursorState:
    """These batches are lost there."""

    def rest(held: Any) -> dict[Value, Any]:
        return {name: fact for name, fact in held.items() if name.text not in names}

    if lake:
        seen = replace(seen, lake=rest(seen.lake), in_lake=rest(seen.in_lake))
    return replace(seen, ledger=rest(seen.ledger), in_ledger=rest(seen.in_ledger)) if ledger else seen


def planned(seen: CursorState, asked: Request = DAILY, look_back: int = 0, **rules: Any) -> list[Step]:
    return plan(Rules(**rules), seen, asked, look_back)[1]


def read_by(step: Extract) -> CursorWindow:
    assert isinstance(step.token, CursorWindow)
    return step.token


def told(steps: Sequence[Step]) -> list[str]:
    words = []
    for step in steps:
        match step:
            case Extract():
                read = read_by(step)
                words.append(f"extract from {read.after} to {read.upto}")
            case Load(value, _, generation, _, is_newest=is_newest, exact=exact):
                how = " exactly" if exact else "" if is_newest else " as an older one"
                words.append(f"load {value} as {generation}{how}")
            case Remove(value, "lake"):
                words.append(f"remove {value}")
    return words


def reasons(steps: Sequence[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Extract, Load, Remove))]


def warnings(steps: Sequence[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice)]


# Windows and watermarks


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
def test_watermark_ends_at_the_first_gap(windows: list[tuple[int | None, int]], floor: int | None, reached: int | None):
    """The watermark is the end of the windows that connect to each other from the floor on."""
    found = watermark_of([window(*one) for one in windows], None if floor is None else cursor(floor))
    assert found == (None if reached is None else cursor(reached))


def test_reading_starts_at_the_lower_watermark():
    """Reading starts at the lower watermark of lake and ledger."""
    ahead, behind = [window(1, 5), window(5, 9)], [window(1, 5)]
    assert start_of(ahead, behind, cursor(FLOOR)) == cursor(5)
    assert start_of(behind, ahead, cursor(FLOOR)) == cursor(5)
    assert start_of(ahead, [], cursor(FLOOR)) is None
    assert start_of([], ahead, cursor(FLOOR)) is None


WINDOWS = st.lists(st.tuples(st.none() | st.integers(0, 30), st.integers(0, 30)), max_size=8)


@given(WINDOWS, st.integers(0, 10))
def test_no_cursor_below_the_watermark_is_skipped(windows: list[tuple[int | None, int]], floor: int):
    """Every cursor from the floor to the watermark is in a window."""
    found = watermark_of([window(*one) for one in windows], cursor(floor))

    upto = floor if found is None else int(found.text)
    for number in range(floor, upto + 1):
        assert found is None or any((low is None or low <= number) and number <= high for low, high in windows)


@given(WINDOWS, st.integers(0, 10), st.randoms())
def test_window_order_does_not_matter(windows: list[tuple[int | None, int]], floor: int, chance: Any):
    """The order of the windows does not change the watermark."""
    made = [window(*one) for one in windows]
    shuffled = made.copy()
    chance.shuffle(shuffled)
    assert watermark_of(shuffled, cursor(floor)) == watermark_of(made, cursor(floor))


@given(WINDOWS, WINDOWS, st.integers(0, 10), st.integers(0, 5), st.integers(0, 40))
def test_plan_skips_no_cursor_of_the_scope(
    lake: list[tuple[int | None, int]], ledger: list[tuple[int | None, int]], floor: int, look_back: int, newest: int
):
    """Each cursor of the scope is in a file that is or will be loaded, in the ledger, or in the planned window."""

    def named(windows: list[tuple[int | None, int]], prefix: str) -> dict[Value, CursorWindow]:
        return {batch(f"{prefix}{place}"): window(*one) for place, one in enumerate(windows)}

    in_lake, in_ledger = named(lake, "a"), named(ledger, "b")
    seen = replace(
        grown(in_sync(), newest),
        lake={name: file() for name in in_lake},
        ledger={name: entry() for name in in_ledger},
        in_lake=in_lake,
        in_ledger=in_ledger,
        scope=Scope(cursor(floor)),
        floor=cursor(floor),
        is_ours=True,
        lookback_fingerprint="something new",
    )

    steps = planned(seen, look_back=look_back)

    (extract,) = (step for step in steps if isinstance(step, Extract))
    read = read_by(extract)
    assert read.after is not None and read.upto == cursor(newest)
    assert read.after >= cursor(floor)
    for number in range(floor, int(read.after.text)):
        for side in (lake, ledger + lake):
            assert any((low is None or low <= number) and number <= high for low, high in side), number
    files = {step.value for step in steps if isinstance(step, Load)} - {extract.value}
    assert files == set(in_lake)


# Steps that follow from the state


@pytest.mark.parametrize(
    ("seen", "steps", "why"),
    [
        (in_sync(5, 9), [], ""),
        (
            replace(in_sync(), floor=cursor(FLOOR), newest=cursor(9)),
            ["extract from 1 to 9", "load z as 1"],
            "new in the source",
        ),
        (grown(in_sync(5, 9), 12), ["extract from 9 to 12", "load z as 1"], "changes in the source"),
        (
            replace(in_sync(5, 9), lookback_fingerprint="3 rows at 9"),
            ["extract from 9 to 9", "load z as 1"],
            "changes in the source",
        ),
        (without(in_sync(5, 9), "b", lake=True), ["extract from 5 to 9", "load z as 1"], "missing in the lake"),
        (without(in_sync(5, 9), "a", lake=True), ["extract from 1 to 9", "load z as 1"], "missing in the lake"),
        (without(in_sync(5, 9), "ab", lake=True), ["extract from 1 to 9", "load z as 1"], "missing in the lake"),
        (
            without(in_sync(5, 9, 12), "b", lake=True),
            ["extract from 5 to 12", "load z as 1"],
            "missing in the lake",
        ),
        (without(in_sync(5, 9), "b", ledger=True), ["load b as 1"], "in the lake, not in the target"),
        (without(in_sync(5, 9), "ab", ledger=True), ["load a as 1", "load b as 1"], "in the lake, not in the target"),
        (
            without(in_sync(5, 9), "a", ledger=True),
            ["load a as 1 as an older one"],
            "in the lake, not in the target",
        ),
    ],
    ids=[
        "in sync",
        "a first run",
        "new cursors",
        "as many cursors, other rows",
        "the newest file is lost",
        "the first file is lost",
        "all files are lost",
        "a hole between files",
        "extracted, and not loaded",
        "a lost ledger",
        "an older batch comes after a newer one",
    ],
)
def test_steps_follow_from_the_state(seen: CursorState, steps: list[str], why: str):
    """Each difference between source, lake and ledger leads to its steps and its reason."""
    found = planned(seen)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_broken_file_is_read_again():
    """The window of a broken file is read again, and the file is never loaded."""
    seen = without(in_sync(5, 9), "b", lake=True)
    broken = replace(seen, lake={**seen.lake, batch("b"): file(broken="it is cut off")})
    assert told(planned(broken)) == ["extract from 5 to 9", "load z as 1"]
    assert told(planned(without(broken, "b", ledger=True))) == ["extract from 5 to 9", "load z as 1"]


@pytest.mark.parametrize(("look_back", "low"), [(0, 9), (3, 6), (8, 1), (100, 1)])
def test_look_back_ends_at_the_floor(look_back: int, low: int):
    """The look-back is read again, but never below the floor."""
    assert told(planned(grown(in_sync(5, 9), 12), look_back=look_back))[0] == f"extract from {low} to 12"


def test_changed_columns_are_read_from_the_floor():
    """When the columns change, everything from the floor on is read again and older files are not loaded."""
    seen = replace(without(in_sync(5, 9), "b", ledger=True), columns_id="more columns")
    steps = planned(seen)
    assert told(steps) == ["extract from 1 to 9", "load z as 1"]
    assert set(reasons(steps)) == {"it was extracted with other columns"}


def test_future_cursors_do_not_advance_the_watermark():
    """Rows with cursors in the future are read with a warning, and the watermark stays at the present."""
    steps = planned(grown(in_sync(5, 9), 99, newest_past=cursor(10)))
    (extract,) = (step for step in steps if isinstance(step, Extract))
    assert read_by(extract) == CursorWindow(cursor(9), cursor(99), cursor(10))
    assert warnings(steps) == ["cursor values in the future, up to 99, are read and do not advance the watermark"]


def test_only_future_cursors_keep_the_watermark():
    """When all cursors are in the future, the watermark stays at the floor."""
    steps = planned(grown(in_sync(), 99, newest_past=None))
    (extract,) = (step for step in steps if isinstance(step, Extract))
    assert read_by(extract).watermark == cursor(FLOOR)


# Counters of the database, such as row versions


def test_unchanged_counter_changes_nothing():
    """When the source's counter equals the watermark, the state is unchanged."""
    assert without_other_counters(in_sync(5, 9), cursor(9)) == in_sync(5, 9)


def test_restored_source_is_read_again():
    """After a restore, row versions are lower than the watermark. New rows would be missed, so everything is read
    again."""
    seen = without_other_counters(replace(grown(in_sync(5, 9), 7), rows=ROWS), cursor(7))
    steps = planned(seen)
    assert told(steps) == ["extract from 1 to 7", "load z as 1"]
    assert reasons(steps)[0].startswith("the source was restored")
    [extract] = [step for step in steps if isinstance(step, Extract)]
    assert read_by(extract).watermark == cursor(7)


@pytest.mark.parametrize("now", [7, 8, 9, 20])
def test_after_a_restore_only_new_rows_are_read(now: int):
    """The watermark from before the restore does not count again when the counter passes it."""
    again = {batch("a"): window(FLOOR, 5), batch("b"): window(5, 9), batch("c"): window(FLOOR, 7)}
    files = {name: file() for name in again}
    ledger = {name: entry() for name in again}
    restored = replace(
        in_sync(5, 9), lake=files, ledger=ledger, in_lake=again, in_ledger=again, lookback_fingerprint="rows at 7"
    )
    seen = without_other_counters(replace(restored, newest=cursor(now), newest_past=cursor(now)), cursor(now))
    assert told(planned(seen if now == 7 else replace(seen, lookback_fingerprint=""))) == (
        [] if now == 7 else [f"extract from 7 to {now}", "load z as 1"]
    )


# Reload, repair and backfill


@pytest.mark.parametrize(
    ("asked", "loaded"), [(RELOAD, "load z as 1"), (Request(reload=frozenset({batch("a")})), "load z as 1 exactly")]
)
def test_reload_reads_the_whole_scope(asked: Request, loaded: str):
    """A reload and a repair read the whole scope. Only a repair removes rows that the source lacks."""
    steps = planned(without(in_sync(5, 9), "b", ledger=True), asked)
    assert told(steps) == ["extract from 1 to 9", loaded]
    assert set(reasons(steps)) == {"reload asked for"}


@pytest.mark.parametrize(("between", "floor"), [((-9, 3), -9), ((3, 7), 1)])
def test_backfill_only_lowers_the_floor(between: tuple[int, int], floor: int):
    """A backfill moves the floor down and never up."""
    low, high = map(cursor, between)
    scope, steps = plan(Rules(), in_sync(5, 9), Request(between=(low, high)), 0)
    assert scope == Scope(cursor(floor))
    assert told(steps) == [f"extract from {floor} to 9", "load z as 1"]


def test_scope_stays_when_the_initial_window_moves():
    """The scope of the first run stays although the window of `initial_load_days` moves on."""
    scope, steps = plan(Rules(), replace(in_sync(5, 9), floor=cursor(8)), DAILY, 0)
    assert (scope, told(steps)) == (Scope(cursor(FLOOR)), [])


@pytest.mark.parametrize("lost", ["in_lake", "in_ledger"])
def test_lost_scope_starts_at_the_oldest_window(lost: str):
    """A lost scope starts at the oldest window of lake or ledger."""
    seen = replace(in_sync(5, 9), floor=cursor(8), scope=None, **{lost: {}})
    assert plan(Rules(), seen, DAILY, 0)[0] == Scope(cursor(FLOOR))


def test_lost_scope_of_a_full_load_is_unlimited():
    """When a window has no lower bound, the rebuilt scope has none either."""
    seen = replace(in_sync(5), floor=cursor(3), scope=None, in_lake={batch("a"): window(None, 5)})
    assert plan(Rules(), seen, DAILY, 0)[0] == Scope(None)


# The target


@pytest.mark.parametrize(
    ("held", "why"), [(19, "the target holds 19 of 20 versions"), (0, "the target holds 0 of 20 versions")]
)
def test_lost_versions_reload_every_file_in_order(held: int, why: str):
    """When the target has fewer versions than after the last load, every file is loaded again in order."""
    steps = planned(replace(in_sync(5, 9), target_rows=held))
    assert told(steps) == ["load a as 2", "load b as 2"]
    assert set(reasons(steps)) == {why}


def test_missing_target_is_loaded_again():
    """When the target table is missing, every file is loaded again."""
    steps = planned(replace(in_sync(5, 9), target_rows=None))
    assert (told(steps), set(reasons(steps))) == (["load a as 2", "load b as 2"], {"gone from the target"})


@pytest.mark.parametrize(("policy", "noted"), [("report", 1), ("restore", 1), ("keep", 0)])
def test_added_versions_are_reported(policy: str, noted: int):
    """When the target has more versions than after the last load, the plan warns unless the policy is `keep`."""
    steps = planned(replace(in_sync(5, 9), target_rows=23), on_target_change=policy)
    assert told(steps) == []
    assert (
        warnings(steps) == ["the target holds 23 versions, 20 were there after the last load: somebody added 3"][:noted]
    )


FOREIGN = replace(in_sync(), target_rows=7)


def test_foreign_versions_are_refused():
    """A target with versions that no ledger knows is refused."""
    with pytest.raises(ForeignTarget, match="The target holds 7 versions that no ledger knows"):
        planned(FOREIGN)


@pytest.mark.parametrize(
    ("seen", "asked", "policy"),
    [
        (FOREIGN, DAILY, "restore"),
        (FOREIGN, RELOAD, "report"),
        (replace(FOREIGN, is_ours=True), DAILY, "report"),
        (replace(FOREIGN, target_rows=0), DAILY, "report"),
        (replace(FOREIGN, ledger={batch("all versions"): entry(kind="adopted")}), DAILY, "report"),
    ],
    ids=["they may be written over", "reload", "ours, with a lost ledger", "no rows", "adopted"],
)
def test_foreign_versions_are_completed_if_allowed(seen: CursorState, asked: Request, policy: str):
    """Foreign versions are loaded over when they are adopted, ours, or when a setting or a reload allows it."""
    assert told(planned(seen, asked, on_target_change=policy)) == ["extract from 1 to 1", "load z as 1"]


# Sources without a cursor


def whole(fingerprint: str, **facts: Any) -> CursorState:
    return replace(in_sync(5, 9), is_whole=True, lookback_fingerprint=fingerprint, **facts)


@pytest.mark.parametrize(
    ("seen", "steps", "why"),
    [
        (whole("rows at 9"), [], ""),
        (whole("other rows"), ["extract from None to None", "load z as 1"], "its content changed in the source"),
        (
            without(whole("rows at 9"), "ab", lake=True),
            ["extract from None to None", "load z as 1"],
            "missing in the lake",
        ),
    ],
    ids=["nothing changed", "changed", "a lost lake"],
)
def test_source_without_cursor_is_compared_whole(seen: CursorState, steps: list[str], why: str):
    """Without a cursor, the whole source is read when its content changed or a file is missing."""
    found = planned(seen)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_reload_without_cursor_deletes_no_version():
    """Keys that left the source are closed, not deleted."""
    assert told(planned(whole("rows at 9"), Request(reload=frozenset({batch("a")}))))[-1] == "load z as 1"


# Warnings


@pytest.mark.parametrize(
    ("seen", "noted"),
    [
        (replace(in_sync(), newest=None), "the source holds no versions"),
        (
            replace(in_sync(), current_left_out=3),
            "3 current versions older than the window: left out; `initial_load: latest+window` takes them",
        ),
    ],
)
def test_plan_warnings(seen: CursorState, noted: str):
    """The plan warns about an empty source and about current versions that the first window leaves out."""
    steps = planned(seen)
    assert [step for step in steps if isinstance(step, Notice)] == [Notice(noted, severity="warning")]


# Generated history: a row without a change creates no version


def loaded_at(seen: CursorState, **times: str) -> CursorState:
    """Each batch was loaded then; what is named nowhere was not loaded."""
    ledger = {batch(name): replace(seen.ledger[batch(name)], at=at) for name, at in times.items()}
    windows = {name: one for name, one in seen.in_ledger.items() if name in ledger}
    return replace(seen, ledger=ledger, in_ledger=windows, order_matters=True)


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
def test_batches_after_a_late_one_are_reloaded(times: dict[str, str], steps: list[str]):
    """With generated history, batches read after a late one are loaded again, also when a run was interrupted in
    between."""
    seen = loaded_at(in_sync(5, 7, 9), **times)
    assert told(planned(seen)) == steps
    assert [step for step in told(planned(replace(seen, order_matters=False))) if "as 2" in step] == []


@pytest.mark.parametrize(("first_cursor", "again"), [(None, True), (8, True), (9, True), (10, False)])
def test_batches_are_reloaded_after_passed_rows(first_cursor: int | None, again: bool):
    """After rows were passed in, later batches are loaded again, unless all passed rows are newer."""
    seen = loaded_at(in_sync(9), a="1")
    given = CursorWindow(None if first_cursor is None else cursor(first_cursor), None, None, is_given=True)
    seen = replace(seen, lake={**seen.lake, batch("b"): file(read_at="1")}, given={batch("b"): given})
    assert told(planned(seen)) == ["load b as 1", *(["load a as 2 as an older one"] if again else [])]


def test_last_load_decides_the_expected_count():
    """The expected number of versions comes from the last load, whichever batch it was."""
    seen = loaded_at(in_sync(5, 9), a="2", b="1")
    late = {**seen.ledger, batch("a"): replace(seen.ledger[batch("a")], target_rows=ROWS * 3)}
    assert replace(seen, ledger=late).expected_rows == ROWS * 3


def test_window_records_when_keys_were_read():
    """When keys are read, the window records the time at which they were seen."""
    seen = grown(in_sync(5), 9, keys_read_at=cursor(12))
    extract = next(step for step in planned(seen) if isinstance(step, Extract))
    assert read_by(extract).keys_read_at == cursor(12)


def test_deleted_newest_row_keeps_the_watermark():
    """When the source deletes its newest row, the watermark does not go back."""
    seen = grown(in_sync(5, 9), 7)
    extract = next(step for step in planned(seen) if isinstance(step, Extract))
    read = read_by(extract)
    assert (read.upto, read.watermark) == (cursor(7), cursor(9))


# Columns that left the source

TWO = {"columns": ("id", "name"), "storage_types": ("int32", "string"), "columns_id": "before"}


@pytest.mark.parametrize(
    ("now", "is_read"),
    [({"id": "int32"}, False), ({"id": "int32", "city": "string"}, True), ({"id": "int64"}, True)],
    ids=["one left", "one left, one came", "one left, one wider"],
)
def test_dropped_column_causes_no_full_read(now: dict[str, str], is_read: bool):
    """When the source only drops a column, nothing is read. A new or wider column causes a full read."""
    seen = in_sync(5, 9)
    files = {name: replace(found, **TWO) for name, found in seen.lake.items()}
    entries = {name: replace(found, **TWO) for name, found in seen.ledger.items()}

    steps = planned(replace(seen, lake=files, ledger=entries, storage_types=now))

    assert bool(told(steps)) == is_read


def test_returned_column_is_read():
    """The ledger recorded that a column was dropped, and the file does not know it. When the column returns, it is
    read."""
    seen = in_sync(5, 9)
    files = {name: replace(found, **TWO) for name, found in seen.lake.items()}
    entries = {name: replace(found, **TWO) for name, found in seen.ledger.items()}
    dropped = replace(seen, lake=files, ledger=entries, storage_types={"id": "int32"})
    marked = {name: dropped.without_dropped(found) for name, found in entries.items()}

    steps = planned(replace(dropped, ledger=marked, storage_types={"id": "int32", "name": "string"}))

    assert reasons(steps)[0] == "it was extracted with other columns"


# Retention of the lake


@pytest.mark.parametrize(
    ("kept", "steps"),
    [(None, []), (1, ["remove a", "remove b"]), (2, ["remove a"]), (3, []), (9, [])],
)
def test_loaded_entries_beyond_retention_are_removed(kept: int | None, steps: list[str]):
    """`retain: {lake: N}` removes loaded entries, except for the newest N."""
    found = planned(in_sync(5, 9, 12), retain=Retain(kept))
    assert told(found) == steps
    assert set(reasons(found)) <= {f"beyond `retain: lake: {kept}`"}


def test_removed_windows_count_as_in_the_lake():
    """Entries that retention removed are not missing in the lake. Without the setting they are."""
    seen = without(in_sync(5, 9, 12), "a", lake=True)
    assert told(planned(seen, retain=Retain(2))) == []
    assert told(planned(seen)) == ["extract from 1 to 12", "load z as 1"]


def test_new_rows_after_a_removal_are_read_from_the_watermark():
    """After older entries were removed, reading starts at the watermark."""
    seen = grown(without(in_sync(5, 9, 12), "ab", lake=True), 15)
    assert told(planned(seen, retain=Retain(1))) == ["extract from 12 to 15", "load z as 1", "remove c"]


def test_lost_entry_within_retention_is_read_again():
    """An entry within `retain: {lake: N}` that the lake lost is read again."""
    seen = without(in_sync(5, 9, 12), "ab", lake=True)
    steps = planned(seen, retain=Retain(2))
    assert told(steps) == ["extract from 5 to 12", "load z as 1"]
    assert set(reasons(steps)) == {"missing in the lake"}


@pytest.mark.parametrize("held", [29, 0, None])
def test_lost_versions_without_entries_come_from_the_source(held: int | None):
    """When the target lost versions and older entries were removed, everything is read again from the source."""
    seen = replace(without(in_sync(5, 9, 12), "a", lake=True), target_rows=held)
    steps = planned(seen, retain=Retain(2))
    lost = "gone from the target" if held is None else f"the target holds {held} of 30 versions"
    assert told(steps) == ["extract from 1 to 12", "load z as 1", "remove b"]
    assert set(reasons(steps)[:2]) == {f"{lost}, and older entries are beyond `retain: lake`"}


def test_lost_versions_come_from_the_lake_while_it_has_all():
    """While no entry was removed yet, lost versions are loaded from the lake. The removal comes after the loads."""
    steps = planned(replace(in_sync(5, 9, 12), target_rows=29), retain=Retain(2))
    assert told(steps) == ["load a as 2", "load b as 2", "load c as 2", "remove a"]


def test_entries_that_are_not_loaded_stay():
    """An entry that is not loaded is never removed, however old it is."""
    seen = without(in_sync(5, 9, 12), "a", ledger=True)
    assert told(planned(seen, retain=Retain(1))) == ["load a as 1 as an older one", "remove b"]


def test_passed_rows_that_are_not_loaded_stay():
    """Rows that a program passed in stay in the lake until they are loaded."""
    given = {batch("0"): CursorWindow(is_given=True)}
    seen = in_sync(5, 9)
    seen = replace(seen, lake={**seen.lake, batch("0"): file(read_at="0")}, given=given)
    assert told(planned(seen, retain=Retain(1))) == ["load 0 as 1 as an older one", "remove a"]


def test_lost_passed_rows_come_from_the_lake():
    """Rows that a program passed in are not in the source. When the target lost them, their entry is loaded again."""
    seen, given = without(in_sync(5, 9, 12), "a", lake=True), CursorWindow(is_given=True)
    seen = replace(
        seen,
        lake={**seen.lake, batch("d"): file()},
        ledger={**seen.ledger, batch("d"): entry(target_rows=ROWS * 4)},
        in_ledger={**seen.in_ledger, batch("d"): given},
        given={batch("d"): given},
        target_rows=0,
    )
    steps = told(planned(seen, retain=Retain(3)))
    assert "extract from 1 to 12" in steps
    assert any(step.startswith("load d as 2") for step in steps)


@pytest.mark.parametrize("held", [19, 0, None])
def test_source_without_cursor_heals_with_retention(held: int | None):
    """Without a cursor, too, a target that lost versions is loaded again when older entries were removed."""
    seen = without(whole("rows at 9", target_rows=held), "a", lake=True)
    assert any(isinstance(step, Load) for step in planned(seen, retain=Retain(1)))


@pytest.mark.parametrize(
    "asked", [RELOAD, Request(reload=frozenset({batch("a")})), Request(between=(cursor(2), cursor(3)))]
)
def test_only_daily_runs_remove_entries(asked: Request):
    """Reload, repair and backfill remove no entries."""
    steps = planned(in_sync(5, 9, 12), asked, retain=Retain(1))
    assert not [step for step in steps if isinstance(step, Remove)]


@given(st.sets(st.integers(FLOOR + 1, 40), min_size=1, max_size=8).map(sorted), st.integers(1, 9), st.integers(0, 5))
def test_retention_keeps_a_table_in_sync(cursors: list[int], kept: int, look_back: int):
    """After the removals, the lake has the newest N entries and the next plan has no steps."""
    seen = in_sync(*cursors)

    removed = [step.value.text for step in planned(seen, look_back=look_back, retain=Retain(kept))]
    left = without(seen, "".join(removed), lake=True)

    assert list(left.lake) == list(seen.lake)[-kept:]
    assert planned(left, look_back=look_back, retain=Retain(kept)) == []


@pytest.mark.parametrize(("broken", "is_whole"), [("", True), ("its footer is cut", False)])
def test_a_broken_entry_of_a_log_counts_as_lost(broken: str, is_whole: bool):
    """The lake can no longer tell what was extracted once, so a repair removes nothing that only the target has."""
    window = Value.of("2024-01-01-00-00-00", ValueKind.TEXT)
    loaded = LedgerEntry(generation=1, kind="loaded", rows=1, hash="00")
    state = TableState({}, {window: LakeEntry("id", "etag", broken=broken)}, {}, {window: loaded})
    assert state.has_whole_log is is_whole
