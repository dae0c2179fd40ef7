"""Which windows of a table are compared."""

from __future__ import annotations

from tidegate.model.report import Finding
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable


def was_loaded(planned: PlannedTable) -> bool:
    """Return whether rows of the target are Tidegate's to compare, also when the ledger with their entries was lost."""
    state = planned.state
    return bool(state.ledger) or (state.is_ours and any(state.target.values()))


def windows_of_scope(planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
    """Return the windows that the target must hold, and notes about those that testers changed by permission."""
    state = planned.state
    if state.scope is None and not state.ledger:
        return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is no scope to verify")]
    expected = planned.table.change.expected_windows(state, planned.plan.scope)
    left_out = {window: finding for window in expected if (finding := _kept_by_testers(planned, window))}
    return [window for window in expected if window not in left_out], list(left_out.values())


def _kept_by_testers(planned: PlannedTable, window: Value) -> Finding | None:
    entry, rows = planned.state.ledger.get(window), planned.state.target.get(window)
    is_kept = planned.table.found.settings.on_target_change == "keep"
    if not is_kept or entry is None or rows is None or rows <= entry.rows:
        return None
    text = f"left out of the proof: `on_target_change: keep` and the target holds {rows - entry.rows:,} rows more"
    return Finding(planned.key, "receipt", text, window.text, "note")
