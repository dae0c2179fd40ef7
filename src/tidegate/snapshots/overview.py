"""Facts about snapshots for people: per filter what table and archive keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.model.snapshots import TABLE_ONLY, Archive, Snapshot


def overview(snapshots: Sequence[Snapshot], archives: Sequence[Archive]) -> list[dict[str, Any]]:
    """Return the facts of every filter, in the order of their names. They survive JSON."""
    filters = sorted({*(each.customer_filter for each in snapshots), *(each.customer_filter for each in archives)})
    return [_facts(name, snapshots, archives) for name in filters]


def _facts(name: str, snapshots: Sequence[Snapshot], archives: Sequence[Archive]) -> dict[str, Any]:
    kept = [snapshot for snapshot in snapshots if snapshot.customer_filter == name]
    stored = sorted(
        (archive for archive in archives if archive.customer_filter == name), key=lambda each: each.snapshot_date
    )
    size, memory = sum(each.parquet_size for each in stored), sum(each.uncompressed_size for each in stored)
    dates = sorted([*(each.snapshot_date for each in kept), *(each.snapshot_date for each in stored)])
    return {
        "customer_filter": name,
        "in_table": len(kept),
        "without_archive": sum(snapshot.state == TABLE_ONLY for snapshot in kept),
        "archives": len(stored),
        "rows": sum(each.rows for each in stored),
        "bytes": size,
        "uncompressed_bytes": memory,
        "ratio": round(memory / size, 2) if size else None,
        "oldest": _iso(dates[0]),
        "newest": _iso(dates[-1]),
        "sizes": [each.parquet_size for each in stored],
    }


def _iso(date: str) -> str:
    """Return a date of the server, which is in UTC, as the report reads it."""
    return f"{date.replace(' ', 'T')}+00:00"
