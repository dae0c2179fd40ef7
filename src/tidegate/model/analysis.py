"""Analysis: what source, lake and target hold of a table, and what is missing or differs. Plain data, without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.model.native import PartitionLayout
from tidegate.model.status import TableStatus, VersionsStatus, WholeStatus
from tidegate.model.values import Value


def missing_data(status: TableStatus) -> dict[str, Any]:
    """Return what source, Parquet and target hold, and what is missing or differs."""
    answer: dict[str, Any] = {"type": status.kind, "state": status.state, "problem": status.problem or None}
    if isinstance(status, VersionsStatus):
        windows = [{"from": batch.after, "to": batch.upto, "rows": batch.rows} for batch in status.batches]
        return answer | {
            "processed_until": status.watermark or None,
            "newest_in_source": status.newest or None,
            "windows_in_parquet": windows,
            "gaps": _gaps(status),
            "pending": list(status.pending),
        }
    if status.kind != "partition":
        value = status.values[0] if status.values else None
        hashes = _hashes(value) if isinstance(value, WholeStatus) else {}
        return answer | hashes | {"pending": list(status.pending)}
    in_scope = [value for value in status.values if value.state not in ("out of scope", "forgotten")]
    in_source = [value.value for value in in_scope if value.source_rows != 0]
    return answer | {
        "values_in_source": [native(value.value) for value in status.values if value.source_rows != 0],
        "values_in_parquet": [native(value.value) for value in status.values if value.lake_hash],
        "values_in_target": [native(value.value) for value in status.values if value.target_rows != 0],
        "missing_in_parquet": [native(value.value) for value in in_scope if not value.lake_hash],
        "missing_in_target": [
            native(value.value) for value in in_scope if not value.target_rows and value.value in in_source
        ],
        "different": [native(value.value) for value in in_scope if value.state == "differs"],
        "pending": list(status.pending),
    }


def _gaps(status: VersionsStatus) -> list[dict[str, str]]:
    """Return ranges of the cursor between two windows that no window covers."""
    covered = sorted((batch.after, batch.upto) for batch in status.batches if batch.after and batch.upto)
    gaps, reached = [], ""
    for after, upto in covered:
        if reached and after > reached:
            gaps.append({"from": reached, "to": after})
        reached = max(reached, upto)
    return gaps


def _hashes(value: WholeStatus) -> dict[str, Any]:
    target_hash = value.target_hash or value.ledger_hash
    return {
        "source_hash": value.source_hash or None,
        "parquet_hash": value.lake_hash or None,
        "target_hash": target_hash or None,
        "row_counts": {"source": value.source_rows, "parquet": value.lake_rows, "target": value.target_rows},
        # The source's hash is not known of a large table, whose rows are not read here.
        "hash_mismatch": value.lake_hash != target_hash or value.source_hash not in ("", value.lake_hash),
    }


def missing_of(analysis: dict[str, Any]) -> dict[str, list[str]]:
    """Return in words what is missing or differs, with the values that are concerned. Empty when all is well."""
    bounds = analysis.get("native_partitions", {})
    gaps = [f"{gap['from']} to {gap['to']}" for gap in analysis.get("gaps", ())]
    hashes = (
        [f"{place} {analysis[f'{place}_hash'] or 'none'}" for place in ("source", "parquet", "target")]
        if (analysis.get("hash_mismatch"))
        else []
    )
    found = {
        "missing in Parquet": analysis.get("missing_in_parquet", ()),
        "missing in the target": analysis.get("missing_in_target", ()),
        "different in the target": analysis.get("different", ()),
        "gap between windows": gaps,
        "hashes differ": hashes,
        "without a native partition": bounds.get("boundary_mismatches", ()),
        "pending": analysis["pending"],
        "problem": [analysis["problem"]] if analysis["problem"] else (),
    }
    return {what: [str(value) for value in values] for what, values in found.items() if values}


def is_missing(analysis: dict[str, Any]) -> bool:
    """Return whether an analysis found anything that a run, a repair or a person has to do."""
    lists = ("pending", "missing_in_parquet", "missing_in_target", "different", "gaps")
    bounds = analysis.get("native_partitions", {})
    return bool(
        any(analysis.get(name) for name in lists)
        or analysis.get("hash_mismatch")
        or analysis["problem"]
        or bounds.get("boundary_mismatches")
    )


def boundaries(layout: PartitionLayout, values: Sequence[Value]) -> dict[str, Any]:
    """Return how values fit the native partitions of the target: those that no partition has bounds for."""
    outside = [value.native for value in values if _is_without_bounds(layout, value)]
    return {
        "partitions": len(layout.partitions),
        "column": layout.column or None,
        "boundary_mismatches": [] if layout.problem else outside,
        "problem": layout.problem or None,
    }


def _is_without_bounds(layout: PartitionLayout, value: Value) -> bool:
    partition = layout.partition_of(value)
    return partition is None or partition.is_default


def native(text: str) -> Any:
    """Return a partition value as Python has it: an int where it is a whole number, else its text."""
    return int(text) if text.lstrip("-").isdigit() else text
