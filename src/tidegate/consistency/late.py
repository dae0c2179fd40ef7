"""Tell rows that come after the watermark had passed them from those that are on time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Arrivals:
    """Rows at or after the watermark, and rows before it. A row without a value is on time: nobody can tell."""

    on_time: DataFrame
    late: DataFrame


def split_late(frame: DataFrame, column: str, watermark: Any) -> Arrivals:
    """Return the rows by whether they lie before the watermark. Without a watermark, no row is late."""
    from pyspark.sql import functions as F

    is_late = F.lit(False) if watermark is None else F.coalesce(_is_before(frame, column, watermark), F.lit(False))
    return Arrivals(frame.where(~is_late), frame.where(is_late))


def _is_before(frame: DataFrame, column: str, watermark: Any) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types

    kind, cell = frame.schema[column].dataType, F.col("`" + column.replace("`", "``") + "`")
    if isinstance(kind, types.NumericType):
        return cell < F.lit(_number(column, watermark))
    moment = _moment(watermark)
    if isinstance(kind, types.StringType) and moment is None:
        return cell < F.lit(str(watermark))
    if moment is None:
        raise _unlike(column, watermark, kind.simpleString())
    if isinstance(kind, types.TimestampType):
        # Instants are compared in UTC, which is also what a watermark without a zone means.
        text = moment.isoformat(" ") if moment.tzinfo else f"{moment.isoformat(' ')}+00:00"
        return cell < F.lit(text).cast("timestamp")
    if moment.tzinfo is not None:
        raise ConfigError(
            f"The watermark {watermark} has a time zone, and column {column} has none.",
            "Nothing was written.",
            "Give the watermark in the zone of the column, without an offset.",
        )
    if isinstance(kind, types.StringType):
        return cell.try_cast("timestamp_ntz") < F.lit(moment.isoformat(" ")).cast("timestamp_ntz")
    if isinstance(kind, types.DateType):
        return cell < F.lit(moment.date().isoformat()).cast("date")
    return cell < F.lit(moment.isoformat(" ")).cast("timestamp_ntz")


def _number(column: str, watermark: Any) -> Decimal:
    try:
        return Decimal(str(watermark))
    except InvalidOperation:
        raise _unlike(column, watermark, "a number") from None


def _moment(watermark: Any) -> datetime | None:
    if isinstance(watermark, datetime):
        return watermark
    if isinstance(watermark, date):
        return datetime(watermark.year, watermark.month, watermark.day)
    try:
        return datetime.fromisoformat(str(watermark))
    except ValueError:
        return None


def _unlike(column: str, watermark: Any, kind: str) -> ConfigError:
    return ConfigError(
        f"Column {column} is {kind}, and the watermark {watermark!r} cannot be compared with it.",
        "Nothing was written.",
        "Name the column that the watermark belongs to.",
    )
