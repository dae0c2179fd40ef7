"""Turn frames of pandas, Arrow, polars and Spark into Spark DataFrames, and back. No value changes on the way.

Facts that shape this file
 * Spark knows no unsigned integers, and its timestamps have microseconds. A value that would lose digits is refused.
 * Spark makes instants of timestamps without a zone unless it is told their type.
 * Spark takes times of day in nanoseconds only, and gives them back so.
 * pandas keeps whole numbers with missing ones as floats, which hold 53 bits: such columns become nullable integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, Unsupported, ValueProblem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

UNTOUCHED = "Nothing was written."
_SPARK = {
    "int16": "ShortType",
    "int32": "IntegerType",
    "int64": "LongType",
    "bool": "BooleanType",
    "float32": "FloatType",
    "float64": "DoubleType",
    "date": "DateType",
    "time": "TimeType",
    "timestamp": "TimestampNTZType",
    "timestamptz": "TimestampType",
    "binary": "BinaryType",
    "string": "StringType",
    "text": "StringType",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def to_spark(frame: Any, spark: SparkSession) -> DataFrame:
    """Return the rows as a Spark DataFrame, in their order. Raises ConfigError for what is no frame."""
    if is_spark(frame):
        found: DataFrame = frame
        return found
    table = to_arrow(frame)
    return spark.createDataFrame(table, schema=spark_schema(table.schema))


def from_spark(frame: DataFrame, kind: str) -> Any:
    """Return the rows as a frame of this kind: `pandas`, `arrow`, `polars` or `spark`."""
    if kind == "spark":
        # The rows of this moment: a plan would be run again, on another state of the database, by every action.
        return frame.localCheckpoint()
    return from_arrow(collected(frame), kind)


def from_arrow(table: pa.Table, kind: str) -> Any:
    """Return the rows as a frame of `pandas`, `arrow` or `polars`."""
    if kind == "arrow":
        return table
    return _polars().from_arrow(table) if kind == "polars" else to_pandas(table)


def require_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the frame. Raises ConfigError where it lacks one of these columns."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ConfigError(
            f"The frame has no column {', '.join(missing)}.",
            UNTOUCHED,
            f"Its columns: {', '.join(frame.columns)}.",
        )
    return frame


def rows_in(frame: Any) -> int:
    """Return how many rows a frame of any kind has; of a Spark DataFrame, a job counts them."""
    return int(frame.count()) if is_spark(frame) else len(frame)


def collected(frame: DataFrame) -> pa.Table:
    """Return the rows in this process, with timestamps as they were: without a zone, or in UTC."""
    return stored(frame.toArrow())


def to_arrow(frame: Any) -> pa.Table:
    """Return the rows of a frame of any kind, or of a list of dictionaries, in types of the lake."""
    import pyarrow as pa

    if is_spark(frame):
        return collected(frame)
    try:
        if isinstance(frame, pa.RecordBatch):
            frame = pa.Table.from_batches([frame])
        elif isinstance(frame, Sequence) and all(isinstance(row, Mapping) for row in frame):
            frame = pa.Table.from_pylist(list(frame))
        elif hasattr(frame, "to_arrow"):  # polars
            frame = frame.to_arrow()
        elif not isinstance(frame, pa.Table):
            _require_distinct([str(name) for name in frame.columns])
            frame = pa.Table.from_pandas(frame, preserve_index=False)
        _require_distinct(frame.column_names)
    except pa.ArrowException as problem:
        raise ValueProblem(
            f"A column of the frame holds values of several types: {problem}.",
            UNTOUCHED,
            "Give every column values of one type.",
        ) from None
    except (AttributeError, TypeError, KeyError):
        raise ConfigError(
            f"Rows cannot be taken from {type(frame).__name__}.",
            UNTOUCHED,
            "Pass a DataFrame of pandas, polars or Spark, a pyarrow.Table, or a list of dictionaries.",
        ) from None
    return stored(frame)


def _require_distinct(names: Sequence[str]) -> None:
    doubled = sorted({name for name in names if list(names).count(name) > 1})
    if doubled:
        raise ConfigError(
            f"The frame has several columns {', '.join(doubled)}.", UNTOUCHED, "Give every column a name of its own."
        )


def to_pandas(table: pa.Table) -> Any:
    """Return a pandas DataFrame that holds every value exactly."""
    import pandas as pd
    import pyarrow as pa

    nullable = {
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    with_nulls = {field.type for field, column in zip(table.schema, table.columns, strict=True) if column.null_count}
    return table.to_pandas(types_mapper=lambda kind: nullable.get(kind) if kind in with_nulls else None)


def is_spark(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.sql")


def stored(table: pa.Table) -> pa.Table:
    """Return the table in types that the lake has. Raises ValueProblem where a value would change."""
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_type

    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = arrow_type(storage_type_of(field))
        try:
            columns.append(column.cast(wanted))
        except pa.ArrowException as problem:
            raise ValueProblem(
                f"Column {field.name} of the frame does not fit {wanted}: {problem}.",
                UNTOUCHED,
                "Round its values first.",
            ) from None
        fields.append(pa.field(field.name, wanted))
    return pa.table(columns, schema=pa.schema(fields))


def storage_type_of(field: pa.Field) -> str:
    """Return the type in the lake for a column of a frame. Raises Unsupported for lists, structures and the like."""
    import pyarrow.types as kinds

    kind = field.type.value_type if kinds.is_dictionary(field.type) else field.type
    if kinds.is_decimal(kind) and kind.precision <= 38 and kind.scale >= 0:
        return f"decimal({kind.precision},{kind.scale})"
    if kinds.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    for test, name in (
        (kinds.is_boolean, "bool"),
        (kinds.is_int8, "int16"),
        (kinds.is_int16, "int16"),
        (kinds.is_uint8, "int16"),
        (kinds.is_int32, "int32"),
        (kinds.is_uint16, "int32"),
        (kinds.is_int64, "int64"),
        (kinds.is_uint32, "int64"),
        (kinds.is_uint64, "decimal(20,0)"),
        (kinds.is_float16, "float32"),
        (kinds.is_float32, "float32"),
        (kinds.is_float64, "float64"),
        (kinds.is_date, "date"),
        (kinds.is_time, "time"),
        (lambda one: kinds.is_string(one) or kinds.is_large_string(one) or str(one) == "string_view", "string"),
        (lambda one: kinds.is_binary(one) or kinds.is_large_binary(one), "binary"),
        (kinds.is_null, "string"),
    ):
        if test(kind):
            return name
    raise Unsupported(
        f"Column {field.name} of the frame has the type {field.type}, which no column of a table has.",
        UNTOUCHED,
        "Turn it into a text or a number first.",
    )


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema of these columns."""
    from pyspark.sql import types

    return types.StructType(
        [types.StructField(field.name, _spark_type(storage_type_of(field)), nullable=True) for field in schema]
    )


def _spark_type(storage_type: str) -> DataType:
    from pyspark.sql import types

    decimal = _DECIMAL.fullmatch(storage_type)
    if decimal:
        return types.DecimalType(int(decimal[1]), int(decimal[2]))
    made: DataType = getattr(types, _SPARK[storage_type])()
    return made


def for_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of a task in the types that Spark takes: times of day in nanoseconds."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.time64("ns")) if pa.types.is_time(field.type) else field.remove_metadata()
        for field in batch.schema
    ]
    return batch.cast(pa.schema(fields))


def cast_exactly(table: pa.Table, wanted: pa.Schema, about: str) -> pa.Table:
    """Return these columns of the table in other types. Raises ValueProblem where a value would not stay what it is."""
    import pyarrow as pa

    columns = []
    for field in wanted:
        column = table[field.name]
        try:
            columns.append(_cast(column, field.type))
        except (pa.ArrowException, ValueError) as problem:
            raise ValueProblem(
                f"{about}: column {field.name} of the frame does not fit the table's {field.type}: {problem}.",
                UNTOUCHED,
                "Convert the column first, or change the column of the table.",
            ) from None
    return pa.table(columns, schema=wanted)


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    given = column.type
    if given == wanted:
        return column
    zones = [getattr(kind, "tz", None) for kind in (given, wanted)]
    if kinds.is_timestamp(given) and kinds.is_timestamp(wanted) and bool(zones[0]) != bool(zones[1]):
        raise ValueError("one has a time zone, the other has none")
    found = column.cast(wanted)
    # Text is read, not rounded; numbers of another kind must come back as they were.
    if not kinds.is_string(given) and not kinds.is_string(wanted):
        same = pc.equal(found.cast(given), column)
        if not pc.all(pc.fill_null(same, True), min_count=0).as_py():
            raise ValueError("values would be rounded")
    return found


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise ConfigError(
            "polars is not installed.", UNTOUCHED, 'Install it with `pip install polars`, or use frames="arrow".'
        ) from None
    return polars


def as_schema(frame: DataFrame, wanted: pa.Schema, about: str) -> DataFrame:
    """Return these columns of a Spark DataFrame in other types, by `cast_exactly`."""
    plain = wanted.remove_metadata()

    def cast(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            found = cast_exactly(stored(pa.Table.from_batches([batch])), plain, about)
            yield from map(for_spark, found.to_batches())

    return frame.mapInArrow(cast, spark_schema(plain))


def as_json(rows: DataFrame, names: Sequence[str] | None = None) -> Column:
    """Return each row, or these columns of it, as one JSON text whose values are texts, so that no digit is lost."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType

    cells = []
    for field in rows.schema.fields if names is None else [rows.schema[name] for name in names]:
        cell = F.col("`" + field.name.replace("`", "``") + "`")
        cells.append((F.hex(cell) if isinstance(field.dataType, BinaryType) else cell.cast("string")).alias(field.name))
    return F.to_json(F.struct(*cells), {"ignoreNullFields": "false"})
