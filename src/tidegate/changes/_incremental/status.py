"""The status of an incremental table: its watermark, its windows, and how many rows the target holds."""

from __future__ import annotations

from dataclasses import replace

from tidegate.changes._incremental.state import IncrementalState
from tidegate.changes._log_status import whole_status, window_status
from tidegate.model.status import BatchStatus, VersionsStatus
from tidegate.model.tokens import IncrementalWindow
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable, seen: IncrementalState, watermark: Value | None) -> VersionsStatus:
    return table_status(
        VersionsStatus,
        planned,
        [whole_status(planned, seen)] if seen.ledger or seen.newest is not None else [],
        watermark=watermark.text if watermark else "",
        newest=seen.newest.text if seen.newest else "",
        batches=tuple(_window(seen, name) for name in sorted({*seen.lake, *seen.ledger} - _not_windows(seen))),
        unit="row",
        held_by=tuple(str(holder) for holder in seen.holders),
        gaps=tuple(f"from {gap.low}, by session {gap.session.split()[0]} ({gap.who})" for gap in seen.gaps),
        watermark_set=str(seen.watermark_set or ""),
    )


def _not_windows(seen: IncrementalState) -> set[Value]:
    return {ALL, *(name for name, entry in seen.ledger.items() if entry.kind == "watermark")}


def _window(seen: IncrementalState, name: Value) -> BatchStatus:
    window = seen.in_lake.get(name) or seen.in_ledger.get(name) or IncrementalWindow()
    after, upto, watermark = (value.text if value else "" for value in (window.after, window.upto, window.watermark))
    return replace(window_status(seen, name, after, upto), watermark=watermark, gaps=len(window.gaps))
