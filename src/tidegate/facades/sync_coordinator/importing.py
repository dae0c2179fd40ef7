"""Rows into a target: by insert, by merge, by replacement, or as versions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tidegate.api import Frames
from tidegate.errors import ConfigError, TidegateError, Transient
from tidegate.facades.sync_coordinator.models import (
    ImportOptions,
    ImportResult,
    MergeMode,
    MergeOptions,
    MergeResult,
    names_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.model.records import LoadMetrics

_UNTOUCHED = "Nothing was written."


class MergeStrategy(ABC):
    """Applies rows to a table, in one transaction."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark

    def apply(
        self, source_data: Any, connection: Any, table_name: str, options: MergeOptions | None = None
    ) -> MergeResult:
        """Apply dictionaries, or a frame of pandas, Arrow, Polars or Spark. The table is made where there is none."""
        frames = Frames.of(connection, self._spark)
        try:
            done = self._load(frames, rows_of(source_data), table_name, options or MergeOptions())
        finally:
            frames.close()
        counts = (done.records_inserted, done.records_updated, done.records_deleted, done.records_unchanged)
        return MergeResult(*(count or 0 for count in counts))

    @abstractmethod
    def _load(self, frames: Frames, rows: Any, table: str, options: MergeOptions) -> LoadMetrics: ...


class AppendOnlyMergeStrategy(MergeStrategy):
    """Inserts rows; with a key, those that are not there yet."""

    def _load(self, frames: Frames, rows: Any, table: str, options: MergeOptions) -> LoadMetrics:
        return frames.load(rows, table, names_of(options.primary_key_column), "append")


class UpsertMergeStrategy(MergeStrategy):
    """Updates rows that are there by their key, and inserts the others."""

    def _load(self, frames: Frames, rows: Any, table: str, options: MergeOptions) -> LoadMetrics:
        return frames.load(rows, table, _keys(options), "upsert")


class ReplaceMergeStrategy(MergeStrategy):
    """Replaces all rows at once: readers see the old ones or the new ones."""

    def _load(self, frames: Frames, rows: Any, table: str, options: MergeOptions) -> LoadMetrics:
        return frames.load(rows, table, names_of(options.primary_key_column), "replace")


class Scd2MergeStrategy(MergeStrategy):
    """Keeps versions: each row holds from its effective date until the next one of its key."""

    def _load(self, frames: Frames, rows: Any, table: str, options: MergeOptions) -> LoadMetrics:
        if options.effective_date_column is None:
            raise ConfigError("Versions need the column that they start with.", _UNTOUCHED, "`effective_date_column`")
        return frames.load_versions(rows, table, _keys(options), options.effective_date_column)


STRATEGIES: Mapping[MergeMode, type[MergeStrategy]] = {
    MergeMode.APPEND_ONLY: AppendOnlyMergeStrategy,
    MergeMode.UPSERT: UpsertMergeStrategy,
    MergeMode.REPLACE: ReplaceMergeStrategy,
    MergeMode.SCD2: Scd2MergeStrategy,
}


class SqlServerImporter:
    """Imports rows into a table of any database of Tidegate, SQL Server among them, and repeats what may pass."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark

    def import_data(
        self, data: Any, connection_string: Any, table_name: str, options: ImportOptions | None = None
    ) -> ImportResult:
        """Import in one transaction; what failed has changed nothing."""
        wanted, started = options or ImportOptions(), time.monotonic()
        strategy = STRATEGIES[MergeMode(wanted.merge_mode)](self._spark)
        rows = rows_of(data)
        try:
            merged = repeated(lambda: strategy.apply(rows, connection_string, table_name, wanted), wanted.max_retries)
        except TidegateError as problem:
            return ImportResult(False, duration=_since(started), error_message=str(problem))
        count = merged.rows_inserted + merged.rows_updated
        return ImportResult(True, count, merged.rows_inserted, merged.rows_updated, _since(started))


def repeated(act: Callable[[], Any], times: int) -> Any:
    """Do something again while it fails with a problem that may pass."""
    for attempt in range(times):
        try:
            return act()
        except Transient:
            time.sleep(min(0.2 * 2**attempt, 5))
    return act()


def rows_of(data: Any) -> Any:
    """Return rows as a frame: dictionaries become an Arrow table, every other frame stays what it is."""
    if isinstance(data, (Iterator, list, tuple)) or (isinstance(data, Iterable) and not hasattr(data, "columns")):
        import pyarrow as pa

        return pa.Table.from_pylist(list(data))
    return data


def _keys(options: MergeOptions) -> tuple[str, ...]:
    keys = names_of(options.primary_key_column)
    if not keys:
        raise ConfigError("A merge needs to know what names a row.", _UNTOUCHED, "Pass `primary_key_column`.")
    return keys


def _since(started: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - started)
