"""Events: a service tells changes as events, in files of JSON lines or by a reader of your own in Python.

The table has no source in a database: its columns are those of the target, which must be there. What an event may look
like is in the page on change feeds. Events at or before the position that was read change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tidegate.buckets.assign import buckets_for
from tidegate.changes._feed.change import FeedChange
from tidegate.changes._feed.reader import WindowReader
from tidegate.changes._feed.state import FeedTableState
from tidegate.changes.events.feed import EventFeed
from tidegate.interfaces.change import Extraction, Sessions
from tidegate.interfaces.database import Database
from tidegate.interfaces.feed import Feed
from tidegate.model.plan import Extract
from tidegate.model.scope import Scope
from tidegate.model.state import TableState
from tidegate.model.tokens import FeedWindow
from tidegate.settings import Columns, Settings, Text


class EventSettings(Settings):
    """A table whose changes come as events."""

    mode: ClassVar[str] = "images"

    events: Text
    """Where the events are: files of JSON lines, in the order of their names (`/data/events/customers-*.jsonl`), or a
    reader in Python (`package.module:name`): a function, or an object with `read`, that is given the position after
    which events are asked for."""
    keys: Columns | None = None
    """What names a row. The target's primary key, when it is left out."""


@dataclass(frozen=True)
class EventsChange(FeedChange):
    """The change of one table that is told by events."""

    name = "events"
    Settings = EventSettings
    loads = ("merge", "apply_changes")
    has_source_table = False

    @classmethod
    def feed_of(cls, settings: Any, source: Database, target: Database) -> Feed:
        return EventFeed(settings.events)

    def inspect(self, sessions: Sessions, *, count_all: bool) -> FeedTableState:
        return super().inspect(sessions, count_all=False)

    def extraction(self, state: TableState, scope: Scope, step: Extract) -> Extraction:
        """Return how a window is read. The first one is what all events come to."""
        window = step.token
        assert isinstance(state, FeedTableState) and isinstance(window, FeedWindow)
        if not window.whole:
            return super().extraction(state, scope, step)
        changes = state.feed.changes if state.feed is not None else None
        reader = WindowReader(self.feed, self.feed_table, window, "", "", "", buckets_for(changes))
        return Extraction(self.table.from_source(None), window, feed=reader)
