"""Status: the evidence of a table, with what follows from it."""

from __future__ import annotations

from tidegate.model.status import TableStatus
from tidegate.runs.kinds import kind_of
from tidegate.runs.planned import Planned, Unplanned


def status_of(one: Planned | Unplanned) -> TableStatus:
    """Works on what could be seen, also when the table could not be planned."""
    if isinstance(one, Unplanned):
        kind, windows = (one.table.common.kind, one.table.windows) if one.table else ("", "")
        return TableStatus(one.key, kind, windows, "failed", problem=str(one.problem))
    return kind_of(one.table.common).status(one)
