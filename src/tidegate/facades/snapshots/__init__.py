"""`HybridSnapshotManager` and `ChangeDetector`: snapshots under the names that users of other systems know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tidegate.api import Changes, Comparison, Snapshots
from tidegate.facades.snapshots.answers import Integrity, cleanup_answer, statistics_answer

__all__ = ["ChangeDetector", "HybridSnapshotManager"]

DOCUMENTED_TABLE = "ORDERS_UNIFIED_SNAPSHOT"
DOCUMENTED_ATTRIBUTES = ("CUSTOMER NAME", "CUSTOMER STYLE")


class HybridSnapshotManager:
    """Saves frames into a snapshot table and, where one is configured, into a Parquet archive in PostgreSQL."""

    def __init__(
        self,
        connection: Any = None,
        table: str = DOCUMENTED_TABLE,
        business_key: Sequence[str] = ("AAG ORDER NUMBER",),
        *,
        archive: Any = None,
        attributes: Sequence[str] = DOCUMENTED_ATTRIBUTES,
        ignore_columns: Sequence[str] = (),
        keep_count: int | None = None,
        retention_days: int | None = None,
        partition_by_filter: bool = False,
        spark: Any = None,
    ) -> None:
        """`connection` is the URL of the snapshot table's database, or SNAPSHOT_DATABASE_URL.

        `archive` is a URL, or the KESTRA_POSTGRES_* variables; False for none."""
        keys = [business_key] if isinstance(business_key, str) else list(business_key)
        self.snapshots = Snapshots.open(
            database=connection,
            archive=archive,
            table=table,
            business_key=keys,
            attributes=[name for name in attributes if name not in keys],
            ignore_columns=list(ignore_columns),
            keep=keep_count,
            retention_days=retention_days,
            partition_by_filter=partition_by_filter,
            spark=spark,
        )

    # Saving and loading

    def save_snapshot(
        self,
        df: Any,
        customer_filter: str,
        batch_id: str | None = None,
        tags: Mapping[str, Any] | None = None,
        *,
        retention_until: date | None = None,
    ) -> int | None:
        """Save a frame and return its archive id; None without an archive. Saving a batch again changes nothing."""
        return self.snapshots.save(df, customer_filter, batch_id, tags, retention_until).archive_id

    def load_snapshot(
        self,
        archive_id: int | None = None,
        *,
        customer_filter: str | None = None,
        snapshot_date: str | date | datetime | None = None,
        batch_id: str | None = None,
        as_: str = "pandas",
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Return an archived snapshot: by its id, or the newest of a filter until a date, or of a batch.

        `as_` is `pandas`, `polars`, `arrow` or `spark`."""
        archive = self.snapshots.find_archive(
            archive_id, customer_filter=customer_filter, at=snapshot_date, batch_id=batch_id
        )
        return self.snapshots.load(archive, as_, columns)

    def list_snapshots(self, customer_filter: str | None = None) -> list[dict[str, Any]]:
        """Return the snapshots in the snapshot table, the newest first."""
        return [dict(vars(snapshot)) for snapshot in self.snapshots.snapshots(customer_filter)]

    def list_archives(self, customer_filter: str | None = None) -> list[dict[str, Any]]:
        """Return the archives of this table, the newest first."""
        found = self.snapshots.archives(customer_filter)
        return [{**vars(archive), "compression_ratio": archive.compression_ratio} for archive in found]

    def export_snapshot(self, archive_id: int, path: str | Path) -> int:
        """Write an archived snapshot as a Parquet file and return its size."""
        return self.snapshots.export(self.snapshots.find_archive(archive_id), path)

    # Analysis

    def compare_snapshots(self, before: int, after: int) -> Comparison:
        """Return what changed between two archives: rows, cells, and how often each column changed."""
        return self.snapshots.compare(before, after)

    def get_record_history(self, key: Any, customer_filter: str | None = None) -> list[dict[str, Any]]:
        """Return one record as each archive has it, the oldest first."""
        return self.snapshots.history(key, customer_filter)

    # Keeping house

    def get_archive_statistics(self, days_back: int = 30, customer_filter: str | None = None) -> dict[str, Any]:
        """Return numbers of the archive over the last days, per filter and in total."""
        return statistics_answer(days_back, self.snapshots.statistics(days_back, customer_filter))

    def cleanup_old_archives(self, keep_days: int | None = None, dry_run: bool = True) -> dict[str, Any]:
        """Remove archives that are older than `keep_days`, or only list them."""
        return cleanup_answer(dry_run, self.snapshots.clean_archive(keep_days, dry_run=dry_run))

    def cleanup_snapshot_history(self, customer_filter: str | None = None, keep_count: int | None = None) -> int:
        """Remove all but the newest snapshots from the snapshot table; return how many snapshots were removed."""
        return len(self.snapshots.clean_table(customer_filter, keep_count))

    def validate_archive_integrity(self, archive_id: int | None = None) -> Integrity:
        """Return `valid` or `corrupt` for each archive; `problems` of the answer has the reasons."""
        return Integrity.of(self.snapshots.problems(archive_id))


class ChangeDetector:
    """Finds new, changed, unchanged and deleted rows against the last snapshot."""

    def __init__(self, manager: HybridSnapshotManager) -> None:
        self._snapshots = manager.snapshots

    def detect(self, df: Any, customer_filter: str) -> Changes:
        """Return the rows of the frame by what happened to them since the last snapshot of the filter."""
        return self._snapshots.detect(df, customer_filter)

    def changed_columns(self, df: Any, customer_filter: str) -> Any:
        """Return which cells of changed rows differ from the last snapshot, as a table, and counts per column."""
        return self._snapshots.changed_cells(df, customer_filter)
