"""Outlets: where figures and alerts go. One module each; an outlet that fails does not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegate.config.monitoring import MonitoringSettings
from tidegate.errors import TidegateError
from tidegate.model.health import Snapshot
from tidegate.model.report import RunReport
from tidegate.monitoring.lineage import datasets_of, lineage_of
from tidegate.runs.run import Pipeline


def publish(health: Snapshot, settings: MonitoringSettings, redact: Callable[[str], str]) -> list[str]:
    """Send a snapshot to every outlet that is set; return one sentence for each that failed."""
    failed = []
    for name, send in _senders(settings).items():
        try:
            send(health)
        except (TidegateError, OSError) as problem:
            text = problem.happened if isinstance(problem, TidegateError) else f"{type(problem).__name__}: {problem}"
            failed.append(redact(f"{name}: {text}"))
    return failed


def _senders(settings: MonitoringSettings) -> dict[str, Callable[[Snapshot], None]]:
    """Return what sends a snapshot, by the name of the outlet. A module is imported only where its outlet is set."""
    senders: dict[str, Callable[[Snapshot], None]] = {}
    if (path := settings.prometheus) is not None:
        from tidegate.monitoring.outlets.prometheus import write

        senders["prometheus"] = lambda health: write(health, path)
    if (webhook := settings.webhook) is not None:
        from tidegate.monitoring.outlets.webhook import post

        senders["webhook"] = lambda health: post(health, webhook)
    if (command := settings.command) is not None:
        from tidegate.monitoring.outlets.command import start

        senders["command"] = lambda health: start(health, command)
    if (apprise := settings.apprise) is not None:
        from tidegate.monitoring.outlets.notify import notify

        senders["apprise"] = lambda health: notify(health, apprise)
    if (address := settings.opentelemetry) is not None:
        from tidegate.monitoring.outlets.opentelemetry import export

        senders["opentelemetry"] = lambda health: export(health, address)
    return senders


def run_started(pipeline: Pipeline, run: str, verb: str, tables: Sequence[str]) -> list[str]:
    """Send the events that follow from the begin of a run; return what could not be sent."""
    settings = pipeline.project.monitoring.openlineage
    if settings is None:
        return []
    from tidegate.monitoring.outlets.openlineage import start

    return _tried(pipeline, lambda: start(settings, run, verb, datasets_of(pipeline, tables)))


def run_ended(pipeline: Pipeline, report: RunReport) -> list[str]:
    """Send the events that follow from the end of a run; return what could not be sent."""
    settings = pipeline.project.monitoring.openlineage
    if settings is None:
        return []
    from tidegate.monitoring.outlets.openlineage import end

    return _tried(pipeline, lambda: end(settings, report, list(lineage_of(pipeline, report))))


def _tried(pipeline: Pipeline, send: Callable[[], None]) -> list[str]:
    try:
        send()
    except TidegateError as problem:
        return [pipeline.project.redactor().redact(f"openlineage: {problem.happened}")]
    return []


def text_of(health: Snapshot, alerts: tuple[object, ...]) -> str:
    """Return the alerts for people, one line each, below a line that names the project."""
    target = health.project.get("target", "")
    head = f"Tidegate, {target}: {len(alerts)} {'alert' if len(alerts) == 1 else 'alerts'}"
    return "\n".join([head, *map(str, alerts)])
