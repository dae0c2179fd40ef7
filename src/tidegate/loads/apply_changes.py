"""Apply the changes of a change feed in the order of the log: the last change of each key wins, deletes included."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.loads._merging import MergeLoad


@dataclass(frozen=True)
class ApplyChanges(MergeLoad):
    """The load of one table to which the changes of a change feed are applied. It does what `merge` does with them."""

    name = "apply_changes"
