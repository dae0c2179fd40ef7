"""Functions that stories name as `transform`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def without_notes(rows: DataFrame) -> DataFrame:
    return rows.withColumn("note", F.lit("masked"))


def twice(rows: DataFrame) -> DataFrame:
    return rows.unionAll(rows)


def other_days(rows: DataFrame) -> DataFrame:
    return rows.withColumn("cob", F.col("cob") + 1)
