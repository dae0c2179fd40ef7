"""The calendar of a table: which days have data, and which value must be there by now."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tidegate.config.monitoring import WEEK, Thresholds


def moment(text: str) -> datetime | None:
    """Return the time that a value or a report names: `20240815`, `2024-08-15`, `2024-08-15 07:00:00.5`. A time
    without a zone is in UTC. None for a text that is no time."""
    text = text.strip()
    if re.fullmatch(r"(19|20)\d{6}", text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    elif not re.match(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def has_data(day: date, rules: Thresholds) -> bool:
    return WEEK[day.weekday()] in rules.calendar and day not in rules.holidays


def expected_day(now: datetime, rules: Thresholds) -> date | None:
    """Return the newest day whose data must be in the target by now; None without `due`."""
    if rules.due is None:
        return None
    local = now.astimezone(ZoneInfo(rules.timezone))
    is_due = has_data(local.date(), rules) and local.time() >= time.fromisoformat(rules.due)
    day = local.date() if is_due else _day_before(local.date(), rules)
    for _ in range(rules.lag):
        day = _day_before(day, rules)
    return day


def _day_before(day: date, rules: Thresholds) -> date:
    """Return the last day with data before this one. A calendar of holidays alone ends after a year."""
    for back in range(1, 367):
        if has_data(day - timedelta(days=back), rules):
            return day - timedelta(days=back)
    return day - timedelta(days=1)


def age(since: datetime, now: datetime, rules: Thresholds) -> float:
    """Return the seconds from `since` until now, without the days that have no data."""
    zone = ZoneInfo(rules.timezone)
    left_out = 0.0
    day = max(since.astimezone(zone).date(), now.astimezone(zone).date() - timedelta(days=3660))
    while day <= now.astimezone(zone).date():
        if not has_data(day, rules):
            begin = max(datetime.combine(day, time(), zone), since)
            end = min(datetime.combine(day + timedelta(days=1), time(), zone), now)
            left_out += max((end - begin).total_seconds(), 0.0)
        day += timedelta(days=1)
    return max((now - since).total_seconds() - left_out, 0.0)
