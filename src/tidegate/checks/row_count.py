"""Row count: every window of the scope has as many rows on both sides. Cheap, and blind to changed values."""

from __future__ import annotations

from tidegate.checks._windows import windows_of_scope
from tidegate.interfaces.check import Check, Sides
from tidegate.model.report import Finding
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable


class RowCountCheck(Check):
    """Compares every window by what planning counted."""

    name = "row_count"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        return windows_of_scope(planned)

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> None:
        return None

    def evaluate(self, planned: PlannedTable, window: Value, result: None) -> tuple[None, list[Finding]]:
        state = planned.state
        source, target, entry = state.source.get(window), state.target.get(window) or 0, state.ledger.get(window)
        expected = source.rows if source is not None else entry.rows if entry else 0
        if expected == target:
            return None, []
        what = f"{expected:,} rows in the source, {target:,} in the target"
        return None, [Finding(planned.key, "row_count", what, window.text)]
