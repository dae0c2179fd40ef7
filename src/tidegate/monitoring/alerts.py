"""Alerts: which conditions hold now. Each condition is one function, and has a name that the docs explain.

| severity | condition | holds when |
| --- | --- | --- |
| critical | `unreachable` | the state of a table, or of the project, could not be read |
| critical | `load_failed`, `switch_failed` | the newest run of the table failed, after its own retries |
| critical | `differs` | the newest verification found a difference, and nothing repaired it since |
| critical | `no_load` | no run of the table succeeded for too long |
| warning | `late` | the calendar expects a newer value in the target |
| warning | `unmoved` | runs succeed and no row was loaded for too long: the data did not move |
| warning | `proof_age` | source and target were not compared for too long |
| warning | `slow`, `slow_switch` | the newest run took far longer than it usually does |
| warning | `success_rate`, `switch_success_rate` | too many loads failed lately |
| warning | `staging_bytes`, `staging_orphans` | staging tables take much space, or nobody owns them |
| warning | `parallel_efficiency` | parallel loads waited more than they worked |
| info | `partition_created` | a run created a partition in the target |
| info | `by_hand` | somebody repaired, reloaded, restored or changed something by hand |
| info | `settings_changed` | the newest run of a table had other settings than the one before |
| info | `no_dates` | `due` is set, and the values of the table are no dates |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from tidegate.config.monitoring import MonitoringSettings, Thresholds
from tidegate.model.health import SEVERITIES, Alert, Staging, TableHealth
from tidegate.model.names import pluralize
from tidegate.model.plan import RELOAD
from tidegate.model.stages import BY_HAND as BY_HAND_STAGE
from tidegate.monitoring import history
from tidegate.monitoring.calendar import age, moment
from tidegate.monitoring.history import Report

BY_HAND = ("repair", "backfill", "adopt", "load", "restore", "forget", "watermark", "switch")
NEW_PARTITION = "a partition for"
_SWITCHES_TO_SECONDS = 0.1


def alerts_of_table(
    health: TableHealth, reports: Sequence[Report], rules: Thresholds, now: datetime, *, switches: bool
) -> Iterator[Alert]:
    """Yield the alerts of one table."""
    yield from _unreachable(health)
    yield from _failed(health, reports, switches=switches)
    yield from _differs(health)
    silent = list(_no_load(health, reports, rules, now))
    yield from silent
    yield from _late(health, rules)
    if not silent:
        yield from _unmoved(health, reports, rules, now)
    yield from _proof_age(health, reports, rules, now)
    yield from _slow(health, rules)
    yield from _success_rate(health, rules)


def alerts_of_project(
    reports: Sequence[Report],
    staging: Sequence[Staging],
    efficiency: float | None,
    settings: MonitoringSettings,
    now: datetime,
    tables: Sequence[str],
) -> Iterator[Alert]:
    """Yield the alerts that concern no single table, and what happened lately to these tables."""
    yield from _staging(staging, settings)
    least = settings.parallel_efficiency
    if least is not None and efficiency is not None and efficiency < least:
        text = f"parallel loads of the newest run used {efficiency:.0%} of their connections"
        cure = "Fewer connections (`max_connections`) may do as well; see whether source or target was busy."
        yield Alert("warning", "parallel_efficiency", "", text, efficiency, least, cure)
    recent = [report for report in reports if history.started(report) >= now - timedelta(seconds=settings.recent)]
    yield from _partitions_created(recent, tables)
    yield from _by_hand(recent, tables)
    yield from _settings_changed(reports, recent, tables)


def in_order(alerts: Sequence[Alert]) -> tuple[Alert, ...]:
    """Return the alerts, the most urgent first, then by table."""
    return tuple(sorted(alerts, key=lambda alert: (-SEVERITIES.index(alert.severity), alert.table, alert.condition)))


# Critical


def _unreachable(health: TableHealth) -> Iterator[Alert]:
    if health.state == "failed":
        first = health.problem.splitlines()[0] if health.problem else "no reason was given"
        yield Alert("critical", "unreachable", health.table, f"its state could not be read: {first}")


def _failed(health: TableHealth, reports: Sequence[Report], *, switches: bool) -> Iterator[Alert]:
    newest = next(iter(history.moving(history.of_table(reports, health.table))), None)
    if newest is None or health.table not in history.failures(newest):
        return
    tried = [step for step in history.steps(newest, health.table, "load") if step["outcome"] == "failed"]
    condition = "switch_failed" if switches and tried else "load_failed"
    first = health.last_error.splitlines()[0] if health.last_error else "no reason was given"
    since = history.started(newest).isoformat(timespec="seconds")
    yield Alert(
        "critical",
        condition,
        health.table,
        f"run {newest['run']} failed: {first}",
        remedy=_last_line(health.last_error),
        since=since,
    )


def _last_line(error: str) -> str:
    """Return what to do, as the error of a run says it in its third line."""
    lines = error.splitlines()
    return lines[-1] if len(lines) >= 3 else ""


def _differs(health: TableHealth) -> Iterator[Alert]:
    cure = f"`tidegate verify --deep {health.table}` names the keys; `tidegate repair {health.table}` loads them again."
    if health.findings:
        text = f"the newest verification found: {'; '.join(health.findings)}"
        yield Alert("critical", "differs", health.table, text, remedy=cure)
    elif health.state == "differs":
        yield Alert("critical", "differs", health.table, "the target was changed after it was loaded", remedy=cure)


def _no_load(health: TableHealth, reports: Sequence[Report], rules: Thresholds, now: datetime) -> Iterator[Alert]:
    if rules.no_load is None:
        return
    since = moment(health.last_success_at) if health.last_success_at else None
    if since is None:
        yield Alert(
            "critical", "no_load", health.table, "no run of this table has succeeded yet", threshold=rules.no_load
        )
        return
    passed = (now - since).total_seconds()
    if passed > rules.no_load:
        text = f"no run succeeded for {in_words(passed)}"
        yield Alert("critical", "no_load", health.table, text, passed, rules.no_load, since=health.last_success_at)


# Warnings


def _late(health: TableHealth, rules: Thresholds) -> Iterator[Alert]:
    if not health.expected_value or health.state == "failed":
        return
    newest = moment(health.newest_target)
    if newest is None and not health.kind:
        return  # Without a status, the newest value is the name of a window, which need not be a value of the table.
    if newest is None and health.newest_target:
        text = f"`due` is set, and {health.newest_target} is no date: nothing tells whether it is late"
        yield Alert("info", "no_dates", health.table, text)
        return
    if newest is None or newest.date().isoformat() < health.expected_value:
        held = f"the newest value is {health.newest_target}" if newest else "it has no value"
        text = f"{health.expected_value} was due at {rules.due} ({rules.timezone}); {held}"
        yield Alert("warning", "late", health.table, text)


def _unmoved(health: TableHealth, reports: Sequence[Report], rules: Thresholds, now: datetime) -> Iterator[Alert]:
    since = moment(health.last_moved_at) if health.last_moved_at else _first_success(health, reports)
    if rules.unmoved is None or since is None or not health.last_success_at:
        return
    passed = age(since, now, rules)
    if passed > rules.unmoved:
        text = f"the data did not move: runs succeed, and no row was loaded for {in_words(passed)}"
        cure = "Ask whether the source still gets data; `tidegate explain` shows what each side holds."
        at = since.isoformat(timespec="seconds")
        yield Alert("warning", "unmoved", health.table, text, passed, rules.unmoved, cure, at)


def _first_success(health: TableHealth, reports: Sequence[Report]) -> datetime | None:
    """Return the oldest run that is known to have succeeded, of a table that never moved since."""
    own = history.moving(history.of_table(reports, health.table))
    good = [report for report in own if health.table not in history.failures(report)]
    return history.started(good[-1]) if good else None


def _proof_age(health: TableHealth, reports: Sequence[Report], rules: Thresholds, now: datetime) -> Iterator[Alert]:
    since = moment(health.last_proof_at) if health.last_proof_at else _first_success(health, reports)
    if rules.proof_age is None or since is None:
        return
    passed = (now - since).total_seconds()
    if passed > rules.proof_age:
        text = f"source and target were not compared for {in_words(passed)}"
        cure = f"`tidegate verify {health.table}` compares every row."
        at = since.isoformat(timespec="seconds")
        yield Alert("warning", "proof_age", health.table, text, passed, rules.proof_age, cure, at)


def _slow(health: TableHealth, rules: Thresholds) -> Iterator[Alert]:
    kinds = (
        ("slow", "a window took", health.seconds, health.usual_seconds, float(rules.slow_from)),
        (
            "slow_switch",
            "a switch took",
            health.switch_seconds,
            health.usual_switch_seconds,
            rules.slow_from * _SWITCHES_TO_SECONDS,
        ),
    )
    for condition, what, took, usual, shortest in kinds:
        if rules.slow is None or took is None or not usual or took < shortest or took <= rules.slow * usual:
            continue
        text = f"{what} {took:,.1f} s in the newest run, {took / usual:,.1f} times as long as usual ({usual:,.1f} s)"
        yield Alert("warning", condition, health.table, text, took, rules.slow * usual)


def _success_rate(health: TableHealth, rules: Thresholds) -> Iterator[Alert]:
    rates = (
        ("success_rate", "loads", health.success_rate, health.failed_loads, health.loads),
        ("switch_success_rate", "switches", health.switch_success_rate, health.failed_switches, health.switches),
    )
    for condition, what, rate, failed, tried in rates:
        if rules.success_rate is not None and rate is not None and rate < rules.success_rate:
            text = f"{failed:,} of {tried:,} {what} failed lately ({rate:.1%} succeeded)"
            yield Alert("warning", condition, health.table, text, rate, rules.success_rate)


def _staging(staging: Sequence[Staging], settings: MonitoringSettings) -> Iterator[Alert]:
    total = sum(table.bytes or 0 for table in staging)
    if settings.staging_bytes is not None and total > settings.staging_bytes:
        text = f"staging tables and archives have {pluralize(total, 'byte')} (tables: {len(staging):,})"
        cure = "`archive_retention_days` says how long replaced partitions are kept."
        yield Alert("warning", "staging_bytes", "", text, total, settings.staging_bytes, cure)
    orphans = [table.name for table in staging if table.is_orphan]
    if orphans:
        more = ", ..." if len(orphans) > 3 else ""
        text = f"no live run owns {pluralize(len(orphans), 'staging table')}: {', '.join(orphans[:3])}{more}"
        # A run cannot know whether somebody still fills a stage that was created by hand: it keeps those.
        by_hand = any(table.is_orphan and table.purpose == BY_HAND_STAGE for table in staging)
        cure = "`Tidegate.drop_orphaned_stages()` drops them." if by_hand else "The next `tidegate run` drops them."
        yield Alert("warning", "staging_orphans", "", text, len(orphans), 0, cure)


# Infos


def _partitions_created(recent: Sequence[Report], tables: Sequence[str]) -> Iterator[Alert]:
    for table in tables:
        made = [
            step["why"].removeprefix(NEW_PARTITION).strip()
            for report in recent
            for step in history.steps(report, table, "change schema")
            if step["outcome"] == "done" and step["why"].startswith(NEW_PARTITION)
        ]
        if made:
            text = f"runs created {pluralize(len(made), 'partition')}: {', '.join(sorted(made)[:5])}"
            yield Alert("info", "partition_created", table, text, len(made))


def _by_hand(recent: Sequence[Report], tables: Sequence[str]) -> Iterator[Alert]:
    for table in tables:
        for report in history.of_table(recent, table):
            reloaded = [step for step in history.steps(report, table, "load") if step["why"].startswith(RELOAD)]
            if report["verb"] in BY_HAND or (report["verb"] == "run" and reloaded):
                what = report["verb"] if report["verb"] in BY_HAND else "run --reload"
                if what != "repair" and not report["steps"]:
                    continue
                at = history.started(report).isoformat(timespec="seconds")
                yield Alert("info", "by_hand", table, f"`{what}` by hand: run {report['run']}", since=at)


def _settings_changed(reports: Sequence[Report], recent: Sequence[Report], tables: Sequence[str]) -> Iterator[Alert]:
    for table in tables:
        known = [(report, found) for report in reports if (found := (report.get("configuration") or {}).get(table))]
        for (report, now), (_, before) in pairwise(known):
            if now != before and report in recent:
                at = history.started(report).isoformat(timespec="seconds")
                text = f"run {report['run']} had other settings than the one before"
                yield Alert("info", "settings_changed", table, text, since=at)


def in_words(seconds: float) -> str:
    """Return `3 days 4 hours`, `4 hours 10 minutes`, `50 seconds`."""
    days, rest = divmod(round(seconds), 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "day"), (hours, "hour"), (minutes, "minute"), (left, "second")]
    first = next((number for number, (count, _) in enumerate(parts) if count), 3)
    shown = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts[first : first + 2] if count]
    return " ".join(shown) or "0 seconds"
