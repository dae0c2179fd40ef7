"""Events of change data capture: handed in, or read from a table of events; and applied, the last event of a key last.

`model/events.py` says what the keys of an event mean.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import ValueProblem
from tidegate.frames.carried import UNTOUCHED, is_spark, to_arrow
from tidegate.frames.database import DatabaseFrames
from tidegate.frames.load import DELETED
from tidegate.frames.positions import sortable
from tidegate.frames.tasks import in_driver
from tidegate.model.events import Event, event_of, event_of_line
from tidegate.model.records import LoadMetrics, Watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIPELINE, POSITION = "change data capture", "log_position"
_ORDER = "tidegate_order"
POSITION_COLUMN = "tidegate_position"


def event_rows(given: Any, after: Any = None) -> Any:
    """Return events as rows: of an `EventReader` or a function, which are asked for those after a position, or of a
    file of JSON lines. A frame or an iterable is returned as it is."""
    position = None if after is None else str(after)
    if hasattr(given, "read") and not hasattr(given, "columns"):
        return list(given.read(position))
    if callable(given):
        return list(given(position))
    if isinstance(given, Path):
        with given.open(encoding="utf-8") as lines:
            return [event_of_line(line, number, given) for number, line in enumerate(lines, 1) if line.strip()]
    return given if hasattr(given, "columns") else list(given)


def events_of(given: Any) -> list[Event]:
    """Return events in the order given: of a frame of any kind, or of mappings."""
    is_mappings = isinstance(given, Iterable) and not hasattr(given, "columns") and not is_spark(given)
    rows = list(given) if is_mappings else to_arrow(given).to_pylist()
    return [event_of(row) for row in rows]


def archive(frames: DatabaseFrames, table: str, events: Sequence[Event]) -> int:
    """Keep events in CDC_EVENTS, each once, and return how many are new there. Values are kept as texts."""
    if not events:
        return 0
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    rows = []
    for event in events:
        row, before = as_text(event.row), None if event.before is None else as_text(event.before)
        images = {
            "event_key": row if event.operation == "delete" else None,
            "before_image": before,
            "after_image": None if event.operation == "delete" else row,
        }
        about = {"table_name": table, "operation": event.operation, "log_position": event.position or ""}
        identity = hashlib.sha256(json.dumps([about, images]).encode()).hexdigest()
        rows.append({"event_id": identity, **about, **images, "captured_at": now})
    return frames.keep(frames.frame(_typed(rows)).dropDuplicates(["event_id"]), "cdc_events")


def as_text(row: Mapping[str, Any]) -> str:
    """Return a row as JSON whose values are texts, so that no digit is lost."""
    return json.dumps({name: None if value is None else str(value) for name, value in row.items()})


def _typed(rows: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    schema = pa.schema([pa.field(name, pa.string()) for name in rows[0]])
    return pa.Table.from_pylist(list(rows), schema=schema)


def archived(frames: DatabaseFrames, table: str, after: str | None) -> DataFrame:
    """Return the events of a table that CDC_EVENTS has after a position, in their order."""
    from pyspark.sql import functions as F

    with frames.records():
        pass
    name = frames.database.own_table("cdc_events")
    found = frames.read(str(name)).where(F.col("table_name") == table)
    if after is not None:
        found = found.where(sortable(F.col(POSITION)) > sortable(F.lit(str(after))))
    return found.orderBy(sortable(F.col(POSITION)), "captured_at")


def apply_changes(
    frames: DatabaseFrames, table: str, events: Sequence[Event], keys: Sequence[str], like: str | None
) -> LoadMetrics:
    """Apply events to a table: of each key the last one counts. Events at or before the position that was applied
    before change nothing. `like` names a table whose types a new table gets, where values came as texts."""
    from tidegate.frames.database import new_load_id

    metrics = LoadMetrics(
        new_load_id(), strategy="cdc", load_type="apply_changes", pipeline_id=PIPELINE, records_extracted=len(events)
    )
    if not events:
        return metrics
    source = frames.lock_name(table)
    with frames.writing(table, metrics.load_id):
        with frames.records() as records:
            mark = records.watermark(PIPELINE, source, POSITION)
        found = _rows(frames, events, keys, table if frames.table(table) is not None else like)
        latest = _latest(found, keys, None if mark is None else mark.watermark_value).localCheckpoint()
        position = _greatest(found)
        watermark = None
        if position is not None:
            watermark = Watermark(PIPELINE, source, POSITION, position, "cdc")
            reached = None if mark is None else str(mark.watermark_value)
            metrics = replace(metrics, watermark_column=POSITION, watermark_before=reached, watermark_after=position)
            if in_driver(lambda: not _is_after(frames, position, reached)):
                watermark = None
        metrics = replace(metrics, source_id=source)
        return frames.load_locked(latest, table, keys, "apply_changes", metrics, watermark)


def _rows(frames: DatabaseFrames, events: Sequence[Event], keys: Sequence[str], like: str | None) -> DataFrame:
    """Return the events as rows with their order, their position, and whether they delete."""
    import pyarrow as pa

    events = [event.with_key(keys) for event in events]
    names = list(dict.fromkeys(name for event in events for name in event.row))
    for event in events:
        needed = keys if event.operation == "delete" else names
        missing = [name for name in needed if name not in event.row]
        if missing:
            raise ValueProblem(
                f"An event ({event.operation}, position {event.position}) has no value for {', '.join(missing)}.",
                UNTOUCHED,
                "Events must have whole rows, and those of deleted rows their key.",
            )
    rows = to_arrow([{name: event.row.get(name) for name in names} for event in events])
    rows = _like(frames, rows, like)
    rows = rows.append_column(_ORDER, pa.array(range(len(events)), pa.int64()))
    rows = rows.append_column(POSITION_COLUMN, pa.array([event.position for event in events], pa.string()))
    return frames.frame(rows.append_column(DELETED, pa.array([event.operation == "delete" for event in events])))


def _like(frames: DatabaseFrames, rows: Any, like: str | None) -> Any:
    """Return the rows in the types of a table, where columns of this name are in it."""
    import pyarrow as pa

    from tidegate.frames.carried import cast_exactly
    from tidegate.hashing.arrow import arrow_schema

    schema = None if like is None else frames.table(like)
    if schema is None:
        return rows
    fields = []
    for field in rows.schema:
        column = schema.column(field.name)
        is_text = pa.types.is_string(field.type)
        fields.append(arrow_schema([replace(column, name=field.name)])[0] if column and is_text else field)
    return cast_exactly(rows, pa.schema(fields).remove_metadata(), str(schema.name))


def _latest(rows: DataFrame, keys: Sequence[str], applied: Any) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if applied is not None:
        position = F.col(POSITION_COLUMN)
        rows = rows.where(position.isNull() | (sortable(position) > sortable(F.lit(str(applied)))))
    order = [sortable(F.col(POSITION_COLUMN)).desc_nulls_last(), F.col(_ORDER).desc()]
    by = ["`" + key.replace("`", "``") + "`" for key in keys]
    numbered = rows.withColumn("tidegate_number", F.row_number().over(Window.partitionBy(*by).orderBy(*order)))
    return numbered.where("tidegate_number = 1").drop("tidegate_number", _ORDER, POSITION_COLUMN)


def _greatest(rows: DataFrame) -> str | None:
    from pyspark.sql import functions as F

    position = F.col(POSITION_COLUMN)
    found = in_driver(lambda: rows.agg(F.max_by(position, sortable(position)).alias("newest")).collect())
    newest = found[0]["newest"]
    return None if newest is None else str(newest)


def _is_after(frames: DatabaseFrames, position: str, other: str | None) -> bool:
    from pyspark.sql import functions as F

    if other is None:
        return True
    compared = frames.spark.range(1).select((sortable(F.lit(position)) > sortable(F.lit(other))).alias("later"))
    return bool(compared.collect()[0]["later"])
