"""The commits of an Iceberg table, as its metadata has them, and the facts that a new one carries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tidegate.lakes._commits import PREFIX, Commit, of_properties
from tidegate.lakes.iceberg.catalog import ancestors

COLUMNS = "columns."
_DESCRIBED = ("columns", "storage_types", "text_columns")


def commits_of(metadata: Mapping[str, Any]) -> list[Commit]:
    """Return the commits that led to the current state of a table, oldest first."""
    stored = metadata.get("properties", {})
    found = []
    for snapshot in ancestors(metadata):
        summary = snapshot.get("summary", {})
        facts = of_properties(summary)
        if COLUMNS.rstrip(".") in facts:
            facts |= json.loads(stored.get(f"{PREFIX}{COLUMNS}{facts['columns']}", "{}"))
        at = datetime.fromtimestamp(snapshot["timestamp-ms"] / 1000, UTC).isoformat(timespec="milliseconds")
        found.append(Commit(str(snapshot["snapshot-id"]), at, summary.get("operation", ""), facts))
    return found


def described(facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return facts with a short name for their columns, and the property of the table that explains it: a summary
    with hundreds of columns would make the metadata grow with every snapshot."""
    if "columns" not in facts:
        return dict(facts), {}
    text = json.dumps({name: facts[name] for name in _DESCRIBED})
    short = hashlib.sha256(text.encode()).hexdigest()[:16]
    rest = {name: value for name, value in facts.items() if name not in _DESCRIBED}
    return {**rest, "columns": short}, {f"{PREFIX}{COLUMNS}{short}": text}
