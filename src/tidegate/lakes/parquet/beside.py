"""A commit file that stands beside the files that it names, and how it is read."""

from __future__ import annotations

import json
from typing import Any

from tidegate.lakes._files import require_known_format
from tidegate.storage.door import Storage


def commit_facts(storage: Storage, path: str) -> dict[str, Any]:
    """Return the facts in a commit file. Raises ValueError when it cannot be read, or when a file is not whole."""
    facts = _commit(storage, path)
    folder = path.rpartition("/")[0]
    for part in facts["parts"]:
        size = storage.size(f"{folder}/{part['file']}")
        if size != part["bytes"]:
            raise ValueError(f"{part['file']} has {size:,} bytes, its commit file says {part['bytes']:,}")
    if facts["rows"] != sum(part["rows"] for part in facts["parts"]):
        raise ValueError("its batches have other rows than it says")
    return facts


def part_paths(storage: Storage, path: str) -> list[str]:
    """Return the files of the rows, in their order. Raises ValueError when the commit file cannot be read."""
    folder = path.rpartition("/")[0]
    return [f"{folder}/{part['file']}" for part in _commit(storage, path)["parts"]]


def _commit(storage: Storage, path: str) -> dict[str, Any]:
    text = storage.read_text(path)
    if not text:
        raise ValueError("its commit file is missing")
    facts: dict[str, Any] = json.loads(text)
    require_known_format(facts)
    return facts
