"""The classes of a sync by way of Iceberg: a coordinator, and each of its parts for use alone.

`IncrementalSyncCoordinator.sync` is one run of the engine: what changed in the source is extracted into an Iceberg
table and merged into the target. The ledger of the target is the only state that decides.
"""

from tidegate.facades.sync_coordinator.coordinator import IncrementalSyncCoordinator
from tidegate.facades.sync_coordinator.detection import (
    ChangeDetectionStrategy,
    ChangeTrackingDetection,
    FullRefreshDetection,
    IdBasedChangeDetection,
    TimestampChangeDetection,
)
from tidegate.facades.sync_coordinator.importing import (
    AppendOnlyMergeStrategy,
    MergeStrategy,
    ReplaceMergeStrategy,
    Scd2MergeStrategy,
    SqlServerImporter,
    UpsertMergeStrategy,
)
from tidegate.facades.sync_coordinator.models import (
    AppendResult,
    ChangeDetectionMode,
    ImportOptions,
    ImportResult,
    IncrementalQuery,
    MergeMode,
    MergeOptions,
    MergeResult,
    ReadOptions,
    SyncOptions,
    SyncResult,
    Watermark,
)
from tidegate.facades.sync_coordinator.tables import FilesystemCatalog, IcebergAppender, IcebergReader
from tidegate.facades.sync_coordinator.watermarks import (
    DatabaseWatermarkStore,
    FileWatermarkStore,
    SqlServerWatermarkStore,
    TablePropertyWatermarkStore,
    WatermarkStore,
)

__all__ = [
    "AppendOnlyMergeStrategy",
    "AppendResult",
    "ChangeDetectionMode",
    "ChangeDetectionStrategy",
    "ChangeTrackingDetection",
    "DatabaseWatermarkStore",
    "FileWatermarkStore",
    "FilesystemCatalog",
    "FullRefreshDetection",
    "IcebergAppender",
    "IcebergReader",
    "IdBasedChangeDetection",
    "ImportOptions",
    "ImportResult",
    "IncrementalQuery",
    "IncrementalSyncCoordinator",
    "MergeMode",
    "MergeOptions",
    "MergeResult",
    "MergeStrategy",
    "ReadOptions",
    "ReplaceMergeStrategy",
    "Scd2MergeStrategy",
    "SqlServerImporter",
    "SqlServerWatermarkStore",
    "SyncOptions",
    "SyncResult",
    "TablePropertyWatermarkStore",
    "TimestampChangeDetection",
    "UpsertMergeStrategy",
    "Watermark",
    "WatermarkStore",
]
