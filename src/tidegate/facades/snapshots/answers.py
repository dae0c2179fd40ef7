"""Turn results of the engine into the dictionaries that users of the snapshot manager expect. They survive JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.model.snapshots import Problem

VALID, CORRUPT = "valid", "corrupt"


class Integrity(dict[int, str]):
    """`valid` or `corrupt` for each archive id. `problems` has the reasons of those that are corrupt."""

    problems: Mapping[int, list[str]]

    @classmethod
    def of(cls, found: Mapping[int, Sequence[Problem]]) -> Integrity:
        made = cls({number: CORRUPT if problems else VALID for number, problems in found.items()})
        made.problems = {number: [each.what for each in problems] for number, problems in found.items() if problems}
        return made


def statistics_answer(days_back: int, filters: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return numbers per filter and in total."""
    size, memory = (sum(row[name] for row in filters) for name in ("bytes", "uncompressed_bytes"))
    return {
        "days_back": days_back,
        "archives": sum(row["archives"] for row in filters),
        "rows": sum(row["rows"] for row in filters),
        "bytes": size,
        "uncompressed_bytes": memory,
        "compression_ratio": round(memory / size, 2) if size else None,
        "filters": {row["customer_filter"]: dict(row) for row in filters},
    }


def cleanup_answer(dry_run: bool, archives: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return which archives were removed, or would be."""
    return {
        "dry_run": dry_run,
        "archives": [dict(archive) for archive in archives],
        "count": len(archives),
        "bytes": sum(archive["bytes"] for archive in archives),
    }
