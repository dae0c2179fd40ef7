"""Values of snapshots: what the snapshot table keeps of one, what the archive keeps of one, and what a run found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TABLE_ONLY, ARCHIVED, REMOVED = "table", "archived", "removed"


@dataclass(frozen=True)
class Snapshot:
    """One snapshot of a filter in the snapshot table."""

    customer_filter: str
    batch_id: str
    snapshot_date: str
    """UTC, as in `2026-01-31 07:00:00.123456`. Later snapshots of a filter have later dates."""
    rows: int
    content_hash: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Each column that the row hash covers, with its Arrow type. Empty where nobody wrote it down."""
    archive_id: int | None = None
    state: str = TABLE_ONLY
    """`table`: not in the archive; `archived`; `removed`: the archive was removed by retention."""


@dataclass(frozen=True)
class Archive:
    """One snapshot in the archive, without its rows."""

    archive_id: int
    snapshot_table: str
    customer_filter: str
    batch_id: str
    snapshot_date: str
    rows: int
    parquet_size: int
    uncompressed_size: int
    chunks: int
    """0 if the Parquet file lies in the archive's own row."""
    content_hash: str
    """The SHA-256 of the file, or of the SHA-256 texts of its chunks in their order."""
    schema_hash: str
    tags: Mapping[str, Any] = field(default_factory=dict)
    retention_until: str | None = None
    chunk_bytes: int = 0
    """The size of every chunk but the last."""

    @property
    def compression_ratio(self) -> float:
        """Return how many bytes of rows in memory one byte of the file holds."""
        return round(self.uncompressed_size / self.parquet_size, 2) if self.parquet_size else 0.0


@dataclass(frozen=True)
class Problem:
    """What is wrong with one archive."""

    archive_id: int
    what: str
