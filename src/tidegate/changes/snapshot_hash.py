"""Snapshot hash: a table without a cursor is compared with its last snapshot, row by row, and what changed moves.

The last snapshot is what the lake holds of the table: all rows at first, and then the rows of keys that changed. So no
state besides can be lost, and a run that was killed compares with what it had extracted. Every run reads the whole
source once; only keys that are new, changed or gone are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tidegate.buckets.assign import buckets_for
from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.reader import WindowReader
from tidegate.changes._feed.state import FeedTableState
from tidegate.changes._snapshot.compare import Comparison, LastSnapshot
from tidegate.changes._snapshot.feed import FIRST, SnapshotFeed, place
from tidegate.errors import Unsupported
from tidegate.interfaces.change import ChangeColumns, Extraction, LoadNeeds, Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.feed import FeedState, FeedTable
from tidegate.interfaces.lake import Lake
from tidegate.model.plan import Extract, Remove, Request, Step
from tidegate.model.scope import Scope
from tidegate.model.state import TableState
from tidegate.model.tokens import FeedWindow
from tidegate.model.values import Value
from tidegate.settings import Columns, Settings
from tidegate.tables.found import UNTOUCHED, Catalogs, FoundTable

LIGHT_ROWS = 100_000
"""Up to so many rows are compared while planning. More are compared inside of a task, which then may find nothing."""


class SnapshotHashSettings(Settings):
    """A table without a cursor, of which every run compares all rows with the last snapshot."""

    keys: Columns | None = None
    """What names a row. The source's primary key, when it is left out."""


@dataclass(frozen=True)
class SnapshotState(FeedTableState):
    """The state of a table that is compared with its last snapshot."""

    files: Lake | None = None
    """The lake, as tasks carry it."""
    counted: int | None = None
    """How many rows the source has."""


@dataclass(frozen=True)
class SnapshotHashChange(FeedChange):
    """The change of one table that is compared with its last snapshot."""

    name = "snapshot_hash"
    Settings = SnapshotHashSettings
    why_no_target_retention = "a row stays until the source lacks it, however old it is; `where` leaves rows out"
    loads = ("merge", "apply_changes")  # `scd2` needs the time of each change, which a comparison does not tell

    @classmethod
    def feed_of(cls, settings: Any, source: Database, target: Database) -> SnapshotFeed:
        return SnapshotFeed()

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> SnapshotHashChange:
        by_name = {column.name: column for column in table.extracted_columns}
        if not needs.keys or any(name not in by_name for name in needs.keys):
            raise Unsupported(
                f"{settings.name}: nothing names a row of {table.source.name}, so snapshots cannot be compared.",
                UNTOUCHED,
                "Name `keys`, or add a primary key.",
            )
        request = table.from_source(None)
        keys = tuple(by_name[name] for name in needs.keys)
        told = FeedTable(table.source.name, request.columns, keys, request.text_columns, request.batch)
        return cls(table, settings, SnapshotFeed(), told, needs)

    # Inspect: a small table is compared at once

    def _with_feed(self, sessions: Sessions, state: FeedTableState) -> SnapshotState:
        known = {field.name: getattr(state, field.name) for field in fields(state)}
        files, rows = sessions.lake, self._count_source(sessions)
        seen = SnapshotState(**known, files=files, counted=rows)
        position = place(FIRST if seen.position is None else int(seen.position.order) + 1)
        changes = None
        if rows <= LIGHT_ROWS and self._is_comparable(seen):
            changes = self._reading(seen).count(sessions.source)
        return replace(seen, feed=FeedState(position, position, changes))

    def _is_comparable(self, state: SnapshotState) -> bool:
        """Return whether the last snapshot is complete, and has the columns that are copied now."""
        entries = [state.lake.get(name) for name in state.log]
        return bool(entries) and all(
            entry is not None and not entry.broken and not state.has_other_columns(entry) for entry in entries
        )

    def _reading(self, state: SnapshotState) -> SnapshotFeed:
        """Return the feed as it reads what changed since the last snapshot."""
        assert state.files is not None
        newest = state.lake[state.log[-1]]
        request = self.table.from_source(None).with_text(newest.text_columns)
        last = LastSnapshot(state.files, self.lake_table, tuple(state.lake[name].id for name in state.log))
        most = max(state.counted or 0, sum(state.lake[name].rows for name in state.log))
        names = tuple(column.name for column in request.columns)
        told = Comparison(self.table.key, names, self.feed_table.keys, request.batch, buckets_for(most))
        return SnapshotFeed(request, told, last)

    # Plan: the snapshot is made anew when it lacks a window, or when its windows have more rows than it is worth

    def _why_whole(self, state: FeedTableState, feed: FeedState, request: Request) -> str:
        why = super()._why_whole(state, feed, request)
        if why:
            return why
        if any(name not in state.in_lake for name in state.log):
            return "missing in the lake"
        first, *later = (state.lake[name].rows for name in state.log)
        if feed.changes != 0 and sum(later) > max(first, LIGHT_ROWS):
            return "its windows have more rows than the table"
        return ""

    def _removals(self, state: FeedTableState, extracts: Sequence[Extract], request: Request) -> list[Step]:
        """Return removals of windows beyond `retain: {lake: N}` that the last snapshot does not need."""
        removals = super()._removals(state, extracts, request)
        begins_anew = any(isinstance(each.token, FeedWindow) and each.token.whole for each in extracts)
        needed = set[Value]() if begins_anew else set(state.log)
        return [each for each in removals if isinstance(each, Remove) and each.value not in needed]

    # Extract

    def extraction(self, state: TableState, scope: Scope, step: Extract) -> Extraction:
        window = step.token
        assert isinstance(state, SnapshotState) and isinstance(window, FeedWindow)
        if window.whole:
            return super().extraction(state, scope, step)
        feed = self._reading(state)
        assert feed.request is not None and feed.comparison is not None and window.after is not None
        reader = WindowReader(feed, self.feed_table, window, window.after, "", "", feed.comparison.buckets)
        return Extraction(feed.request, window, feed=reader)
