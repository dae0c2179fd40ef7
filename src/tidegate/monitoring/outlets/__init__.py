"""Outlets: where figures and alerts go. One module each; an outlet that fails does not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from tidegate.config.monitoring import MonitoringSettings
from tidegate.errors import TidegateError
from tidegate.interfaces.database import Database
from tidegate.model.health import News, Snapshot
from tidegate.model.names import pluralize
from tidegate.model.report import RunReport
from tidegate.monitoring.lineage import datasets_of, lineage_of
from tidegate.monitoring.news import news_of, read_sent, write_sent
from tidegate.runs.run import Pipeline


def publish(
    health: Snapshot, settings: MonitoringSettings, target: Database, redact: Callable[[str], str]
) -> list[str]:
    """Send figures to every outlet that takes them, and to outlets of alerts what is new to them. Return one sentence
    for each that failed."""
    failed: list[str] = []
    for name, send in _senders(settings).items():
        failed += _failure(name, partial(send, health))
    tellers = _tellers(settings)
    if tellers:
        failed += _tell(health, tellers, settings.repeat, target)
    return [redact(text) for text in failed]


def _failure(name: str, send: Callable[[], None]) -> list[str]:
    """Send, and return the sentence that says why it failed, if it did."""
    try:
        send()
    except (TidegateError, OSError) as problem:
        text = problem.happened if isinstance(problem, TidegateError) else f"{type(problem).__name__}: {problem}"
        return [f"{name}: {text}"]
    return []


class _Teller(NamedTuple):
    """An outlet of alerts: from which severity on it wants them, and what tells them."""

    at_least: str
    tell: Callable[[Snapshot, News], None]


def _tell(health: Snapshot, tellers: Mapping[str, _Teller], repeat: float | None, target: Database) -> list[str]:
    """Tell each outlet what is new to it. Where the memory of sent alerts cannot be used, all alerts are sent."""
    failed: list[str] = []
    sent: Mapping[str, Mapping[str, Any]] | None = None
    try:
        sent = read_sent(target, list(tellers))
    except TidegateError as problem:
        failed.append(_forgetful(problem))
    changes: dict[str, dict[str, Any]] = {}
    for name, teller in tellers.items():
        news, changed = news_of(health, teller.at_least, (sent or {}).get(name, {}), repeat)
        problems = _failure(name, partial(teller.tell, health, news)) if news else []
        failed += problems
        if changed and not problems:
            changes[name] = changed
    if sent is None:
        return failed
    try:
        write_sent(target, changes)
    except TidegateError as problem:
        failed.append(_forgetful(problem))
    return failed


def _forgetful(problem: TidegateError) -> str:
    return f"the memory of sent alerts cannot be used, so alerts are sent again: {problem.happened}"


def _senders(settings: MonitoringSettings) -> dict[str, Callable[[Snapshot], None]]:
    """Return what sends a snapshot, by the name of the outlet. A module is imported only where its outlet is set."""
    senders: dict[str, Callable[[Snapshot], None]] = {}
    if (path := settings.prometheus) is not None:
        from tidegate.monitoring.outlets.prometheus import write

        senders["prometheus"] = lambda health: write(health, path)
    if (address := settings.opentelemetry) is not None:
        from tidegate.monitoring.outlets.opentelemetry import export

        senders["opentelemetry"] = lambda health: export(health, address)
    return senders


def _tellers(settings: MonitoringSettings) -> dict[str, _Teller]:
    """Return the outlets of alerts, by name."""
    tellers: dict[str, _Teller] = {}
    if (webhook := settings.webhook) is not None:
        from tidegate.monitoring.outlets.webhook import post

        tellers["webhook"] = _Teller(webhook.at_least, lambda health, news: post(health, webhook, news))
    if (command := settings.command) is not None:
        from tidegate.monitoring.outlets.command import start

        tellers["command"] = _Teller(command.at_least, lambda health, news: start(health, command, news))
    if (apprise := settings.apprise) is not None:
        from tidegate.monitoring.outlets.notify import notify

        tellers["apprise"] = _Teller(apprise.at_least, lambda health, news: notify(health, apprise, news))
    return tellers


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


def document_of(health: Snapshot, news: News) -> dict[str, Any]:
    """Return what a webhook and a command get: everything that holds now, what of it is new, what ended, and a text."""
    told = {"new": [asdict(alert) for alert in news.alerts], "ended": [asdict(alert) for alert in news.ended]}
    return {**health.to_dict(), **told, "text": text_of(health, news)}


def text_of(health: Snapshot, news: News) -> str:
    """Return the news for people, one line each, below a line that names the project."""
    counts = [pluralize(len(news.alerts), "alert")] if news.alerts else []
    counts += [f"{len(news.ended):,} ended"] if news.ended else []
    head = f"Tidegate, {health.project.get('target', '')}: {', '.join(counts)}"
    return "\n".join([head, *map(str, news.alerts), *(f"ended: {alert}" for alert in news.ended)])
