"""Triggers: AFTER triggers on the table append the keys of changed rows to a log, and their rows are read again.

`tidegate triggers install TABLE` makes triggers and log, `tidegate triggers remove TABLE` takes them away.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.settings import FeedSettings


@dataclass(frozen=True)
class TriggersChange(FeedChange):
    """The change of one table whose changed keys are logged by triggers."""

    name = "triggers"
    Settings = FeedSettings
