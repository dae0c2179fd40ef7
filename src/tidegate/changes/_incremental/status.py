"""The status of an incremental table: its watermark, its windows, and how many rows the target holds."""

from __future__ import annotations

from tidegate.changes._incremental.state import IncrementalState
from tidegate.model.explain import explain
from tidegate.model.plan import Extract, Load, Notice
from tidegate.model.status import BatchStatus, VersionsStatus, WholeStatus
from tidegate.model.tokens import IncrementalWindow
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable, watermark: Value | None) -> VersionsStatus:
    seen = planned.state
    assert isinstance(seen, IncrementalState)
    return table_status(
        VersionsStatus,
        planned,
        [_whole(planned, seen)] if seen.ledger or seen.newest is not None else [],
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


def _whole(planned: PlannedTable, seen: IncrementalState) -> WholeStatus:
    newest = max(seen.ledger.values(), default=None, key=lambda entry: entry.at)
    steps = [step for step in planned.plan.steps if not isinstance(step, Notice)]
    return WholeStatus(
        value=ALL.text,
        state=_state(seen, bool(steps)),
        target_rows=seen.target_rows or 0,
        generation=newest.generation if newest else 0,
        loaded_at=newest.at if newest else "",
        next=tuple(explain(step, planned.plan.labels) for step in steps if isinstance(step, (Extract, Load))),
    )


def _state(seen: IncrementalState, has_steps: bool) -> str:
    active = [entry for entry in seen.ledger.values() if entry.is_active]
    if not active:
        return "pending"
    if seen.target_rows is None:
        return "missing"
    if seen.expected_rows not in (None, seen.target_rows):
        return "differs"
    adopted = all(entry.kind == "adopted" for entry in active)
    return "pending" if has_steps else "adopted" if adopted else "proven"


def _window(seen: IncrementalState, name: Value) -> BatchStatus:
    file, entry = seen.lake.get(name), seen.ledger.get(name)
    window = seen.in_lake.get(name) or seen.in_ledger.get(name) or IncrementalWindow()
    loaded = entry is not None and entry.is_active
    return BatchStatus(
        batch=name.text,
        state="broken" if file is not None and file.broken else "proven" if loaded else "pending",
        after=window.after.text if window.after else "",
        upto=window.upto.text if window.upto else "",
        rows=file.rows if file is not None and not file.broken else None,
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
        watermark=window.watermark.text if window.watermark else "",
        gaps=len(window.gaps),
    )
