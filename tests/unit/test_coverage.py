"""How much of the source a scope covers, and what `plan` and `verify` say of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate.changes.cursor import coverage as cursor_coverage
from tidegate.changes.cursor.plan import CursorState
from tidegate.changes.partition import coverage as partition_coverage
from tidegate.cli.output import _summary
from tidegate.config.tables import table_model
from tidegate.model.coverage import Coverage, Outside
from tidegate.model.names import TableName
from tidegate.model.report import Finding, RunReport
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry, SourceValue, TableState
from tidegate.model.values import Value, ValueKind
from tidegate.reports.facts import _verdict

NOTHING = "the source has rows and the target has none: nothing is copied"


def day(number: int) -> Value:
    return Value.of(number, ValueKind.INTEGER)


def table(**settings: Any) -> Any:
    name = TableName("", "trades")
    names = {"name": "trades", "source_table": name, "target_table": name}
    return table_model("partition")(**names, kind="partition", partition_column="cob", **settings)


def seen(first: int, last: int, loaded_from: int, **facts: Any) -> TableState:
    """The source has days from first to last; those from `loaded_from` on are loaded."""
    loaded = [day(number) for number in range(loaded_from, last + 1)]
    entry = LedgerEntry(1, "loaded", 10, "")
    state = TableState(
        source={day(number): SourceValue() for number in range(first, last + 1)},
        lake={},
        target=dict.fromkeys(loaded, 10),
        ledger=dict.fromkeys(loaded, entry),
        scope=Scope(day(loaded_from)),
    )
    return replace(state, **facts)


def said(coverage: Coverage) -> list[str]:
    return [f"{finding.severity}: {finding.what}" for finding in coverage.findings("trades")]


FORGOTTEN = Scope(day(3), forgotten=frozenset({day(4)}))
ADOPTED = {day(number): LedgerEntry(1, "adopted", 10, "") for number in range(3, 6)}


@pytest.mark.parametrize(
    ("state", "scope", "settings", "expected"),
    [
        (seen(1, 5, 1), Scope(day(1)), {}, []),
        # A day that waits is no rule's business.
        (seen(1, 5, 1, ledger={day(1): LedgerEntry(1, "loaded", 10, "")}), Scope(day(1)), {"hold_back": 2}, []),
        (seen(1, 365, 356), Scope(day(356)), {}, ["note: 355 of 365 values are not in scope (initial_load_count: 10)"]),
        (seen(1, 5, 3, ledger=ADOPTED), Scope(day(3)), {}, ["note: 2 of 5 values are not in scope (adopt: from 3 on)"]),
        (
            seen(1, 5, 3),
            Scope(None, ((day(3), day(5)),)),
            {},
            ["note: 2 of 5 values are not in scope (backfill: only its values are in scope)"],
        ),
        (seen(1, 5, 1, excluded=2), Scope(day(1)), {}, ["note: 2 of 7 values are not in scope (values)"]),
        (
            seen(1, 5, 3),
            FORGOTTEN,
            {},
            [
                "note: 2 of 5 values are not in scope (initial_load_count: 10)",
                "note: 1 of 5 values are not in scope (forget)",
            ],
        ),
        (
            seen(1, 5, 1),
            Scope(day(1)),
            {"retain": {"target": 2}},
            ["note: 3 of 5 values are not in scope (retain: {target: 2})"],
        ),
        (
            seen(1, 2, 1, target={day(number): 1 for number in (0, 1, 2, 7, 8, 9)}),
            Scope(day(1)),
            {},
            ["note: only in the target, outside of the scope: 4 values (0, 7, 8, ...)"],
        ),
        (
            seen(1, 2, 1, nulls=1),
            Scope(day(1)),
            {},
            [
                "error: 1 row has no partition value and is not copied; correct them, load them by"
                " `values: {nulls: load}`, or say with `values: {nulls: exclude}` that they are left out on purpose"
            ],
        ),
        (seen(1, 2, 1, nulls=1234), Scope(day(1)), {"values": {"nulls": "load"}}, []),
        (
            seen(1, 2, 1, nulls=1234),
            Scope(day(1)),
            {"values": {"nulls": "exclude"}},
            ["note: 1,234 rows without a partition value are excluded (values: {nulls: exclude})"],
        ),
        (seen(1, 2, 1, target={}), Scope(day(1)), {}, [f"warning: {NOTHING}"]),
        (seen(1, 2, 1, ready=frozenset()), Scope(), {}, []),
        (seen(1, 0, 1), Scope(), {}, []),
    ],
)
def test_what_verify_says_of_values_outside(
    state: TableState, scope: Scope, settings: dict[str, Any], expected: list[str]
):
    assert said(partition_coverage.coverage_of(table(**settings), state, scope)) == expected


def test_a_plan_warns_of_rows_without_a_value():
    (notice,) = partition_coverage.coverage_of(table(), seen(1, 2, 1, nulls=1234), Scope(day(1))).notices()
    assert (notice.severity, notice.text) == ("warning", "1,234 rows have no partition value and are not copied")


@pytest.mark.parametrize(
    ("facts", "floor", "expected"),
    [
        ({}, None, []),
        ({"older": 0, "in_source": 40}, 3, []),
        ({"older": 12, "in_source": 40}, 3, ["note: 12 of 40 versions are not in scope (initial_load_days: 30)"]),
        ({}, 3, ["note: older versions are not in scope (initial_load_days: 30)"]),
        (
            {"nulls": 2},
            None,
            [
                "error: 2 rows without a cursor: never read; give them a cursor in the source, or name another"
                " `cursor_column`"
            ],
        ),
        ({"target_rows": None}, None, [f"warning: {NOTHING}"]),
        ({"target_rows": 0, "is_whole": True, "rows": 3}, None, [f"warning: {NOTHING}"]),
        ({"target_rows": 0, "is_whole": True, "rows": 0}, None, []),
    ],
)
def test_what_verify_says_of_versions_outside(facts: dict[str, Any], floor: int | None, expected: list[str]):
    name = TableName("", "clients")
    settings: Any = table_model("scd2")(name="clients", kind="scd2", source_table=name, target_table=name)
    known: dict[str, Any] = {"source": {}, "lake": {}, "target": {}, "ledger": {}, "newest": day(9), "target_rows": 40}
    state = CursorState(**{**known, **facts})
    scope = Scope(None if floor is None else day(floor))
    assert said(cursor_coverage.coverage_of(settings, state, scope)) == expected


# The last line of `verify`, and the page


def report(outcome: str, coverage: Coverage, *more: Finding) -> RunReport:
    findings = (*coverage.findings("trades"), *more)
    return RunReport("r", "verify", "", 1.0, outcome, findings=findings, coverage={"trades": coverage})


OUTSIDE = Coverage(total=365, outside=(Outside("initial_load_count: 10", 355),))
UNCOVERED = Coverage(total=1, uncovered_rows=2, uncovered="2 rows have no value", remedy="correct them")
UNLIKE = Finding("trades", "receipt", "equal counts, other content", "1")
COUNTED = "(0 values, 0 rows in the target, 1.0 s); no Spark"


@pytest.mark.parametrize(
    ("verified", "line", "sentence"),
    [
        (
            report("equal", Coverage()),
            f"the target equals the source within its scope {COUNTED}",
            "the target equals the source within the declared scope.",
        ),
        (
            report("equal", OUTSIDE),
            f"the target equals the source within its scope {COUNTED};"
            " outside of the scope: 355 of 365 values of trades (initial_load_count: 10)",
            "within the declared scope. trades: 355 of 365 values are not in scope (initial_load_count: 10).",
        ),
        (
            report("differences", UNCOVERED),
            "the target equals the source within its scope, but rows are missing that no setting excludes"
            f" {COUNTED}; outside of the scope: 2 rows of trades (excluded by no setting)",
            "equal within the declared scope, but rows are missing in the target that no setting excludes.",
        ),
        (
            report("differences", UNCOVERED, UNLIKE),
            f"the target differs from the source {COUNTED};"
            " outside of the scope: 2 rows of trades (excluded by no setting)",
            "the target differs from the source.",
        ),
        (
            report("incomplete", Coverage(is_empty=True)),
            f"the target equals the source within its scope, but nothing is copied of trades {COUNTED}",
            "a table has rows in the source and none in the target.",
        ),
    ],
)
def test_the_last_line_of_verify_states_the_coverage(verified: RunReport, line: str, sentence: str):
    assert _summary(verified) == f"verify: {line}"
    assert sentence in _verdict((), (), verified.to_dict())["text"]
