"""Change Tracking: SQL Server tells which keys changed since a version, and their rows are read again."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.settings import FeedSettings


@dataclass(frozen=True)
class ChangeTrackingChange(FeedChange):
    """The change of one table whose changed keys SQL Server tracks."""

    name = "change_tracking"
    Settings = FeedSettings
