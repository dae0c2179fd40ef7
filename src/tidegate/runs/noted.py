"""Write what changes want to know again in the next run: the notes of the tables that did not fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tidegate.interfaces.session import Session
from tidegate.runs.run import Run
from tidegate.state.notes import Notes
from tidegate.tables.planned import PlannedTable


def note(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write the notes of every table that did not fail."""
    topics = defaultdict[str, dict[str, object]](dict)
    for table in planned:
        if table.key not in run.failed:
            for topic, content in table.state.to_note.items():
                topics[topic][table.table.ledger_name] = content
    if not topics:
        return
    notes = Notes(control)
    notes.create()
    for topic, changes in topics.items():
        notes.update(topic, changes)
