"""The log of a Delta table, as planning reads it: JSON files alone, without a library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from tidegate.errors import LakeError
from tidegate.lakes._commits import COMPACTED, Commit
from tidegate.storage.door import Storage

FOLDER = "_delta_log"
_VERSION = re.compile(r"(\d{20})\.json")


@dataclass(frozen=True)
class Place:
    """Where a table is."""

    storage: Storage
    folder: str

    @property
    def uri(self) -> str:
        return self.storage.full_path(self.folder)


def read_log(storage: Storage, folder: str) -> list[Commit]:
    """Return the commits of a table, oldest first; none when there is no such table."""
    log = f"{folder}/{FOLDER}"
    listed = storage.listed(log)
    names = [name for name in listed.names(log) if _VERSION.fullmatch(name)]
    return [_read(storage, f"{log}/{name}", listed.etag(f"{log}/{name}")) for name in names]


@lru_cache(maxsize=20_000)
def _read(storage: Storage, path: str, etag: str) -> Commit:
    """Return one commit. Its file never changes, as long as nobody puts another lake into the same place."""
    try:
        actions = [json.loads(line) for line in storage.read_text(path).splitlines() if line.strip()]
    except ValueError as problem:
        raise LakeError(
            f"{storage.full_path(path)} cannot be read: {problem}.",
            "The target keeps what it had.",
            "Restore the file, or move the table away: then everything is extracted anew.",
        ) from None
    info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    changes = [action for action in actions if _changes_rows(action)]
    taken = tuple(_names(changes, "remove"))
    facts = _facts(info)
    is_entry = bool(facts) and COMPACTED not in facts
    brought = () if is_entry else tuple(_names(actions, "add"))
    moved = () if changes or is_entry else tuple(_names(actions, "remove"))
    operation = "overwrite" if taken else "append" if changes else "replace"
    at = datetime.fromtimestamp(info.get("timestamp", 0) / 1000, UTC).isoformat(timespec="milliseconds")
    return Commit(str(int(path[-25:-5])), at, operation, facts, taken, moved, brought)


def _changes_rows(action: dict[str, Any]) -> bool:
    return any(action[kind].get("dataChange", True) for kind in ("add", "remove") if kind in action)


def _names(actions: list[dict[str, Any]], kind: str) -> Iterator[str]:
    for action in actions:
        if kind in action:
            yield unquote(action[kind]["path"]).rpartition("/")[2]


def _facts(info: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that a commit of ours carries; none of a commit of somebody else."""
    try:
        told = json.loads(info.get("userMetadata") or "{}")
    except (ValueError, TypeError):
        return {}
    facts = told.get("tidegate", {}) if isinstance(told, dict) else {}
    return facts if isinstance(facts, dict) else {}
