"""News: what an outlet is told of the alerts that hold, given what it was sent before.

An alert is sent when it is new, when its severity changed, again after `repeat`, and when it ended. What an outlet was
sent is kept in the target (`state/notes.py`), and only after the outlet took it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tidegate.interfaces.database import Database
from tidegate.model.health import Alert, News, Snapshot
from tidegate.state.ledger import Ledger
from tidegate.state.notes import Notes

_UNREACHABLE = "unreachable"


def name_of(alert: Alert) -> str:
    """Return the name of an alert in the memory: the condition, and the table if it concerns one. An info tells what
    happened once, so a later event is another alert."""
    event = f" {alert.since}" if alert.severity == "info" else ""
    return f"{alert.condition} {alert.table}{event}".strip()


def news_of(
    health: Snapshot, at_least: str, sent: Mapping[str, Any], repeat: float | None
) -> tuple[News, dict[str, Any]]:
    """Return what to tell, and how the memory changes when it was told.

    Args:
        sent: what the outlet was sent, by the name of the alert.
        repeat: after how many seconds an alert that still holds is sent again; None means never.
    """
    now = datetime.fromisoformat(health.at)
    holding = {name_of(alert): alert for alert in health.alerts}
    told = {name: alert for name, alert in holding.items() if alert in health.at_least(at_least)}
    fresh = {name: alert for name, alert in told.items() if _is_due(alert, sent.get(name), now, repeat)}
    gone = {name: note for name, note in sent.items() if name not in told and _was_evaluated(health, note)}
    # What happened once does not end, and an alert that became less urgent than the outlet wants still holds.
    ended = [_alert(note) for name, note in gone.items() if note["severity"] != "info" and name not in holding]
    changes: dict[str, Any] = {name: _note(alert, health.at) for name, alert in fresh.items()}
    return News(tuple(fresh.values()), tuple(ended)), {**changes, **dict.fromkeys(gone)}


def _is_due(alert: Alert, note: Mapping[str, Any] | None, now: datetime, repeat: float | None) -> bool:
    if note is None or note["severity"] != alert.severity:
        return True
    if alert.severity == "info" or repeat is None:
        return False
    return (now - datetime.fromisoformat(note["sent_at"])).total_seconds() >= repeat


def _was_evaluated(health: Snapshot, note: Mapping[str, Any]) -> bool:
    """Return whether this snapshot tells that an alert ended: its table was asked, and could be read."""
    away = {alert.table for alert in health.alerts if alert.condition == _UNREACHABLE}
    if "" in away or note["table"] in away:
        return False
    return not note["table"] or note["table"] in {table.table for table in health.tables}


def _note(alert: Alert, at: str) -> dict[str, Any]:
    return {
        "condition": alert.condition,
        "table": alert.table,
        "severity": alert.severity,
        "text": alert.text,
        "since": alert.since,
        "sent_at": at,
    }


def _alert(note: Mapping[str, Any]) -> Alert:
    return Alert(note["severity"], note["condition"], note["table"], note["text"], since=note["since"])


def read_sent(target: Database, outlets: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what each outlet was sent. Raises TidegateError when the target cannot be asked.

    Nothing is known where there is no ledger, or that of another database: then every alert is news."""
    with target.connect("monitor", read_only=True) as session:
        ledger, notes = Ledger(session), Notes(session)
        if not ledger.exists() or not notes.exist():
            return {}
        ledger.require_own()
        return {outlet: notes.of(_topic(outlet)) for outlet in outlets}


def write_sent(target: Database, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what outlets were sent, and forget what ended. Does nothing before the first run has created a ledger.

    Raises TidegateError when the target refuses it."""
    if not changes:
        return
    with target.connect("monitor") as session:
        ledger, notes = Ledger(session), Notes(session)
        if not ledger.exists():
            return
        ledger.require_own()
        notes.create()
        for outlet, changed in changes.items():
            notes.update(_topic(outlet), changed)


def _topic(outlet: str) -> str:
    return f"alerts of {outlet}"
