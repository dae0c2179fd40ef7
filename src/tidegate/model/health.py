"""The health of a project: figures, alerts and what they rest on, as `tidegate monitor` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SEVERITIES = ("info", "warning", "critical")
"""From the least to the most urgent."""


@dataclass(frozen=True)
class Staging:
    """A table beside a target that a switch of partitions made: a stage, or an archive of replaced rows."""

    name: str
    table: str
    """The target table."""
    purpose: str
    """stage, switching, replaced, archive or by hand."""
    at: str
    bytes: int | None = None
    """None where the server does not tell."""
    is_orphan: bool = False
    """No live run owns it, and nobody needs its rows."""


@dataclass(frozen=True)
class Metric:
    """One figure at one moment. Names and labels follow the rules of Prometheus."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """One condition that holds now. `severity` is critical, warning or info."""

    severity: str
    condition: str
    """The name of the condition, as the configuration and the docs have it: `no_load`."""
    table: str
    """Empty where it concerns the whole project."""
    text: str
    value: float | None = None
    """The figure that was compared, and the threshold that it crossed."""
    threshold: float | None = None
    remedy: str = ""
    since: str = ""
    """When the condition began, as far as the run history tells."""

    def __str__(self) -> str:
        place = f"{self.table}: " if self.table else ""
        return f"{self.severity}: {place}{self.text}"


@dataclass(frozen=True)
class News:
    """What an outlet is told: alerts that are new, changed their severity or are due again, and those that ended."""

    alerts: tuple[Alert, ...] = ()
    ended: tuple[Alert, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.alerts or self.ended)


@dataclass(frozen=True)
class TableHealth:
    """The figures of one table. A figure is None where nothing tells it."""

    table: str
    kind: str = ""
    state: str = ""
    """As `status` has it: in sync, pending, differs, empty or failed."""
    problem: str = ""
    last_success_at: str = ""
    """The newest run of this table that did not fail, also when it had nothing to do."""
    last_failure_at: str = ""
    last_error: str = ""
    last_moved_at: str = ""
    """When rows were loaded last."""
    last_proof_at: str = ""
    """When rows of source and target were last read and found equal, by a load or by `verify`."""
    last_verified_at: str = ""
    """The same by `verify` alone, which compares with the source as it is then."""
    loads: int = 0
    """How many loads the window of the run history has, and how many of them failed."""
    failed_loads: int = 0
    switches: int = 0
    failed_switches: int = 0
    rows: int | None = None
    """Rows that the newest load brought."""
    seconds: float | None = None
    """How long extract and load of the newest run took that moved rows of this table, and how long it usually takes."""
    usual_seconds: float | None = None
    switch_seconds: float | None = None
    usual_switch_seconds: float | None = None
    newest_source: str = ""
    newest_target: str = ""
    values_behind: int | None = None
    """How many values of the source are in scope and not in the target."""
    seconds_behind: float | None = None
    """How far the newest value of the target is behind that of the source, where both are times."""
    expected_value: str = ""
    """The date that the calendar expects in the target by now; empty without `due`."""
    findings: tuple[str, ...] = ()
    """What the newest verification found wrong."""

    @property
    def success_rate(self) -> float | None:
        return 1 - self.failed_loads / self.loads if self.loads else None

    @property
    def switch_success_rate(self) -> float | None:
        return 1 - self.failed_switches / self.switches if self.switches else None


@dataclass(frozen=True)
class Snapshot:
    """The health of a project at one moment."""

    at: str
    project: Mapping[str, str]
    """The places of source, lake and target, without secrets."""
    tables: tuple[TableHealth, ...] = ()
    alerts: tuple[Alert, ...] = ()
    """The most urgent first."""
    metrics: tuple[Metric, ...] = ()
    staging: tuple[Staging, ...] = ()
    last_run: Mapping[str, Any] = field(default_factory=dict)
    """The newest run: run, verb, started_at, seconds, outcome, exit_code; empty when there was none."""
    parallel_efficiency: float | None = None
    """Which share of its parallel loads the newest run used, from 0 to 1; None where nothing ran at the same time."""

    @property
    def severity(self) -> str:
        """Return the severity of the most urgent alert; `ok` without any."""
        return self.alerts[0].severity if self.alerts else "ok"

    @property
    def exit_code(self) -> int:
        """Return 1 for a critical alert, 3 for a warning, else 0."""
        return {"critical": 1, "warning": 3}.get(self.severity, 0)

    def at_least(self, severity: str) -> tuple[Alert, ...]:
        """Return the alerts that are as urgent as this or more."""
        least = SEVERITIES.index(severity)
        return tuple(alert for alert in self.alerts if SEVERITIES.index(alert.severity) >= least)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as `--json` and the outlets have it."""
        rates = {table.table: (table.success_rate, table.switch_success_rate) for table in self.tables}
        facts = asdict(self)
        for table in facts["tables"]:
            table["success_rate"], table["switch_success_rate"] = rates[table["table"]]
        return {**facts, "severity": self.severity, "exit_code": self.exit_code}
