"""What the reports of past runs tell of a table. The newest report is first, as the ledger returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from tidegate.model.plan import RELOAD
from tidegate.monitoring.calendar import moment

Report = Mapping[str, Any]
MOVES = ("run", "repair", "backfill", "load")
"""The verbs that load rows into the target."""
SWITCHED = "switched into"
"""What a load says of itself that switched a partition."""
FEWEST, MOST = 3, 20
"""How many earlier runs the usual duration needs, and how many it takes."""


def started(report: Report) -> datetime:
    found = moment(str(report["started_at"]))
    assert found is not None, "a report has the time of its start"
    return found


def ended(report: Report) -> datetime:
    return started(report) + timedelta(seconds=float(report["seconds"]))


def of_table(reports: Sequence[Report], table: str) -> list[Report]:
    """Return the reports of runs that took this table."""
    return [report for report in reports if _took(report, table)]


def _took(report: Report, table: str) -> bool:
    known = report.get("configuration")
    if known is not None:
        return table in known
    # Reports of earlier versions name only tables with steps or problems.
    return not report["steps"] or table in failures(report) or any(step["table"] == table for step in report["steps"])


def failures(report: Report) -> dict[str, str]:
    """Return the tables that failed, each with its first error."""
    return {str(table): str(problem) for table, problem in report["failures"]}


def moving(reports: Sequence[Report]) -> list[Report]:
    return [report for report in reports if report["verb"] in MOVES]


def steps(report: Report, table: str, *verbs: str) -> list[Mapping[str, Any]]:
    return [step for step in report["steps"] if step["table"] == table and step["step"] in verbs]


def loads(reports: Sequence[Report], table: str, since: datetime) -> Iterator[Mapping[str, Any]]:
    """Yield the loads that were tried since then, the newest run first. Those that found nothing to do are left out."""
    for report in moving(reports):
        if started(report) >= since:
            yield from (step for step in steps(report, table, "load") if step["outcome"] != "skipped")


def seconds_per_window(reports: Sequence[Report], table: str) -> list[float]:
    """Return how long extract and load of a window took, on average, in each run that loaded rows of this table."""
    found = []
    for report in moving(reports):
        done = [step for step in steps(report, table, "extract", "load") if step["outcome"] == "done"]
        windows = {step["value"] for step in done if step["step"] == "load"}
        if windows:
            found.append(round(sum(step["seconds"] for step in done) / len(windows), 3))
    return found


def switch_seconds(reports: Sequence[Report], table: str) -> list[float]:
    """Return how long the switches of each run took, on average."""
    found = []
    for report in moving(reports):
        took = [step["seconds"] for step in steps(report, table, "load") if SWITCHED in step["why"]]
        if took:
            found.append(round(sum(took) / len(took), 3))
    return found


def usual(durations: Sequence[float]) -> float | None:
    """Return the median of the runs before the newest; None where they are too few to tell."""
    earlier = durations[1 : MOST + 1]
    return median(earlier) if len(earlier) >= FEWEST else None


def newest_proof(reports: Sequence[Report], table: str) -> Report | None:
    """Return the newest verification that read the table."""
    proofs = (report for report in reports if report["verb"] == "verify" and steps(report, table, "verify"))
    return next(proofs, None)


def errors_of(report: Report, table: str) -> list[str]:
    """Return what a verification found wrong with a table."""
    return [
        f"{finding['value']}: {finding['what']}" if finding["value"] else finding["what"]
        for finding in report["findings"]
        if finding["table"] == table and finding["severity"] == "error"
    ]


def is_repaired(reports: Sequence[Report], proof: Report, table: str) -> bool:
    """Return whether a table was repaired or reloaded after this verification."""
    later = reports[: list(reports).index(proof)]
    return any(
        (report["verb"] == "repair" or any(step["why"].startswith(RELOAD) for step in steps(report, table, "load")))
        and table not in failures(report)
        for report in later
    )


def parallel_efficiency(report: Report, shortest: float) -> float | None:
    """Return which share of its parallel work a run used: the seconds of its windows, by the seconds that all of its
    connections had. None where it had one connection, or was shorter than `shortest`."""
    used = had = 0.0
    for phase, at_once in (report.get("at_once") or {}).items():
        took = report["timings"].get(phase, 0.0)
        if at_once > 1 and took >= shortest:
            used += sum(step["seconds"] for step in report["steps"] if step["step"] == phase)
            had += took * at_once
    return min(used / had, 1.0) if had else None
