"""The status of a table that is read by a cursor: its watermark, its windows, and how many rows the target holds."""

from __future__ import annotations

from tidegate.changes._log_status import whole_status, window_status
from tidegate.changes._watermarks import watermark_of
from tidegate.changes.cursor.plan import CursorState
from tidegate.model.status import BatchStatus, VersionsStatus
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value
from tidegate.model.windows import ALL_VERSIONS as ALL
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import table_status


def status(planned: PlannedTable, seen: CursorState) -> VersionsStatus:
    reached = watermark_of(seen.in_ledger.values(), planned.plan.scope.floor)
    return table_status(
        VersionsStatus,
        planned,
        [whole_status(planned, seen, ALL)] if seen.ledger or seen.newest is not None else [],
        watermark=reached.text if reached else "",
        newest=seen.newest.text if seen.newest and not seen.is_whole else "",
        is_whole=seen.is_whole,
        batches=tuple(_window(seen, name) for name in sorted({*seen.lake, *seen.ledger} - {ALL})),
    )


def _window(seen: CursorState, name: Value) -> BatchStatus:
    window = seen.in_lake.get(name) or seen.in_ledger.get(name) or CursorWindow()
    after, upto = (value.text if value else "" for value in (window.after, window.upto))
    return window_status(seen, name, after, upto)
