"""Counters: sequences of the target follow what was loaded, so that the next INSERT of an application works."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.errors import DatabaseError
from tidegate.interfaces.session import Session
from tidegate.model.report import Finding
from tidegate.runs.run import Run
from tidegate.tables.planned import PlannedTable


def advance_counters(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Move the counters of every table that got rows. The rows are committed: what fails here is a warning."""
    loaded = {done.table for done in run.outcomes if (done.step, done.outcome) == ("load", "done") and done.rows}
    for table in planned:
        if table.key in loaded:
            run.findings += [
                Finding(table.key, "counters", text, severity="warning") for text in _left_behind(control, table)
            ]


def _left_behind(control: Session, table: PlannedTable) -> list[str]:
    """Move the counters of one table and return what could not be moved, for people."""
    try:
        refused = control.advance_counters(table.table.found.target_name)
    except DatabaseError as problem:
        return [f"its sequences were not moved past the loaded rows: {problem.happened}"]
    return [
        f"the sequence {name} was not moved past the loaded rows: the login may not do it. An INSERT that draws from it"
        " can meet a key that is there: GRANT SELECT, UPDATE on the sequence."
        for name in refused
    ]
