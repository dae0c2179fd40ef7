"""How checks compare one window by its receipts, and say what differs."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.buckets.assign import buckets_for
from tidegate.buckets.compare import CompareSplit, DifferingKeys
from tidegate.interfaces.check import Sides
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable


def compare_split(sides: Sides, planned: PlannedTable, window: Value) -> CompareSplit:
    """Return the split that compares a window. What the source no longer has is compared with the ledger."""
    state, change = planned.state, planned.table.change
    in_source, entry = window in state.source, state.ledger.get(window)
    rows = state.source[window].rows if in_source else None
    known: LakeEntry | LedgerEntry | None = state.lake.get(window) or entry
    target = change.target_request(window)
    return CompareSplit(
        source=sides.source if in_source else None,
        source_request=change.source_request(window) if in_source else None,
        snapshot=sides.snapshot.name,
        target=sides.target,
        # In the columns of that time.
        target_request=target if in_source or entry is None else planned.table.found.as_loaded(target, entry),
        text_columns=known.text_columns if known else (),
        # Keys would name every row whose target is derived.
        keys=planned.table.row_names if sides.deep and in_source and planned.table.transform is None else (),
        buckets=buckets_for(max(rows or 0, state.target.get(window) or 0, entry.rows if entry else 0)),
    )


def comparison_of(planned: PlannedTable, window: Value, source: Receipt | None, target: Receipt | None) -> Comparison:
    loaded, entry = planned.state.ledger.get(window), planned.state.lake.get(window)
    lake_hash, ledger_hash = entry.hash if entry else "", loaded.hash if loaded else ""
    return Comparison(planned.key, window.text, source, target, lake_hash, ledger_hash)


def difference_in_words(comparison: Comparison, keys: Mapping[str, DifferingKeys]) -> str:
    source, target = comparison.source, comparison.target
    assert source is not None and target is not None
    text = (
        f"{source.rows:,} rows in the source, {target.rows:,} in the target"
        if source.rows != target.rows
        else "equal counts, other content"
    )
    if comparison.lake_hash and target.hash == comparison.lake_hash:
        text += "; the source changed after it was extracted"
    elif comparison.lake_hash and source.hash == comparison.lake_hash:
        is_loaded = comparison.ledger_hash == comparison.lake_hash
        text += (
            "; the target was changed after it was loaded" if is_loaded else "; what was extracted is not loaded yet"
        )
    for way, found in keys.items():
        more = ", ..." if found.count > len(found.examples) else ""
        text += f"; {found.count:,} {way} ({', '.join(found.examples)}{more})"
    return text
