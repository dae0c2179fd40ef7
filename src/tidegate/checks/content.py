"""Content: a whole table is the same on both sides, or contains the source where deletes are not applied."""

from __future__ import annotations

from dataclasses import replace

from tidegate.buckets.compare import QUARANTINED, Compared, CompareSplit
from tidegate.checks._compare import compare_split, comparison_of, difference_in_words
from tidegate.checks._windows import was_loaded
from tidegate.interfaces.check import Check, Sides
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import status_of


class ContentCheck(Check):
    """Compares a whole table by the hash of its rows, and by keys where the target may hold more."""

    name = "content"
    loads = ("merge", "apply_changes", "replace")
    compares_content = True

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not was_loaded(planned):
            return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is nothing to verify")]
        if _is_kept(planned) and status_of(planned).values[0].state == "differs":
            return [], [_left_out(planned)]
        return [WHOLE_TABLE], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CompareSplit:
        """Where rows may stay that the source no longer has, only keys tell whether all others are there."""
        split = replace(compare_split(sides, planned, window), aside=planned.state.aside)
        is_derived = planned.table.transform is not None
        asks_keys = not is_derived and (planned.state.aside or not planned.table.load.needs.deletes)
        return replace(split, keys=planned.table.row_names) if asks_keys else split

    def evaluate(self, planned: PlannedTable, window: Value, result: Compared) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(planned, window, result.source, result.target)
        if comparison.equal:
            return comparison, []
        if _is_kept(planned) and _differs_from_the_load(planned, result):
            return replace(comparison, contained=True), [_left_out(planned)]
        allowed = {QUARANTINED} if planned.table.load.needs.deletes else {QUARANTINED, "only in the target"}
        if result.keys and set(result.keys) <= allowed:
            return replace(comparison, contained=True), _allowed(planned, window, result)
        return comparison, [Finding(planned.key, "receipt", difference_in_words(comparison, result.keys), window.text)]


def _allowed(planned: PlannedTable, window: Value, result: Compared) -> list[Finding]:
    """Return a finding for each difference that the settings allow."""
    counts = {way: found.count for way, found in result.keys.items()}
    findings = []
    if QUARANTINED in counts:
        late = counts[QUARANTINED]
        what = f"{late:,} late rows are in quarantine, in the table late_arriving_data (`late: quarantine`)"
        findings.append(Finding(planned.key, "receipt", what, window.text, "warning"))
    if "only in the target" in counts:
        more = counts["only in the target"]
        what = f"every row of the source is in the target, which holds {more:,} more (`allow_deletes` is off)"
        if findings:
            what = f"the target holds {more:,} rows that the source does not have (`allow_deletes` is off)"
        findings.append(Finding(planned.key, "receipt", what, window.text, "note"))
    return findings


def _is_kept(planned: PlannedTable) -> bool:
    return planned.table.found.settings.on_target_change == "keep"


def _differs_from_the_load(planned: PlannedTable, result: Compared) -> bool:
    """Return whether the target is no longer as the last load left it. Planning does not read a large table."""
    entry = planned.state.ledger.get(WHOLE_TABLE)
    left = entry.target_receipt if entry is not None else None
    return planned.state.unread and left is not None and result.target is not None and result.target != left


def _left_out(planned: PlannedTable) -> Finding:
    text = "left out of the proof: `on_target_change: keep` and somebody changed rows in the target"
    return Finding(planned.key, "receipt", text, WHOLE_TABLE.text, "note")
