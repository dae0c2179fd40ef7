"""The planner of static tables: what source, lake, target and ledger say of all rows, and what follows from it.

`IN_STEP` is a table whose witnesses agree; each row of a table below says what is different, and the steps that follow,
written as `land`, `load as 2` (its generation), `load as 2 unless c` (the target is known to hold that hash).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.changes.content_hash import SCOPE, WHOLE, plan
from tidegate.errors import ForeignTarget
from tidegate.model.evidence import LakeFile, LedgerEntry, PartitionEvidence, SourceValue
from tidegate.model.plan import DAILY, Land, Load, Notice, Request, Step

ROWS = 4
LOADED, OTHER = "c" * 32, "d" * 32
STATE, OTHER_STATE = f"{ROWS} {LOADED}", f"{ROWS} {OTHER}"
RELOAD = Request(reload_all=True)
REPAIR = Request(reload=frozenset({WHOLE}))


@dataclass(frozen=True)
class Rules:
    on_target_change: str = "report"


def file(hash: str = LOADED, newest: str = STATE, **facts: Any) -> LakeFile:
    return LakeFile("lake/file.parquet", "stamp", ROWS, hash, newest=newest, **{"columns_id": "columns", **facts})


def entry(kind: str = "loaded", hash: str = LOADED, newest: str | None = STATE, **facts: Any) -> LedgerEntry:
    return LedgerEntry(
        **{"generation": 1, "columns_id": "columns", **facts}, kind=kind, rows=ROWS, hash=hash, newest=newest
    )


def evidence(
    source: str = STATE,
    lake: LakeFile | None = None,
    ledger: LedgerEntry | None = None,
    held: int | str | None = ROWS,
    **facts: Any,
) -> PartitionEvidence:
    """`held` is how many rows the target has; `no table` while it has none."""

    def known(fact: Any) -> Mapping[Any, Any]:
        return {} if fact is None else {WHOLE: fact}

    return PartitionEvidence(
        source={WHOLE: SourceValue(ROWS, source)},
        lake=known(lake),
        target={} if held == "no table" else {WHOLE: held},  # type: ignore[dict-item]
        ledger=known(ledger),
        **{"columns_id": "columns", "target_state": STATE, **facts},
    )


IN_STEP = {"lake": file(), "ledger": entry()}
NEW: dict[str, Any] = {"held": "no table", "target_state": None, "is_ours": False}


def planned(seen: PartitionEvidence, asked: Request = DAILY, **rules: Any) -> list[Step]:
    scope, steps = plan(Rules(**rules), seen, asked)
    assert scope == SCOPE
    return steps


def told(steps: list[Step]) -> list[str]:
    words = []
    for step in steps:
        match step:
            case Land():
                words.append("land")
            case Load(_, _, generation, _, unless_hash, look_first):
                condition = f" unless {unless_hash[0]}" if unless_hash else " after a look" if look_first else ""
                words.append(f"load as {generation}{condition}")
    return words


def reasons(steps: list[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Land, Load))]


def warnings(steps: list[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice)]


@pytest.mark.parametrize(
    ("facts", "steps", "why"),
    [
        ({}, [], ""),
        ({**NEW, "lake": None, "ledger": None}, ["land", "load as 1"], "new in the source"),
        ({"source": OTHER_STATE}, ["land", "load as 2 unless c"], "its content changed in the source"),
        ({"lake": None}, ["land", "load as 2 unless c"], "missing in the lake"),
        (
            {"lake": file(broken="it is cut off")},
            ["land", "load as 2 unless c"],
            "its file cannot be used: it is cut off",
        ),
        ({"columns_id": "more columns"}, ["land", "load as 2 unless c"], "it was extracted with other columns"),
        ({"ledger": None}, ["load as 1 after a look"], "in the lake, not in the target"),
        ({"ledger": None, **NEW}, ["load as 1"], "in the lake, not in the target"),
        ({"ledger": None, "lake": None}, ["land", "load as 1 after a look"], "new in the source"),
        (
            {"ledger": None, "lake": file(broken="it is cut off")},
            ["land", "load as 1 after a look"],
            "its file cannot be used: it is cut off",
        ),
        (
            {"lake": file(OTHER, OTHER_STATE), "source": OTHER_STATE},
            ["load as 2"],
            "newer in the lake than in the target",
        ),
        ({"ledger": entry("adopted"), "lake": None}, ["land", "load as 2 unless c"], "missing in the lake"),
        ({"ledger": entry("forgotten", generation=4)}, ["load as 5 after a look"], "in the lake, not in the target"),
        (
            {"ledger": entry("removed", generation=4), "held": "no table"},
            ["load as 5"],
            "in the lake, not in the target",
        ),
    ],
    ids=[
        "in step",
        "a first run",
        "changed",
        "a lost file",
        "a broken file",
        "other columns",
        "a lost ledger",
        "a file of another target",
        "a lost ledger and a lost file",
        "a lost ledger and a broken file",
        "a file that was landed and not loaded",
        "adopted",
        "forgotten",
        "removed",
    ],
)
def test_what_follows_from_what_is_held(facts: dict[str, Any], steps: list[str], why: str):
    found = planned(evidence(**{**IN_STEP, **facts}))
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


# What a person asks for


@pytest.mark.parametrize("asked", [RELOAD, REPAIR])
def test_a_reload_extracts_and_loads_whatever_is_known(asked: Request):
    steps = planned(evidence(**IN_STEP), asked)
    assert told(steps) == ["land", "load as 2"]
    assert reasons(steps) == ["reload asked for"] * 2


def test_a_repair_of_nothing_asks_for_nothing():
    assert told(planned(evidence(**IN_STEP), Request(reload=frozenset()))) == []


# Rows that somebody changed in the target


@pytest.mark.parametrize(
    ("policy", "held", "state", "steps", "noted"),
    [
        ("report", 3, None, ["load as 2"], 0),
        ("restore", 3, None, ["load as 2"], 0),
        ("keep", 3, None, ["load as 2"], 0),
        ("report", "no table", None, ["load as 2"], 0),
        ("report", ROWS, OTHER_STATE, [], 1),
        ("restore", ROWS, OTHER_STATE, ["load as 2"], 0),
        ("keep", ROWS, OTHER_STATE, [], 0),
        ("report", 6, f"6 {OTHER}", [], 1),
        ("restore", 6, f"6 {OTHER}", ["load as 2"], 0),
        ("keep", 6, f"6 {OTHER}", [], 0),
        ("report", ROWS, None, [], 0),
        ("report", None, None, [], 0),
    ],
)
def test_missing_rows_are_healed_and_others_are_reported(
    policy: str, held: Any, state: str | None, steps: list[str], noted: int
):
    found = planned(evidence(**IN_STEP, held=held, target_state=state), on_target_change=policy)
    assert told(found) == steps
    assert len(warnings(found)) == noted


def test_rows_that_may_stay_are_expected():
    """Where deletes are not allowed, the ledger knows that the target holds more than the source."""
    seen = evidence(lake=file(), ledger=entry(newest=f"6 {OTHER}"), held=6, target_state=f"6 {OTHER}")
    assert planned(seen) == []


def test_what_a_tester_did_is_told_with_its_remedy():
    found = planned(evidence(**IN_STEP, held=6, target_state=f"6 {OTHER}"))
    assert found == [
        Notice("somebody changed rows in the target, 2 rows more; `tidegate repair` restores it", WHOLE, "warning")
    ]


def test_no_repair_is_promised_to_remove_rows_that_may_stay():
    _, (notice,) = plan(Rules(), evidence(**IN_STEP, held=6, target_state=f"6 {OTHER}"), DAILY, deletes=False)
    assert isinstance(notice, Notice)
    assert notice.text.endswith("`tidegate repair` restores it; what was added stays, since `allow_deletes` is off")


def test_a_lost_column_is_loaded_again_from_the_lake():
    found = planned(evidence(**IN_STEP, target_lacks=("note",)))
    assert (told(found), reasons(found)) == (["load as 2"], ["the target lost the column note"])


# A target that was there before

THEIRS = {"is_ours": False, "held": 7, "target_state": f"7 {OTHER}"}


def test_rows_that_no_ledger_knows_are_refused():
    with pytest.raises(ForeignTarget, match="The target holds 7 rows that no ledger knows"):
        planned(evidence(**THEIRS))


@pytest.mark.parametrize(
    ("facts", "asked", "policy"),
    [
        ({"target_state": STATE, "held": ROWS}, DAILY, "report"),
        ({}, DAILY, "restore"),
        ({}, RELOAD, "report"),
        ({"ledger": entry("adopted", newest=None)}, DAILY, "report"),
        ({"is_ours": True}, DAILY, "report"),
        ({"held": 0}, DAILY, "report"),
    ],
    ids=["they are the same", "they may be written over", "reload", "adopted", "ours, with a lost ledger", "no rows"],
)
def test_or_are_loaded_over(facts: dict[str, Any], asked: Request, policy: str):
    found = planned(evidence(**{**THEIRS, **facts}), asked, on_target_change=policy)
    assert [word.split()[0] for word in told(found)] == ["land", "load"]


# Whatever is lost

STATES = st.sampled_from([STATE, OTHER_STATE])
FILES = st.none() | st.builds(
    lambda state, broken, columns: file(state.split()[1], state, broken=broken, columns_id=columns),
    STATES,
    st.sampled_from(["", "it is cut off"]),
    st.sampled_from(["columns", "others"]),
)
ENTRIES = st.none() | st.builds(
    lambda kind, state: entry(kind, state.split()[1], state),
    st.sampled_from(["loaded", "adopted", "removed", "forgotten"]),
    STATES,
)


@given(STATES, FILES, ENTRIES, st.sampled_from([0, 3, ROWS, 6, "no table"]), st.sampled_from(["report", "keep"]))
def test_a_plan_ends_with_the_target_as_the_source_is(
    source: str, lake: LakeFile | None, ledger: LedgerEntry | None, held: Any, policy: str
):
    """The lake holds the source's content when the plan is done, and the target is loaded from it unless the ledger
    says that it holds just that."""
    steps = planned(evidence(source, lake, ledger, held, target_state=None), on_target_change=policy)

    lands, loads = (any(isinstance(step, kind) for step in steps) for kind in (Land, Load))
    usable = lake is not None and not lake.broken and lake.columns_id == "columns"
    assert lands == (not usable or lake.newest != source)  # type: ignore[union-attr]
    stands = ledger is not None and ledger.stands
    there = held if isinstance(held, int) else 0
    missing = stands and there < int((ledger.newest or "0").split()[0])  # type: ignore[union-attr]
    unlike = stands and usable and lake.hash != ledger.hash  # type: ignore[union-attr]
    assert loads == (lands or not stands or missing or unlike)
    for step in steps:
        if isinstance(step, Load):
            assert step.generation == (ledger.generation + 1 if ledger else 1)
            # Left alone only where the target is known to hold all of it.
            assert not step.unless_hash or (stands and not missing)


def test_the_same_evidence_is_the_same_plan():
    seen = evidence(OTHER_STATE, **IN_STEP)
    assert planned(seen) == planned(replace(seen))


THREE = {"columns": ("a", "b", "c"), "storage_types": ("int32", "string", "date"), "columns_id": "before"}


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        ({"a": "int32", "b": "string"}, []),
        ({"a": "int32", "d": "string"}, ["land", "load as 2 unless c"]),
        ({"a": "int64", "b": "string"}, ["land", "load as 2 unless c"]),
    ],
    ids=["one left", "one left, one came", "one left, one wider"],
)
def test_a_dropped_column_is_no_reason_to_extract(now: dict[str, str], steps: list[str]):
    seen = evidence(lake=file(**THREE), ledger=entry(**THREE), storage_types=now)

    assert told(planned(seen)) == steps
