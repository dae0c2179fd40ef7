"""The health of one table, from its status and the reports of its runs. Reads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tidegate.config.monitoring import MonitoringSettings
from tidegate.model.health import TableHealth
from tidegate.model.status import TableStatus, VersionsStatus
from tidegate.monitoring import history
from tidegate.monitoring.calendar import expected_day, moment
from tidegate.monitoring.history import Report

_SHOWN = 3


def table_health(
    table: str,
    status: TableStatus | None,
    reports: Sequence[Report],
    settings: MonitoringSettings,
    now: datetime,
    *,
    switches: bool,
) -> TableHealth:
    """Return the figures of a table. `status` is None where nobody could ask; `switches` says whether loads of this
    table switch partitions where they can."""
    own = history.of_table(reports, table)
    health = _of_runs(TableHealth(table), own)
    health = _of_loads(health, own, now - timedelta(seconds=settings.window), switches=switches)
    health = _of_durations(health, own)
    health = health if status is None else _of_status(health, status)
    health = _of_proofs(health, own)
    day = None if _is_whole(status) else expected_day(now, settings.for_table(table))
    return replace(health, expected_value="" if day is None else day.isoformat())


def _is_whole(status: TableStatus | None) -> bool:
    """Return whether a table is loaded as a whole: no value of it tells how new its rows are."""
    if isinstance(status, VersionsStatus):
        return status.is_whole
    return status is not None and status.kind != "partition"


def _of_runs(health: TableHealth, reports: Sequence[Report]) -> TableHealth:
    moves = history.moving(reports)
    failed = [report for report in moves if health.table in history.failures(report)]
    succeeded = [report for report in moves if health.table not in history.failures(report)]
    return replace(
        health,
        last_success_at=_end_of(succeeded),
        last_failure_at=_end_of(failed),
        last_error=history.failures(failed[0])[health.table] if failed else "",
    )


def _end_of(reports: Sequence[Report]) -> str:
    return history.ended(reports[0]).isoformat(timespec="seconds") if reports else ""


def _of_loads(health: TableHealth, reports: Sequence[Report], since: datetime, *, switches: bool) -> TableHealth:
    tried = list(history.loads(reports, health.table, since))
    # A load that failed does not say how it would have loaded.
    switched = [step for step in tried if history.SWITCHED in step["why"] or (switches and step["outcome"] == "failed")]
    moved = [
        (report, steps)
        for report in history.moving(reports)
        if (steps := [step for step in history.steps(report, health.table, "load") if step["outcome"] == "done"])
    ]
    return replace(
        health,
        loads=len(tried),
        failed_loads=sum(step["outcome"] == "failed" for step in tried),
        switches=len(switched),
        failed_switches=sum(step["outcome"] == "failed" for step in switched),
        last_moved_at=_end_of([report for report, _ in moved]),
        newest_target=max((step["value"] for _, steps in moved for step in steps), default=""),
        rows=sum(step["rows"] for step in moved[0][1]) if moved else None,
    )


def _of_durations(health: TableHealth, reports: Sequence[Report]) -> TableHealth:
    took, switches = history.seconds_per_window(reports, health.table), history.switch_seconds(reports, health.table)
    return replace(
        health,
        seconds=took[0] if took else None,
        usual_seconds=history.usual(took),
        switch_seconds=switches[0] if switches else None,
        usual_switch_seconds=history.usual(switches),
    )


def _of_status(health: TableHealth, status: TableStatus) -> TableHealth:
    """Return the health with what source and target hold now. The data win over the history."""
    health = replace(health, kind=status.kind, state=status.state, problem=status.problem)
    loaded = [found for value in status.values if value.loaded_at and (found := moment(value.loaded_at))]
    if loaded:
        # Reports may have been swept, or the run may have come from elsewhere: the ledger knows.
        before = moment(health.last_moved_at) if health.last_moved_at else None
        newest = max([*loaded, *([before] if before else [])])
        health = replace(health, last_moved_at=newest.isoformat(timespec="seconds"))
    if status.state == "failed":
        return health
    if isinstance(status, VersionsStatus):
        return _with_distance(replace(health, newest_source=status.newest, newest_target=status.watermark))
    if status.kind != "partition":
        return replace(health, newest_source="", newest_target="")
    in_source = [value.value for value in status.values if value.source_rows != 0]
    waiting = [value for value in status.values if value.state in ("pending", "missing") and value.source_rows != 0]
    last = in_source[-1] if in_source else ""
    health = replace(health, newest_source=last, newest_target=status.newest_loaded, values_behind=len(waiting))
    return _with_distance(health)


def _with_distance(health: TableHealth) -> TableHealth:
    source, target = moment(health.newest_source), moment(health.newest_target)
    if source is None or target is None:
        return health
    return replace(health, seconds_behind=max((source - target).total_seconds(), 0.0))


def _of_proofs(health: TableHealth, reports: Sequence[Report]) -> TableHealth:
    proof = history.newest_proof(reports, health.table)
    if proof is None:
        return replace(health, last_proof_at=health.last_moved_at)
    errors = history.errors_of(proof, health.table)
    if errors and not history.is_repaired(reports, proof, health.table):
        more = (f"and {len(errors) - _SHOWN:,} more",) if len(errors) > _SHOWN else ()
        health = replace(health, findings=(*errors[:_SHOWN], *more))
    good = [
        report
        for report in reports
        if report["verb"] == "verify"
        and history.steps(report, health.table, "verify")
        and not history.errors_of(report, health.table)
        and health.table not in history.failures(report)
    ]
    verified = _end_of(good)
    known = [found for text in (verified, health.last_moved_at) if text and (found := moment(text))]
    newest = max(known).isoformat(timespec="seconds") if known else ""
    return replace(health, last_verified_at=verified, last_proof_at=newest)
