"""The planner of partition tables: what source, lake, target and ledger say, and what follows from it.

Days are numbers. `in_step(1, 2, 3)` is a table whose three witnesses agree; each row of a table below says what
is different, and the steps that follow, written as `land 2`, `load 2 as 2` (its generation), `remove 1 from lake`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tidegate.changes.partition import plan, scope_for, settled_values
from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence, SourceValue
from tidegate.model.plan import DAILY, EXCHANGED, Land, Load, Notice, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value

ROWS = 10
LOADED = "c" * 32
OTHER = "d" * 32
NOTED = "only row counts tell a restated value; name a `restatement_column` to see more"


@dataclass(frozen=True)
class Retain:
    target: int | None = None
    lake: int | None = None


@dataclass(frozen=True)
class Rules:
    """The settings that planning asks for, with the defaults of the configuration."""

    initial_load_count: int = 10
    look_back: int = 5
    hold_back: int = 0
    restatement: str = "count"
    restatement_column: str | None = None
    on_target_change: str = "report"
    retain: Retain = Retain()


def day(number: int) -> Value:
    return Value.of(number, Kind.INTEGER)


def days(facts: Mapping[int, Any]) -> dict[Value, Any]:
    return {day(number): fact for number, fact in facts.items()}


def source(rows: int | None = ROWS, newest: str | None = None) -> SourceValue:
    return SourceValue(rows, newest)


def file(rows: int = ROWS, hash: str = LOADED, **facts: Any) -> LakeFile:
    return LakeFile("lake/file.parquet", "stamp", rows, hash, columns_id="columns", **facts)


def entry(rows: int = ROWS, hash: str = LOADED, generation: int = 1, kind: str = "loaded", **facts: Any) -> LedgerEntry:
    return LedgerEntry(generation, kind, rows, hash, **{"columns_id": "columns", "stamp": "stamp", **facts})


EMPTY = PartitionEvidence(source={}, lake={}, target={}, ledger={}, columns_id="columns")


def in_step(*numbers: int) -> PartitionEvidence:
    """Landed, loaded and proven from the first of these days on."""
    return PartitionEvidence(
        source=days(dict.fromkeys(numbers, source())),
        lake=days(dict.fromkeys(numbers, file())),
        target=days(dict.fromkeys(numbers, ROWS)),
        ledger=days(dict.fromkeys(numbers, entry())),
        scope=Scope(day(numbers[0])),
        columns_id="columns",
    )


def but(seen: PartitionEvidence, **changes: Any) -> PartitionEvidence:
    """The same evidence with other facts for some days; a day whose fact is GONE is no longer held there."""
    merged: dict[str, Any] = {}
    for name, change in changes.items():
        if name in ("source", "lake", "target", "ledger"):
            held = {**getattr(seen, name), **days(change)}
            merged[name] = {value: fact for value, fact in held.items() if fact is not GONE}
        else:
            merged[name] = change
    return replace(seen, **merged)


GONE = object()


def told(steps: list[Step]) -> list[str]:
    """The steps that do something, in short."""
    words = []
    for step in steps:
        match step:
            case Land(value, origin=origin):
                words.append(f"land {value}" + (" from the target" if origin == "target" else ""))
            case Load(value, _, generation, _, unless_hash, look_first):
                condition = f" unless {unless_hash[0]}" if unless_hash else " after a look" if look_first else ""
                words.append(f"load {value} as {generation}{condition}")
            case Remove(value, side):
                words.append(f"remove {value} from {side}")
    return words


def reasons(steps: list[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Land, Load, Remove))]


def notices(steps: list[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice) and step.text != NOTED]


def planned(seen: PartitionEvidence, asked: Request = DAILY, **rules: Any) -> list[Step]:
    return plan(Rules(**rules), seen, asked)[1]


# The daily run


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(EMPTY, [], id="an empty source plans nothing"),
        pytest.param(in_step(1, 2, 3), [], id="what is in step stays as it is"),
        pytest.param(
            but(in_step(1, 2), source={3: source()}),
            ["land 3", "load 3 as 1"],
            id="a new value is landed and loaded",
        ),
        pytest.param(
            but(in_step(1, 2, 3), source={0: source(), -1: source()}),
            [],
            id="history below the scope is no hole",
        ),
        pytest.param(
            but(in_step(1, 3), source={2: source()}),
            ["land 2", "load 2 as 1"],
            id="a hole inside the scope is filled, however old",
        ),
        pytest.param(
            but(in_step(1, 2, 3), source={1: GONE, 2: GONE}),
            [],
            id="a value that the source purged stays: absence is never deletion",
        ),
        pytest.param(
            but(in_step(1, 2), source={1: GONE, 2: GONE}),
            [],
            id="an emptied source deletes nothing",
        ),
        pytest.param(
            but(in_step(1, 2), lake={2: GONE}, target={2: GONE}, ledger={2: GONE}),
            ["land 2", "load 2 as 1"],
            id="a value that was never loaded is new, whatever its day",
        ),
        pytest.param(
            but(in_step(1, 2), target={2: GONE}, ledger={2: GONE}),
            ["load 2 as 1"],
            id="landed before a crash: only the load is missing",
        ),
        pytest.param(
            but(in_step(1, 2), lake={2: file(rows=12, hash=OTHER)}, source={2: source(12)}),
            ["load 2 as 2"],
            id="landed anew before a crash: the newer file is loaded",
        ),
        pytest.param(
            but(in_step(1, 2), source={2: source(None)}, target={2: None}),
            [],
            id="what was not counted does not differ",
        ),
        pytest.param(
            but(in_step(1, 2), source={1: source(0)}, lake={1: file(0)}, target={1: GONE}, ledger={1: entry(0)}),
            [],
            id="a value without rows is not gone from the target",
        ),
    ],
)
def test_the_daily_run(seen: PartitionEvidence, steps: list[str]):
    assert told(planned(seen)) == steps


def test_everything_is_landed_before_anything_is_loaded_and_old_days_come_first():
    steps = planned(but(in_step(1), source={3: source(), 2: source()}))
    assert told(steps) == ["land 2", "land 3", "load 2 as 1", "load 3 as 1"]


def test_a_new_value_says_how_many_rows_will_move():
    land, load = (step for step in planned(but(in_step(1), source={2: source(7)})) if not isinstance(step, Notice))
    assert land == Land(day(2), "new in the source", rows=7)
    assert load == Load(day(2), "new in the source", generation=1, rows=7)


# The first run and its scope


@pytest.mark.parametrize(
    ("held", "count", "floor", "steps"),
    [
        ([1, 2, 3], 10, 1, ["land 1", "land 2", "land 3", "load 1 as 1", "load 2 as 1", "load 3 as 1"]),
        ([1, 2, 3], 2, 2, ["land 2", "land 3", "load 2 as 1", "load 3 as 1"]),
        ([1, 2, 30], 1, 30, ["land 30", "load 30 as 1"]),
        ([], 10, None, []),
    ],
)
def test_the_first_run_takes_the_newest_values_and_sets_the_floor(
    held: list[int], count: int, floor: int | None, steps: list[str]
):
    seen = but(EMPTY, source=dict.fromkeys(held, source()))

    scope, found = plan(Rules(initial_load_count=count), seen)

    assert told(found) == steps
    assert scope == Scope(day(floor) if floor is not None else None)


def test_the_floor_stays_where_the_first_run_set_it():
    seen = but(in_step(2, 3), source={1: source(), 4: source(), 5: source()})
    scope, _ = plan(Rules(initial_load_count=1), seen)
    assert scope == Scope(day(2))


def test_a_sentinel_that_is_kept_out_neither_counts_nor_moves():
    """`values: {exclude: [99991231]}`: looking leaves it out of the source's values; the target may hold it."""
    seen = but(in_step(1, 2), target={99991231: 4}, source={3: source()})
    assert told(planned(seen, retain=Retain(target=2))) == [
        "land 3",
        "load 3 as 1",
        "remove 1 from target",
    ]


def test_a_first_run_refuses_a_target_that_was_filled_by_others():
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()}, target={2: 5, 3: 5, 4: 5})

    with pytest.raises(ForeignTarget) as refusal:
        planned(seen)

    assert str(refusal.value) == (
        "The target holds rows of 2 values that no ledger knows: 2, 3.\n"
        "Nothing was written.\n"
        "`tidegate adopt` takes them over as they are; `tidegate run --reload` replaces them."
    )


@pytest.mark.parametrize("asked", [DAILY, Request(between=(day(1), day(2))), Request(reload=frozenset({day(2)}))])
def test_no_verb_but_reload_gets_past_a_target_that_was_filled_by_others(asked: Request):
    seen = but(EMPTY, source={1: source(), 2: source()}, target={2: 5})
    with pytest.raises(ForeignTarget):
        planned(seen, asked)


@pytest.mark.parametrize(("rules", "asked"), [({"on_target_change": "restore"}, DAILY), ({}, Request(reload_all=True))])
def test_a_first_run_replaces_what_others_filled_in_where_that_was_asked_for(rules: dict[str, Any], asked: Request):
    seen = but(EMPTY, source={2: source()}, target={2: 5})
    assert told(planned(seen, asked, **rules)) == ["land 2", "load 2 as 1 after a look"]


def test_a_first_run_does_not_mind_rows_outside_of_what_it_loads():
    seen = but(EMPTY, source={2: source()}, target={1: 5})
    assert told(planned(seen)) == ["land 2", "load 2 as 1"]


# Values that are not complete yet


@pytest.mark.parametrize(
    ("held", "hold_back", "ready", "settled"),
    [
        ([1, 2, 3], 0, None, [1, 2, 3]),
        ([3, 1, 2], 1, None, [1, 2]),
        ([1, 2, 3], 3, None, []),
        pytest.param(
            [1, 2],
            3,
            None,
            [],
            id="fewer values than are held back",
        ),
        ([1, 2, 3], 0, [1, 3], [1, 3]),
        ([1, 2, 3], 1, [1, 3], [1]),
        ([1, 2, 3], 0, [], []),
        ([1, 2], 0, [1, 2, 9], [1, 2]),
    ],
)
def test_what_is_not_complete_is_not_settled(
    held: list[int], hold_back: int, ready: list[int] | None, settled: list[int]
):
    known_ready = None if ready is None else frozenset(map(day, ready))
    assert settled_values(Rules(hold_back=hold_back), map(day, held), known_ready) == list(map(day, settled))


@pytest.mark.parametrize(
    ("rules", "ready", "steps", "noted"),
    [
        ({"hold_back": 1}, None, [], ["not ready yet: 3"]),
        ({}, frozenset({day(1), day(2)}), [], ["not ready yet: 3"]),
        ({}, frozenset({day(1), day(2), day(3)}), ["land 3", "load 3 as 1"], []),
    ],
)
def test_a_value_that_is_not_complete_waits_and_is_named(
    rules: dict[str, Any], ready: frozenset[Value] | None, steps: list[str], noted: list[str]
):
    found = planned(but(in_step(1, 2), source={3: source()}, ready=ready), **rules)
    assert (told(found), notices(found)) == (steps, noted)


def test_a_value_that_waits_is_not_the_floor_of_the_first_run():
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()})
    scope, steps = plan(Rules(hold_back=1, initial_load_count=1), seen)
    assert (told(steps), scope) == (["land 2", "load 2 as 1"], Scope(day(2)))


@pytest.mark.parametrize(
    "change",
    [{"lake": {3: GONE}}, {"source": {3: source(12)}}, {"lake": {3: file(broken="half of it")}}],
    ids=["its file is lost", "it is restated", "its file is broken"],
)
def test_a_loaded_value_that_waits_again_is_left_alone(change: dict[str, Any]):
    assert told(planned(but(in_step(1, 2, 3), **change), hold_back=1)) == []


# Restatement


@pytest.mark.parametrize(
    ("rules", "change", "steps", "why"),
    [
        ({}, {}, [], ""),
        (
            {},
            {"source": {2: source(12)}},
            ["land 2", "load 2 as 2 unless c"],
            "restated: 12 rows in the source, 10 were extracted",
        ),
        (
            {},
            {"source": {2: source(0)}},
            ["land 2", "load 2 as 2 unless c"],
            "restated: 0 rows in the source, 10 were extracted",
        ),
        ({}, {"source": {2: source(10, "9")}, "lake": {2: file(newest="8")}}, [], ""),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, "9")}, "lake": {2: file(newest="8")}},
            ["land 2", "load 2 as 2 unless c"],
            "restated: max(load_id) moved from 8 to 9",
        ),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, "9")}, "lake": {2: file(newest="9")}},
            [],
            "",
        ),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, None)}, "lake": {2: file(newest="9")}},
            ["land 2", "load 2 as 2 unless c"],
            "restated: max(load_id) moved from 9 to None",
        ),
        ({"restatement_column": "load_id"}, {"source": {2: source(None)}}, [], ""),
        (
            {"restatement": "hash"},
            {"source": {1: source(None)}},
            ["land 2", "load 2 as 2 unless c"],
            "`restatement: hash` compares its content",
        ),
        (
            {"retain": Retain(lake=1)},
            {"source": {1: source(12)}, "lake": {1: GONE}},
            ["land 1", "load 1 as 2 unless c"],
            "restated: 12 rows in the source, 10 were extracted",
        ),
    ],
    ids=[
        "nothing moved",
        "more rows",
        "no rows any more",
        "another maximum that nobody watches",
        "another maximum",
        "the same maximum",
        "no maximum any more",
        "outside of the look-back nothing was counted",
        "by content: read again, loaded only when it differs",
        "the ledger remembers what the lake no longer keeps",
    ],
)
def test_a_restated_value_is_landed_again_and_loaded_if_it_differs(
    rules: dict[str, Any], change: dict[str, Any], steps: list[str], why: str
):
    found = planned(but(in_step(1, 2), **change), **rules)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_landing_again_replaces_the_file_that_planning_saw():
    land = planned(but(in_step(1), source={1: source(12)}))[0]
    assert land == Land(day(1), "restated: 12 rows in the source, 10 were extracted", rows=12, replaces="stamp")


@pytest.mark.parametrize(
    ("rules", "noted"),
    [
        ({}, [NOTED]),
        ({"restatement_column": "load_id"}, []),
        ({"restatement": "hash"}, []),
    ],
)
def test_where_only_counts_are_watched_the_plan_says_so(rules: dict[str, Any], noted: list[str]):
    seen = but(in_step(1), source={1: source(None)})
    assert [step.text for step in planned(seen, **rules) if isinstance(step, Notice)] == noted


# Columns


def test_a_file_without_a_new_column_is_extracted_again():
    steps = planned(but(in_step(1, 2), columns_id="more columns", source={1: GONE}))
    assert told(steps) == ["land 2", "load 2 as 2 unless c"]
    assert reasons(steps)[0] == "it was extracted with other columns"


def test_a_column_that_the_target_lost_is_loaded_again_from_the_lake():
    steps = planned(but(in_step(1, 2), target_lacks=("note",)))
    assert told(steps) == ["load 1 as 2", "load 2 as 2"]
    assert set(reasons(steps)) == {"the target lost the column note"}


# Rows that somebody changed in the target


@pytest.mark.parametrize(
    ("policy", "held", "steps", "noted"),
    [
        ("report", GONE, ["load 2 as 2"], 0),
        ("restore", GONE, ["load 2 as 2"], 0),
        ("keep", GONE, ["load 2 as 2"], 0),
        ("report", 9, ["load 2 as 2"], 0),
        ("restore", 9, ["load 2 as 2"], 0),
        ("keep", 9, ["load 2 as 2"], 0),
        ("report", 10, [], 0),
        ("restore", 10, [], 0),
        ("keep", 10, [], 0),
        ("report", 12, [], 1),
        ("restore", 12, ["load 2 as 2"], 0),
        ("keep", 12, [], 0),
        ("report", None, [], 0),
        ("restore", None, [], 0),
        ("keep", None, [], 0),
    ],
)
def test_missing_rows_are_healed_and_added_ones_are_reported(policy: str, held: object, steps: list[str], noted: int):
    found = planned(but(in_step(1, 2), target={2: held}), on_target_change=policy)
    assert told(found) == steps
    assert len(notices(found)) == noted


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"target": {2: GONE}}, "gone from the target"),
        ({"target": {2: 9}}, "the target holds 9 of 10 rows"),
        ({"lake": {2: file(hash=OTHER)}}, "newer in the lake than in the target"),
    ],
)
def test_a_load_says_what_it_heals(change: dict[str, Any], why: str):
    assert reasons(planned(but(in_step(1, 2), **change))) == [why]


def test_a_testers_rows_are_counted_in_the_report():
    (notice,) = (
        step for step in planned(but(in_step(1, 2), target={2: 12})) if isinstance(step, Notice) and step.value
    )
    assert notice == Notice(
        "the target holds 12 rows, 10 were loaded: somebody added 2; `tidegate repair` restores it", day(2), "warning"
    )


def test_a_target_that_was_emptied_is_loaded_from_the_lake_alone():
    seen = but(in_step(1, 2), target={1: GONE, 2: GONE}, source={1: GONE})
    assert told(planned(seen)) == ["load 1 as 2", "load 2 as 2"]


def test_rows_that_nobody_holds_any_more_are_named():
    seen = but(in_step(1, 2), source={1: GONE}, lake={1: GONE}, target={1: GONE})
    steps = planned(seen)
    assert told(steps) == []
    assert notices(steps) == ["gone from the target, and neither the source nor the lake holds it any more"]


# Witnesses that were lost


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(
            but(in_step(1, 2), lake={1: GONE, 2: GONE}),
            ["land 1", "land 2", "load 1 as 2 unless c", "load 2 as 2 unless c"],
            id="a lost lake comes back from the source",
        ),
        pytest.param(
            but(in_step(1, 2), lake={1: GONE, 2: GONE}, source={1: GONE}),
            ["land 1 from the target", "land 2", "load 2 as 2 unless c"],
            id="and from the target where the source has purged it",
        ),
        pytest.param(
            but(in_step(1, 2), lake={2: file(broken="it is cut off")}),
            ["land 2", "load 2 as 2 unless c"],
            id="a broken file is landed again",
        ),
        pytest.param(
            but(in_step(1, 2), lake={1: file(broken="it is cut off")}, source={1: GONE}),
            ["land 1 from the target"],
            id="a broken file of a purged value comes back from the target",
        ),
        pytest.param(
            but(in_step(1, 2), lake={1: file(broken="it is cut off")}, source={1: GONE}, ledger={1: GONE}),
            [],
            id="but not where no ledger can prove the target's rows",
        ),
        pytest.param(
            but(in_step(1, 2), lake={2: file(broken="it is cut off")}, target={2: GONE}),
            ["land 2", "load 2 as 2"],
            id="a broken file is never loaded",
        ),
        pytest.param(
            but(in_step(1, 2), ledger={1: GONE, 2: GONE}),
            ["load 1 as 1 after a look", "load 2 as 1 after a look"],
            id="a lost ledger: look first, and only record what is equal",
        ),
        pytest.param(
            but(in_step(1, 2), ledger={1: GONE, 2: GONE}, target={1: GONE, 2: GONE}),
            ["load 1 as 1", "load 2 as 1"],
            id="a lost target is loaded from the lake",
        ),
        pytest.param(
            but(in_step(1, 2), ledger={1: GONE, 2: GONE}, lake={1: GONE, 2: GONE}),
            ["land 1", "land 2", "load 1 as 1 after a look", "load 2 as 1 after a look"],
            id="a lost ledger and a lost lake, with the scope still known",
        ),
        pytest.param(
            but(in_step(1, 2), lake={2: file(hash=OTHER, unproven=True)}),
            [],
            id="a file that nobody could prove does not overwrite the target",
        ),
    ],
)
def test_what_was_lost_comes_back_from_who_still_holds_it(seen: PartitionEvidence, steps: list[str]):
    assert told(planned(seen)) == steps


def test_with_ledger_lake_and_scope_lost_the_target_is_foreign():
    seen = replace(in_step(1, 2), lake={}, ledger={}, scope=None)
    with pytest.raises(ForeignTarget):
        planned(seen)


def test_lost_scope_is_rebuilt_from_the_ledger():
    """Day 1 was backfilled, day 4 forgotten, and days from 3 on are in step. Day 2 was never asked for."""
    seen = but(in_step(1, 3, 4, 5), source={2: source()}, ledger={4: entry(kind="forgotten")}, scope=None)
    scope, steps = plan(Rules(initial_load_count=1), seen)
    assert [number for number in range(1, 8) if scope.holds(day(number))] == [1, 3, 5, 6, 7]
    assert told(steps) == []


def test_lost_scope_of_a_purged_day_is_rebuilt():
    seen = but(in_step(1, 2, 3), source={1: GONE}, scope=None)
    assert scope_for(Rules(initial_load_count=1), seen, DAILY) == Scope(day(3), ((day(1), day(3)),))


def test_a_landing_says_what_was_lost():
    seen = but(in_step(1, 2), lake={1: GONE, 2: file(broken="it is cut off")}, source={1: GONE})
    assert reasons(planned(seen)) == [
        "missing in the lake, and no longer in the source",
        "its file cannot be used: it is cut off",
        "its file cannot be used: it is cut off",
    ]


# Values that were adopted, removed or forgotten


@pytest.mark.parametrize(
    ("change", "steps"),
    [
        ({}, []),
        ({"source": {2: GONE}}, []),
        ({"source": {2: source(12)}}, ["land 2", "load 2 as 2 unless c"]),
        ({"target": {2: 9}, "source": {2: GONE}}, []),
    ],
    ids=[
        "has no file and needs none",
        "purged by the source, it stays",
        "restated, it is landed and loaded",
        "rows that are gone everywhere cannot be healed",
    ],
)
def test_an_adopted_value(change: dict[str, Any], steps: list[str]):
    adopted = but(in_step(1, 2), lake={2: GONE}, ledger={2: entry(kind="adopted")})
    assert told(planned(but(adopted, **change))) == steps


@pytest.mark.parametrize("held", [GONE, 9], ids=["all of it", "some of it"])
@pytest.mark.parametrize(
    ("of", "retain"), [(entry(kind="adopted"), Retain()), (entry(), Retain(lake=1))], ids=["adopted", "swept"]
)
def test_what_the_target_lost_and_no_file_holds_comes_from_the_source(of: LedgerEntry, retain: Retain, held: object):
    seen = but(in_step(1, 2), lake={1: GONE}, ledger={1: of}, target={1: held})
    assert told(planned(seen, retain=retain)) == ["land 1", "load 1 as 2"]


def test_a_value_beyond_the_retention_is_removed_and_not_healed_back():
    rules = {"retain": Retain(target=2)}
    removed = but(in_step(1, 2, 3), ledger={1: entry(kind="removed", generation=2)}, target={1: GONE})

    assert told(planned(in_step(1, 2, 3), **rules)) == ["remove 1 from target"]
    assert told(planned(removed, **rules)) == []


def test_a_removed_value_comes_back_when_the_retention_grows():
    removed = but(in_step(1, 2, 3), ledger={1: entry(kind="removed", generation=2)}, target={1: GONE})
    assert told(planned(removed, retain=Retain(target=3))) == ["load 1 as 3"]


@pytest.mark.parametrize(
    ("retain", "seen", "steps"),
    [
        (Retain(), in_step(1, 2, 3), []),
        (Retain(target=3), in_step(1, 2, 3), []),
        (Retain(target=1), in_step(1, 2, 3), ["remove 1 from target", "remove 2 from target"]),
        (Retain(lake=1), in_step(1, 2, 3), ["remove 1 from lake", "remove 2 from lake"]),
        (
            Retain(target=2, lake=1),
            in_step(1, 2, 3),
            ["remove 1 from target", "remove 1 from lake", "remove 2 from lake"],
        ),
        (Retain(lake=1), but(in_step(1, 2, 3), lake={1: GONE, 2: GONE}), []),
        (Retain(target=2), but(in_step(1, 2), source={3: source()}), ["land 3", "load 3 as 1", "remove 1 from target"]),
        (Retain(target=2), but(in_step(2, 3), source={1: source()}, target={1: 5}), []),
        (Retain(target=2), but(in_step(1, 2, 3), source={1: GONE}), ["remove 1 from target"]),
        (Retain(target=2), but(in_step(1, 3, 4), source={2: source()}), ["remove 1 from target"]),
    ],
    ids=[
        "keeps all",
        "keeps as many as there are",
        "of the target",
        "of the lake",
        "of both",
        "what the lake does not keep is not missing in it",
        "moves with what is new",
        "never touches what is below the scope",
        "also takes what the source has purged",
        "a hole beyond it is not filled",
    ],
)
def test_retention(retain: Retain, seen: PartitionEvidence, steps: list[str]):
    assert told(planned(seen, retain=retain)) == steps


def test_a_removal_is_written_as_a_generation_of_its_own_with_its_rule():
    seen = but(in_step(1, 2), ledger={1: entry(generation=4)})
    assert planned(seen, retain=Retain(target=1))[0] == Remove(day(1), "target", "beyond `retain: target: 1`", 5)


@pytest.mark.parametrize(
    "asked", [Request(reload_all=True), Request(reload=frozenset()), Request(between=(day(2), day(2)))]
)
def test_only_the_daily_run_removes(asked: Request):
    assert not [word for word in told(planned(in_step(1, 2), asked, retain=Retain(target=1))) if "remove" in word]


def test_a_forgotten_value_is_neither_healed_nor_loaded_nor_removed():
    seen = but(
        in_step(1, 2, 3),
        ledger={2: entry(kind="forgotten", generation=2)},
        target={2: GONE},
        scope=Scope(day(1), forgotten=frozenset({day(2)})),
    )
    assert told(planned(seen, retain=Retain(target=1, lake=1))) == [
        "remove 1 from target",
        "remove 1 from lake",
    ]


# What a person asks for


@pytest.mark.parametrize(
    ("between", "steps"),
    [
        ((1, 1), ["land 1", "load 1 as 1"]),
        ((0, 2), ["land 0", "land 1", "land 2", "load 0 as 1", "load 1 as 1", "load 2 as 1"]),
        ((3, 4), []),
        ((-9, -5), []),
    ],
)
def test_a_backfill_loads_its_range_and_nothing_else(between: tuple[int, int], steps: list[str]):
    low, high = map(day, between)
    seen = but(in_step(3, 4), source={0: source(), 1: source(), 2: source(), 5: source()})

    scope, found = plan(Rules(), seen, Request(between=(low, high)))

    assert told(found) == steps
    assert scope == Scope(day(3), ((low, high),))


def test_a_backfill_brings_back_what_was_forgotten():
    forgotten = but(
        in_step(1, 2),
        ledger={1: entry(kind="forgotten", generation=2)},
        scope=Scope(day(1), forgotten=frozenset({day(1)})),
    )
    scope, steps = plan(Rules(), forgotten, Request(between=(day(1), day(1))))
    assert told(steps) == ["load 1 as 3 after a look"]
    assert scope.holds(day(1))


def test_a_backfill_before_the_first_run_leaves_the_floor_to_it():
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()})
    backfilled = scope_for(Rules(), seen, Request(between=(day(1), day(1))))

    assert backfilled == Scope(None, ((day(1), day(1)),))
    assert scope_for(Rules(initial_load_count=1), replace(seen, scope=backfilled), DAILY) == Scope(
        day(3), ((day(1), day(1)),)
    )


def test_a_reload_extracts_and_loads_everything_again_whatever_its_hash():
    steps = planned(in_step(1, 2), Request(reload_all=True))
    assert told(steps) == ["land 1", "land 2", "load 1 as 2", "load 2 as 2"]
    assert set(reasons(steps)) == {"reload asked for"}


def test_a_repair_reloads_the_values_that_differ_and_nothing_else():
    seen = but(in_step(1, 2), source={3: source()}, target={1: GONE})
    assert told(planned(seen, Request(reload=frozenset({day(2)})))) == ["land 2", "load 2 as 2"]


def test_values_that_exchanged_rows_are_all_extracted_and_loaded_again():
    """Also a value outside of the look-back, whose rows nobody counted; each step says why."""
    seen = but(in_step(1, 2, 3), source={1: source(None)})

    steps = planned(seen, Request(reload=frozenset({day(1), day(3)}), why=EXCHANGED), look_back=1)

    assert told(steps) == ["land 1", "land 3", "load 1 as 2", "load 3 as 2"]
    assert set(reasons(steps)) == {EXCHANGED}


def test_an_exchange_with_a_value_beyond_retention_leaves_it_out():
    seen = but(in_step(1, 2, 3), ledger={1: entry(kind="removed")}, target={1: GONE})

    steps = planned(seen, Request(reload=frozenset({day(1), day(3)}), why=EXCHANGED), retain=Retain(target=2))

    assert told(steps) == ["land 3", "load 3 as 2"]


@pytest.mark.parametrize("asked", [Request(reload=frozenset({day(1)})), Request(reload_all=True)])
def test_a_repair_of_a_value_that_the_source_has_purged_loads_the_lakes_file(asked: Request):
    """A tester changed rows of a day that only the lake still holds as they were: the file is the remedy."""
    steps = told(planned(but(in_step(1, 2), source={1: GONE}), asked))
    assert "load 1 as 2" in steps
    assert "land 1 from the target" not in steps


# What a person should know


def test_a_source_without_values_is_reported():
    assert notices(planned(EMPTY)) == ["the source holds no partition value"]


def test_of_many_waiting_values_the_newest_are_named():
    seen = but(in_step(1), source=dict.fromkeys(range(2, 10), source()))
    assert notices(planned(seen, hold_back=8)) == ["not ready yet: 5, 6, 7, 8, 9"]


# Columns that left the source

THREE = {"columns": ("a", "b", "c"), "storage_types": ("int32", "string", "date")}


@pytest.mark.parametrize(
    ("now", "known", "expected"),
    [
        ({"a": "int32", "b": "string", "c": "date"}, THREE, []),
        ({"a": "int32", "b": "string"}, THREE, []),
        ({"b": "string", "a": "int32"}, THREE, []),
        ({"a": "int32", "b": "string", "d": "date"}, THREE, ["land 1", "load 1 as 2 unless c"]),
        ({"a": "int64", "b": "string"}, THREE, ["land 1", "load 1 as 2 unless c"]),
        ({"a": "int32"}, {"columns": ("a", "b")}, ["land 1", "load 1 as 2 unless c"]),
    ],
    ids=["none", "one left", "one left, others moved", "one left, one came", "one left, one wider", "types unknown"],
)
def test_a_dropped_column_is_no_reason_to_extract(now: dict[str, str], known: dict[str, Any], expected: list[str]):
    seen = replace(
        in_step(1),
        lake=days({1: replace(file(), columns_id="before", **known)}),
        ledger=days({1: entry(columns_id="before", **known)}),
        storage_types=now,
    )

    _, planned = plan(Rules(), seen)

    assert told(planned) == expected
