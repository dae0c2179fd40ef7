"""The health of a project at one moment: tables, alerts and metrics together. Reads nothing by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from tidegate.config.monitoring import MonitoringSettings
from tidegate.model.health import Alert, Snapshot, Staging
from tidegate.model.status import TableStatus
from tidegate.monitoring import history
from tidegate.monitoring.alerts import alerts_of_project, alerts_of_table, in_order
from tidegate.monitoring.history import Report
from tidegate.monitoring.metrics import metrics_of
from tidegate.monitoring.tables import table_health

_OF_A_RUN = ("run", "verb", "started_at", "seconds", "outcome", "exit_code")


def snapshot(
    tables: Sequence[str],
    statuses: Sequence[TableStatus],
    reports: Sequence[Report],
    staging: Sequence[Staging],
    settings: MonitoringSettings,
    now: datetime,
    *,
    places: Mapping[str, str],
    switching: Collection[str] = (),
    problems: Sequence[str] = (),
    is_up: bool = True,
) -> Snapshot:
    """Return the health of these tables.

    Args:
        reports: what the ledger keeps of past runs, the newest first.
        switching: tables whose loads switch partitions where they can.
        problems: why something could not be read.
        is_up: whether the ledger could be read. Without it, nothing is said about runs.
    """
    known = {status.table: status for status in statuses}
    health = tuple(
        table_health(table, known.get(table), reports, settings, now, switches=table in switching) for table in tables
    )
    newest = next(iter(history.moving(reports)), None)
    efficiency = None if newest is None else history.parallel_efficiency(newest, float(settings.slow_from))
    alerts = [Alert("critical", "unreachable", "", problem) for problem in problems]
    if is_up:
        for table in health:
            rules = settings.for_table(table.table)
            alerts += alerts_of_table(table, reports, rules, now, switches=table.table in switching)
        alerts += alerts_of_project(reports, staging, efficiency, settings, now, tables)
    ordered = in_order(alerts)
    return Snapshot(
        at=now.isoformat(timespec="seconds"),
        project=dict(places),
        tables=health,
        alerts=ordered,
        metrics=metrics_of(health, ordered, staging, reports, efficiency, now, is_up=is_up),
        staging=tuple(staging),
        last_run={name: reports[0][name] for name in _OF_A_RUN} if reports else {},
        parallel_efficiency=efficiency,
    )
