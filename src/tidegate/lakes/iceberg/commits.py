"""The commits of an Iceberg table, as its metadata has them, and the facts that a new one carries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tidegate.lakes._commits import PREFIX, Commit, of_properties
from tidegate.lakes.iceberg.catalog import ancestors

COLUMNS = "columns."
KEPT = f"{PREFIX}kept"
"""The property with the facts of windows whose snapshots are expired."""
_DESCRIBED = ("columns", "storage_types", "text_columns")


def commits_of(metadata: Mapping[str, Any]) -> list[Commit]:
    """Return the commits that led to the current state of a table, oldest first. Of expired snapshots only those are
    there whose windows the table still has."""
    stored = metadata.get("properties", {})
    found = []
    for snapshot in ancestors(metadata):
        summary = snapshot.get("summary", {})
        at = datetime.fromtimestamp(snapshot["timestamp-ms"] / 1000, UTC).isoformat(timespec="milliseconds")
        facts = _explained(of_properties(summary), stored)
        found.append(Commit(str(snapshot["snapshot-id"]), at, summary.get("operation", ""), facts))
    there = {commit.version for commit in found}
    expired = [
        Commit(version, at, operation, _explained(facts, stored), is_expired=True)
        for version, at, operation, facts in json.loads(stored.get(KEPT, "[]"))
        if version not in there
    ]
    return [*expired, *found]


def _explained(facts: dict[str, Any], stored: Mapping[str, str]) -> dict[str, Any]:
    """Return facts with the columns that a property of the table tells."""
    if COLUMNS.rstrip(".") in facts:
        return {**facts, **json.loads(stored.get(f"{PREFIX}{COLUMNS}{facts['columns']}", "{}"))}
    return facts


def kept_as_text(commits: Sequence[Commit]) -> str:
    """Return what `commits_of` reads back of commits whose snapshots are expired."""
    return json.dumps([[one.version, one.at, one.operation, described(one.facts)[0]] for one in commits])


def described(facts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return facts with a short name for their columns, and the property of the table that explains it: a summary
    with hundreds of columns would make the metadata grow with every snapshot."""
    if "columns" not in facts:
        return dict(facts), {}
    text = json.dumps({name: facts[name] for name in _DESCRIBED})
    short = hashlib.sha256(text.encode()).hexdigest()[:16]
    rest = {name: value for name, value in facts.items() if name not in _DESCRIBED}
    return {**rest, "columns": short}, {f"{PREFIX}{COLUMNS}{short}": text}
