"""Validation: what is wrong with tables, as sentences by table and kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.model.report import RULE, RunReport


def issues_of(report: RunReport, tables: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Return what a verification found wrong, and why a table could not be verified."""
    found: dict[str, dict[str, list[str]]] = {table: {"differences": [], "rules": []} for table in tables}
    for table, problem in report.failures:
        found[table]["differences"].append(problem)
    for finding in report.findings:
        if finding.severity == "error":
            kind = "rules" if finding.check == RULE else "differences"
            place = f"{finding.value}: " if finding.value else ""
            found[finding.table][kind].append(f"{place}{finding.what}")
    return found


def partition_issues(analysis: dict[str, Any]) -> list[str]:
    """Return values without a native partition of their own."""
    bounds = analysis.get("native_partitions")
    if bounds is None:
        return []
    issues = [f"no partition has bounds for {value}" for value in bounds["boundary_mismatches"]]
    return [*issues, *([bounds["problem"]] if bounds["problem"] else [])]
