"""How changed rows of a source are found, and the query that a watermark leads to.

A query begins at the watermark itself: rows that share its moment may have come since. What is there already is dropped
by its key when it is merged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tidegate.api import Frames, Window
from tidegate.errors import Unsupported
from tidegate.facades.sync_coordinator.models import ChangeDetectionMode, IncrementalQuery, Watermark


class ChangeDetectionStrategy(ABC):
    """Finds what changed in a table of one source."""

    mode: ChangeDetectionMode

    def __init__(self, connection: Any, column: str | None = None) -> None:
        """`connection` is a URL, or a connection that a program has already."""
        self._frames, self.column = Frames.of(connection), column

    @abstractmethod
    def build_query(self, table_name: str, last_watermark: Watermark | None = None) -> IncrementalQuery:
        """Return the query for the rows that changed since a watermark; for all rows without one."""

    def _query(self, table_name: str, after: Any) -> IncrementalQuery:
        window = Window((self.column,), after, inclusive=True) if self.column and after is not None else None
        return IncrementalQuery(self._frames.query(table_name, window), table_name, self.column, after)


class TimestampChangeDetection(ChangeDetectionStrategy):
    """Rows whose time of change is not before the last one."""

    mode = ChangeDetectionMode.TIMESTAMP

    def __init__(self, connection: Any, column: str) -> None:
        super().__init__(connection, column)

    def build_query(self, table_name: str, last_watermark: Watermark | None = None) -> IncrementalQuery:
        return self._query(table_name, last_watermark.last_sync_timestamp if last_watermark else None)


class IdBasedChangeDetection(ChangeDetectionStrategy):
    """Rows whose number is not below the last one."""

    mode = ChangeDetectionMode.ID

    def __init__(self, connection: Any, column: str) -> None:
        super().__init__(connection, column)

    def build_query(self, table_name: str, last_watermark: Watermark | None = None) -> IncrementalQuery:
        return self._query(table_name, last_watermark.last_sync_id if last_watermark else None)


class FullRefreshDetection(ChangeDetectionStrategy):
    """All rows."""

    mode = ChangeDetectionMode.FULL

    def build_query(self, table_name: str, last_watermark: Watermark | None = None) -> IncrementalQuery:
        return self._query(table_name, None)


class ChangeTrackingDetection(ChangeDetectionStrategy):
    """Rows that SQL Server's Change Tracking names."""

    mode = ChangeDetectionMode.CHANGE_TRACKING

    def build_query(self, table_name: str, last_watermark: Watermark | None = None) -> IncrementalQuery:
        """Raise Unsupported: what the server tracks is asked before and after the rows are read, in several queries."""
        raise Unsupported(
            "Change Tracking is no single query: whether the server still knows all changes is asked before and after.",
            "Nothing was read or written.",
            "Use `SyncOptions(mode='change_tracking')` or, in a project, `changes: change_tracking`.",
        )
