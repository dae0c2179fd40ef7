"""Which tables the patterns of a project select: the first run writes it down, so that new tables are noticed."""

from __future__ import annotations

import json

from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.session import Session
from tidegate.model.names import TableName
from tidegate.model.report import Finding
from tidegate.model.scope import Scope
from tidegate.runs.run import Pipeline
from tidegate.state.ledger import SELECTED, Ledger

SELECTION = LakeTable(TableName("", "_selected"), Layout.WHOLE, "static")
"""Under this name the lake keeps its copy."""


def remember_selected(session: Session, pipeline: Pipeline) -> None:
    """Write down in ledger and lake which tables the patterns select, where that changed."""
    if pipeline.selected is None:
        return
    scope, ledger = Scope(settings=json.dumps(sorted(pipeline.selected))), Ledger(session)
    if ledger.scope(SELECTED) != scope:
        ledger.declare(SELECTED, scope)
    if pipeline.lake.saved_scope(SELECTION, pipeline.target_place) != scope:
        pipeline.lake.save_scope(SELECTION, pipeline.target_place, scope)


def notes_of(pipeline: Pipeline) -> list[Finding]:
    """Return what patterns and open kinds led to, for the report."""
    return [
        Finding("", "tables", note, severity="warning" if note.startswith("new in the source, not") else "note")
        for note in pipeline.notes
    ]
