"""The planner of static tables: which steps follow from the state of source, lake, target and ledger.

`IN_STEP` is a table whose four states agree. Each parametrized case says what is different and which steps follow,
written as `extract`, `load as 2` (its generation), `load as 2 unless c` (skipped if the target has that hash),
`remove a, b` (older lake entries).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.changes.content_hash.plan import SCOPE, UNKNOWN, plan
from tidegate.errors import ForeignTarget
from tidegate.model.plan import DAILY, Extract, Load, Notice, Read, Remove, Request, Step
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry, LedgerEntry, SourceValue, TableState
from tidegate.model.tokens import ContentToken
from tidegate.model.windows import WHOLE_TABLE

ROWS = 4
LOADED, OTHER = "c" * 32, "d" * 32
RECEIPT, OTHER_RECEIPT = Receipt(ROWS, LOADED), Receipt(ROWS, OTHER)
STATE, OTHER_STATE = RECEIPT.as_text(), OTHER_RECEIPT.as_text()
MORE_ROWS = Receipt(6, OTHER)
RELOAD = Request(reload_all=True)
REPAIR = Request(reload=frozenset({WHOLE_TABLE}))


@dataclass(frozen=True)
class Retain:
    lake: int | None = None


@dataclass(frozen=True)
class Rules:
    on_target_change: str = "report"
    retain: Retain = Retain()


def file(hash: str = LOADED, content: str = STATE, **facts: Any) -> LakeEntry:
    token = ContentToken(content)
    return LakeEntry("lake/file.parquet", "etag", ROWS, hash, token=token, **{"columns_id": "columns", **facts})


def entry(kind: str = "loaded", hash: str = LOADED, left: Receipt | None = RECEIPT, **facts: Any) -> LedgerEntry:
    """`left` is what the target held after the load."""
    target = {"target_rows": left.rows, "target_hash": left.hash} if left else {}
    return LedgerEntry(**{"generation": 1, "columns_id": "columns", **target, **facts}, kind=kind, rows=ROWS, hash=hash)


def evidence(
    source: str | None = STATE,
    lake: LakeEntry | None = None,
    ledger: LedgerEntry | None = None,
    held: int | str | None = ROWS,
    **facts: Any,
) -> TableState:
    """`held` is how many rows the target has; `no table` while it has none."""

    def known(fact: Any) -> Mapping[Any, Any]:
        return {} if fact is None else {WHOLE_TABLE: fact}

    return TableState(
        source={WHOLE_TABLE: SourceValue(ROWS, source)},
        lake=known(lake),
        target={} if held == "no table" else {WHOLE_TABLE: held},  # type: ignore[dict-item]
        ledger=known(ledger),
        **{"columns_id": "columns", "target_receipt": RECEIPT, **facts},
    )


IN_STEP = {"lake": file(), "ledger": entry()}
NEW: dict[str, Any] = {"held": "no table", "target_receipt": None, "is_ours": False}


def planned(seen: TableState, asked: Request = DAILY, **rules: Any) -> list[Step]:
    scope, steps = plan(Rules(**rules), seen, asked)
    assert scope == SCOPE
    return steps


def told(steps: list[Step]) -> list[str]:
    words = []
    for step in steps:
        match step:
            case Extract():
                words.append("extract")
            case Load(_, _, generation, _, unless_hash, compare_first):
                condition = f" unless {unless_hash[0]}" if unless_hash else " after a look" if compare_first else ""
                words.append(f"load as {generation}{condition}")
            case Remove(value, "lake", entries=entries):
                assert value == WHOLE_TABLE
                words.append(f"remove {', '.join(entries)}")
    return words


def reasons(steps: list[Step]) -> list[str]:
    return [step.why for step in steps if isinstance(step, (Extract, Load))]


def warnings(steps: list[Step]) -> list[str]:
    return [step.text for step in steps if isinstance(step, Notice)]


@pytest.mark.parametrize(
    ("facts", "steps", "why"),
    [
        ({}, [], ""),
        ({**NEW, "lake": None, "ledger": None}, ["extract", "load as 1"], "new in the source"),
        ({"source": OTHER_STATE}, ["extract", "load as 2 unless c"], "its content changed in the source"),
        ({"lake": None}, ["extract", "load as 2 unless c"], "missing in the lake"),
        (
            {"lake": file(broken="it is cut off")},
            ["extract", "load as 2 unless c"],
            "its file cannot be used: it is cut off",
        ),
        ({"columns_id": "more columns"}, ["extract", "load as 2 unless c"], "it was extracted with other columns"),
        ({"ledger": None}, ["load as 1 after a look"], "in the lake, not in the target"),
        ({"ledger": None, **NEW}, ["load as 1"], "in the lake, not in the target"),
        ({"ledger": None, "lake": None}, ["extract", "load as 1 after a look"], "new in the source"),
        (
            {"ledger": None, "lake": file(broken="it is cut off")},
            ["extract", "load as 1 after a look"],
            "its file cannot be used: it is cut off",
        ),
        (
            {"lake": file(OTHER, OTHER_STATE), "source": OTHER_STATE},
            ["load as 2"],
            "newer in the lake than in the target",
        ),
        ({"ledger": entry("adopted"), "lake": None}, ["extract", "load as 2 unless c"], "missing in the lake"),
        ({"ledger": entry("forgotten", generation=4)}, ["load as 5 after a look"], "in the lake, not in the target"),
        (
            {"ledger": entry("removed", generation=4), "held": "no table"},
            ["load as 5"],
            "in the lake, not in the target",
        ),
    ],
    ids=[
        "in sync",
        "a first run",
        "changed",
        "a lost file",
        "a broken file",
        "other columns",
        "a lost ledger",
        "a file of another target",
        "a lost ledger and a lost file",
        "a lost ledger and a broken file",
        "a file that was extracted and not loaded",
        "adopted",
        "forgotten",
        "removed",
    ],
)
def test_steps_follow_from_the_state(facts: dict[str, Any], steps: list[str], why: str):
    """Each difference between source, lake, target and ledger leads to its steps and its reason."""
    found = planned(evidence(**{**IN_STEP, **facts}))
    assert told(found) == steps
    assert set(reasons(found)) == ({why} if why else set())


# Reload and repair


@pytest.mark.parametrize("asked", [RELOAD, REPAIR])
def test_reload_ignores_known_hashes(asked: Request):
    """A reload and a repair extract and load, even when nothing differs."""
    steps = planned(evidence(**IN_STEP), asked)
    assert told(steps) == ["extract", "load as 2"]
    assert reasons(steps) == ["reload asked for"] * 2


def test_repair_without_differences_does_nothing():
    """A repair of no values plans nothing."""
    assert told(planned(evidence(**IN_STEP), Request(reload=frozenset()))) == []


# Rows that somebody changed in the target


@pytest.mark.parametrize(
    ("policy", "held", "receipt", "steps", "noted"),
    [
        ("report", 3, None, ["load as 2"], 0),
        ("restore", 3, None, ["load as 2"], 0),
        ("keep", 3, None, ["load as 2"], 0),
        ("report", "no table", None, ["load as 2"], 0),
        ("report", ROWS, OTHER_RECEIPT, [], 1),
        ("restore", ROWS, OTHER_RECEIPT, ["load as 2"], 0),
        ("keep", ROWS, OTHER_RECEIPT, [], 0),
        ("report", 6, MORE_ROWS, [], 1),
        ("restore", 6, MORE_ROWS, ["load as 2"], 0),
        ("keep", 6, MORE_ROWS, [], 0),
        ("report", ROWS, None, [], 0),
        ("report", None, None, [], 0),
    ],
)
def test_missing_rows_heal_and_others_are_reported(
    policy: str, held: Any, receipt: Receipt | None, steps: list[str], noted: int
):
    """Missing rows are loaded under every policy. Changed or added rows follow `on_target_change`."""
    found = planned(evidence(**IN_STEP, held=held, target_receipt=receipt), on_target_change=policy)
    assert told(found) == steps
    assert len(warnings(found)) == noted


def test_expected_extra_rows_are_not_reported():
    """When deletes are not allowed, the ledger records that the target has more rows than the source."""
    seen = evidence(lake=file(), ledger=entry(left=MORE_ROWS), held=6, target_receipt=MORE_ROWS)
    assert planned(seen) == []


def test_changed_rows_warning_has_a_remedy():
    """The warning about changed rows says how many were added and that `repair` restores them."""
    found = planned(evidence(**IN_STEP, held=6, target_receipt=MORE_ROWS))
    assert found == [
        Notice(
            "somebody changed rows in the target, 2 rows more; `tidegate repair` restores it", WHOLE_TABLE, "warning"
        )
    ]


def test_warning_says_that_added_rows_stay():
    """When deletes are not allowed, the warning says that `repair` does not remove added rows."""
    _, (notice,) = plan(Rules(), evidence(**IN_STEP, held=6, target_receipt=MORE_ROWS), DAILY, deletes=False)
    assert isinstance(notice, Notice)
    assert notice.text.endswith("`tidegate repair` restores it; what was added stays, since `allow_deletes` is off")


def test_lost_target_column_is_reloaded():
    """When the target lost a column, the table is loaded again from the lake."""
    found = planned(evidence(**IN_STEP, target_lacks=("note",)))
    assert (told(found), reasons(found)) == (["load as 2"], ["the target lost the column note"])


# Foreign targets

THEIRS = {"is_ours": False, "held": 7, "target_receipt": Receipt(7, OTHER)}


def test_foreign_rows_are_refused():
    """A target with rows that no ledger knows is refused."""
    with pytest.raises(ForeignTarget, match="The target holds 7 rows that no ledger knows"):
        planned(evidence(**THEIRS))


@pytest.mark.parametrize(
    ("facts", "asked", "policy"),
    [
        ({"target_receipt": RECEIPT, "held": ROWS}, DAILY, "report"),
        ({}, DAILY, "restore"),
        ({}, RELOAD, "report"),
        ({"ledger": entry("adopted", left=None)}, DAILY, "report"),
        ({"is_ours": True}, DAILY, "report"),
        ({"held": 0}, DAILY, "report"),
    ],
    ids=["they are the same", "they may be written over", "reload", "adopted", "ours, with a lost ledger", "no rows"],
)
def test_foreign_rows_are_overwritten_if_allowed(facts: dict[str, Any], asked: Request, policy: str):
    """Foreign rows are loaded over when they are equal, adopted, ours, or when a setting or a reload allows it."""
    found = planned(evidence(**{**THEIRS, **facts}), asked, on_target_change=policy)
    assert [word.split()[0] for word in told(found)] == ["extract", "load"]


# Random losses

STATES = st.sampled_from([STATE, OTHER_STATE])
FILES = st.none() | st.builds(
    lambda state, broken, columns: file(state.split()[1], state, broken=broken, columns_id=columns),
    STATES,
    st.sampled_from(["", "it is cut off"]),
    st.sampled_from(["columns", "others"]),
)
ENTRIES = st.none() | st.builds(
    lambda kind, receipt: entry(kind, receipt.hash, receipt),
    st.sampled_from(["loaded", "adopted", "removed", "forgotten"]),
    st.sampled_from([RECEIPT, OTHER_RECEIPT]),
)


@given(STATES, FILES, ENTRIES, st.sampled_from([0, 3, ROWS, 6, "no table"]), st.sampled_from(["report", "keep"]))
def test_plan_ends_with_an_equal_target(
    source: str, lake: LakeEntry | None, ledger: LedgerEntry | None, held: Any, policy: str
):
    """After any plan, the lake has the source's content, and the target is loaded from it unless the ledger shows that
    it has it."""
    steps = planned(evidence(source, lake, ledger, held, target_receipt=None), on_target_change=policy)

    extracts, loads = (any(isinstance(step, kind) for step in steps) for kind in (Extract, Load))
    usable = lake is not None and not lake.broken and lake.columns_id == "columns"
    assert extracts == (not usable or lake.token != ContentToken(source))  # type: ignore[union-attr]
    stands = ledger is not None and ledger.is_active
    there = held if isinstance(held, int) else 0
    missing = stands and there < (ledger.target_rows or 0)  # type: ignore[union-attr]
    unlike = stands and usable and lake.hash != ledger.hash  # type: ignore[union-attr]
    assert loads == (extracts or not stands or missing or unlike)
    for step in steps:
        if isinstance(step, Load):
            assert step.generation == (ledger.generation + 1 if ledger else 1)
            # Left alone only where the target is known to hold all of it.
            assert not step.unless_hash or (stands and not missing)


def test_equal_states_give_equal_plans():
    """The same state gives the same plan."""
    seen = evidence(OTHER_STATE, **IN_STEP)
    assert planned(seen) == planned(replace(seen))


THREE = {"columns": ("a", "b", "c"), "storage_types": ("int32", "string", "date"), "columns_id": "before"}


@pytest.mark.parametrize(
    ("now", "steps"),
    [
        ({"a": "int32", "b": "string"}, []),
        ({"a": "int32", "d": "string"}, ["extract", "load as 2 unless c"]),
        ({"a": "int64", "b": "string"}, ["extract", "load as 2 unless c"]),
    ],
    ids=["one left", "one left, one came", "one left, one wider"],
)
def test_dropped_column_causes_no_extract(now: dict[str, str], steps: list[str]):
    """When the source only drops a column, nothing is extracted. A new or wider column causes an extract."""
    seen = evidence(lake=file(**THREE), ledger=entry(**THREE), storage_types=now)

    assert told(planned(seen)) == steps


# Older lake entries


@pytest.mark.parametrize(
    ("kept", "superseded", "steps"),
    [
        (None, ("a", "b", "c"), []),
        (1, (), []),
        (1, ("a", "b", "c"), ["remove a, b, c"]),
        (2, ("a", "b", "c"), ["remove a, b"]),
        (3, ("a", "b", "c"), ["remove a"]),
        (4, ("a", "b", "c"), []),
        (9, ("a", "b", "c"), []),
    ],
)
def test_entries_beyond_retention_are_removed(kept: int | None, superseded: tuple[str, ...], steps: list[str]):
    """`retain: {lake: N}` keeps the newest entry and N - 1 older ones; the oldest entries leave first."""
    seen = evidence(**IN_STEP, superseded=superseded)
    found = planned(seen, retain=Retain(kept))
    assert told(found) == steps
    assert all(file().id not in step.entries for step in found if isinstance(step, Remove))


def test_removal_names_the_setting():
    """A removal of older entries names the setting as its reason."""
    steps = planned(evidence(**IN_STEP, superseded=("a", "b")), retain=Retain(1))
    assert steps == [Remove(WHOLE_TABLE, "lake", "beyond `retain: lake: 1`", entries=("a", "b"))]


def test_removal_comes_after_extract_and_load():
    """Older entries leave after the new entry is extracted and loaded."""
    seen = evidence(**IN_STEP, source=OTHER_STATE, superseded=("a", "b"))
    assert told(planned(seen, retain=Retain(2))) == ["extract", "load as 2 unless c", "remove a, b"]


@pytest.mark.parametrize("asked", [RELOAD, REPAIR, Request(reload=frozenset())])
def test_only_daily_runs_remove_entries(asked: Request):
    """Reload and repair remove no older entries."""
    steps = planned(evidence(**IN_STEP, superseded=("a", "b")), asked, retain=Retain(1))
    assert not [word for word in told(steps) if word.startswith("remove")]


# Tables that are too large to be read while planning


UNREAD: dict[str, Any] = {"source": None, "target_receipt": None, "unread": True}


def test_large_table_in_step_is_read_first():
    """Equal counts tell nothing: tasks read the table, and it is planned again."""
    _, steps = plan(Rules(), evidence(**IN_STEP, **UNREAD), DAILY)
    assert steps == [Read(WHOLE_TABLE, UNKNOWN, ROWS)]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"ledger": entry()}, "missing in the lake"),
        ({**IN_STEP, "lake": file(broken="cut off")}, "its file cannot be used: cut off"),
        ({**IN_STEP, "lake": replace(file(), rows=3)}, "the source has 4 rows, its file 3"),
        ({**IN_STEP, "columns_id": "others"}, "it was extracted with other columns"),
    ],
    ids=["no file", "broken file", "other counts", "other columns"],
)
def test_large_table_moves_unread_where_that_is_known(state: dict[str, Any], why: str):
    _, steps = plan(Rules(), evidence(**{**state, **UNREAD}), DAILY)
    assert [type(step) for step in steps] == [Extract, Load]
    assert isinstance(steps[0], Extract) and steps[0].why == why


def test_large_table_is_not_read_when_a_reload_is_asked_for():
    _, steps = plan(Rules(), evidence(**IN_STEP, **UNREAD), RELOAD)
    assert [type(step) for step in steps] == [Extract, Load]


def test_large_unknown_target_is_read_before_it_is_refused():
    """Equal rows are taken over; whether they are equal is not known yet."""
    state = evidence(**{**NEW, **UNREAD, "held": ROWS})
    _, steps = plan(Rules(), state, DAILY)
    assert [type(step) for step in steps] == [Read]
    with pytest.raises(ForeignTarget):
        plan(Rules(), replace(state, unread=False, target_receipt=OTHER_RECEIPT), DAILY)
