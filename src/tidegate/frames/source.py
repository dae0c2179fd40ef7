"""The format `tidegate` of Spark: `spark.read.format("tidegate").option("url", …).option("table", …).load()`.

Facts that shape this file
 * Spark makes the source and plans its read in Python processes of their own, beside the driver. They end with the
   answer, and with them a snapshot that they exported. So a process outlives them (`frames/kept_snapshot.py`).
 * A text that a server finds equal need not be equal for Spark: collations ignore case, CHAR ignores blanks at the end.
   Such a filter only leaves out rows at the source; Spark applies it again.
 * Spark takes no times of day from a Python source: they come as text, `07:30:00.000000`.
 * Spark 4.1 keeps the filters that a query pushed down with the DataFrame that was loaded, and another query on it then
   gets the rows of the first, without a word. So filters are pushed down only where a program asks for it.
 * Options stand in no plan, and the database with its login travels in the pickled reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from tidegate.errors import ConfigError, DatabaseError, TidegateError, Transient
from tidegate.frames.extract import chosen, found_table
from tidegate.frames.opened import database_of
from tidegate.frames.pushed import condition_of
from tidegate.frames.tasks import plain_batches
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import TableSchema
from tidegate.sql.text import Sql, raw, sql

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

UNTOUCHED = "Nothing was read."
ROWS_OF_A_SPLIT = 250_000
MOST_SPLITS = 1_000
SNAPSHOT_SECONDS = 600
_OPTIONS = ("url", "table", "columns", "where", "text_columns", "splits", "query_timeout", "snapshot_seconds")


def register(spark: SparkSession, *, push_filters: bool = False) -> None:
    """Make the format `tidegate` known to a session, classic or Connect.

    With `push_filters` Spark gives its filters to the server. Then load a DataFrame anew for each query: Spark 4.1
    applies the filters of one query to every other query on the same DataFrame. The option `where` has no such trap."""
    spark.dataSource.register(PushingSource if push_filters else TidegateSource)
    if push_filters:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


@dataclass(frozen=True)
class _Settings:
    """What a user wrote as options."""

    database: Database
    table: str
    columns: tuple[str, ...] | None
    where: str
    text_columns: tuple[str, ...]
    splits: int | None
    timeout: float | None
    snapshot_seconds: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _Settings:
        given = {name.lower(): value for name, value in options.items()}
        unknown = sorted(set(given) - {*_OPTIONS, "path"})
        if unknown:
            raise ConfigError(f"Unknown option {', '.join(unknown)}.", UNTOUCHED, f"Options: {', '.join(_OPTIONS)}.")
        for name in ("url", "table"):
            if not given.get(name):
                raise ConfigError(f"The option `{name}` is missing.", UNTOUCHED, f'Add `.option("{name}", …)`.')
        return cls(
            database_of(given["url"]),
            given["table"],
            _names(given["columns"]) if given.get("columns") else None,
            given.get("where", "").strip(),
            _names(given.get("text_columns", "")),
            _number(given, "splits"),
            _number(given, "query_timeout"),
            _number(given, "snapshot_seconds") or SNAPSHOT_SECONDS,
        )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"The option `{name}` must be a number from 1 on, not {text!r}.", UNTOUCHED)
    return int(text)


class TidegateSource(DataSource):
    """A table of one of Tidegate's databases."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._settings = _Settings.of(options)

    @classmethod
    def name(cls) -> str:
        return "tidegate"

    def schema(self) -> StructType:
        from tidegate.frames.carried import spark_schema
        from tidegate.hashing.arrow import arrow_schema

        request, _ = self._found()
        schema = arrow_schema(request.columns, request.text_columns)
        return spark_schema(_with_text_for_times(schema))

    def reader(self, schema: StructType) -> DataSourceReader:
        return TableReader(self._settings, *self._found())

    def _found(self) -> tuple[ReadRequest, TableSchema]:
        settings = self._settings
        with settings.database.connect("inspect", read_only=True) as session:
            found = found_table(session, settings.table)
        rows = sql("({rows})", rows=raw(settings.where)) if settings.where else None
        return ReadRequest(found.name, chosen(found, settings.columns), rows, settings.text_columns), found


class _Split(InputPartition):
    """The rows that one task reads, and on which state of the table."""

    def __init__(
        self, request: ReadRequest, snapshot: str = "", mark: str = "", divided: Divisible | None = None
    ) -> None:
        super().__init__(request.table)
        self.request, self.snapshot, self.mark, self.divided = request, snapshot, mark, divided


class TableReader(DataSourceReader):
    """Reads a table in splits that all see one state of it."""

    def __init__(self, settings: _Settings, request: ReadRequest, schema: TableSchema) -> None:
        self._settings, self._request, self._schema = settings, request, schema

    def partitions(self) -> list[InputPartition]:
        with self._settings.database.connect("extract", read_only=True) as session:
            return list(self._divided(session)) or [_Split(self._request)]

    def _divided(self, session: Session) -> Iterator[_Split]:
        """Yield splits with a state that all of them see; none where one task is to read everything."""
        from tidegate.frames.kept_snapshot import keep_snapshot

        rows = self._schema.row_estimate
        parts = min(self._settings.splits or rows // ROWS_OF_A_SPLIT, MOST_SPLITS)
        if parts < 2:
            return
        divisible = Divisible(self._request, self._schema, rows)
        shares = self._settings.database.capabilities.exported_snapshots
        session.export_snapshot()
        mark = "" if shares else session.change_mark(divisible)
        if not shares and not mark:
            return  # somebody writes to it just now: only one reader sees one state of it
        requests = session.split(divisible, parts)
        if len(requests) < 2:
            return
        snapshot = keep_snapshot(self._settings.database, self._settings.snapshot_seconds) if shares else ""
        for request in requests:
            yield _Split(request, snapshot, mark, None if shares else divisible)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Split)
        database, timeout = self._settings.database, self._settings.timeout
        with _in_words(), database.connect("extract", read_only=True, query_timeout=timeout) as session:
            self._look_at(session, partition)
            for batch in plain_batches(session.read(partition.request)):
                yield _with_texts_for_times(batch)

    def _look_at(self, session: Session, split: _Split) -> None:
        """Open the state of the table that all splits read. Raises Transient where it is gone."""
        if split.snapshot:
            try:
                session.use_snapshot(split.snapshot)
            except DatabaseError:
                raise _gone(self._settings) from None
            return
        session.export_snapshot()
        # The mark is asked inside of the snapshot: where it is the same, this snapshot shows what all others show.
        if split.divided is not None and session.change_mark(split.divided) != split.mark:
            raise Transient(
                f"{split.request.table}: somebody changed the table after the read was planned, and its server has no"
                " snapshot that several tasks share.",
                UNTOUCHED,
                'Read it again, or with one reader: `.option("splits", "1")`.',
            )


class PushingSource(TidegateSource):
    """A table whose server gets the filters of Spark. One loaded DataFrame is for one query."""

    def reader(self, schema: StructType) -> DataSourceReader:
        return PushingReader(self._settings, *self._found())


class PushingReader(TableReader):
    """Reads the rows that filters of one query let through."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Give the server the filters that it understands as Spark does; yield those that Spark has to apply."""
        conditions = [] if self._request.rows is None else [self._request.rows]
        for one in filters:
            pushed = condition_of(one, self._request, self._settings.database)
            if pushed is not None:
                conditions.append(pushed.rows)
            if pushed is None or not pushed.is_exact:
                yield one
        if conditions:
            self._request = replace(self._request, rows=_all_of(conditions))


@contextmanager
def _in_words() -> Iterator[None]:
    """Raise an error of Tidegate with its words alone: Spark shows the program what a task raised as text."""
    try:
        yield
    except TidegateError as problem:
        raise RuntimeError(str(problem)) from None


def _gone(settings: _Settings) -> Transient:
    return Transient(
        f"{settings.table}: the snapshot that all tasks read has ended; it is kept for {settings.snapshot_seconds}"
        " seconds after the read was planned.",
        UNTOUCHED,
        "Make the DataFrame anew (`spark.read…load()`), cache it, or raise the option `snapshot_seconds`.",
    )


def _with_text_for_times(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    fields = [field.with_type(pa.string()) if pa.types.is_time(field.type) else field for field in schema]
    return pa.schema(fields)


def _with_texts_for_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return times of day as texts with microseconds, which are all that a column of a database has."""
    import pyarrow as pa

    if not any(pa.types.is_time(field.type) for field in batch.schema):
        return batch
    columns = [
        column.cast(pa.time64("us")).cast(pa.string()) if pa.types.is_time(column.type) else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, schema=_with_text_for_times(batch.schema))


def _all_of(conditions: list[Sql]) -> Sql:
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = sql("{joined} AND {condition}", joined=joined, condition=condition)
    return joined
