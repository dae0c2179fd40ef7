"""What the classes of the sync coordinator take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

BATCH_SIZE = 10_000


class ChangeDetectionMode(Enum):
    """How changed rows of the source are found."""

    TIMESTAMP = "timestamp"
    ID = "id"
    CHANGE_TRACKING = "change_tracking"
    FULL = "full"


class MergeMode(Enum):
    """How rows are applied to the target."""

    UPSERT = "upsert"
    APPEND_ONLY = "append_only"
    REPLACE = "replace"
    SCD2 = "scd2"


@dataclass(frozen=True)
class SyncOptions:
    """How one table is synced. Without a watermark column the whole table is compared."""

    watermark_column: str | None = None
    primary_key_column: str | Sequence[str] | None = None
    """The source's primary key, when it is left out."""
    mode: ChangeDetectionMode | str | None = None
    """`timestamp` with a watermark column and `full` without one, when it is left out."""
    merge_mode: MergeMode | str = MergeMode.UPSERT
    batch_size: int = BATCH_SIZE
    enable_logging: bool = True
    max_retries: int = 3
    """How often a sync is repeated after a problem that may pass."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the table, as `tidegate.yml` has them: `look_back`, `deletes`, `null_cursor`."""


@dataclass(frozen=True)
class Watermark:
    """How far a table was synced."""

    table_name: str
    last_sync_timestamp: datetime | None = None
    last_sync_id: int | None = None
    last_iceberg_snapshot: int | None = None
    row_count: int = 0
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def value(self) -> datetime | int | None:
        return self.last_sync_timestamp if self.last_sync_timestamp is not None else self.last_sync_id


@dataclass(frozen=True)
class SyncResult:
    """What one sync did. Where it failed, `error_message` says what happened, what is safe and what to do."""

    success: bool
    rows_extracted: int = 0
    rows_appended: int = 0
    rows_imported: int = 0
    new_snapshot_id: int | None = None
    new_watermark: Watermark | None = None
    duration: timedelta = timedelta(0)
    error_message: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """What is read of an Iceberg table."""

    filter: str = ""
    """A condition, such as `customer_id > 5 and name is not null`."""
    columns: Sequence[str] | None = None
    snapshot_id: int | None = None
    since_snapshot_id: int | None = None
    """Read only rows that came after this snapshot."""
    batch_size: int = BATCH_SIZE


@dataclass(frozen=True)
class AppendResult:
    """What an append committed."""

    table_name: str
    snapshot_id: int
    rows_appended: int
    committed_at: datetime


@dataclass(frozen=True)
class ImportOptions:
    """How rows are imported."""

    primary_key_column: str | Sequence[str] | None = None
    merge_mode: MergeMode | str = MergeMode.UPSERT
    effective_date_column: str | None = None
    """Of versions (`scd2`): the column that a version starts with."""
    batch_size: int = BATCH_SIZE
    max_retries: int = 3


@dataclass(frozen=True)
class ImportResult:
    """What an import did."""

    success: bool
    rows_imported: int = 0
    rows_inserted: int = 0
    rows_updated: int = 0
    duration: timedelta = timedelta(0)
    error_message: str | None = None


MergeOptions = ImportOptions


@dataclass(frozen=True)
class MergeResult:
    """What a merge did."""

    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    rows_unchanged: int = 0

    @property
    def rows_affected(self) -> int:
        return self.rows_inserted + self.rows_updated + self.rows_deleted


@dataclass(frozen=True)
class IncrementalQuery:
    """The query for the rows that changed."""

    query: str
    table_name: str
    watermark_column: str | None = None
    after: datetime | int | None = None
    """Rows from this value on, which itself is read once more."""

    @property
    def is_full(self) -> bool:
        return self.after is None


def names_of(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns that are given as one text, `a, b`, or as a list."""
    if columns is None:
        return ()
    return tuple(name.strip() for name in columns.split(",")) if isinstance(columns, str) else tuple(columns)
