"""Events of a table out of the database's own log, kept in CDC_EVENTS: read in a task, kept, and then confirmed.

A server with slots knows where reading goes on. Elsewhere the place is a watermark, written after the events: a call
that is killed in between reads the same events again, and each is kept once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tidegate.errors import FeedLost, MissingObject, Unsupported, ValueProblem
from tidegate.frames.carried import UNTOUCHED
from tidegate.frames.database import DatabaseFrames
from tidegate.frames.tasks import errors_for_driver
from tidegate.interfaces.database import Database
from tidegate.interfaces.feed import Feed, FeedTable
from tidegate.interfaces.session import Session
from tidegate.model.feeds import DELETE, OPERATION, OPERATIONS, PARTIAL, POSITION, TIME, TRUNCATE, Position
from tidegate.model.records import Watermark
from tidegate.state.events import delete_events

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

PIPELINE, PLACE = "cdc", "log_place"
"""The watermark of a table whose server keeps no place."""
_EVENT = ("event_id", "table_name", "operation", "log_position", "event_key", "after_image", "captured_at")


@dataclass(frozen=True)
class LogEvents:
    """The log of a database as the source of events of one table."""

    database: Database
    feed: Feed
    table: FeedTable
    name: str
    """The table as users name it."""

    @classmethod
    def of(cls, frames: DatabaseFrames, table: str, keys: Sequence[str], feed_name: str) -> LogEvents:
        """Raises MissingObject or Unsupported, with what to do."""
        database = frames.database
        feed, schema = database.feed("cdc", feed_name), frames.table(table)
        if feed is None or not feed.has_images:
            raise Unsupported(
                f"Events cannot be read from the log of {database.label}.",
                UNTOUCHED,
                "Use `cdc_type: trigger_based` with a table that triggers fill, or hand events in with `api_based`.",
            )
        if schema is None:
            raise MissingObject(f"There is no table {table}.", UNTOUCHED, "Check its name.")
        binary = [column.name for column in schema.columns if column.storage_type == "binary"]
        if binary:
            raise Unsupported(
                f"{table}: events keep values as text, and {', '.join(binary)} has bytes.",
                UNTOUCHED,
                "Sync the table with `changes: cdc`, which keeps them exactly.",
            )
        named = tuple(column for name in keys for column in schema.columns if column.name == name)
        told_table = FeedTable(schema.name, schema.columns, named, images=True, truncates=True)
        return cls(database, feed, told_table, table)

    def create(self, frames: DatabaseFrames, *, resync: bool = False) -> tuple[str, ...]:
        """Create what the feed needs on the server; return the statements. With `resync` events that the server no
        longer has are given up."""
        if not self.feed.keeps_place:
            self._begin(frames, resync=resync)
            return ()
        if resync:
            raise Unsupported(
                f"{self.name}: `resync` is for servers that keep no place for their readers.",
                UNTOUCHED,
                "Drop the slot of the source, and configure it again without `resync`.",
            )
        with self.database.connect("feed") as session:
            statements = self.feed.create(session, [self.table.name])
            for statement in statements:
                session.execute(statement)
        return tuple(self.database.render(statement) for statement in statements)

    def _begin(self, frames: DatabaseFrames, *, resync: bool) -> None:
        """Remember the end of the log as the place where reading begins, unless there is one.

        A log that began anew has smaller places. The feed knows that from the old place, and goes on with greater
        positions, since events with smaller ones would count as applied."""
        place = self._place(frames)
        if place is not None and not resync:
            return
        with self.database.connect("inspect", read_only=True) as session:
            self._require_readable(session)
            state = self.feed.state(session, self.table, place, "")
        if place is None or state.lost or state.untold:
            self._set_place(frames, state.now)

    def _place(self, frames: DatabaseFrames) -> Position | None:
        """Return where reading goes on."""
        with frames.records() as records:
            mark = records.watermark(PIPELINE, self.name, PLACE)
        return None if mark is None or mark.watermark_value is None else Position(*mark.watermark_value.split(" ", 1))

    def _set_place(self, frames: DatabaseFrames, place: Position) -> None:
        with frames.records() as records:
            value = f"{place.order} {place.detail}"
            records.set_watermark(Watermark(PIPELINE, self.name, PLACE, value, "cdc"))

    def _require_readable(self, session: Session) -> None:
        problems = [problem for problem in self.feed.problems(session, self.table) if problem.severity == "error"]
        if problems:
            statements = [statement for problem in problems for statement in problem.statements]
            told_problems = "; ".join(problem.text for problem in problems)
            raise Unsupported(f"{self.name}: {told_problems}.", UNTOUCHED, "\n".join(statements))

    def keep(self, frames: DatabaseFrames) -> int:
        """Keep the events that came since the last call, then confirm them. Return how many are new.

        A call that is killed in between reads them again: an event is kept once."""
        with self.database.connect("inspect", read_only=True) as session:
            self._require_readable(session)
            after, upto = self._range(session, frames)
        if upto.order <= after.order:
            return 0
        kept = frames.keep(self._events(frames, after, upto), "cdc_events")
        if not self.feed.keeps_place:
            self._set_place(frames, upto)
            return kept
        with self.database.connect("confirm") as session:
            self.feed.confirm(session, {self.table.name: upto})
        return kept

    def _range(self, session: Session, frames: DatabaseFrames) -> tuple[Position, Position]:
        """Return where reading goes on, and the end of the log. Raises FeedLost where events in between are gone."""
        if self.feed.keeps_place:
            state = self.feed.state(session, self.table, None, "")
            return state.first, state.now
        place = self._place(frames)
        if place is None:
            raise MissingObject(
                f"{self.name}: nobody said from where on its {self.feed.label} is read.",
                UNTOUCHED,
                "Call `configure_cdc_source` first: events are kept from then on.",
            )
        state = self.feed.state(session, self.table, place, "")
        if state.lost or state.untold:
            raise FeedLost(
                f"{self.name}: {state.lost or state.untold}: events after {place} cannot be read.",
                "Nothing was kept; CDC_EVENTS is as it was.",
                "Call `configure_cdc_source` with `resync: True`, so that events are kept from then on, and load the"
                " table as a whole.",
            )
        return place, state.now

    def _events(self, frames: DatabaseFrames, after: Position, upto: Position) -> DataFrame:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        fields = ", ".join(f"{name} string" for name in _EVENT)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in batches:
                pass
            with errors_for_driver(), self.database.connect("extract", read_only=True) as session:
                count, place = 0, ""
                for batch in self.feed.read(session, self.table, after, upto, ""):
                    rows = []
                    for row in batch.to_pylist():
                        count, place = (count + 1 if row[POSITION] == place else 0), row[POSITION]
                        rows.append(self._event(row, count, now))
                    yield _as_batch(rows)

        return frames.spark.range(0, 1, 1, 1).mapInArrow(read, fields)

    def _event(self, row: Mapping[str, Any], number: int, now: str) -> dict[str, str | None]:
        """Return one event. Its position is that of the transaction's commit and its number there, as one number."""
        operation, position = row[OPERATION], f"0x{row[POSITION].replace('.', '')}{number:08X}"
        if operation == PARTIAL:
            raise ValueProblem(
                f"{self.name}: the log lacks large values that did not change, so an event has no whole row.",
                UNTOUCHED,
                f"Run ALTER TABLE {self.table.name} REPLICA IDENTITY FULL, and configure the source anew.",
            )
        values = {name: value for name, value in row.items() if name not in (OPERATION, POSITION, TIME)}
        key = {column.name: values[column.name] for column in self.table.keys}
        return {
            "event_id": sha256(f"{self.feed.id}\n{self.name}\n{position}".encode()).hexdigest(),
            "table_name": self.name,
            "operation": OPERATIONS[operation],
            "log_position": position,
            "event_key": None if operation == TRUNCATE else _json(key),
            "after_image": None if operation in (DELETE, TRUNCATE) else _json(values),
            "captured_at": now if row[TIME] is None else row[TIME].isoformat(timespec="microseconds"),
        }


def forget_events(frames: DatabaseFrames, table: str, before: str) -> int:
    """Delete events of a table that were committed before a time, an ISO text in UTC; return how many."""
    with frames.database.connect("records") as session, session.transaction():
        return session.execute(delete_events(frames.database.own_table("cdc_events"), table, before))


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps({name: None if value is None else str(value) for name, value in values.items()})


def _as_batch(rows: Sequence[Mapping[str, str | None]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(list(rows), schema=pa.schema([pa.field(name, pa.string()) for name in _EVENT]))
