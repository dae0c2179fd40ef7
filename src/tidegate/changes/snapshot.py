"""Snapshot: the whole table is copied once a day. The lake keeps each copy under its date, the target has the newest.

The date is that of the source's clock in UTC. A second run of a day does nothing; `run --reload` replaces the copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._copies import CopyChange, CopyState
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.model.plan import Labels
from tidegate.model.values import Value, ValueKind
from tidegate.settings import Settings


class SnapshotSettings(Settings):
    """A table that is copied as a whole once a day."""


@dataclass(frozen=True)
class SnapshotChange(CopyChange):
    """The change of one table that is copied once a day."""

    name = "snapshot"
    Settings = SnapshotSettings

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.LOG, "snapshot")

    @property
    def labels(self) -> Labels:
        return Labels(window="the copy of {}", scope_name="the whole table")

    def window(self, now: str) -> Value:
        return Value.of(now[:10], ValueKind.TEXT)

    def why_extract(self, state: CopyState) -> str:
        entry = state.lake.get(state.next_window)
        if entry is None:
            return "there is no copy of this day"
        if entry.broken:
            return f"its file cannot be used: {entry.broken}"
        return "it was extracted with other columns" if state.has_other_columns(entry) else ""
