"""Receipt: count and hash of every window of the scope are the same on both sides."""

from __future__ import annotations

from dataclasses import replace

from tidegate.buckets.compare import Compared, CompareSplit
from tidegate.checks._compare import compare_split, comparison_of, difference_in_words
from tidegate.checks._windows import windows_of_scope
from tidegate.interfaces.check import Check, Sides
from tidegate.model.report import Comparison, Finding
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable


class ReceiptCheck(Check):
    """Compares every window by the hash of its rows."""

    name = "receipt"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        return windows_of_scope(planned)

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CompareSplit:
        return compare_split(sides, planned, window)

    def evaluate(self, planned: PlannedTable, window: Value, result: Compared) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(planned, window, result.source, result.target)
        if planned.table.transform is not None:
            return _derived(planned, window, comparison)
        if comparison.source is None:
            return comparison, [_purged(planned, window, comparison)]
        if comparison.equal:
            return comparison, []
        what = difference_in_words(comparison, result.keys)
        return comparison, [Finding(planned.key, "receipt", what, window.text)]


def _derived(planned: PlannedTable, window: Value, comparison: Comparison) -> tuple[Comparison, list[Finding]]:
    """Judge a window whose rows are transformed: the source by the raw entry, the target by what was loaded."""
    entry, source, target = planned.state.ledger.get(window), comparison.source, comparison.target
    raw_hash = entry.token.raw_hash if entry is not None and isinstance(entry.token, PartitionToken) else ""
    wrong = []
    if target is None or target.hash != comparison.ledger_hash:
        wrong.append("the target differs from what was loaded")
    if source is not None and raw_hash and source.hash != raw_hash:
        wrong.append("the source changed after it was extracted")
    if source is not None and not raw_hash:
        wrong.append("nobody knows of which rows of the source the target was made: `tidegate run --reload`")
    if wrong:
        return comparison, [Finding(planned.key, "receipt", "; ".join(wrong), window.text)]
    return replace(comparison, derived=True), []


def _purged(planned: PlannedTable, window: Value, comparison: Comparison) -> Finding:
    """Judge a window that the source no longer has: the ledger's receipt is the measure."""
    entry, found = planned.state.ledger.get(window), planned.table.found
    if entry is not None:
        loaded = found.as_loaded(planned.table.change.target_request(window), entry).columns
        left = [name for name in entry.columns if name not in {column.name for column in loaded}]
        if left:
            text = f"no longer in the source; not compared: it was loaded with {', '.join(left)}, which left the target"
            return Finding(comparison.table, "receipt", text, comparison.value, "note")
    same = comparison.target is not None and comparison.target.hash == comparison.ledger_hash
    what = "no longer in the source; the target " + (
        "holds what was loaded" if same else "differs from what was loaded"
    )
    return Finding(comparison.table, "receipt", what, comparison.value, "note" if same else "error")
