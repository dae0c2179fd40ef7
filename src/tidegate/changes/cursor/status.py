"""The status of a table that is read by a cursor: its watermark, its windows, and how many rows the target holds."""

from __future__ import annotations

from tidegate.changes._watermarks import watermark_of
from tidegate.changes.cursor.plan import CursorState
from tidegate.model.explain import explain
from tidegate.model.plan import Extract, Load, Notice
from tidegate.model.status import BatchStatus, VersionsStatus, WholeStatus
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value
from tidegate.model.windows import ALL_VERSIONS as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable) -> VersionsStatus:
    seen = planned.state
    assert isinstance(seen, CursorState)
    reached = watermark_of(seen.in_ledger.values(), planned.plan.scope.floor)
    return table_status(
        VersionsStatus,
        planned,
        [_whole(planned, seen)] if seen.ledger or seen.newest is not None else [],
        watermark=reached.text if reached else "",
        newest=seen.newest.text if seen.newest and not seen.is_whole else "",
        is_whole=seen.is_whole,
        batches=tuple(_batch(seen, batch) for batch in sorted({*seen.lake, *seen.ledger} - {ALL})),
    )


def _whole(planned: PlannedTable, seen: CursorState) -> WholeStatus:
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


def _state(seen: CursorState, has_steps: bool) -> str:
    standing = [entry for entry in seen.ledger.values() if entry.is_active]
    if not standing:
        return "pending"
    if seen.target_rows is None:
        return "missing"
    if seen.expected_rows not in (None, seen.target_rows):
        return "differs"
    adopted = all(entry.kind == "adopted" for entry in standing)
    return "pending" if has_steps else "adopted" if adopted else "proven"


def _batch(seen: CursorState, batch: Value) -> BatchStatus:
    file, entry = seen.lake.get(batch), seen.ledger.get(batch)
    window = seen.in_lake.get(batch) or seen.in_ledger.get(batch) or CursorWindow()
    loaded = entry is not None and entry.is_active
    return BatchStatus(
        batch=batch.text,
        state="broken" if file is not None and file.broken else "proven" if loaded else "pending",
        after=window.after.text if window.after else "",
        upto=window.upto.text if window.upto else "",
        rows=file.rows if file is not None and not file.broken else None,
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
    )
