"""An entry of several parts: a folder that has the name which a single file would have, with a commit file inside.

    trades_cob_20240815.parquet/part-0001.parquet
    trades_cob_20240815.parquet/part-0002.parquet
    trades_cob_20240815.parquet/_committed.json

Facts that shape this file
 * The commit file is written last. A folder without it is no entry.
 * Spark and pyarrow skip names that begin with an underscore. So the folder is read as one Parquet table.
 * The commit file names every part with its size. A part that somebody removed or cut is noticed without reading rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from tidegate.interfaces.lake import Part
from tidegate.lakes._files import FORMAT, require_known_format
from tidegate.storage.door import Storage

COMMIT_FILE = "_committed.json"


def entry_id(folder: str) -> str:
    """Return the id of the entry in a folder: the path of its commit file."""
    return f"{folder}/{COMMIT_FILE}"


def is_folder(entry: str) -> bool:
    """Return whether an id is that of a folder."""
    return entry.endswith(f"/{COMMIT_FILE}")


def place_of(entry: str) -> str:
    """Return the file or the folder of an entry."""
    return entry.removesuffix(f"/{COMMIT_FILE}")


def etag_of(storage: Storage, entry: str) -> str:
    """Return what changes when the commit file or any part changes; empty when there is no commit file."""
    committed = storage.etag(entry)
    if not committed:
        return ""
    folder = place_of(entry)
    found = [f"{name} {storage.etag(f'{folder}/{name}')}" for name in storage.names(folder) if name != COMMIT_FILE]
    return f"{committed}-{hashlib.sha256(chr(10).join(found).encode()).hexdigest()[:16]}"


def publish(storage: Storage, parts: Sequence[Part], facts: dict[str, Any], folder: str, replaces: str = "") -> bool:
    """Make the parts appear together, in the place of what was there before.

    `replaces` is the etag of the commit file that is there. Return False where another one is there meanwhile."""
    names = _part_names(storage, parts)
    listed = [{"file": name, "rows": part.rows, "bytes": part.bytes} for name, part in zip(names, parts, strict=True)]
    commit = json.dumps({"format": FORMAT, **facts, "parts": listed})
    files = dict(zip(names, (part.id for part in parts), strict=True))
    return storage.publish_folder(files, (COMMIT_FILE, commit), folder, replaces)


def _part_names(storage: Storage, parts: Sequence[Part]) -> list[str]:
    """Return the names of parts in their folder. Without renames they are new ones in each commit: what is there stays
    readable until the commit file is replaced."""
    endings = ["" if storage.renames else f"-{hashlib.sha256(part.id.encode()).hexdigest()[:12]}" for part in parts]
    return [f"part-{number:04}{ending}.parquet" for number, ending in enumerate(endings, 1)]


def has_parts(storage: Storage, entry: str, parts: Sequence[Part]) -> bool:
    """Return whether the folder was committed with exactly these parts. Only names without renames tell that."""
    try:
        listed = [part["file"] for part in _commit(storage, entry)["parts"]]
    except (ValueError, KeyError):
        return False
    return not storage.renames and listed == _part_names(storage, parts)


def read_facts(storage: Storage, entry: str) -> dict[str, Any]:
    """Return the facts in a commit file. Raises ValueError when it cannot be read, or when a part is not whole."""
    facts = _commit(storage, entry)
    for part in facts["parts"]:
        size = storage.size(f"{place_of(entry)}/{part['file']}")
        if size != part["bytes"]:
            raise ValueError(f"{part['file']} has {size:,} bytes, its commit file says {part['bytes']:,}")
    if facts["rows"] != sum(part["rows"] for part in facts["parts"]):
        raise ValueError("its parts have other rows than it says")
    return facts


def part_files(storage: Storage, entry: str) -> list[str]:
    """Return the files of the rows, in their order. Raises ValueError when the commit file cannot be read."""
    return [f"{place_of(entry)}/{part['file']}" for part in _commit(storage, entry)["parts"]]


def _commit(storage: Storage, entry: str) -> dict[str, Any]:
    text = storage.read_text(entry)
    if not text:
        raise ValueError("its commit file is missing")
    facts: dict[str, Any] = json.loads(text)
    require_known_format(facts)
    return facts
