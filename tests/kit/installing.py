"""Packages of strangers: a folder that Python's own `importlib.metadata` takes for an installed distribution."""

from __future__ import annotations

from pathlib import Path

_METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n"
_ENTRY_POINTS = "[tidegate.databases]\n{} = {}\n"


def install_database(folder: Path, kind: str, entry_point: str) -> None:
    """A distribution that adds one database. `folder` has yet to be put on the path."""
    about = folder / f"{kind}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(_METADATA.format(kind))
    (about / "entry_points.txt").write_text(_ENTRY_POINTS.format(kind, entry_point))
