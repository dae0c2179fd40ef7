"""Events as a change feed: JSON lines, or what a reader returns, in the order of their positions.

Facts that shape this file
 * A window has an end that is fixed before its rows are read. So events are read when a run is planned, and again by
   the task. A reader is asked twice.
 * An event that has no position of its own has a place: the name of its file, and its line. Files may only grow.
 * A line without its end is still being written.
"""

from __future__ import annotations

import glob
import importlib
import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tidegate.errors import ConfigError, ValueProblem
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.session import Session
from tidegate.model.events import Event, event_of, event_of_line, sortable
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position
from tidegate.model.names import TableName, pluralize

if TYPE_CHECKING:
    import pyarrow as pa

_OPERATIONS = {"insert": INSERT, "update": UPDATE, "delete": DELETE}
_IN_PYTHON = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_UNTOUCHED = "Nothing was published; the target keeps what it had."
_BEGINNING = Position("")
Placed = tuple[str, Event]
"""An event after its position, in a form that sorts."""


@dataclass(frozen=True)
class EventFeed(Feed):
    """The events of one table."""

    label = "events"
    has_commit_times: ClassVar[bool] = False

    place: str
    """Files of JSON lines, or `package.module:name`."""

    @property
    def id(self) -> str:
        return f"events of {self.place}"

    @property
    def _is_in_python(self) -> bool:
        return _IN_PYTHON.fullmatch(self.place) is not None

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        if self._is_in_python:
            try:
                self._reader()
            except (ImportError, AttributeError) as problem:
                return [Problem(f"the reader {self.place} cannot be imported ({problem})")]
        elif not Path(self.place).parent.is_dir() and not self._files():
            return [Problem(f"there is no folder {Path(self.place).parent} with events")]
        return []

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        count, newest = 0, after or _BEGINNING
        for order, event in self._after(after or _BEGINNING):
            count += 1
            if order > newest.order:
                newest = Position(order, event.position or "")
        return FeedState(newest, newest, count)

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        wanted = (placed for placed in self._in_order(after) if placed[0] <= upto.order)
        while events := list(islice(wanted, table.batch.rows)):
            yield _batch(table, events)
        return None

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """Do nothing: who writes the events removes them."""

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        problems = tuple(self.problems(session, table))
        if problems:
            return FeedHealth(self.id, False, {}, problems)
        state = self.state(session, table, after, "")
        read = "nothing yet" if after is None else after.detail or after.order or "the beginning"
        facts = {"read up to": read, "not read yet": pluralize(state.changes or 0, "event")}
        return FeedHealth(self.id, True, facts)

    # Events

    def _in_order(self, after: Position) -> Iterator[Placed]:
        """Yield the events after a position in the order of their positions. They are sorted where they are not."""
        if self._is_in_python:
            return iter(sorted(self._after(after), key=_order))
        if all(one <= next_one for one, next_one in pairwise(map(_order, self._after(after)))):
            return self._after(after)
        return iter(sorted(self._after(after), key=_order))

    def _after(self, after: Position) -> Iterator[Placed]:
        known = self._of_reader(after) if self._is_in_python else self._of_files()
        return (placed for placed in known if placed[0] > after.order)

    def _of_reader(self, after: Position) -> Iterator[Placed]:
        reader = self._reader()
        read = reader.read if hasattr(reader, "read") else reader
        for row in read(after.detail or None):
            event = event_of(row)
            if event.position is None:
                raise ConfigError(
                    f"The reader {self.place} returned an event without a position.",
                    _UNTOUCHED,
                    "Give each event a `log_position` that grows: runs go on behind the greatest.",
                )
            yield sortable(event.position), event

    def _reader(self) -> Any:
        module, name = self.place.split(":")
        found = getattr(importlib.import_module(module), name)
        return found() if isinstance(found, type) else found

    def _files(self) -> list[Path]:
        return [Path(name) for name in sorted(glob.glob(self.place))]

    def _of_files(self) -> Iterator[Placed]:
        has_positions: bool | None = None
        for path in self._files():
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if not line.strip() or not line.endswith("\n"):
                        continue
                    event = event_of(event_of_line(line, number, path))
                    if has_positions not in (None, event.position is not None):
                        raise ConfigError(
                            f"Some events of {self.place} have a position and some have none: line {number} of {path}.",
                            _UNTOUCHED,
                            "Give all of them a `log_position`, or none: then their place in the files counts.",
                        )
                    has_positions = event.position is not None
                    yield sortable(event.position) if event.position else f"{path.name}:{number:012d}", event


def _order(placed: Placed) -> str:
    return placed[0]


def _batch(table: FeedTable, events: Sequence[Placed]) -> pa.RecordBatch:
    import pyarrow as pa

    from tidegate.hashing.changes import change_schema

    schema = change_schema(table)
    keys = [column.name for column in table.keys]
    rows = [_row(event.with_key(keys), [column.name for column in table.columns], keys) for _, event in events]
    columns = [
        pa.array([_OPERATIONS[event.operation] for _, event in events], pa.int16()),
        pa.array([order for order, _ in events], pa.string()),
        pa.nulls(len(events), pa.timestamp("us", "UTC")),
        *(_column(table, field, [row.get(field.name) for row in rows]) for field in list(schema)[3:]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _row(event: Event, columns: Sequence[str], keys: Sequence[str]) -> Mapping[str, Any]:
    needed = keys if event.operation == "delete" else columns
    missing = [name for name in needed if name not in event.row]
    if missing:
        raise ValueProblem(
            f"An event ({event.operation}, position {event.position}) has no value for {', '.join(missing)}.",
            _UNTOUCHED,
            "Events must have whole rows, and those of deleted rows their key. `only_columns` leaves columns out.",
        )
    return event.row if event.operation != "delete" else {name: event.row[name] for name in keys}


def _column(table: FeedTable, field: pa.Field, values: Sequence[Any]) -> pa.Array:
    """Return values of JSON as those of a column. Raises ValueProblem for one that would not stay what it is."""
    import pyarrow as pa

    try:
        if pa.types.is_binary(field.type):
            return pa.array([None if value is None else bytes.fromhex(value.removeprefix("\\x")) for value in values])
        return pa.array([_text(value) for value in values], pa.string()).cast(field.type)
    except (pa.ArrowException, ValueError, AttributeError, TypeError) as problem:
        raise ValueProblem(
            f"{table.name}: a value of {field.name} in an event does not fit {field.type}: {problem}.",
            _UNTOUCHED,
            "Correct the event, or leave the column out with `only_columns`.",
        ) from None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (bool, dict, list)) else str(value)
