"""The metadata of an Iceberg table under the names by which readers without a catalog find it."""

from __future__ import annotations

import re
from pathlib import Path

from tidegate.lakes.iceberg.catalog import local_path
from tidegate.storage.local import LocalFolder

_KEPT = 20
_NUMBER = re.compile(r"(\d+)-")
_MIRRORED = re.compile(r"v(\d+)\.metadata\.json")


def write_mirror(storage: LocalFolder, folder: str, location: str) -> None:
    """Copy a metadata file to `v{N}.metadata.json`, and name N in `version-hint.text`. Old copies go."""
    named = _NUMBER.match(location.rpartition("/")[2])
    if named is None:
        return
    number = int(named[1]) + 1
    storage.write_text(f"{folder}/v{number}.metadata.json", Path(local_path(location)).read_text())
    storage.write_text(f"{folder}/version-hint.text", str(number))
    for name in storage.names(folder):
        mirrored = _MIRRORED.fullmatch(name)
        if mirrored is not None and int(mirrored[1]) <= number - _KEPT:
            storage.discard(f"{folder}/{name}")
