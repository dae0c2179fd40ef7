"""Events of change data capture as mappings: what their keys mean, and how their positions are ordered.

| key of an event | other names | holds |
| --- | --- | --- |
| `operation` | `op`, `type`, `event_type` | insert, update, delete or their first letters; `c`, `r` as well |
| `log_position` | `lsn`, `position`, `sequence`, `offset` | its place in the log; without one, the order given counts |
| `after_image` | `after`, `data`, `new` | the row as it is since, as a mapping or as JSON |
| `before_image` | `before`, `old` | the row as it was |
| `event_key` | `key`, `primary_key` | the key of a row that is gone, where there is no image |

Everything else in an event is a column of the row itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tidegate.errors import ConfigError, ValueProblem

UNTOUCHED = "Nothing was written."
_NAMES = {
    "operation": ("operation", "op", "type", "event_type"),
    "log_position": ("log_position", "lsn", "position", "sequence", "offset"),
    "after_image": ("after_image", "after", "data", "new"),
    "before_image": ("before_image", "before", "old"),
    "event_key": ("event_key", "key", "primary_key"),
}
_OPERATIONS = {
    **dict.fromkeys(("insert", "i", "c", "create", "r", "read", "snapshot"), "insert"),
    **dict.fromkeys(("update", "u", "upsert", "merge"), "update"),
    **dict.fromkeys(("delete", "d", "remove"), "delete"),
}
_IGNORED = {"event_id", "table_name", "captured_at", "event_time", "timestamp", "ts_ms", "source"}
_DIGITS = 40


@dataclass(frozen=True)
class Event:
    """One change of one row."""

    operation: str
    row: Mapping[str, Any]
    """The row since the change; of a deleted row, its key or more of it."""
    position: str | None = None
    before: Mapping[str, Any] | None = None
    key: Any = None
    """The value of a key of one column, where the event names it without its column."""

    def with_key(self, keys: Sequence[str]) -> Event:
        """Return the event with its key as a column of the row, where it names the value alone."""
        if len(keys) != 1 or keys[0] in self.row or self.key is None or isinstance(self.key, (Mapping, list)):
            return self
        return replace(self, row={**self.row, keys[0]: self.key})


class EventReader(Protocol):
    """A source of events behind an API: an adapter for a service implements this one method."""

    def read(self, after: str | None) -> Iterable[Mapping[str, Any]]:
        """Return the events after a position in the order of their positions; all of them for None."""


def event_of(row: Any) -> Event:
    """Return an event of a mapping. Raises ConfigError for what is none."""
    if isinstance(row, Event):
        return row
    if not isinstance(row, Mapping):
        raise ConfigError(f"An event is a mapping, not {type(row).__name__}.", UNTOUCHED)
    named = {part: _first(row, names) for part, names in _NAMES.items()}
    operation = _OPERATIONS.get(str(named["operation"]).strip().lower())
    if operation is None:
        raise ConfigError(
            f"{named['operation']!r} is no operation of an event.", UNTOUCHED, "Use insert, update or delete."
        )
    images = {part: _mapping(named[part]) for part in ("after_image", "before_image", "event_key")}
    has_image = any(image is not None for image in images.values())
    taken = {name for names in _NAMES.values() for name in names}
    flat = {} if has_image else {name: value for name, value in row.items() if name not in taken | _IGNORED}
    after, before, key = images["after_image"], images["before_image"], images["event_key"]
    last = (after or before or key) if operation == "delete" else after
    position = None if named["log_position"] is None else str(named["log_position"])
    return Event(operation, {**(key or {}), **(last or flat)}, position, before, named["event_key"])


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _mapping(image: Any) -> dict[str, Any] | None:
    if isinstance(image, str):
        try:
            image = json.loads(image, parse_float=str)
        except ValueError:
            return None
    return dict(image) if isinstance(image, Mapping) else None


def event_of_line(line: str, number: int, path: Path) -> Any:
    """Return the JSON of one line of a file. Raises ValueProblem."""
    try:
        return json.loads(line, parse_float=str)  # no digit is lost
    except ValueError:
        raise ValueProblem(
            f"Line {number} of {path} is not JSON.", UNTOUCHED, "Write one event per line, as a JSON object."
        ) from None


def sortable(position: str) -> str:
    """Return a text that sorts as the position does: `1042`, SQL Server's `0x0001A5F`, PostgreSQL's `16/B374D848`, or
    MySQL's `binlog.000007:4711`."""
    if position.isascii() and position.isdigit():
        return _padded(position)
    if re.fullmatch("0[xX][0-9a-fA-F]+", position):
        return _padded(position[2:].lower())
    if re.fullmatch("[0-9a-fA-F]+/[0-9a-fA-F]+", position):
        return "".join(map(_padded, position.lower().split("/")))
    if found := re.fullmatch("(.*):([0-9]+)", position):
        return f"{found[1]}:{_padded(found[2])}"
    return position


def _padded(digits: str) -> str:
    return (digits.lstrip("0") or "0").rjust(_DIGITS, "0")
