"""Completeness: the target has as many rows as the source, up to what was loaded, within a tolerance in percent."""

from __future__ import annotations

from typing import Any

from tidegate.interfaces.check import Check, Sides
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable


class CompletenessCheck(Check):
    """Compares the numbers of rows that planning counted. `completeness_tolerance` is the percentage allowed."""

    name = "completeness"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not planned.state.ledger:
            return [], [Finding(planned.key, "completeness", "nothing was loaded yet: there is nothing to compare")]
        return [min(planned.state.source)], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> None:
        return None

    def evaluate(self, planned: PlannedTable, window: Value, result: Any) -> tuple[Comparison | None, list[Finding]]:
        expected, actual = planned.state.source[window].rows, planned.state.target.get(window) or 0
        if expected is None:
            text = "not compared: nobody counted the rows of the source"
            return None, [Finding(planned.key, "completeness", text, window.text, "warning")]
        tolerance = getattr(planned.table.found.settings, "completeness_tolerance", 0)
        off = 100 * abs(expected - actual) / expected if expected else 100.0 * bool(actual)
        text = (
            f"{actual:,} rows in the target, {expected:,} in the source: {off:.3f} % off, {tolerance:g} % are allowed"
        )
        # A difference equal to the tolerance is complete.
        is_complete = 100 * abs(expected - actual) <= tolerance * expected
        severity = "error" if not is_complete else "note"
        return None, [Finding(planned.key, "completeness", text, window.text, severity)] if expected != actual else []
