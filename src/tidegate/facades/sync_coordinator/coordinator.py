"""`IncrementalSyncCoordinator`: source, Iceberg, target, by one call for each table."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.api import Tidegate, lake_table
from tidegate.errors import ConfigError, RunFailed, TidegateError
from tidegate.facades.sync_coordinator.importing import repeated
from tidegate.facades.sync_coordinator.models import (
    ChangeDetectionMode,
    MergeMode,
    SyncOptions,
    SyncResult,
    Watermark,
    names_of,
)
from tidegate.facades.sync_coordinator.watermarks import WatermarkStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.model.report import RunReport

LOGGER = logging.getLogger("tidegate.sync")
LOADS = {
    MergeMode.UPSERT: "merge",
    MergeMode.APPEND_ONLY: "append",
    MergeMode.REPLACE: "replace",
    MergeMode.SCD2: "scd2",
}
Sync = tuple[str, str, str, str, str]
"""Source connection, source table, Iceberg table, target connection, target table."""


class IncrementalSyncCoordinator:
    """Syncs tables by way of one Iceberg warehouse. Takes every database of Tidegate on both sides."""

    def __init__(
        self,
        warehouse: str | Path,
        *,
        spark: SparkSession | Mapping[str, Any] | None = None,
        engine: str | None = None,
        watermark_store: WatermarkStore | None = None,
    ) -> None:
        """`spark` is a session, or the settings of one; `engine="process"` moves rows by threads instead. A watermark
        store gets a copy of each new watermark."""
        self.warehouse, self._store = Path(warehouse), watermark_store
        self._settings: dict[str, Any] = {"spark": spark, **({"engine": engine} if engine else {})}
        self._first: Tidegate | None = None

    def sync(
        self,
        source_connection: str,
        source_table: str,
        iceberg_table: str,
        target_connection: str,
        target_table: str,
        options: SyncOptions | None = None,
    ) -> SyncResult:
        """Bring one table in sync: extract what changed, append it to the Iceberg table, merge it into the target.

        A result without success has the reason; what a failed sync committed is completed by the next one."""
        wanted, started = options or SyncOptions(), time.monotonic()
        try:
            table = _settings_of(source_table, iceberg_table, target_table, wanted)
            project = self._project(source_connection, target_connection, {iceberg_table: table}, wanted)
            report = repeated(lambda: project.run(), wanted.max_retries)
            result = self._result(iceberg_table, report, wanted, started)
        except RunFailed as problem:
            result = _failed(_reason(problem), started)
        except TidegateError as problem:
            result = _failed(str(problem), started)
        if wanted.enable_logging:
            _log(iceberg_table, result)
        if self._store is not None and result.new_watermark is not None:
            self._store.set_watermark(iceberg_table, result.new_watermark)
        return result

    def sync_tables(
        self,
        syncs: Sequence[Sync],
        options: Mapping[str, SyncOptions] | SyncOptions | None = None,
        max_parallel: int = 4,
    ) -> dict[str, SyncResult]:
        """Sync several tables at the same time, and return the results by Iceberg table. `options` are those of every
        table, or of each by its Iceberg table."""

        def one(sync: Sync) -> SyncResult:
            chosen = options.get(sync[2]) if isinstance(options, Mapping) else options
            return self.sync(*sync, options=chosen)

        with ThreadPoolExecutor(max(1, max_parallel)) as pool:
            return dict(zip([sync[2] for sync in syncs], pool.map(one, syncs), strict=True))

    def get_watermark(self, iceberg_table: str) -> Watermark | None:
        """Return how far a table was synced, as its newest snapshot says; None for a table that is not there."""
        table = lake_table("iceberg", self.warehouse, iceberg_table)
        versions = table.versions() if table.exists else []
        if not versions:
            return None
        told = next((version.watermark for version in reversed(versions) if version.watermark), "")
        moment = number = None
        with suppress(ValueError):
            number = int(told)
        if number is None:
            with suppress(ValueError):
                moment = datetime.fromisoformat(told)
        rows = sum(version.rows or 0 for version in versions)
        return Watermark(iceberg_table, moment, number, int(versions[-1].id), rows, versions[-1].moment)

    def close(self) -> None:
        """End the Spark session that was started here."""
        if self._first is not None:
            self._first.close()
            self._first = None

    def __enter__(self) -> IncrementalSyncCoordinator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _project(self, source: str, target: str, tables: Mapping[str, Any], options: SyncOptions) -> Tidegate:
        project = Tidegate(
            source=source,
            target=target,
            lake={"format": "iceberg", "path": str(self.warehouse)},
            tables=tables,
            batch_rows=options.batch_size,
            **self._settings,
        )
        if self._first is None:
            self._first = project
            return project
        return project.use_spark_of(self._first)

    def _result(self, table: str, report: RunReport, options: SyncOptions, started: float) -> SyncResult:
        watermark = self.get_watermark(table)
        return SyncResult(
            success=True,
            rows_extracted=report.rows_extracted,
            rows_appended=report.rows_extracted,
            rows_imported=report.rows_loaded,
            new_snapshot_id=watermark.last_iceberg_snapshot if watermark else None,
            new_watermark=watermark,
            duration=timedelta(seconds=time.monotonic() - started),
        )


def _settings_of(source: str, iceberg: str, target: str, options: SyncOptions) -> dict[str, Any]:
    """Return the settings of a table, as `tidegate.yml` has them."""
    mode = ChangeDetectionMode(options.mode) if options.mode is not None else None
    if mode is None:
        mode = ChangeDetectionMode.TIMESTAMP if options.watermark_column else ChangeDetectionMode.FULL
    merge, keys = MergeMode(options.merge_mode), names_of(options.primary_key_column)
    places = {"source_table": source, "target_table": target, "lake_table": iceberg, **options.settings}
    if mode is ChangeDetectionMode.CHANGE_TRACKING:
        if merge not in (MergeMode.UPSERT, MergeMode.SCD2):
            raise ConfigError(
                f"{iceberg}: Change Tracking names rows that changed or left, which `{merge.value}` cannot apply.",
                "Nothing was read.",
                "Use the merge mode `upsert` or `scd2`.",
            )
        feed = {"changes": "change_tracking", "load": LOADS[merge]}
        return {"kind": "incremental", **feed, **({"keys": list(keys)} if keys else {}), **places}
    if mode is ChangeDetectionMode.FULL:
        load = {"load": "replace"} if merge is MergeMode.REPLACE else {**({"primary_keys": list(keys)} if keys else {})}
        return {"kind": "static", **load, **places}
    if options.watermark_column is None:
        raise ConfigError(
            f"{iceberg}: the mode `{mode.value}` needs to know by which column rows are new.",
            "Nothing was read.",
            "Pass `watermark_column`.",
        )
    how = (
        {"changes": "timestamp", "timestamp_column": options.watermark_column}
        if mode is ChangeDetectionMode.TIMESTAMP
        else {"changes": "sequence", "sequence_column": options.watermark_column}
    )
    return {"kind": "incremental", **how, "load": LOADS[merge], **({"keys": list(keys)} if keys else {}), **places}


def _failed(reason: str, started: float) -> SyncResult:
    return SyncResult(False, duration=timedelta(seconds=time.monotonic() - started), error_message=reason)


def _reason(problem: RunFailed) -> str:
    """Return what the tables of a failed run say, else what the run says."""
    failures = getattr(problem.report, "failures", ())
    return "\n".join(text for _, text in failures) or str(problem)


def _log(table: str, result: SyncResult) -> None:
    seconds = result.duration.total_seconds()
    if not result.success:
        LOGGER.error("%s: failed after %.1f s: %s", table, seconds, result.error_message)
        return
    LOGGER.info(
        "%s: %s rows extracted, %s imported, snapshot %s, %.1f s, %.0f rows a second",
        table,
        f"{result.rows_extracted:,}",
        f"{result.rows_imported:,}",
        result.new_snapshot_id,
        seconds,
        result.rows_imported / seconds if seconds else 0,
    )
