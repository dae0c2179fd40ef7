"""Turn rows that say since when they hold into versions: what is inserted, corrected or ended (SCD type 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

END, FLAG = "end_date", "is_current"
_IS_NEW, _END = "tidegate_is_new", "tidegate_old_end"


@dataclass(frozen=True)
class VersionColumns:
    """The columns of versions by their role."""

    keys: tuple[str, ...]
    start: str
    end: str = END
    flag: str = FLAG


def merge_versions(
    incoming: DataFrame, existing: DataFrame | None, columns: VersionColumns, attributes: Sequence[str]
) -> DataFrame:
    """Return the versions of the incoming keys as they are to be: in their place in time, each with its end and flag.

    An incoming row that says what held already makes no version. One with the start of an existing version corrects
    it. A version ends where the next one starts, or earlier where it had ended before: a key that was closed stays
    closed until a newer row comes. `incoming` has one row per key and start."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    named, version = [*columns.keys, columns.start, *attributes], [*columns.keys, columns.start]
    no_end = F.lit(None).cast(incoming.schema[columns.start].dataType)
    together = incoming.select(*map(_column, named), F.lit(True).alias(_IS_NEW), no_end.alias(columns.end))
    if existing is not None:
        there = existing.select(*map(_column, version), _column(columns.end), F.lit(False).alias(_IS_NEW))
        corrected = incoming.select(*map(_column, named)).join(there, version, "left")
        new = corrected.withColumn(_IS_NEW, F.coalesce(F.col(_IS_NEW), F.lit(True)))
        kept = existing.join(incoming.select(*map(_column, version)), version, "left_anti")
        old = kept.select(*map(_column, named), F.lit(False).alias(_IS_NEW), _column(columns.end))
        together = new.select(*map(_column, named), _IS_NEW, _column(columns.end)).unionByName(old)
    timeline = Window.partitionBy(*map(_column, columns.keys)).orderBy(_column(columns.start))
    before = F.lag(F.struct(*map(_column, attributes)) if attributes else F.lit(1)).over(timeline)
    same = F.lag(F.lit(1)).over(timeline).isNotNull()
    for attribute in attributes:
        same = same & before.getField(attribute).eqNullSafe(_column(attribute))
    ended_at = F.lag(_column(columns.end)).over(timeline)
    is_open = ended_at.isNull() | (ended_at >= _column(columns.start))
    changed = together.withColumn("tidegate_same", same & is_open & F.col(_IS_NEW)).where("NOT tidegate_same")
    following = F.lead(_column(columns.start)).over(timeline)
    end = F.least(_column(columns.end), following)
    ended = changed.withColumn(_END, end)
    return ended.select(
        *map(_column, incoming.columns), F.col(_END).alias(columns.end), F.col(_END).isNull().alias(columns.flag)
    )


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")
