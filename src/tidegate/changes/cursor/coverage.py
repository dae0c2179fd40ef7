"""How much of the source the scope of a table of versions covers. Reads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.changes.cursor.plan import CursorState
from tidegate.model.coverage import Coverage, Outside
from tidegate.model.names import pluralize
from tidegate.model.scope import Scope

if TYPE_CHECKING:
    from tidegate.changes.cursor import CursorSettings


def coverage_of(settings: CursorSettings, state: CursorState, scope: Scope) -> Coverage:
    """Return how many versions are older than the scope, and how many rows have no cursor."""
    outside = () if scope.floor is None or state.older == 0 else (Outside(_rule(settings), state.older),)
    return Coverage(
        unit="version",
        total=state.in_source,
        outside=outside,
        uncovered_rows=state.nulls,
        uncovered=f"{pluralize(state.nulls, 'row')} without a cursor: never read",
        remedy="give them a cursor in the source, or name another `cursor_column`",
        is_empty=_has_rows(state) and not state.target_rows,
    )


def _has_rows(state: CursorState) -> bool:
    """Whether the source has rows. A table that is compared as a whole has no cursors: its rows are counted."""
    return bool(state.rows) if state.is_whole else state.newest is not None or state.nulls > 0


def _rule(settings: CursorSettings) -> str:
    days = f"initial_load_days: {settings.initial_load_days}"
    return f"initial_load: latest+window, {days}" if settings.initial_load == "latest+window" else days
