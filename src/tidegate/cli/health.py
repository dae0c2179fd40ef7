"""The figures of a table in one line, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tidegate.model.health import TableHealth
from tidegate.model.names import pluralize


def in_figures(table: TableHealth, now: str) -> str:
    return ", ".join(_figures(table, datetime.fromisoformat(now))) or "no run yet"


def _figures(table: TableHealth, now: datetime) -> Iterator[str]:
    if table.newest_target:
        yield f"newest value {table.newest_target}"
    if table.values_behind:
        yield f"{pluralize(table.values_behind, 'value')} behind the source"
    elif table.seconds_behind:
        yield f"{ago(table.seconds_behind)} behind the source"
    for text, at in (
        ("ran", table.last_success_at),
        ("moved", table.last_moved_at),
        ("compared", table.last_proof_at),
    ):
        if at:
            yield f"{text} {ago((now - datetime.fromisoformat(at)).total_seconds())} ago"
    if table.success_rate is not None:
        yield f"{table.success_rate:.0%} of {pluralize(table.loads, 'load')} succeeded"
    if table.seconds is not None:
        usual = f" (usually {table.usual_seconds:.1f} s)" if table.usual_seconds is not None else ""
        yield f"{table.seconds:.1f} s a window{usual}"


def ago(seconds: float) -> str:
    """Return `3 h`, `12 min`, `5 s`, `2 d`."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
