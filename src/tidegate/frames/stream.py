"""One stream of one pipeline: its watermarks, its settings, and what is known to be late, doubled or missing in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.consistency import gaps as found_gaps
from tidegate.consistency.duplicates import Deduplicated
from tidegate.errors import ConfigError
from tidegate.frames.carried import as_json, require_columns
from tidegate.frames.database import DatabaseFrames
from tidegate.frames.extract import Window, column_of, cursor_value, found_table
from tidegate.frames.tasks import in_driver
from tidegate.model.records import Gap, LoadMetrics, Watermark, text_of
from tidegate.model.values import Value
from tidegate.sql.cursors import greatest_cursors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_GAPS = 10_000
"""How many gaps are recorded at once. A stream with more of them has no sequence."""


@dataclass(frozen=True)
class Stall:
    """Whether a watermark stands still although its source has newer rows."""

    is_stalled: bool
    watermark: Any
    source_maximum: str | None
    seconds_since_update: float | None


@dataclass(frozen=True)
class Stream:
    """One source of one pipeline, in the database that keeps its records."""

    frames: DatabaseFrames
    pipeline_id: str = "default"
    source_id: str = "default"

    # Watermarks

    def watermark(self, column: str | None = None) -> Watermark | None:
        """Return the watermark of a column; without a column, the one that was updated last."""
        with self.frames.records() as records:
            return records.watermark(self.pipeline_id, self.source_id, column)

    def facts_of(self, metrics: LoadMetrics, watermark: Watermark) -> LoadMetrics:
        """Return the metrics of a load that moves the stream to this watermark, with where it stood before."""
        before = self.watermark(watermark.watermark_column)
        return replace(
            metrics,
            strategy=watermark.strategy,
            watermark_column=watermark.watermark_column,
            watermark_before=None if before is None else text_of(before.watermark_value),
            watermark_after=text_of(watermark.watermark_value),
        )

    def set_watermark(self, value: Any, column: str, strategy: str, reason: str | None = None) -> Watermark:
        with self.frames.records() as records:
            return records.set_watermark(
                Watermark(self.pipeline_id, self.source_id, column, value, strategy, reason=reason)
            )

    def reset(self, column: str | None, value: Any, reason: str) -> list[Watermark]:
        """Set the watermarks of the stream, or of one column, to a value; None lets the next load read everything."""
        with self.frames.records() as records:
            found = records.watermarks(self.pipeline_id, self.source_id, column)
            return [
                records.set_watermark(replace(one, watermark_value=value, reason=reason, load_id=None, updated_by=""))
                for one in found
            ]

    def stall(self, table: str, column: str, after_seconds: float) -> Stall:
        """Return whether the watermark of a column has stood still for so long although the table has newer rows."""
        mark = self.watermark(column)
        with self.frames.database.connect("inspect", read_only=True) as session:
            schema = found_table(session, table)
            cursor = column_of(schema, column)
            query = greatest_cursors(schema.name, cursor, None, None, indexed=schema.has_index_on(column))
            newest, now = session.query(query)[0][0], datetime.fromisoformat(session.now())
            kind = session.database.value_kind(cursor)
            if mark is None or mark.watermark_value is None or newest is None or kind is None:
                return Stall(False, None if mark is None else mark.watermark_value, _text(newest), None)
            given = mark.watermark_value[0] if isinstance(mark.watermark_value, tuple) else mark.watermark_value
            reached, _ = cursor_value(session, cursor, given, None)
        waited = (now - datetime.fromisoformat(mark.updated_at)).total_seconds()
        is_behind = Value.of(newest, kind) > reached
        return Stall(is_behind and waited >= after_seconds, mark.watermark_value, str(newest), waited)

    # Settings

    def settings(self) -> dict[str, Any]:
        with self.frames.records() as records:
            return records.settings(self.pipeline_id, self.source_id)

    def set_settings(self, settings: Mapping[str, Any]) -> None:
        with self.frames.records() as records:
            records.set_settings(self.pipeline_id, self.source_id, settings)

    # What is kept of rows that do not go on

    def keep_late(self, late: DataFrame, column: str, watermark: Any) -> int:
        """Keep late rows in LATE_ARRIVING_DATA, each once, and return how many are new there."""
        about = {
            "watermark_column": column,
            "watermark_value": text_of(watermark),
            "reason": f"{column} lies before the watermark {watermark}",
        }
        return self._keep(late, "late_arriving_data", about)

    def keep_duplicates(self, found: Deduplicated, keys: Sequence[str]) -> int:
        """Keep removed rows in DUPLICATE_RECORDS with the rule that chose the others."""
        return self._keep(found.removed, "duplicate_records", {"key_columns": ", ".join(keys), "rule": found.rule})

    def _keep(self, rows: DataFrame, table: str, about: Mapping[str, str | None]) -> int:
        from pyspark.sql import functions as F

        with self.frames.database.connect("inspect", read_only=True) as session:
            now = session.now()
        where = {"pipeline_id": self.pipeline_id, "source_id": self.source_id, **about}
        named = {name: F.lit(value).cast("string") for name, value in where.items()}
        record = as_json(rows)
        identity = F.sha2(F.concat_ws("\n", *named.values(), F.lit(table), record), 256)
        kept = rows.select(
            identity.alias("record_id"),
            *(cell.alias(name) for name, cell in named.items()),
            record.alias("record"),
            F.lit(now).alias("found_at"),
        )
        return self.frames.keep(kept.dropDuplicates(["record_id"]), table)

    # Gaps

    def gaps_of(self, rows: DataFrame, column: str) -> list[Gap]:
        """Return what is missing in a column: numbers of a sequence, or calendar days of dates and timestamps."""
        from pyspark.sql import types

        kind = require_columns(rows, [column]).schema[column].dataType
        if isinstance(kind, (types.ByteType, types.ShortType, types.IntegerType, types.LongType)):
            gap_type, found = "sequence", found_gaps.missing_numbers(rows, column)
        elif isinstance(kind, (types.DateType, types.TimestampType, types.TimestampNTZType)):
            gap_type, found = "day", found_gaps.missing_days(rows, column)
        else:
            raise ConfigError(
                f"Column {column} is {kind.simpleString()}, which has no next value.",
                "Nothing was written.",
                "Name a column of whole numbers, dates or timestamps.",
            )
        return found_gaps.as_gaps(in_driver(lambda: found.limit(MOST_GAPS).collect()), gap_type)

    def gaps_in_table(self, table: str, column: str) -> list[Gap]:
        return self.gaps_of(self.frames.read(table, Window(), [column]), column)

    def gaps_between_loads(self, column: str) -> list[Gap]:
        """Return the ranges that no load of this stream covers, between the first and the last of them."""
        with self.frames.records() as records:
            loads = records.loads(self.pipeline_id, self.source_id, MOST_GAPS)
        ranges = [
            (load.watermark_before, load.watermark_after)
            for load in loads
            if load.watermark_column == column and load.watermark_after is not None
        ]
        return found_gaps.missing_windows([(_comparable(low), _comparable(high)) for low, high in ranges])

    def record_gaps(self, column: str, gaps: Sequence[Gap], *, is_all: bool = True) -> int:
        """Write gaps to DATA_GAPS and return how many are new. Where these are all gaps of the column, open ones that
        are no longer missing become settled."""
        by_id = {self._gap_id(column, gap): gap for gap in gaps}
        with self.frames.records() as records:
            return records.record_gaps(self.pipeline_id, self.source_id, column, by_id, is_all=is_all)

    def _gap_id(self, column: str, gap: Gap) -> str:
        parts = (self.pipeline_id, self.source_id, column, gap.gap_type, gap.first_missing, gap.last_missing)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Comparable(str):
    """A text of a watermark that is ordered as what it means, and shown as it is."""

    __slots__ = ()

    @property
    def _key(self) -> tuple[int, Any]:
        from decimal import Decimal, InvalidOperation

        try:
            return 0, Decimal(self)
        except InvalidOperation:
            return 1, str(self).replace("T", " ")

    def __lt__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and self._key < other._key

    def __gt__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and self._key > other._key


def _comparable(text: str | None) -> _Comparable | None:
    return None if text is None else _Comparable(text)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
