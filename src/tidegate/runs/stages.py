"""Drop what switches left beside a target: stages of runs that died, and archives that are older than they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tidegate.errors import DatabaseError
from tidegate.interfaces.session import Session
from tidegate.model.report import Finding
from tidegate.model.stages import ARCHIVE, BY_HAND, SWITCHING, StageRecord
from tidegate.runs.run import Run
from tidegate.sql.contents import drop_table
from tidegate.state.stages import Stages


def tidy_stages(run: Run, control: Session, keys: Sequence[str]) -> None:
    """Drop what nobody needs any more of these tables, whose locks this run holds: so no live run owns it."""
    schema, project = run.pipeline.target.default_schema, run.pipeline.project
    tables = {str(project.tables[key].target_table.within(schema)): key for key in keys}
    book = Stages(control)
    now = datetime.fromisoformat(control.now())
    for record in book.records():
        key = tables.get(record.table)
        if key is None:
            continue
        days = getattr(project.tables[key], "archive_retention_days", 0) or 0
        if not _is_needed(record, now, days, has_failed=key in run.failed):
            try:
                drop_stage(control, record)
            except DatabaseError as problem:
                text = f"{record.name} could not be dropped: {problem.happened}"
                run.findings.append(Finding(key, "staging", text, severity="warning"))
            else:
                run.findings.append(Finding(key, "staging", f"dropped {_in_words(record)}", severity="note"))


def _is_needed(record: StageRecord, now: datetime, days: int, *, has_failed: bool) -> bool:
    if record.purpose == BY_HAND:
        return True
    if record.purpose == ARCHIVE:
        return now - datetime.fromisoformat(record.at) < timedelta(days=days)
    # A switch that was interrupted is completed by the load of its window; until then its rows may be needed.
    return record.purpose == SWITCHING and has_failed


def _in_words(record: StageRecord) -> str:
    if record.purpose == ARCHIVE:
        return f"the archive {record.name}, which was older than it is kept"
    return f"the staging table {record.name} of run {record.run}, which had ended"


def drop_stage(session: Session, record: StageRecord) -> None:
    """Drop a table of the book and cross it out."""
    session.execute(drop_table(record.name))
    Stages(session).remove(record.name)
