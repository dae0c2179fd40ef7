"""Find rows that share a key, and keep one of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rule = Literal["latest", "first"]
_POSITION, _NUMBER = "tidegate_position", "tidegate_number"


@dataclass(frozen=True)
class Deduplicated:
    """The rows that were kept, those that were removed, and the rule that chose."""

    kept: DataFrame
    removed: DataFrame
    rule: str


def deduplicate(
    frame: DataFrame,
    keys: Sequence[str],
    rule: Rule = "latest",
    order_by: str | None = None,
    *,
    keeps_order: bool = True,
) -> Deduplicated:
    """Keep one row of each key: the `latest` or the `first` by `order_by`, or by the position in the frame.

    Rows without a value in a key column are no duplicates of each other: all of them are kept. `keeps_order` costs a
    sort of all rows."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    placed = frame.withColumn(_POSITION, F.monotonically_increasing_id())
    named = [_quoted(key) for key in keys]
    has_null = F.lit(False)
    for name in named:
        has_null = has_null | F.col(name).isNull()
    alone = F.when(has_null, F.col(_POSITION)).otherwise(F.lit(-1))
    by = [] if order_by is None else [F.col(_quoted(order_by))]
    order = (
        [*(column.desc_nulls_last() for column in by), F.col(_POSITION).desc()]
        if rule == "latest"
        else [*(column.asc_nulls_last() for column in by), F.col(_POSITION).asc()]
    )
    window = Window.partitionBy(*(F.col(name) for name in named), alone).orderBy(*order)
    numbered = placed.withColumn(_NUMBER, F.row_number().over(window))
    numbered = numbered.orderBy(_POSITION) if keeps_order else numbered
    kept, removed = (
        numbered.where(condition).drop(_POSITION, _NUMBER) for condition in (f"{_NUMBER} = 1", f"{_NUMBER} > 1")
    )
    return Deduplicated(kept, removed, f"{rule} by {order_by or 'position'}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
