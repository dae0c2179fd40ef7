"""Tidegate keeps copies of database tables up to date, incrementally and provably.

The vocabulary      errors, model, interfaces, plugins, sql, rows
What can be added   databases -> changes -> lakes -> loads
The engine          config, state, runs, ops, spark, reports
The doors           api, cli
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tidegate._version import __version__

if TYPE_CHECKING:
    from tidegate.api import TableSync as TableSync
    from tidegate.api import Tidegate as Tidegate
    from tidegate.errors import RunFailed as RunFailed
    from tidegate.errors import TidegateError as TidegateError
    from tidegate.facades.load_manager import IncrementalLoadManager as IncrementalLoadManager
    from tidegate.facades.pipeline import IncrementalSQLServerParquetPipeline as IncrementalSQLServerParquetPipeline
    from tidegate.facades.snapshots import ChangeDetector as ChangeDetector
    from tidegate.facades.snapshots import HybridSnapshotManager as HybridSnapshotManager
    from tidegate.facades.sync_coordinator import AppendOnlyMergeStrategy as AppendOnlyMergeStrategy
    from tidegate.facades.sync_coordinator import AppendResult as AppendResult
    from tidegate.facades.sync_coordinator import ChangeDetectionMode as ChangeDetectionMode
    from tidegate.facades.sync_coordinator import ChangeDetectionStrategy as ChangeDetectionStrategy
    from tidegate.facades.sync_coordinator import ChangeTrackingDetection as ChangeTrackingDetection
    from tidegate.facades.sync_coordinator import DatabaseWatermarkStore as DatabaseWatermarkStore
    from tidegate.facades.sync_coordinator import FilesystemCatalog as FilesystemCatalog
    from tidegate.facades.sync_coordinator import FileWatermarkStore as FileWatermarkStore
    from tidegate.facades.sync_coordinator import FullRefreshDetection as FullRefreshDetection
    from tidegate.facades.sync_coordinator import IcebergAppender as IcebergAppender
    from tidegate.facades.sync_coordinator import IcebergReader as IcebergReader
    from tidegate.facades.sync_coordinator import IdBasedChangeDetection as IdBasedChangeDetection
    from tidegate.facades.sync_coordinator import ImportOptions as ImportOptions
    from tidegate.facades.sync_coordinator import ImportResult as ImportResult
    from tidegate.facades.sync_coordinator import IncrementalQuery as IncrementalQuery
    from tidegate.facades.sync_coordinator import IncrementalSyncCoordinator as IncrementalSyncCoordinator
    from tidegate.facades.sync_coordinator import MergeMode as MergeMode
    from tidegate.facades.sync_coordinator import MergeOptions as MergeOptions
    from tidegate.facades.sync_coordinator import MergeResult as MergeResult
    from tidegate.facades.sync_coordinator import MergeStrategy as MergeStrategy
    from tidegate.facades.sync_coordinator import ReadOptions as ReadOptions
    from tidegate.facades.sync_coordinator import ReplaceMergeStrategy as ReplaceMergeStrategy
    from tidegate.facades.sync_coordinator import Scd2MergeStrategy as Scd2MergeStrategy
    from tidegate.facades.sync_coordinator import SqlServerImporter as SqlServerImporter
    from tidegate.facades.sync_coordinator import SqlServerWatermarkStore as SqlServerWatermarkStore
    from tidegate.facades.sync_coordinator import SyncOptions as SyncOptions
    from tidegate.facades.sync_coordinator import SyncResult as SyncResult
    from tidegate.facades.sync_coordinator import TablePropertyWatermarkStore as TablePropertyWatermarkStore
    from tidegate.facades.sync_coordinator import TimestampChangeDetection as TimestampChangeDetection
    from tidegate.facades.sync_coordinator import UpsertMergeStrategy as UpsertMergeStrategy
    from tidegate.facades.sync_coordinator import Watermark as Watermark
    from tidegate.facades.sync_coordinator import WatermarkStore as WatermarkStore
    from tidegate.frames.source import register as register
    from tidegate.ops.queries import get_incremental_query as get_incremental_query
    from tidegate.runs.listener import Listener as Listener
    from tidegate.storage.keys import generate_s3_key as generate_s3_key

__all__ = [
    "AppendOnlyMergeStrategy",
    "AppendResult",
    "ChangeDetectionMode",
    "ChangeDetectionStrategy",
    "ChangeDetector",
    "ChangeTrackingDetection",
    "DatabaseWatermarkStore",
    "FileWatermarkStore",
    "FilesystemCatalog",
    "FullRefreshDetection",
    "HybridSnapshotManager",
    "IcebergAppender",
    "IcebergReader",
    "IdBasedChangeDetection",
    "ImportOptions",
    "ImportResult",
    "IncrementalLoadManager",
    "IncrementalQuery",
    "IncrementalSQLServerParquetPipeline",
    "IncrementalSyncCoordinator",
    "Listener",
    "MergeMode",
    "MergeOptions",
    "MergeResult",
    "MergeStrategy",
    "ReadOptions",
    "ReplaceMergeStrategy",
    "RunFailed",
    "Scd2MergeStrategy",
    "SqlServerImporter",
    "SqlServerWatermarkStore",
    "SyncOptions",
    "SyncResult",
    "TablePropertyWatermarkStore",
    "TableSync",
    "Tidegate",
    "TidegateError",
    "TimestampChangeDetection",
    "UpsertMergeStrategy",
    "Watermark",
    "WatermarkStore",
    "__version__",
    "generate_s3_key",
    "get_incremental_query",
    "register",
]

_SYNC = "tidegate.facades.sync_coordinator"
_HOMES = {
    "generate_s3_key": "tidegate.storage.keys",
    "get_incremental_query": "tidegate.ops.queries",
    "AppendOnlyMergeStrategy": _SYNC,
    "AppendResult": _SYNC,
    "ChangeDetectionMode": _SYNC,
    "ChangeDetectionStrategy": _SYNC,
    "ChangeTrackingDetection": _SYNC,
    "DatabaseWatermarkStore": _SYNC,
    "FileWatermarkStore": _SYNC,
    "FilesystemCatalog": _SYNC,
    "FullRefreshDetection": _SYNC,
    "IcebergAppender": _SYNC,
    "IcebergReader": _SYNC,
    "IdBasedChangeDetection": _SYNC,
    "ImportOptions": _SYNC,
    "ImportResult": _SYNC,
    "IncrementalQuery": _SYNC,
    "IncrementalSyncCoordinator": _SYNC,
    "MergeMode": _SYNC,
    "MergeOptions": _SYNC,
    "MergeResult": _SYNC,
    "MergeStrategy": _SYNC,
    "ReadOptions": _SYNC,
    "ReplaceMergeStrategy": _SYNC,
    "Scd2MergeStrategy": _SYNC,
    "SqlServerImporter": _SYNC,
    "SqlServerWatermarkStore": _SYNC,
    "SyncOptions": _SYNC,
    "SyncResult": _SYNC,
    "TablePropertyWatermarkStore": _SYNC,
    "TimestampChangeDetection": _SYNC,
    "UpsertMergeStrategy": _SYNC,
    "Watermark": _SYNC,
    "WatermarkStore": _SYNC,
    "ChangeDetector": "tidegate.facades.snapshots",
    "HybridSnapshotManager": "tidegate.facades.snapshots",
    "IncrementalLoadManager": "tidegate.facades.load_manager",
    "IncrementalSQLServerParquetPipeline": "tidegate.facades.pipeline",
    "Listener": "tidegate.runs.listener",
    "RunFailed": "tidegate.errors",
    "TableSync": "tidegate.api",
    "Tidegate": "tidegate.api",
    "TidegateError": "tidegate.errors",
    "register": "tidegate.frames.source",
}


def __getattr__(name: str) -> Any:
    # Public names load on first use: `tidegate --help` and Spark's workers need none of them.
    if name not in _HOMES:
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
