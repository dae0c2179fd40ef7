"""Entries of a lake as Spark DataFrames, read in tasks through the lake's own reader: of every lake, in any place.

Spark needs no further jars and no credentials for it, and no plan shows any. Each entry may have read other columns as
text: such a column is text in the DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, Lake, LakeTable
from tidegate.interfaces.load import LogRules
from tidegate.interfaces.requests import BatchSize
from tidegate.model.columns import Column
from tidegate.model.state import LakeEntry

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_TASKS = 1_000
_NUMBER = "tidegate entry"
"""Holds a blank, so that it meets no column of a table by chance."""


@dataclass(frozen=True)
class LakeSource:
    """A table in a lake: its entries in their order, oldest first."""

    lake: Lake
    table: LakeTable
    entries: Sequence[LakeEntry]
    columns: tuple[Column, ...]
    """The columns that the table has now, for entries that do not tell their types."""
    batch: BatchSize = field(default_factory=BatchSize)

    def only(self, entry: LakeEntry) -> LakeSource:
        return replace(self, entries=[entry])

    @property
    def is_plain(self) -> bool:
        """Return whether Spark reads files of these columns as they are: it has no times of day in Parquet, and no
        column that is a number in one file and text in another."""
        types = {
            *(column.storage_type for column in self.columns),
            *(one for e in self.entries for one in e.storage_types),
        }
        return "time" not in types and not any(entry.text_columns for entry in self.entries)

    def require_usable(self) -> None:
        """Raise LakeError for a table without entries, or with one that cannot be read."""
        if not self.entries:
            raise LakeError(
                f"The lake {self.lake.place} holds nothing of {self.table.name}.", "", "Run `tidegate run` first."
            )
        for entry in self.entries:
            if entry.broken:
                raise LakeError(
                    f"{self.lake.location(entry.id)} cannot be used: {entry.broken}.",
                    "Nothing was read.",
                    "Run `tidegate run`: it extracts this window again.",
                )


def entries_frame(spark: SparkSession, source: LakeSource) -> DataFrame:
    """Return the rows of all entries. Columns that only some entries have are null in the rows of the others."""
    source.require_usable()
    return _numbered(spark, source).drop(_NUMBER)


def state_frame(spark: SparkSession, source: LakeSource, rules: LogRules) -> DataFrame:
    """Return the state that the entries of a log make: of each key the row that was read last."""
    source.require_usable()
    if rules.newest_window:
        return entries_frame(spark, source.only(source.entries[-1]))
    rows = _numbered(spark, source)
    # A key with a column that the load generates names no row of the lake.
    if not rules.keys or not set(rules.keys) <= set(rows.columns):
        return _by_content(rows, keeps_equal_rows=rules.keeps_equal_rows)
    newest = _newest_of_each_key(rows, rules)
    if rules.tells_deletes:
        newest = _without_told(spark, source, newest, rules.keys)
    elif rules.follows_deletes:
        newest = _without_deleted(spark, source, newest, rules.keys)
    state: DataFrame = newest.drop(_NUMBER)
    return state


def _newest_of_each_key(rows: DataFrame, rules: LogRules) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    within = []
    if rules.cursor is not None:
        columns = [F.col(_quoted(name)) for name in rules.cursor.names]
        combined = F.greatest if rules.cursor.combined == "greatest" else F.coalesce
        within.append(columns[0] if len(columns) == 1 else combined(*columns))
    if rules.tie_breaker is not None:
        within.append(F.col(_quoted(rules.tie_breaker)))
    order = [F.col(_quoted(_NUMBER)).desc(), *(column.desc_nulls_last() for column in within)]
    of_key = Window.partitionBy(*map(_quoted, rules.keys)).orderBy(*order)
    rank = "tidegate rank"
    ranked = rows.withColumn(rank, F.row_number().over(of_key))
    return ranked.where(F.col(_quoted(rank)) == 1).drop(rank)


def _without_deleted(spark: SparkSession, source: LakeSource, rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows without those whose key had left when all keys were read last; what was read later stays."""
    from pyspark.sql import functions as F

    with_keys = [number for number, entry in enumerate(source.entries) if entry.has_keys]
    if not with_keys:
        return rows
    last = with_keys[-1]
    there = _numbered(spark, source.only(source.entries[last]), role=KEYS, names=keys).drop(_NUMBER).alias("there")
    is_same = [F.col(f"rows.{_quoted(name)}").eqNullSafe(F.col(f"there.{_quoted(name)}")) for name in keys]
    older = rows.where(F.col(_quoted(_NUMBER)) <= last).alias("rows").join(there, is_same, "left_semi")
    return older.unionByName(rows.where(F.col(_quoted(_NUMBER)) > last))


def _without_told(spark: SparkSession, source: LakeSource, rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows without those whose key changed in a later window, which has no row of it any more."""
    from pyspark.sql import functions as F

    whole = [number for number, entry in enumerate(source.entries) if getattr(entry.token, "whole", False)]
    rows = rows.where(F.col(_quoted(_NUMBER)) >= F.lit(whole[-1] if whole else 0))
    numbers = [number for number, entry in enumerate(source.entries) if entry.has_keys]
    if not numbers:
        return rows
    changed = replace(source, entries=[source.entries[number] for number in numbers])
    changes = _numbered(spark, changed, role=KEYS, names=keys, numbers=numbers).distinct().alias("changes")
    is_same = [F.col(f"rows.{_quoted(name)}").eqNullSafe(F.col(f"changes.{_quoted(name)}")) for name in keys]
    is_later = F.col(f"changes.{_quoted(_NUMBER)}") > F.col(f"rows.{_quoted(_NUMBER)}")
    return rows.alias("rows").join(changes, [*is_same, is_later], "left_anti")


def _by_content(rows: DataFrame, *, keeps_equal_rows: bool) -> DataFrame:
    """Return each row once, or as often as the window has it that has it most often: windows overlap."""
    from pyspark.sql import functions as F

    names = [name for name in rows.columns if name != _NUMBER]
    if not keeps_equal_rows:
        return rows.drop(_NUMBER).distinct()
    count = "tidegate count"
    each = rows.groupBy(*map(_quoted, [*names, _NUMBER])).agg(F.count(F.lit(1)).alias(count))
    most = each.groupBy(*map(_quoted, names)).agg(F.max(_quoted(count)).alias(count))
    repeated = most.withColumn(count, F.explode(F.sequence(F.lit(1), F.col(_quoted(count)).cast("int"))))
    return repeated.drop(count)


def _numbered(
    spark: SparkSession,
    source: LakeSource,
    role: str = ROWS,
    names: Sequence[str] | None = None,
    numbers: Sequence[int] = (),
) -> DataFrame:
    """Return the rows of the entries, each with the number of its entry: its place, or one of `numbers`."""
    import pyarrow as pa

    from tidegate.frames.carried import spark_schema

    schema = _schema(source, names).append(pa.field(_NUMBER, pa.int64()))
    tasks = min(len(source.entries), MOST_TASKS)
    return spark.range(0, tasks, 1, tasks).mapInArrow(
        _reader(source, schema, role, tasks, numbers), spark_schema(schema)
    )


def _reader(
    source: LakeSource, schema: pa.Schema, role: str, tasks: int, numbers: Sequence[int]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    lake, table, batch = source.lake, source.table, source.batch
    ids = [entry.id for entry in source.entries]
    names = [name for name in schema.names if name != _NUMBER]

    def read(given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidegate.frames.carried import for_spark
        from tidegate.frames.tasks import errors_for_driver

        with errors_for_driver():
            for task in (number for shares in given for number in shares.column(0).to_pylist()):
                for number in range(task, len(ids), tasks):
                    for rows in lake.read(table, ids[number], batch, _had(names, role), role):
                        yield for_spark(_completed(rows, schema, numbers[number] if numbers else number))

    return read


def _had(names: Sequence[str], role: str) -> Sequence[str] | None:
    return names if role == KEYS else None


def _completed(rows: pa.RecordBatch, schema: pa.Schema, number: int) -> pa.RecordBatch:
    """Return the rows with all columns of the schema, and the number of their entry."""
    import pyarrow as pa

    columns = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name == _NUMBER:
            columns.append(pa.repeat(pa.scalar(number, kind), len(rows)))
        elif name in rows.schema.names:
            columns.append(rows.column(name).cast(kind))
        else:
            columns.append(pa.nulls(len(rows), kind))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _schema(source: LakeSource, names: Sequence[str] | None) -> pa.Schema:
    """Return the columns of all entries, each in a type that takes the values of all of them. Opens no entry."""
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_type

    now = {column.name: column.storage_type for column in source.columns}
    types: dict[str, list[pa.DataType]] = {name: [] for name in now}
    for entry in source.entries:
        held = dict(zip(entry.columns, entry.storage_types, strict=False)) or now
        for name, storage_type in held.items():
            as_text = name in entry.text_columns
            types.setdefault(name, []).append(arrow_type("text" if as_text else storage_type))
    fields = [pa.field(name, _common(found or [arrow_type(now[name])])) for name, found in types.items()]
    return pa.schema([field for field in fields if names is None or field.name in names])


def _common(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type that holds values of all of these; text where only text does."""
    import pyarrow as pa

    try:
        fields = [pa.schema([pa.field("x", one)]) for one in dict.fromkeys(types)]
        return pa.unify_schemas(fields, promote_options="permissive").field("x").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
