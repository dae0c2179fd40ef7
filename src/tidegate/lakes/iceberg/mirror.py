"""The metadata of an Iceberg table under the names by which readers without a catalog find it."""

from __future__ import annotations

import re

from tidegate.lakes.iceberg.catalog import read_text
from tidegate.storage.door import Storage

_KEPT = 20
_NUMBER = re.compile(r"(\d+)-")
_MIRRORED = re.compile(r"v(\d+)\.metadata\.json")


def write_mirror(storage: Storage, folder: str, location: str) -> None:
    """Copy a metadata file to `v{N}.metadata.json`, and name N in `version-hint.text`. Old copies go."""
    named = _NUMBER.match(location.rpartition("/")[2])
    if named is None:
        return
    number = int(named[1]) + 1
    storage.write_text(f"{folder}/v{number}.metadata.json", read_text(storage, location))
    storage.write_text(f"{folder}/version-hint.text", str(number))
    for name in storage.names(folder):
        mirrored = _MIRRORED.fullmatch(name)
        if mirrored is not None and int(mirrored[1]) <= number - _KEPT:
            storage.discard(f"{folder}/{name}")
