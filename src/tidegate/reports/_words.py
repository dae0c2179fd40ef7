"""Format numbers, times and sizes: in UTC and in English, whatever the locale of the machine is."""

from __future__ import annotations

from datetime import UTC, datetime

NONE = "\u2013"


def number(count: int | None) -> str:
    return NONE if count is None else f"{count:,}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float | None) -> str:
    """Return `840 ms`, `7.3 s`, `12 min 5 s`, `2 h 14 min`, `1 d 3 h`."""
    if seconds is None or seconds < 0:
        return NONE
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size:,} {unit} {rest} {small}" if rest else f"{whole // size:,} {unit}"
    return f"{whole} s"


def per_second(rows: int | None, seconds: float | None) -> str:
    """Return rows per second, or a dash when no rows moved or the time is unknown."""
    if not rows or not seconds or seconds < 0:
        return NONE
    return f"{round(rows / seconds):,}"


def size(count: int | None) -> str:
    """Return bytes in decimal units: `40.1 MB`."""
    if count is None:
        return NONE
    amount, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(amount) < 999.95 or unit == "TB":
            break
        amount /= 1000
    return f"{count:,} B" if unit == "B" else f"{amount:,.1f} {unit}"


def moment(iso: str) -> str:
    """Return `2026-11-15 21:50:11`, in UTC. A time without zone is UTC; a text that is no time is returned as it is."""
    when = _utc(iso)
    return f"{when:%Y-%m-%d %H:%M:%S}" if when else iso


def minute(iso: str) -> str:
    """Return `2026-11-15 21:50`, otherwise as `moment` does."""
    when = _utc(iso)
    return f"{when:%Y-%m-%d %H:%M}" if when else iso


def short_hash(receipt: str) -> str:
    return receipt[:8]


def _utc(iso: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(iso)
        return when if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
