"""The settings of a table that is read from a change feed."""

from __future__ import annotations

from typing import Literal

from tidegate.settings import Columns, Settings, Text


class FeedSettings(Settings):
    """A table whose changes and deletes are told by a change feed."""

    keys: Columns | None = None
    """What names a row. The source's primary key, when it is left out."""
    mode: Literal["keys", "images"] | None = None
    """`keys`: the feed tells which keys changed, and their rows are read again. `images`: the values come from the feed
    itself. `keys`, when it is left out; `images` where versions are loaded."""
    feed_name: Text | None = None
    """How the feed is called on the server: the slot and the publication, or where triggers write to. The same for all
    tables of a project; `tidegate_` and the name of the target database, when it is left out."""
