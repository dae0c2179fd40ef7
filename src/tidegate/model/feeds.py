"""Words of change feeds: operations, positions, and the columns that every change has."""

from __future__ import annotations

from dataclasses import dataclass

OPERATION, POSITION, TIME = "tidegate_operation", "tidegate_position", "tidegate_committed_at"
"""The columns of a change besides those of the table."""
INSERT, UPDATE, DELETE, PARTIAL, TRUNCATE = 1, 2, 3, 4, 5
"""What a change did. `PARTIAL` is an update whose image lacks values that the log does not have, since they did not
change: they are null in it. `TRUNCATE` emptied the table: it has no key."""
OPERATIONS = {INSERT: "insert", UPDATE: "update", DELETE: "delete", PARTIAL: "update", TRUNCATE: "truncate"}


@dataclass(frozen=True, order=True)
class Position:
    """A place in a log."""

    order: str
    """Compared as text: a later place is a greater text, so numbers in it have a fixed width."""
    detail: str = ""
    """What the feed needs besides to find the place, and to know the log again: only the feed reads it."""

    def __str__(self) -> str:
        return self.order
