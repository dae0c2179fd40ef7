"""Observe: read run history, staging tables and status, and return the health of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tidegate.errors import TidegateError
from tidegate.model.health import Snapshot, Staging
from tidegate.model.status import TableStatus
from tidegate.monitoring.history import Report
from tidegate.monitoring.snapshot import snapshot
from tidegate.ops.stages import staging
from tidegate.runs.run import Pipeline
from tidegate.state.ledger import Ledger

_SWITCHING = ("auto", "always_stage")


def observe(
    pipeline: Pipeline, choose: Callable[[], Sequence[str]], ask: Callable[[], Sequence[TableStatus]]
) -> Snapshot:
    """Return the health of the tables that `choose` names. `ask` returns their status; either may fail when the source
    is away: then the history and the ledger still tell what they know."""
    project = pipeline.project
    problems: list[str] = []
    reports: list[dict[str, Any]] = []
    stages: list[Staging] = []
    is_up = True
    try:
        with pipeline.target.connect("monitor") as session:
            ledger = Ledger(session)
            if ledger.exists():
                reports, stages = ledger.reports(project.monitoring.history), staging(session)
    except TidegateError as problem:
        problems.append(f"the target: {problem.happened}")
        is_up = False
    tables, statuses = _asked(choose, ask, reports, problems)
    places = {"source": project.source.display, "target": project.target.display, "lake": pipeline.lake.place}
    found = snapshot(
        tables,
        statuses,
        reports,
        stages,
        project.monitoring,
        datetime.now(UTC),
        places=places,
        switching=[name for name, table in project.tables.items() if getattr(table, "switch", "") in _SWITCHING],
        problems=problems,
        is_up=is_up,
    )
    return _without_secrets(found, project.redactor().redact)


def _asked(
    choose: Callable[[], Sequence[str]],
    ask: Callable[[], Sequence[TableStatus]],
    reports: Sequence[Report],
    problems: list[str],
) -> tuple[Sequence[str], Sequence[TableStatus]]:
    """Return tables and statuses, as far as they can be had. Patterns need the source's catalog: without it, the tables
    of the newest run are taken."""
    tables: Sequence[str] = []
    try:
        tables = choose()
        return tables, ask()
    except TidegateError as problem:
        if problem.exit_code == 2:
            raise  # a name that matches nothing
        problems.append(f"the state of the tables: {problem.happened}")
    newest: Mapping[str, Any] = next((report["configuration"] for report in reports if report.get("configuration")), {})
    return tables or list(newest), []


def _without_secrets(found: Snapshot, redact: Callable[[str], str]) -> Snapshot:
    """Return the snapshot with secrets hidden in all texts that servers wrote."""
    return replace(
        found,
        alerts=tuple(replace(alert, text=redact(alert.text), remedy=redact(alert.remedy)) for alert in found.alerts),
        tables=tuple(
            replace(
                table,
                problem=redact(table.problem),
                last_error=redact(table.last_error),
                findings=tuple(map(redact, table.findings)),
            )
            for table in found.tables
        ),
    )
