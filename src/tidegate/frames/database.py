"""One database whose tables are read into Spark DataFrames, and loaded from DataFrames of any kind."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidegate.consistency.duplicates import Deduplicated, Rule, deduplicate
from tidegate.consistency.versions import END, FLAG, VersionColumns, merge_versions
from tidegate.errors import ValueProblem
from tidegate.frames import carried, extract, tasks
from tidegate.frames.extract import Window
from tidegate.frames.load import DELETED, FrameLoad
from tidegate.frames.target import Target, is_padded, prepare
from tidegate.frames.tasks import in_driver
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import BatchSize, ReadRequest
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.records import LoadMetrics, Watermark
from tidegate.spark.engine import SparkEngine
from tidegate.spark.place import Place
from tidegate.sql.contents import has_rows
from tidegate.sql.cursors import is_missing
from tidegate.state import lock, own_tables
from tidegate.state.ledger import Ledger
from tidegate.state.records import Records

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class DatabaseFrames:
    """A database and a Spark session. Spark starts at the first need, unless a session is handed in."""

    def __init__(self, database: Database, spark: SparkSession | None = None, timeout: float | None = None) -> None:
        """`timeout` ends a statement of the server after so many seconds."""
        self.database, self.timeout = database, timeout
        self._engine = SparkEngine(Place(warm="use"), spark)
        self._is_ready = False

    @property
    def spark(self) -> SparkSession:
        return self._engine.session()

    def close(self) -> None:
        """End the Spark session, if this object started it."""
        self._engine.close()

    # Own tables

    @contextmanager
    def records(self) -> Iterator[Records]:
        """Open Tidegate's own tables in one transaction; they are created at the first need."""
        with self.database.connect("records") as session:
            if not self._is_ready:
                if not Ledger(session).exists():
                    Ledger(session).create()
                own_tables.create(session)
                self._is_ready = True
            with session.transaction():
                yield Records(session)

    # Rows out of tables

    def table(self, name: str) -> TableSchema | None:
        """Return what the catalog says of a table; None when there is none."""
        wanted = TableName.parse(name).within(self.database.default_schema)
        with self.database.connect("inspect", read_only=True) as session:
            return session.table_schemas([wanted]).get(wanted)

    def read(
        self,
        table: str,
        window: Window | None = None,
        columns: Sequence[str] | None = None,
        text_columns: Sequence[str] = (),
        batch_rows: int | None = None,
    ) -> DataFrame:
        """Return the rows of a window as a DataFrame; of the whole table without one."""
        with self.database.connect("inspect", read_only=True) as session:
            schema = extract.found_table(session, table)
            rows = None if window is None else extract.condition(session, schema, window)
        request = ReadRequest(schema.name, extract.chosen(schema, columns), rows, tuple(text_columns))
        if batch_rows is not None:
            request = replace(request, batch=BatchSize(batch_rows))
        return tasks.rows_of(self.spark, self.database, request, self.timeout)

    def has_nulls(self, table: str, column: str) -> bool:
        """Return whether a row has no value in this column: no watermark ever finds such a row."""
        with self.database.connect("inspect", read_only=True) as session:
            schema = extract.found_table(session, table)
            found = extract.column_of(schema, column)
            if not found.nullable:
                return False
            return session.query(has_rows(schema.name, is_missing(found))) != [(0,)]

    # Frames into tables

    def frame(self, rows: Any) -> DataFrame:
        """Return rows of any kind as a Spark DataFrame."""
        return carried.to_spark(rows, self.spark)

    def deduplicate(
        self, rows: Any, keys: Sequence[str], rule: Rule = "latest", order_by: str | None = None
    ) -> Deduplicated:
        frame = carried.require_columns(self.frame(rows), [*keys, *([order_by] if order_by else [])])
        return deduplicate(frame, keys, rule, order_by)

    def load(
        self,
        rows: Any,
        table: str,
        keys: Sequence[str] = (),
        how: str = "upsert",
        metrics: LoadMetrics | None = None,
        watermark: Watermark | None = None,
        *,
        deduplicates: bool = False,
    ) -> LoadMetrics:
        """Load a frame in one transaction, with its metrics and its watermark. `how` is `upsert`, `append`, `replace`
        or `apply_changes`; the table is created from the frame where there is none.

        With `deduplicates` the latest row of each key is loaded, and the others are counted."""
        metrics = metrics or LoadMetrics(new_load_id())
        before = in_driver(lambda: carried.rows_in(rows))
        if how != "replace" and not before:
            return self._nothing_to_load(table, how, metrics, watermark)
        frame = self.frame(rows)
        if deduplicates:
            frame = deduplicate(carried.require_columns(frame, keys), keys, keeps_order=False).kept
        with self.writing(table, metrics.load_id):
            return self.load_locked(
                frame, table, keys, how, metrics, watermark, rows_before=before if deduplicates else None
            )

    def _nothing_to_load(
        self, table: str, how: str, metrics: LoadMetrics, watermark: Watermark | None = None
    ) -> LoadMetrics:
        """Record a load without rows. No table is created: an empty frame does not tell the types of its columns."""
        with self.records() as records:
            done = records.load(metrics.load_id)
            if done is not None:
                return done
            if watermark is not None:
                records.set_watermark(replace(watermark, load_id=metrics.load_id))
            name = str(TableName.parse(table).within(self.database.default_schema))
            metrics = replace(metrics, target_table=name, load_type=metrics.load_type or how)
            metrics = replace(metrics, finished_at=records.session.now())
            records.record_load(metrics)
        return metrics

    def load_versions(
        self, rows: Any, table: str, keys: Sequence[str], start: str, metrics: LoadMetrics | None = None
    ) -> LoadMetrics:
        """Load rows as versions (SCD type 2): each holds from its `start` on, until the next version of its key."""
        columns = VersionColumns(tuple(keys), start)
        metrics = metrics or LoadMetrics(new_load_id())
        came = in_driver(lambda: carried.rows_in(rows))
        if not came:
            return self._nothing_to_load(table, "scd2", metrics)
        metrics = replace(metrics, records_extracted=came)
        frame = self.frame(rows)
        frame = frame.drop(*(name for name in (END, FLAG) if name in frame.columns))
        _require_versions(frame, columns)
        with self.writing(table, metrics.load_id):
            versions = self._versions(_as_moment(frame.distinct(), start), table, columns).localCheckpoint()
            done = self.load_locked(versions, table, (*keys, start), "upsert", metrics, None)
        self._keep_history(versions, columns, done)
        return done

    def _keep_history(self, versions: DataFrame, columns: VersionColumns, done: LoadMetrics) -> None:
        """Keep the versions of the loaded keys in SCD_HISTORY, each state of a version once.

        A load that was killed before this point is repeated with the same rows, and then keeps them."""
        from pyspark.sql import functions as F

        with self.database.connect("inspect", read_only=True) as session:
            now = session.now()
        table, version = F.lit(done.target_table), carried.as_json(versions)
        content = carried.as_json(versions, sorted(versions.columns))
        rows = versions.select(
            F.sha2(F.concat_ws("\n", table, content), 256).alias("history_id"),
            table.alias("target_table"),
            carried.as_json(versions, _spelled(versions, columns.keys)).alias("business_key"),
            F.col(_quoted(_spelled(versions, [columns.start]))[0]).cast("string").alias("effective_from"),
            version.alias("version"),
            F.lit(done.load_id).alias("load_id"),
            F.lit(now).alias("recorded_at"),
        )
        self.keep(rows, "scd_history")

    def _versions(self, frame: DataFrame, table: str, columns: VersionColumns) -> DataFrame:
        from tidegate.hashing.arrow import arrow_schema

        version = (*columns.keys, columns.start)
        attributes = [name for name in frame.columns if name not in version]
        if self.table(table) is None:
            return merge_versions(frame, None, columns, attributes)
        target = self._target(merge_versions(frame, None, columns, attributes), table, version)
        named = list(frame.columns)
        incoming = carried.as_schema(
            frame.toDF(*(column.name for column in target.named(named))),
            arrow_schema(target.named(named)),
            str(target.name),
        )
        incoming = _without_padding(incoming, [column.name for column in target.columns if is_padded(column)])
        request = ReadRequest(target.name, target.columns)
        keys = target.named(columns.keys)
        spelled = replace(
            columns,
            keys=tuple(column.name for column in keys),
            start=target.named([columns.start])[0].name,
            end=target.named([END])[0].name,
            flag=target.named([FLAG])[0].name,
        )
        existing = tasks.rows_with_keys(
            incoming.select(*(column.name for column in keys)).distinct(), self.database, request, keys
        )
        others = [column.name for column in target.named(attributes)]
        return merge_versions(incoming, existing.localCheckpoint(), spelled, others)

    def keep(self, rows: DataFrame, own_table: str) -> int:
        """Add rows to one of Tidegate's own tables, unless they are there by their key; return how many came."""
        with self.records():
            pass
        database, described = self.database, own_tables.TABLES[own_table]
        declared = {column.name: column for column in own_tables.declared(database, own_table)}
        job = FrameLoad(
            database=database,
            table=database.own_table(own_table),
            columns=tuple(declared[name] for name in rows.columns),
            keys=described.key,
            how="append",
            lock="",
            metrics=LoadMetrics(new_load_id()),
            is_recorded=False,
        )
        return _done(tasks.load(rows, job)).records_written

    def load_locked(
        self,
        frame: DataFrame,
        table: str,
        keys: Sequence[str],
        how: str,
        metrics: LoadMetrics,
        watermark: Watermark | None,
        rows_before: int | None = None,
    ) -> LoadMetrics:
        """Do what `load` does, for a caller who is `writing` the table already."""
        target = self._target(frame.drop(DELETED), table, keys)
        by_name = {name: column.name for name, column in zip(_plain(frame), target.columns, strict=True)}
        spelled = frame.toDF(*(by_name.get(name, name) for name in frame.columns))
        job = FrameLoad(
            database=self.database,
            table=target.name,
            columns=target.columns,
            keys=tuple(column.name for column in target.named(keys)),
            how=how,
            lock=self.lock_name(table),
            metrics=replace(
                metrics,
                target_table=str(target.name),
                load_type=metrics.load_type or how,
            ),
            watermark=watermark,
            started=time.time(),
            rows_before=rows_before,
            timeout=self.timeout,
        )
        return _done(tasks.load(spelled, job))

    def _target(self, frame: DataFrame, table: str, keys: Sequence[str]) -> Target:
        with self.database.connect("load") as session:
            return prepare(session, table, arrow_schema_of(frame), keys)

    @contextmanager
    def writing(self, table: str, load_id: str) -> Iterator[None]:
        """Hold the lock of the table, as every run does: nobody else loads it meanwhile."""
        with self.records():
            pass
        with self.database.connect("load") as session:
            lock.take(session, self.lock_name(table), load_id)
            yield

    def lock_name(self, table: str) -> str:
        return str(TableName.parse(table).within(self.database.default_schema))


def new_load_id() -> str:
    """Return an id for one load."""
    return f"l-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """Return the Arrow schema of a Spark DataFrame; timestamps without a zone keep none."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _quoted(names: Sequence[str]) -> list[str]:
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _spelled(frame: DataFrame, names: Sequence[str]) -> list[str]:
    """Return the names as the frame spells them."""
    by_case = {name.lower(): name for name in frame.columns}
    return [by_case[name.lower()] for name in names]


def _plain(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name != DELETED]


def _without_padding(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as F

    return frame.withColumns({name: F.rtrim(F.col(_quoted([name])[0])) for name in names if name in frame.columns})


def _done(outcome: Any) -> LoadMetrics:
    assert isinstance(outcome, LoadMetrics)
    return outcome


def _require_versions(frame: DataFrame, columns: VersionColumns) -> None:
    """Raise ValueProblem where two different rows say since the same moment how one entity is."""
    version = [*columns.keys, columns.start]
    carried.require_columns(frame, version)
    doubled = in_driver(lambda: frame.distinct().groupBy(*version).count().where("count > 1").limit(3).collect())
    if doubled:
        examples = "; ".join(", ".join(str(row[name]) for name in version) for row in doubled)
        raise ValueProblem(
            f"The frame has different rows for one key and start: {examples}.",
            carried.UNTOUCHED,
            f"Deduplicate it by {', '.join(version)} first.",
        )


def _as_moment(frame: DataFrame, start: str) -> DataFrame:
    """Return the frame with texts of dates or timestamps in the start column as what they mean, where all of them are
    such texts; else as it is."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    if not isinstance(frame.schema[start].dataType, StringType):
        return frame
    cell = F.col("`" + start.replace("`", "``") + "`")
    pattern = r"^\d{4}-\d\d-\d\d"
    for kind, ending in (("date", "$"), ("timestamp_ntz", r"[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?$")):
        unlike = frame.where(cell.isNotNull() & (~cell.rlike(pattern + ending) | cell.try_cast(kind).isNull()))
        if unlike.isEmpty():
            return frame.withColumn(start, cell.cast(kind))
    return frame
