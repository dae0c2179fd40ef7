"""The status of a table that is read from a change feed: how far it is synced, its windows, and where the feed is."""

from __future__ import annotations

from tidegate.changes._feed.state import FeedTableState
from tidegate.model.explain import explain
from tidegate.model.plan import Extract, Load, Notice
from tidegate.model.status import BatchStatus, VersionsStatus, WholeStatus
from tidegate.model.tokens import FeedWindow
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable) -> VersionsStatus:
    seen = planned.state
    assert isinstance(seen, FeedTableState)
    position = seen.position
    return table_status(
        VersionsStatus,
        planned,
        [_whole(planned, seen)],
        watermark=str(position) if position is not None else "",
        newest=str(seen.feed.now) if seen.feed is not None else "",
        batches=tuple(_window(seen, name) for name in sorted({*seen.lake, *seen.ledger} - {ALL})),
        unit="row",
    )


def _whole(planned: PlannedTable, seen: FeedTableState) -> WholeStatus:
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


def _state(seen: FeedTableState, has_steps: bool) -> str:
    if not any(entry.is_active for entry in seen.ledger.values()):
        return "pending"
    if seen.target_rows is None:
        return "missing"
    if seen.expected_rows not in (None, seen.target_rows):
        return "differs"
    return "pending" if has_steps else "proven"


def _window(seen: FeedTableState, name: Value) -> BatchStatus:
    file, entry = seen.lake.get(name), seen.ledger.get(name)
    window = seen.in_lake.get(name) or seen.in_ledger.get(name) or FeedWindow()
    loaded = entry is not None and entry.is_active
    return BatchStatus(
        batch=name.text,
        state="broken" if file is not None and file.broken else "proven" if loaded else "pending",
        after=window.after or "",
        upto=window.upto,
        rows=file.rows if file is not None and not file.broken else None,
        generation=entry.generation if entry else 0,
        loaded_at=entry.at if entry else "",
    )
