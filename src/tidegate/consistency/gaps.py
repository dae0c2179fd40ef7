"""Find what is missing in a stream: numbers of a sequence, calendar days, ranges between the windows of loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.model.records import Gap

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BUCKET = 1 << 20
"""Values that one task sorts. Between buckets only their ends are compared, so no task sees all values."""


def missing_numbers(frame: DataFrame, column: str) -> DataFrame:
    """Return `first_missing`, `last_missing` and `missing_count` of each range of whole numbers that no row has."""
    return _holes(frame, lambda cell: cell.cast("bigint"), column)


def missing_days(frame: DataFrame, column: str) -> DataFrame:
    """Return the ranges of calendar days, from the first to the last day of the stream, that no row has."""
    from pyspark.sql import functions as F

    found = _holes(frame, lambda cell: F.unix_date(cell.cast("date")).cast("bigint"), column)
    as_day = [F.date_from_unix_date(F.col(name).cast("int")).alias(name) for name in ("first_missing", "last_missing")]
    return found.select(*as_day, "missing_count")


def _holes(frame: DataFrame, number: Callable[[Column], Column], column: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    cell = F.col("`" + column.replace("`", "``") + "`")
    values = frame.where(cell.isNotNull()).select(number(cell).alias("value"))
    values = values.withColumn("bucket", F.floor(F.col("value") / F.lit(_BUCKET)))
    inside = values.select("value", F.lead("value").over(Window.partitionBy("bucket").orderBy("value")).alias("next"))
    ends = values.groupBy("bucket").agg(F.min("value").alias("low"), F.max("value").alias("high"))
    # Two rows per million: one task sorts them all. Without a partition Spark would warn of that.
    in_order = Window.partitionBy(F.lit(0)).orderBy("bucket")
    between = ends.select(F.col("high").alias("value"), F.lead("low").over(in_order).alias("next"))
    return (
        inside.unionByName(between)
        .where(F.col("next") > F.col("value") + 1)
        .select(
            (F.col("value") + 1).alias("first_missing"),
            (F.col("next") - 1).alias("last_missing"),
            (F.col("next") - F.col("value") - 1).alias("missing_count"),
        )
        .orderBy("first_missing")
    )


def as_gaps(rows: Sequence[Any], gap_type: str) -> list[Gap]:
    """Return collected rows of `missing_numbers` or `missing_days` as gaps."""
    return [
        Gap(gap_type, str(row["first_missing"]), str(row["last_missing"]), int(row["missing_count"])) for row in rows
    ]


def missing_windows(windows: Sequence[tuple[Any, Any]]) -> list[Gap]:
    """Return the ranges that lie between the windows of loads, each given as (after, up to), in any order.

    Values must be comparable. A window without a lower end covers everything before its upper end."""
    found: list[Gap] = []
    reached: Any = None
    first = [upto for after, upto in windows if after is None]
    if first:
        reached = max(first)
    for after, upto in sorted((pair for pair in windows if pair[0] is not None), key=lambda pair: pair[0]):
        if reached is not None and after > reached:
            found.append(Gap("window", str(reached), str(after), None))
        reached = upto if reached is None else max(reached, upto)
    return found
