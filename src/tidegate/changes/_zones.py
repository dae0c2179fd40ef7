"""The time now, on the clock of a cursor: that of the source's server, or of a zone that the configuration names.

An application may write UTC into a column without a zone while its server is in Berlin. On the server's clock every row
would lie in the past or in the future by an hour or two.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator

from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.values import Value, ValueKind
from tidegate.settings import wrong


def _zone(given: Any) -> str | None:
    if given is None or given == "server":
        return None
    try:
        return ZoneInfo("UTC" if str(given).lower() == "utc" else str(given)).key
    except (ZoneInfoNotFoundError, ValueError):
        raise wrong("is no time zone", "Write `utc`, `server`, or a zone such as `Europe/Berlin`.") from None


CursorZone = Annotated[str | None, BeforeValidator(_zone)]
"""A zone's name; None for that of the server."""


def clock_of(source: Session, cursor: Column, kind: ValueKind, zone: str | None) -> Value | None:
    """Return the time now on the clock of a cursor; None for a cursor that is no time and that no server counts."""
    question = source.database.clock_query(cursor)
    if question is None:
        return None
    is_local = kind in (ValueKind.TIMESTAMP, ValueKind.DATE) and cursor.logical_type.family != "instant"
    if zone is None or not is_local:
        return Value.of(source.query(question)[0][0], kind)
    now = datetime.fromisoformat(source.now()).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return Value.of(now.date() if kind is ValueKind.DATE else now, kind)
