"""Everything that can be done with frames and one database, behind one class: what the doors use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.consistency.completeness import Completeness, completeness
from tidegate.consistency.late import Arrivals, split_late
from tidegate.frames import carried, events
from tidegate.frames.database import DatabaseFrames, new_load_id
from tidegate.frames.extract import Window, column_of, condition, found_table
from tidegate.frames.log import LogEvents, forget_events
from tidegate.frames.opened import database_of
from tidegate.frames.queries import OptimizedQuery, optimize_query
from tidegate.frames.stream import Stream
from tidegate.frames.tasks import in_driver
from tidegate.model.records import LoadMetrics, Watermark
from tidegate.sql.contents import select_rows
from tidegate.sql.cursors import greatest_cursors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Frames", "Window"]


class Frames(DatabaseFrames):
    """Frames out of the tables of one database and into them; its streams, its events, its queries."""

    @classmethod
    def of(cls, given: Any, spark: SparkSession | None = None, timeout: float | None = None) -> Frames:
        """Open nothing yet. `given` is a URL, an engine or connection of SQLAlchemy or DB-API, or one of ours."""
        return cls(database_of(given), spark, timeout)

    def stream(self, pipeline_id: str | None = None, source_id: str | None = None) -> Stream:
        return Stream(self, pipeline_id or "default", source_id or "default")

    def metrics(self, **facts: Any) -> LoadMetrics:
        """Return the metrics of a load that begins now, under a new id."""
        return LoadMetrics(new_load_id(), **facts)

    # Frames

    def collected(self, frame: DataFrame) -> pa.Table:
        """Return the rows in this process. Runs Spark."""
        return in_driver(lambda: carried.collected(frame))

    def result(self, frame: DataFrame | pa.Table, kind: str) -> Any:
        """Return the rows as a frame of `pandas`, `arrow`, `polars` or `spark`. Runs Spark."""
        if not carried.is_spark(frame):
            return carried.from_arrow(frame, kind)
        return in_driver(lambda: carried.from_spark(frame, kind))

    def count(self, frame: DataFrame) -> int:
        return in_driver(frame.count)

    def snapshot(
        self, table: str, column: str | None, day: Any, after: Any, columns: Sequence[str] | None = None
    ) -> DataFrame:
        """Return the rows of one date: of `day`, or of the newest; none where a load has reached that date.

        Without a date column, all rows with the column `snapshot_date`: `day`, or today on the server's clock."""
        from pyspark.sql import functions as F

        found = self.read(table, columns=columns)
        if column is None:
            with self.database.connect("inspect", read_only=True) as session:
                taken = str(day or session.now()[:10])
            found = found.withColumn("snapshot_date", F.lit(taken).cast("date"))
            return found.where(F.lit(after is None or str(after)[:10] < taken))
        newest = day if day is not None else self._newest(table, column)
        if newest is None or (after is not None and str(newest) <= str(after)):
            return found.where(F.lit(False))
        cell = F.col("`" + column.replace("`", "``") + "`")
        return found.where(cell == F.lit(str(newest)).cast(found.schema[column].dataType))

    def _newest(self, table: str, column: str) -> str | None:
        with self.database.connect("inspect", read_only=True) as session:
            schema = found_table(session, table)
            cursor = column_of(schema, column)
            query = greatest_cursors(schema.name, cursor, None, None, indexed=schema.has_index_on(cursor.name))
            newest = session.query(query)[0][0]
        return None if newest is None else str(newest)

    def split_late(self, rows: Any, column: str, watermark: Any) -> Arrivals:
        return split_late(carried.require_columns(self.frame(rows), [column]), column, watermark)

    @staticmethod
    def completeness(expected: int, actual: int, tolerance_percent: float) -> Completeness:
        return completeness(expected, actual, tolerance_percent)

    def query(self, table: str, window: Window | None = None) -> str:
        """Return the text of the query for the rows of a window; of the whole table without one."""
        with self.database.connect("inspect", read_only=True) as session:
            schema = found_table(session, table)
            rows = None if window is None else condition(session, schema, window)
        return self.database.render(select_rows(schema.name, schema.columns, rows))

    # Events

    @staticmethod
    def event_rows(given: Any, after: Any = None) -> Any:
        """Return events as rows: of a reader, a function, a file of JSON lines, a frame or an iterable."""
        return events.event_rows(given, after)

    def keep_events(self, table: str, given: Any) -> int:
        """Keep events of a table in CDC_EVENTS, each once; return how many are new there."""
        return events.archive(self, table, events.events_of(given))

    def create_log(self, table: str, keys: Sequence[str], name: str, *, resync: bool = False) -> tuple[str, ...]:
        """Create on the server what reading the log needs; return the statements."""
        return LogEvents.of(self, table, keys, name).create(self, resync=resync)

    def keep_log_events(self, table: str, keys: Sequence[str], name: str) -> int:
        """Keep the events of a table that its database's log has since the last call; return how many."""
        return LogEvents.of(self, table, keys, name).keep(self)

    def forget_events(self, table: str, before: str) -> int:
        """Delete events of a table in CDC_EVENTS from before a time; return how many."""
        return forget_events(self, table, before)

    def events(self, table: str, after: str | None = None) -> DataFrame:
        """Return the events of a table that CDC_EVENTS has after a position."""
        return events.archived(self, table, after)

    def apply_events(self, table: str, given: Any, keys: Sequence[str], like: str | None = None) -> LoadMetrics:
        return events.apply_changes(self, table, events.events_of(given), keys, like)

    # Queries

    def optimize(
        self, query: str, watermark: Watermark | None = None, partition_column: str | None = None
    ) -> OptimizedQuery:
        """Return the query for rows after a watermark, with notices and recommended indexes as attributes."""
        with self.database.connect("inspect", read_only=True) as session:
            return optimize_query(session, query, watermark, partition_column)
