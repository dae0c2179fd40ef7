"""What came of it: ratios for people, and everything as JSON."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any

from bench.measure import Series

if TYPE_CHECKING:
    from bench.cases import Case

_MIB = 1024 * 1024


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    return {
        "cores": os.cpu_count(),
        "memory_mib": memory,
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def as_text(case: Case, series: list[Series]) -> str:
    """Every contender beside Tidegate: how many times as long it took."""
    ours = next((one for one in series if one.name == "tidegate" and one.counts), None)
    lines = [f"\n{case.title}", f"  {'':14} {'seconds':>8} {'spread':>7} {'ratio':>7} {'CPU s':>7} {'MiB':>7}"]
    for one in sorted(series, key=lambda one: one.median() if one.counts else float("inf")):
        if one.failed or not one.runs:
            lines.append(f"  {one.name:14} failed: {one.failed[:160]}")
        else:
            ratio = f"{one.median() / ours.median():.2f}" if ours else ""
            cells = f"{one.median():8.2f} {one.spread:7.2f} {ratio:>7} {one.median('cpu'):7.2f}"
            wrong = f"  WRONG: {one.wrong}" if one.wrong else ""
            lines.append(f"  {one.name:14} {cells} {one.median('peak') / _MIB:7.0f}{wrong}")
    return "\n".join(lines)


def as_json(case: Case, series: list[Series]) -> dict[str, Any]:
    return {
        "case": case.name,
        "title": case.title,
        "contenders": [
            {
                "name": one.name,
                "failed": one.failed,
                "wrong": one.wrong,
                "rounds": [
                    {"wall": run.wall, "cpu": run.cpu, "peak": run.peak, "facts": dict(run.facts)} for run in one.runs
                ],
            }
            for one in series
        ],
    }
