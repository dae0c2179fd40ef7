"""Fake installed packages: folders that `importlib.metadata` reads as installed distributions."""

from __future__ import annotations

from pathlib import Path

GROUPS = ("databases", "changes", "lakes", "loads", "checks")
"""The five things that a package can add to Tidegate."""
_METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n"
_ENTRY_POINTS = "[tidegate.{}]\n{} = {}\n"


def install_plugin(folder: Path, group: str, name: str, entry_point: str) -> None:
    """Write a distribution that adds one plug-in. The caller puts `folder` on the path.

    `group` is one of `GROUPS`, `entry_point` is `module:Class`. The distribution is named like the plug-in."""
    assert group in GROUPS, group
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(_METADATA.format(name))
    (about / "entry_points.txt").write_text(_ENTRY_POINTS.format(group, name, entry_point))


def install_database(folder: Path, kind: str, entry_point: str) -> None:
    """Write a distribution that adds one database."""
    install_plugin(folder, "databases", kind, entry_point)
