"""Change data capture: changes and deletes come from the database's own log.

The log is PostgreSQL's logical decoding, the binary log of MySQL and MariaDB, or the CDC tables of SQL Server.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.settings import FeedSettings


@dataclass(frozen=True)
class CdcChange(FeedChange):
    """The change of one table that is told by the database's own log."""

    name = "cdc"
    Settings = FeedSettings
