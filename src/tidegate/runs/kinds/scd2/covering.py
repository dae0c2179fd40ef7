"""How much of the source the scope of a table of versions covers. Reads nothing."""

from __future__ import annotations

from tidegate.changes.mark import MarkEvidence
from tidegate.config.tables import Scd2Table
from tidegate.model.coverage import Coverage, Outside
from tidegate.model.names import counted
from tidegate.model.scope import Scope


def coverage_of(settings: Scd2Table, seen: MarkEvidence, scope: Scope) -> Coverage:
    """Return how many versions are older than the scope, and how many rows have no mark."""
    outside = () if scope.floor is None or seen.older == 0 else (Outside(_rule(settings), seen.older),)
    return Coverage(
        unit="version",
        total=seen.in_source,
        outside=outside,
        uncovered_rows=seen.nulls,
        uncovered=f"{counted(seen.nulls, 'row')} without a mark: never read",
        remedy="give them a mark in the source, or name another `mark_column`",
        is_empty=_has_rows(seen) and not seen.held,
    )


def _has_rows(seen: MarkEvidence) -> bool:
    """Whether the source has rows. A table that is compared as a whole has no marks: its rows are counted."""
    return bool(seen.rows) if seen.is_whole else seen.newest is not None or seen.nulls > 0


def _rule(settings: Scd2Table) -> str:
    days = f"initial_load_days: {settings.initial_load_days}"
    return f"initial_load: latest+window, {days}" if settings.initial_load == "latest+window" else days
