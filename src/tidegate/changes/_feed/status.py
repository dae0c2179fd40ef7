"""The status of a table that is read from a change feed: how far it is synced, its windows, and where the feed is."""

from __future__ import annotations

from tidegate.changes._feed.state import FeedTableState
from tidegate.changes._log_status import whole_status, window_status
from tidegate.model.status import BatchStatus, VersionsStatus
from tidegate.model.tokens import FeedWindow
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable, seen: FeedTableState) -> VersionsStatus:
    position = seen.position
    return table_status(
        VersionsStatus,
        planned,
        [whole_status(planned, seen)],
        watermark=str(position) if position is not None else "",
        newest=str(seen.feed.now) if seen.feed is not None else "",
        batches=tuple(_window(seen, name) for name in sorted({*seen.lake, *seen.ledger} - {ALL})),
        unit="row",
    )


def _window(seen: FeedTableState, name: Value) -> BatchStatus:
    window = seen.in_lake.get(name) or seen.in_ledger.get(name) or FeedWindow()
    return window_status(seen, name, window.after or "", window.upto)
