"""Clean: sweep what dead runs left behind. Never a published file, never a row."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.runs.run import Pipeline
from tidegate.state.ledger import Ledger

HOURS_BEFORE_A_WORKSPACE_IS_DEAD = 24.0
REPORTS_KEPT = 500


@dataclass(frozen=True)
class Cleaned:
    """What was swept, or would be."""

    workspaces: tuple[str, ...]
    reports: int
    dry_run: bool
    archives: int = 0
    """Archives of snapshots that were beyond their retention."""


def clean(
    pipeline: Pipeline, *, older_than_hours: float = HOURS_BEFORE_A_WORKSPACE_IS_DEAD, dry_run: bool = False
) -> Cleaned:
    """Workspaces of runs that were killed, and all but the newest reports."""
    dead = pipeline.lake.leftovers(older_than_hours * 3600)
    reports = 0
    if not dry_run:
        for run in dead:
            pipeline.lake.end(run)
        with pipeline.target.connect("clean") as session:
            ledger = Ledger(session)
            reports = ledger.forget_reports(REPORTS_KEPT) if ledger.exists() else 0
    return Cleaned(tuple(dead), reports, dry_run)
