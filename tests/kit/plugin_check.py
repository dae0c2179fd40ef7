"""An example plug-in: a check that the target has at least as many rows as the source.

A package installs it with an entry point in `pyproject.toml`:

    [project.entry-points."tidegate.checks"]
    at_least = "plugin_check:AtLeast"

A load names it in its property `check`: `plugin_load.py` does so, since a log of appended rows only grows. Any other
table can ask for it with `check: at_least`, or `check: [receipt, at_least]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.interfaces.check import Check, Sides
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Worker
from tidegate.model.report import Finding
from tidegate.model.values import Value
from tidegate.sql.text import Count, Name, sql
from tidegate.tables.planned import PlannedTable


@dataclass(frozen=True)
class Counts:
    """The number of rows on both sides."""

    source: int
    target: int


@dataclass(frozen=True)
class CountSplit:
    """Counts the rows of one window on both sides. It runs inside a task."""

    source: Database
    source_request: ReadRequest
    snapshot: str
    target: Database
    target_request: ReadRequest

    def run(self, worker: Worker) -> Counts:
        with worker.sessions.session(self.source, "verify", read_only=True) as session:
            # All tasks of one verification read one snapshot, where the database can share it.
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            in_source = _count(session, self.source_request)
        with worker.sessions.session(self.target, "verify", read_only=True) as session:
            in_target = _count(session, self.target_request)
        worker.progress.add(in_source + in_target)
        return Counts(in_source, in_target)


class AtLeast(Check):
    """Compares the number of rows: the target may hold more than the source, never fewer."""

    name = "at_least"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not planned.state.ledger:
            return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is nothing to verify")]
        expected = planned.table.change.expected_windows(planned.state, planned.plan.scope)
        return [window for window in expected if window in planned.state.source], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CountSplit:
        change = planned.table.change
        return CountSplit(
            source=sides.source,
            source_request=change.source_request(window),
            snapshot=sides.snapshot.name,
            target=sides.target,
            target_request=change.target_request(window),
        )

    def evaluate(self, planned: PlannedTable, window: Value, result: Counts) -> tuple[None, list[Finding]]:
        if result.target >= result.source:
            return None, []
        text = f"{result.source:,} rows in the source, only {result.target:,} in the target"
        return None, [Finding(planned.key, "at_least", text, window.text)]


def _count(session: Session, request: ReadRequest) -> int:
    statement = sql("SELECT {count} FROM {table}", count=Count(), table=Name.of(request.table))
    if request.rows is not None:
        statement = sql("{all} WHERE {rows}", all=statement, rows=request.rows)
    return int(str(session.query(statement)[0][0]))
