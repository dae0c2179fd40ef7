"""Merge a table by its key: insert missing rows, update rows that differ, and delete rows where that is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.loads._merging import MergeLoad


@dataclass(frozen=True)
class Merge(MergeLoad):
    """The load of one table whose rows are applied by their key."""

    name = "merge"
