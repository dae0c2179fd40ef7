"""The planner of partition tables: which steps follow from the state of source, lake, target and ledger.

Days are numbers. `in_sync(1, 2, 3)` is a table whose states agree. Each parametrized case says what is different and
which steps follow, written as `extract 2`, `load 2 as 2` (its generation), `remove 1 from lake`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tidegate.changes.partition.plan import plan, scope_for, settled_values
from tidegate.errors import ForeignTarget
from tidegate.model.plan import DAILY, EXCHANGED, Extract, Load, Notice, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value, ValueKind

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
    return Value.of(number, ValueKind.INTEGER)


def days(facts: Mapping[int, Any]) -> dict[Value, Any]:
    return {day(number): fact for number, fact in facts.items()}


def source(rows: int | None = ROWS, newest: str | None = None) -> SourceValue:
    return SourceValue(rows, newest)


def file(rows: int = ROWS, hash: str = LOADED, **facts: Any) -> LakeEntry:
    return LakeEntry("lake/file.parquet", "etag", rows, hash, columns_id="columns", **facts)


def entry(rows: int = ROWS, hash: str = LOADED, generation: int = 1, kind: str = "loaded", **facts: Any) -> LedgerEntry:
    return LedgerEntry(generation, kind, rows, hash, **{"columns_id": "columns", "etag": "etag", **facts})


EMPTY = TableState(source={}, lake={}, target={}, ledger={}, columns_id="columns")


def in_sync(*numbers: int) -> TableState:
    """Extracted, loaded and proven from the first of these days on."""
    return TableState(
        source=days(dict.fromkeys(numbers, source())),
        lake=days(dict.fromkeys(numbers, file())),
        target=days(dict.fromkeys(numbers, ROWS)),
        ledger=days(dict.fromkeys(numbers, entry())),
        scope=Scope(day(numbers[0])),
        columns_id="columns",
    )


def but(seen: TableState, **changes: Any) -> TableState:
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
            case Extract(value, origin=origin):
                words.append(f"extract {value}" + (" from the target" if origin == "target" else ""))
            case Load(value, _, generation, _, unless_hash, compare_first):
                condition = f" unless {unless_hash[0]}" if unless_hash else " after a look" if compare_first else ""
                words.append(f"load {value} as {generation}{condition}")
            case Remove(value, side):
                words.append(f"remove {value} from {side}")
    return words


def reasons(steps: list[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Extract, Load, Remove))]


def notices(steps: list[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice) and step.text != NOTED]


def planned(seen: TableState, asked: Request = DAILY, **rules: Any) -> list[Step]:
    return plan(Rules(**rules), seen, asked)[1]


# The daily run


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(EMPTY, [], id="an empty source plans nothing"),
        pytest.param(in_sync(1, 2, 3), [], id="what is in sync stays as it is"),
        pytest.param(
            but(in_sync(1, 2), source={3: source()}),
            ["extract 3", "load 3 as 1"],
            id="a new value is extracted and loaded",
        ),
        pytest.param(
            but(in_sync(1, 2, 3), source={0: source(), -1: source()}),
            [],
            id="history below the scope is no hole",
        ),
        pytest.param(
            but(in_sync(1, 3), source={2: source()}),
            ["extract 2", "load 2 as 1"],
            id="a hole inside the scope is filled, however old",
        ),
        pytest.param(
            but(in_sync(1, 2, 3), source={1: GONE, 2: GONE}),
            [],
            id="a value that the source purged stays: absence is never deletion",
        ),
        pytest.param(
            but(in_sync(1, 2), source={1: GONE, 2: GONE}),
            [],
            id="an emptied source deletes nothing",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={2: GONE}, target={2: GONE}, ledger={2: GONE}),
            ["extract 2", "load 2 as 1"],
            id="a value that was never loaded is new, whatever its day",
        ),
        pytest.param(
            but(in_sync(1, 2), target={2: GONE}, ledger={2: GONE}),
            ["load 2 as 1"],
            id="extracted before a crash: only the load is missing",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={2: file(rows=12, hash=OTHER)}, source={2: source(12)}),
            ["load 2 as 2"],
            id="extracted anew before a crash: the newer file is loaded",
        ),
        pytest.param(
            but(in_sync(1, 2), source={2: source(None)}, target={2: None}),
            [],
            id="what was not counted does not differ",
        ),
        pytest.param(
            but(in_sync(1, 2), source={1: source(0)}, lake={1: file(0)}, target={1: GONE}, ledger={1: entry(0)}),
            [],
            id="a value without rows is not gone from the target",
        ),
    ],
)
def test_daily_run_steps(seen: TableState, steps: list[str]):
    """Each state of source, lake, target and ledger leads to its steps in a daily run."""
    assert told(planned(seen)) == steps


def test_extracts_come_before_loads():
    """All extracts come before all loads, and older days come first."""
    steps = planned(but(in_sync(1), source={3: source(), 2: source()}))
    assert told(steps) == ["extract 2", "extract 3", "load 2 as 1", "load 3 as 1"]


def test_new_value_shows_its_row_count():
    """The steps of a new value carry the number of rows."""
    extract, load = (step for step in planned(but(in_sync(1), source={2: source(7)})) if not isinstance(step, Notice))
    assert extract == Extract(day(2), "new in the source", rows=7)
    assert load == Load(day(2), "new in the source", generation=1, rows=7)


# The first run and its scope


@pytest.mark.parametrize(
    ("held", "count", "floor", "steps"),
    [
        ([1, 2, 3], 10, 1, ["extract 1", "extract 2", "extract 3", "load 1 as 1", "load 2 as 1", "load 3 as 1"]),
        ([1, 2, 3], 2, 2, ["extract 2", "extract 3", "load 2 as 1", "load 3 as 1"]),
        ([1, 2, 30], 1, 30, ["extract 30", "load 30 as 1"]),
        ([], 10, None, []),
    ],
)
def test_first_run_sets_the_floor(held: list[int], count: int, floor: int | None, steps: list[str]):
    """The first run takes the newest values, and the oldest of them becomes the floor of the scope."""
    seen = but(EMPTY, source=dict.fromkeys(held, source()))

    scope, found = plan(Rules(initial_load_count=count), seen)

    assert told(found) == steps
    assert scope == Scope(day(floor) if floor is not None else None)


def test_floor_stays_after_the_first_run():
    """Later runs do not move the floor of the scope."""
    seen = but(in_sync(2, 3), source={1: source(), 4: source(), 5: source()})
    scope, _ = plan(Rules(initial_load_count=1), seen)
    assert scope == Scope(day(2))


def test_excluded_sentinel_is_ignored():
    """With `values: {exclude: [99991231]}`, the value is not in the source's state. It stays in the target and does not
    count for retention."""
    seen = but(in_sync(1, 2), target={99991231: 4}, source={3: source()})
    assert told(planned(seen, retain=Retain(target=2))) == [
        "extract 3",
        "load 3 as 1",
        "remove 1 from target",
    ]


def test_first_run_refuses_foreign_rows():
    """A first run is refused when the target has rows of its values that no ledger knows."""
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()}, target={2: 5, 3: 5, 4: 5})

    with pytest.raises(ForeignTarget) as refusal:
        planned(seen)

    assert str(refusal.value) == (
        "The target holds rows of 2 values that no ledger knows: 2, 3.\n"
        "Nothing was written.\n"
        "`tidegate adopt` takes them over as they are; `tidegate run --reload` replaces them."
    )


@pytest.mark.parametrize("asked", [DAILY, Request(between=(day(1), day(2))), Request(reload=frozenset({day(2)}))])
def test_only_reload_accepts_foreign_rows(asked: Request):
    """Run, backfill and repair are refused when the target has foreign rows."""
    seen = but(EMPTY, source={1: source(), 2: source()}, target={2: 5})
    with pytest.raises(ForeignTarget):
        planned(seen, asked)


@pytest.mark.parametrize(("rules", "asked"), [({"on_target_change": "restore"}, DAILY), ({}, Request(reload_all=True))])
def test_foreign_rows_are_replaced_if_allowed(rules: dict[str, Any], asked: Request):
    """`on_target_change: restore` or a reload replaces foreign rows."""
    seen = but(EMPTY, source={2: source()}, target={2: 5})
    assert told(planned(seen, asked, **rules)) == ["extract 2", "load 2 as 1 after a look"]


def test_foreign_rows_outside_of_the_load_are_ignored():
    """Foreign rows of values that the first run does not load are ignored."""
    seen = but(EMPTY, source={2: source()}, target={1: 5})
    assert told(planned(seen)) == ["extract 2", "load 2 as 1"]


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
def test_incomplete_values_are_not_settled(
    held: list[int], hold_back: int, ready: list[int] | None, settled: list[int]
):
    """`hold_back` and the ready list decide which values are complete."""
    known_ready = None if ready is None else frozenset(map(day, ready))
    assert settled_values(Rules(hold_back=hold_back), map(day, held), known_ready) == list(map(day, settled))


@pytest.mark.parametrize(
    ("rules", "ready", "steps", "noted"),
    [
        ({"hold_back": 1}, None, [], ["not ready yet: 3"]),
        ({}, frozenset({day(1), day(2)}), [], ["not ready yet: 3"]),
        ({}, frozenset({day(1), day(2), day(3)}), ["extract 3", "load 3 as 1"], []),
    ],
)
def test_incomplete_value_waits_with_a_notice(
    rules: dict[str, Any], ready: frozenset[Value] | None, steps: list[str], noted: list[str]
):
    """A value that is not complete is not loaded, and the plan names it."""
    found = planned(but(in_sync(1, 2), source={3: source()}, ready=ready), **rules)
    assert (told(found), notices(found)) == (steps, noted)


def test_waiting_value_is_not_the_floor():
    """A value that waits does not become the floor of the first run."""
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()})
    scope, steps = plan(Rules(hold_back=1, initial_load_count=1), seen)
    assert (told(steps), scope) == (["extract 2", "load 2 as 1"], Scope(day(2)))


@pytest.mark.parametrize(
    "change",
    [{"lake": {3: GONE}}, {"source": {3: source(12)}}, {"lake": {3: file(broken="half of it")}}],
    ids=["its file is lost", "it is restated", "its file is broken"],
)
def test_waiting_loaded_value_is_left_alone(change: dict[str, Any]):
    """A loaded value that waits again is neither extracted nor loaded."""
    assert told(planned(but(in_sync(1, 2, 3), **change), hold_back=1)) == []


# Restatement


@pytest.mark.parametrize(
    ("rules", "change", "steps", "why"),
    [
        ({}, {}, [], ""),
        (
            {},
            {"source": {2: source(12)}},
            ["extract 2", "load 2 as 2 unless c"],
            "restated: 12 rows in the source, 10 were extracted",
        ),
        (
            {},
            {"source": {2: source(0)}},
            ["extract 2", "load 2 as 2 unless c"],
            "restated: 0 rows in the source, 10 were extracted",
        ),
        ({}, {"source": {2: source(10, "9")}, "lake": {2: file(token=PartitionToken("8"))}}, [], ""),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, "9")}, "lake": {2: file(token=PartitionToken("8"))}},
            ["extract 2", "load 2 as 2 unless c"],
            "restated: max(load_id) moved from 8 to 9",
        ),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, "9")}, "lake": {2: file(token=PartitionToken("9"))}},
            [],
            "",
        ),
        (
            {"restatement_column": "load_id"},
            {"source": {2: source(10, None)}, "lake": {2: file(token=PartitionToken("9"))}},
            ["extract 2", "load 2 as 2 unless c"],
            "restated: max(load_id) moved from 9 to None",
        ),
        ({"restatement_column": "load_id"}, {"source": {2: source(None)}}, [], ""),
        (
            {"restatement": "hash"},
            {"source": {1: source(None)}},
            ["extract 2", "load 2 as 2 unless c"],
            "`restatement: hash` compares its content",
        ),
        (
            {"retain": Retain(lake=1)},
            {"source": {1: source(12)}, "lake": {1: GONE}},
            ["extract 1", "load 1 as 2 unless c"],
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
def test_restated_value_is_extracted_again(rules: dict[str, Any], change: dict[str, Any], steps: list[str], why: str):
    """A restated value is extracted again and loaded when its content differs."""
    found = planned(but(in_sync(1, 2), **change), **rules)
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


def test_extract_replaces_the_inspected_file():
    """An extract of an existing value replaces the file with the etag that planning saw."""
    extract = planned(but(in_sync(1), source={1: source(12)}))[0]
    assert extract == Extract(day(1), "restated: 12 rows in the source, 10 were extracted", rows=12, replaces="etag")


@pytest.mark.parametrize(
    ("rules", "noted"),
    [
        ({}, [NOTED]),
        ({"restatement_column": "load_id"}, []),
        ({"restatement": "hash"}, []),
    ],
)
def test_plan_notes_count_only_detection(rules: dict[str, Any], noted: list[str]):
    """When only counts detect restated values, the plan says so."""
    seen = but(in_sync(1), source={1: source(None)})
    assert [step.text for step in planned(seen, **rules) if isinstance(step, Notice)] == noted


# Columns


def test_file_without_a_new_column_is_extracted():
    """When the source has a new column, files without it are extracted again."""
    steps = planned(but(in_sync(1, 2), columns_id="more columns", source={1: GONE}))
    assert told(steps) == ["extract 2", "load 2 as 2 unless c"]
    assert reasons(steps)[0] == "it was extracted with other columns"


def test_lost_target_column_is_reloaded():
    """When the target lost a column, every value is loaded again from the lake."""
    steps = planned(but(in_sync(1, 2), target_lacks=("note",)))
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
def test_missing_rows_heal_and_added_are_reported(policy: str, held: object, steps: list[str], noted: int):
    """Missing rows are loaded under every policy. Added rows follow `on_target_change`."""
    found = planned(but(in_sync(1, 2), target={2: held}), on_target_change=policy)
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
def test_load_says_what_it_heals(change: dict[str, Any], why: str):
    """The reason of a load says what was missing in the target."""
    assert reasons(planned(but(in_sync(1, 2), **change))) == [why]


def test_added_rows_are_counted_in_the_notice():
    """The notice about added rows says how many were added and that `repair` restores the value."""
    (notice,) = (
        step for step in planned(but(in_sync(1, 2), target={2: 12})) if isinstance(step, Notice) and step.value
    )
    assert notice == Notice(
        "the target holds 12 rows, 10 were loaded: somebody added 2; `tidegate repair` restores it", day(2), "warning"
    )


def test_emptied_target_is_loaded_from_the_lake():
    """When the target is emptied, all values are loaded from the lake, also those that the source purged."""
    seen = but(in_sync(1, 2), target={1: GONE, 2: GONE}, source={1: GONE})
    assert told(planned(seen)) == ["load 1 as 2", "load 2 as 2"]


def test_value_lost_everywhere_is_reported():
    """When source, lake and target all lost a value, the plan reports it."""
    seen = but(in_sync(1, 2), source={1: GONE}, lake={1: GONE}, target={1: GONE})
    steps = planned(seen)
    assert told(steps) == []
    assert notices(steps) == ["gone from the target, and neither the source nor the lake holds it any more"]


# Lost files, entries and rows


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(
            but(in_sync(1, 2), lake={1: GONE, 2: GONE}),
            ["extract 1", "extract 2", "load 1 as 2 unless c", "load 2 as 2 unless c"],
            id="a lost lake comes back from the source",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={1: GONE, 2: GONE}, source={1: GONE}),
            ["extract 1 from the target", "extract 2", "load 2 as 2 unless c"],
            id="and from the target where the source has purged it",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={2: file(broken="it is cut off")}),
            ["extract 2", "load 2 as 2 unless c"],
            id="a broken file is extracted again",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={1: file(broken="it is cut off")}, source={1: GONE}),
            ["extract 1 from the target"],
            id="a broken file of a purged value comes back from the target",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={1: file(broken="it is cut off")}, source={1: GONE}, ledger={1: GONE}),
            [],
            id="but not where no ledger can prove the target's rows",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={2: file(broken="it is cut off")}, target={2: GONE}),
            ["extract 2", "load 2 as 2"],
            id="a broken file is never loaded",
        ),
        pytest.param(
            but(in_sync(1, 2), ledger={1: GONE, 2: GONE}),
            ["load 1 as 1 after a look", "load 2 as 1 after a look"],
            id="a lost ledger: look first, and only record what is equal",
        ),
        pytest.param(
            but(in_sync(1, 2), ledger={1: GONE, 2: GONE}, target={1: GONE, 2: GONE}),
            ["load 1 as 1", "load 2 as 1"],
            id="a lost target is loaded from the lake",
        ),
        pytest.param(
            but(in_sync(1, 2), ledger={1: GONE, 2: GONE}, lake={1: GONE, 2: GONE}),
            ["extract 1", "extract 2", "load 1 as 1 after a look", "load 2 as 1 after a look"],
            id="a lost ledger and a lost lake, with the scope still known",
        ),
        pytest.param(
            but(in_sync(1, 2), lake={2: file(hash=OTHER, unproven=True)}),
            [],
            id="a file that nobody could prove does not overwrite the target",
        ),
    ],
)
def test_losses_are_restored_from_remaining_copies(seen: TableState, steps: list[str]):
    """What lake, ledger or target lost is restored from the copies that remain."""
    assert told(planned(seen)) == steps


def test_target_is_foreign_without_ledger_and_lake():
    """When ledger, lake and scope are lost, the target's rows count as foreign."""
    seen = replace(in_sync(1, 2), lake={}, ledger={}, scope=None)
    with pytest.raises(ForeignTarget):
        planned(seen)


def test_lost_scope_is_rebuilt_from_the_ledger():
    """Day 1 was backfilled, day 4 forgotten, and days from 3 on are in sync. Day 2 was never asked for."""
    seen = but(in_sync(1, 3, 4, 5), source={2: source()}, ledger={4: entry(kind="forgotten")}, scope=None)
    scope, steps = plan(Rules(initial_load_count=1), seen)
    assert [number for number in range(1, 8) if scope.covers(day(number))] == [1, 3, 5, 6, 7]
    assert told(steps) == []


def test_lost_scope_of_a_purged_day_is_rebuilt():
    """When the scope is lost, a purged day with a ledger entry stays in the rebuilt scope."""
    seen = but(in_sync(1, 2, 3), source={1: GONE}, scope=None)
    assert scope_for(Rules(initial_load_count=1), seen, DAILY) == Scope(day(3), ((day(1), day(3)),))


def test_extract_says_what_was_lost():
    """The reason of an extract says whether the file was missing or broken."""
    seen = but(in_sync(1, 2), lake={1: GONE, 2: file(broken="it is cut off")}, source={1: GONE})
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
        ({"source": {2: source(12)}}, ["extract 2", "load 2 as 2 unless c"]),
        ({"target": {2: 9}, "source": {2: GONE}}, []),
    ],
    ids=[
        "has no file and needs none",
        "purged by the source, it stays",
        "restated, it is extracted and loaded",
        "rows that are gone everywhere cannot be healed",
    ],
)
def test_adopted_value_steps(change: dict[str, Any], steps: list[str]):
    """An adopted value needs no file. When it is restated, it is extracted and loaded."""
    adopted = but(in_sync(1, 2), lake={2: GONE}, ledger={2: entry(kind="adopted")})
    assert told(planned(but(adopted, **change))) == steps


@pytest.mark.parametrize("held", [GONE, 9], ids=["all of it", "some of it"])
@pytest.mark.parametrize(
    ("of", "retain"), [(entry(kind="adopted"), Retain()), (entry(), Retain(lake=1))], ids=["adopted", "swept"]
)
def test_lost_value_without_file_comes_from_source(of: LedgerEntry, retain: Retain, held: object):
    """When the target lost rows and the lake has no file, the value is extracted from the source."""
    seen = but(in_sync(1, 2), lake={1: GONE}, ledger={1: of}, target={1: held})
    assert told(planned(seen, retain=retain)) == ["extract 1", "load 1 as 2"]


def test_value_beyond_retention_is_removed_once():
    """A value beyond retention is removed, and later plans do not load it again."""
    rules = {"retain": Retain(target=2)}
    removed = but(in_sync(1, 2, 3), ledger={1: entry(kind="removed", generation=2)}, target={1: GONE})

    assert told(planned(in_sync(1, 2, 3), **rules)) == ["remove 1 from target"]
    assert told(planned(removed, **rules)) == []


def test_longer_retention_restores_removed_values():
    """When retention becomes longer, a removed value is loaded again."""
    removed = but(in_sync(1, 2, 3), ledger={1: entry(kind="removed", generation=2)}, target={1: GONE})
    assert told(planned(removed, retain=Retain(target=3))) == ["load 1 as 3"]


@pytest.mark.parametrize(
    ("retain", "seen", "steps"),
    [
        (Retain(), in_sync(1, 2, 3), []),
        (Retain(target=3), in_sync(1, 2, 3), []),
        (Retain(target=1), in_sync(1, 2, 3), ["remove 1 from target", "remove 2 from target"]),
        (Retain(lake=1), in_sync(1, 2, 3), ["remove 1 from lake", "remove 2 from lake"]),
        (
            Retain(target=2, lake=1),
            in_sync(1, 2, 3),
            ["remove 1 from target", "remove 1 from lake", "remove 2 from lake"],
        ),
        (Retain(lake=1), but(in_sync(1, 2, 3), lake={1: GONE, 2: GONE}), []),
        (
            Retain(target=2),
            but(in_sync(1, 2), source={3: source()}),
            ["extract 3", "load 3 as 1", "remove 1 from target"],
        ),
        (Retain(target=2), but(in_sync(2, 3), source={1: source()}, target={1: 5}), []),
        (Retain(target=2), but(in_sync(1, 2, 3), source={1: GONE}), ["remove 1 from target"]),
        (Retain(target=2), but(in_sync(1, 3, 4), source={2: source()}), ["remove 1 from target"]),
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
def test_retention_steps(retain: Retain, seen: TableState, steps: list[str]):
    """Retention of target and lake removes the oldest values and never touches values below the scope."""
    assert told(planned(seen, retain=retain)) == steps


def test_removal_has_its_own_generation():
    """A removal gets the next generation and names the setting as its reason."""
    seen = but(in_sync(1, 2), ledger={1: entry(generation=4)})
    assert planned(seen, retain=Retain(target=1))[0] == Remove(day(1), "target", "beyond `retain: target: 1`", 5)


@pytest.mark.parametrize(
    "asked", [Request(reload_all=True), Request(reload=frozenset()), Request(between=(day(2), day(2)))]
)
def test_only_daily_runs_remove_values(asked: Request):
    """Reload, repair and backfill remove nothing."""
    assert not [word for word in told(planned(in_sync(1, 2), asked, retain=Retain(target=1))) if "remove" in word]


def test_forgotten_value_is_ignored():
    """A forgotten value is not loaded, healed or removed."""
    seen = but(
        in_sync(1, 2, 3),
        ledger={2: entry(kind="forgotten", generation=2)},
        target={2: GONE},
        scope=Scope(day(1), forgotten=frozenset({day(2)})),
    )
    assert told(planned(seen, retain=Retain(target=1, lake=1))) == [
        "remove 1 from target",
        "remove 1 from lake",
    ]


# Reload, repair and backfill


@pytest.mark.parametrize(
    ("between", "steps"),
    [
        ((1, 1), ["extract 1", "load 1 as 1"]),
        ((0, 2), ["extract 0", "extract 1", "extract 2", "load 0 as 1", "load 1 as 1", "load 2 as 1"]),
        ((3, 4), []),
        ((-9, -5), []),
    ],
)
def test_backfill_loads_only_its_range(between: tuple[int, int], steps: list[str]):
    """A backfill loads the values of its range and adds the range to the scope."""
    low, high = map(day, between)
    seen = but(in_sync(3, 4), source={0: source(), 1: source(), 2: source(), 5: source()})

    scope, found = plan(Rules(), seen, Request(between=(low, high)))

    assert told(found) == steps
    assert scope == Scope(day(3), ((low, high),))


def test_backfill_restores_a_forgotten_value():
    """A backfill loads a forgotten value and adds it to the scope again."""
    forgotten = but(
        in_sync(1, 2),
        ledger={1: entry(kind="forgotten", generation=2)},
        scope=Scope(day(1), forgotten=frozenset({day(1)})),
    )
    scope, steps = plan(Rules(), forgotten, Request(between=(day(1), day(1))))
    assert told(steps) == ["load 1 as 3 after a look"]
    assert scope.covers(day(1))


def test_backfill_before_first_run_sets_no_floor():
    """A backfill before the first run leaves the floor to the first run."""
    seen = but(EMPTY, source={1: source(), 2: source(), 3: source()})
    backfilled = scope_for(Rules(), seen, Request(between=(day(1), day(1))))

    assert backfilled == Scope(None, ((day(1), day(1)),))
    assert scope_for(Rules(initial_load_count=1), replace(seen, scope=backfilled), DAILY) == Scope(
        day(3), ((day(1), day(1)),)
    )


def test_reload_loads_everything_again():
    """A reload extracts and loads every value, whatever its hash."""
    steps = planned(in_sync(1, 2), Request(reload_all=True))
    assert told(steps) == ["extract 1", "extract 2", "load 1 as 2", "load 2 as 2"]
    assert set(reasons(steps)) == {"reload asked for"}


def test_repair_reloads_only_differing_values():
    """A repair extracts and loads the given values and nothing else."""
    seen = but(in_sync(1, 2), source={3: source()}, target={1: GONE})
    assert told(planned(seen, Request(reload=frozenset({day(2)})))) == ["extract 2", "load 2 as 2"]


def test_values_with_exchanged_rows_are_reloaded():
    """Values that exchanged rows are extracted and loaded, also outside of the look-back. Each step says why."""
    seen = but(in_sync(1, 2, 3), source={1: source(None)})

    steps = planned(seen, Request(reload=frozenset({day(1), day(3)}), why=EXCHANGED), look_back=1)

    assert told(steps) == ["extract 1", "extract 3", "load 1 as 2", "load 3 as 2"]
    assert set(reasons(steps)) == {EXCHANGED}


def test_exchange_leaves_out_expired_values():
    """A value beyond retention is not loaded when it exchanged rows with another."""
    seen = but(in_sync(1, 2, 3), ledger={1: entry(kind="removed")}, target={1: GONE})

    steps = planned(seen, Request(reload=frozenset({day(1), day(3)}), why=EXCHANGED), retain=Retain(target=2))

    assert told(steps) == ["extract 3", "load 3 as 2"]


@pytest.mark.parametrize("asked", [Request(reload=frozenset({day(1)})), Request(reload_all=True)])
def test_repair_of_a_purged_value_uses_its_file(asked: Request):
    """Somebody changed rows of a day that the source purged. The repair loads the file of the lake."""
    steps = told(planned(but(in_sync(1, 2), source={1: GONE}), asked))
    assert "load 1 as 2" in steps
    assert "extract 1 from the target" not in steps


# Notices


def test_empty_source_is_reported():
    """A source without partition values is reported."""
    assert notices(planned(EMPTY)) == ["the source holds no partition value"]


def test_notice_names_the_newest_waiting_values():
    """When many values wait, the notice names the newest five."""
    seen = but(in_sync(1), source=dict.fromkeys(range(2, 10), source()))
    assert notices(planned(seen, hold_back=8)) == ["not ready yet: 5, 6, 7, 8, 9"]


# Columns that left the source

THREE = {"columns": ("a", "b", "c"), "storage_types": ("int32", "string", "date")}


@pytest.mark.parametrize(
    ("now", "known", "expected"),
    [
        ({"a": "int32", "b": "string", "c": "date"}, THREE, []),
        ({"a": "int32", "b": "string"}, THREE, []),
        ({"b": "string", "a": "int32"}, THREE, []),
        ({"a": "int32", "b": "string", "d": "date"}, THREE, ["extract 1", "load 1 as 2 unless c"]),
        ({"a": "int64", "b": "string"}, THREE, ["extract 1", "load 1 as 2 unless c"]),
        ({"a": "int32"}, {"columns": ("a", "b")}, ["extract 1", "load 1 as 2 unless c"]),
    ],
    ids=["none", "one left", "one left, others moved", "one left, one came", "one left, one wider", "types unknown"],
)
def test_dropped_column_causes_no_extract(now: dict[str, str], known: dict[str, Any], expected: list[str]):
    """When the source only drops a column, nothing is extracted. A new or wider column causes an extract."""
    seen = replace(
        in_sync(1),
        lake=days({1: replace(file(), columns_id="before", **known)}),
        ledger=days({1: entry(columns_id="before", **known)}),
        storage_types=now,
    )

    _, planned = plan(Rules(), seen)

    assert told(planned) == expected
