"""Changes that a change feed told, in Tidegate's own table `cdc_events`: written in the transaction of the load."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tidegate.interfaces.load import Batches
from tidegate.interfaces.session import Session
from tidegate.model.feeds import DELETE, OPERATION, OPERATIONS, POSITION, TIME, TRUNCATE
from tidegate.model.names import TableName
from tidegate.sql.staged import delete_by_stage
from tidegate.sql.text import Literal, Name, Sql, sql
from tidegate.state import own_tables

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "cdc_events"


@dataclass(frozen=True)
class Events:
    """The events of one table. Implements `EventsKept`."""

    session: Session
    source_id: str

    @contextmanager
    def keep_events(self, changes: Batches, keys: Sequence[str], seconds: int) -> Iterator[Callable[[], int]]:
        database = self.session.database
        table, columns = database.own_table(TABLE), own_tables.declared(database, TABLE)
        key = [column for column in columns if column.name == "event_id"]
        oldest = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="microseconds")
        identities = (batch.select(["event_id"]) for batch in self._batches(changes, keys))
        with (
            self.session.staging_table(table, key, identities) as stage,
            self.session.bulk_insert(table, columns, lambda: self._batches(changes, keys)) as insert,
        ):

            def keep() -> int:
                # A window that is loaded again, after the ledger was lost, brings its events again.
                self.session.execute(delete_by_stage(table, stage, key))
                came = insert()
                self.session.execute(delete_events(table, self.source_id, oldest))
                return came

            yield keep

    def _batches(self, changes: Batches, keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [column.name for column in own_tables.declared(self.session.database, TABLE)]
        schema = pa.schema([pa.field(name, pa.string()) for name in names])
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        number, place = 0, ""
        for batch in changes():
            rows = []
            for row in batch.to_pylist():
                number, place = (number + 1 if row[POSITION] == place else 0), row[POSITION]
                rows.append(self._event(row, keys, f"{place}:{number}", now))
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def _event(self, row: Mapping[str, Any], keys: Sequence[str], position: str, now: str) -> dict[str, str | None]:
        """Return one event. Its position is that of the feed, and its number there: `00000000016B3748:3`."""
        operation, moment = row[OPERATION], row[TIME]
        values = {name: value for name, value in row.items() if name not in (OPERATION, POSITION, TIME)}
        has_image = operation not in (DELETE, TRUNCATE) and len(values) > len(keys)
        return {
            "event_id": hashlib.sha256(f"{self.source_id}\n{position}".encode()).hexdigest(),
            "table_name": self.source_id,
            "operation": OPERATIONS[operation],
            "log_position": position,
            "event_key": None if operation == TRUNCATE else _json({name: values[name] for name in keys}),
            "before_image": None,
            "after_image": _json(values) if has_image else None,
            "captured_at": now if moment is None else moment.isoformat(timespec="microseconds"),
        }


def delete_events(events: TableName, table: str, before: str) -> Sql:
    """Return the statement that deletes the events of a table that were committed before a time in UTC."""
    return sql(
        "DELETE FROM {events} WHERE table_name = {table} AND captured_at < {before}",
        events=Name.of(events),
        table=Literal(table),
        before=Literal(before),
    )


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps({name: _text(value) for name, value in values.items()}, ensure_ascii=False)


def _text(value: object) -> str | int | bool | None:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)
