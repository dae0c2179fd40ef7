"""The figures of a snapshot as metrics: names, what each means, and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.model.health import SEVERITIES, Alert, Metric, Staging, TableHealth
from tidegate.monitoring import history
from tidegate.monitoring.calendar import moment
from tidegate.monitoring.history import Report

STATES = ("in sync", "pending", "differs", "empty", "failed")


@dataclass(frozen=True)
class Meaning:
    """What a metric says, and its unit in the words of UCUM: `s`, `By`, `1`."""

    about: str
    unit: str = "1"


MEANINGS: Mapping[str, Meaning] = {
    "tidegate_up": Meaning("1 when the ledger of the target could be read."),
    "tidegate_evaluated_timestamp_seconds": Meaning("When these figures were computed.", "s"),
    "tidegate_last_run_timestamp_seconds": Meaning("When the newest run ended.", "s"),
    "tidegate_last_run_duration_seconds": Meaning("How long the newest run took.", "s"),
    "tidegate_last_run_exit_code": Meaning("The exit code of the newest run."),
    "tidegate_parallel_efficiency_ratio": Meaning("Share of its connections that the newest run used."),
    "tidegate_staging_bytes": Meaning("Space of staging tables and archives.", "By"),
    "tidegate_staging_tables": Meaning("Staging tables and archives, by what they are for."),
    "tidegate_alerts": Meaning("Alerts by their severity."),
    "tidegate_alert": Meaning("1 for each alert: condition, severity and table."),
    "tidegate_table_state": Meaning("1 for the state that the table is in, 0 for the others."),
    "tidegate_table_last_success_timestamp_seconds": Meaning("When a run of the table succeeded last.", "s"),
    "tidegate_table_last_moved_timestamp_seconds": Meaning("When rows of the table were loaded last.", "s"),
    "tidegate_table_last_proof_timestamp_seconds": Meaning("When source and target were last found equal.", "s"),
    "tidegate_table_proof_age_seconds": Meaning("Seconds since source and target were last found equal.", "s"),
    "tidegate_table_verified_age_seconds": Meaning("Seconds since `verify` found the table equal.", "s"),
    "tidegate_table_unmoved_seconds": Meaning("Seconds since rows of the table were loaded.", "s"),
    "tidegate_table_success_ratio": Meaning("Share of recent loads that succeeded."),
    "tidegate_table_switch_success_ratio": Meaning("Share of recent partition switches that succeeded."),
    "tidegate_table_loads": Meaning("Recent loads, by outcome."),
    "tidegate_table_rows": Meaning("Rows that the newest load brought."),
    "tidegate_table_duration_seconds": Meaning("Extract and load of a window in the newest run.", "s"),
    "tidegate_table_usual_duration_seconds": Meaning("The same in the median of earlier runs.", "s"),
    "tidegate_table_switch_duration_seconds": Meaning("A partition switch in the newest run.", "s"),
    "tidegate_table_usual_switch_duration_seconds": Meaning("The same in the median of earlier runs.", "s"),
    "tidegate_table_values_behind": Meaning("Values of the source in scope that the target lacks."),
    "tidegate_table_freshness_seconds": Meaning("How far the target's newest value is behind the source's.", "s"),
}


def metrics_of(
    tables: Sequence[TableHealth],
    alerts: Sequence[Alert],
    staging: Sequence[Staging],
    reports: Sequence[Report],
    efficiency: float | None,
    now: datetime,
    *,
    is_up: bool,
) -> tuple[Metric, ...]:
    """Return all metrics. A figure that nothing tells has none."""
    found = [Metric("tidegate_up", float(is_up)), Metric("tidegate_evaluated_timestamp_seconds", now.timestamp())]
    found += _of_runs(reports, efficiency)
    found += _of_staging(staging) if is_up else ()
    for severity in SEVERITIES:
        count = sum(alert.severity == severity for alert in alerts)
        found.append(Metric("tidegate_alerts", count, {"severity": severity}))
    named = {(alert.condition, alert.severity, alert.table) for alert in alerts}
    for condition, severity, table in sorted(named):
        labels = {"condition": condition, "severity": severity, "table": table}
        found.append(Metric("tidegate_alert", 1, labels))
    for health in tables:
        found += _of_table(health, now)
    return tuple(found)


def _of_runs(reports: Sequence[Report], efficiency: float | None) -> Iterator[Metric]:
    if reports:
        newest = reports[0]
        labels = {"verb": str(newest["verb"])}
        yield Metric("tidegate_last_run_timestamp_seconds", history.ended(newest).timestamp(), labels)
        yield Metric("tidegate_last_run_duration_seconds", float(newest["seconds"]), labels)
        yield Metric("tidegate_last_run_exit_code", float(newest["exit_code"]), labels)
    if efficiency is not None:
        yield Metric("tidegate_parallel_efficiency_ratio", efficiency)


def _of_staging(staging: Sequence[Staging]) -> Iterator[Metric]:
    yield Metric("tidegate_staging_bytes", sum(table.bytes or 0 for table in staging))
    for purpose in sorted({table.purpose for table in staging}):
        count = sum(table.purpose == purpose for table in staging)
        yield Metric("tidegate_staging_tables", count, {"purpose": purpose})


def _of_table(health: TableHealth, now: datetime) -> Iterator[Metric]:
    labels = {"table": health.table}
    if health.state:
        for state in STATES:
            yield Metric("tidegate_table_state", float(health.state == state), {**labels, "state": state})
    if health.loads:
        yield Metric("tidegate_table_loads", health.loads - health.failed_loads, {**labels, "outcome": "done"})
        yield Metric("tidegate_table_loads", health.failed_loads, {**labels, "outcome": "failed"})
    for name, figure in _figures(now).items():
        value = figure(health)
        if value is not None:
            yield Metric(f"tidegate_table_{name}", float(value), labels)


def _figures(now: datetime) -> dict[str, Callable[[TableHealth], float | None]]:
    def time_of(text: str) -> float | None:
        found = moment(text) if text else None
        return None if found is None else found.timestamp()

    def age_of(text: str) -> float | None:
        found = time_of(text)
        return None if found is None else max(now.timestamp() - found, 0.0)

    return {
        "last_success_timestamp_seconds": lambda table: time_of(table.last_success_at),
        "last_moved_timestamp_seconds": lambda table: time_of(table.last_moved_at),
        "last_proof_timestamp_seconds": lambda table: time_of(table.last_proof_at),
        "proof_age_seconds": lambda table: age_of(table.last_proof_at),
        "verified_age_seconds": lambda table: age_of(table.last_verified_at),
        "unmoved_seconds": lambda table: age_of(table.last_moved_at),
        "success_ratio": lambda table: table.success_rate,
        "switch_success_ratio": lambda table: table.switch_success_rate,
        "rows": lambda table: table.rows,
        "duration_seconds": lambda table: table.seconds,
        "usual_duration_seconds": lambda table: table.usual_seconds,
        "switch_duration_seconds": lambda table: table.switch_seconds,
        "usual_switch_duration_seconds": lambda table: table.usual_switch_seconds,
        "values_behind": lambda table: table.values_behind,
        "freshness_seconds": lambda table: table.seconds_behind,
    }
