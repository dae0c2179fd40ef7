"""Full: the whole table is read in every run, and loaded where it differs from the copy before."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._copies import CopyChange, CopyState
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.model.plan import Labels
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.settings import Settings


class FullSettings(Settings):
    """A table that is copied as a whole in every run."""


@dataclass(frozen=True)
class FullChange(CopyChange):
    """The change of one table that is copied in every run."""

    name = "full"
    Settings = FullSettings

    @property
    def lake_table(self) -> LakeTable:
        return LakeTable(self.table.lake_name, Layout.WHOLE, "full")

    @property
    def labels(self) -> Labels:
        return Labels(window="the whole table", scope_name="the whole table")

    def window(self, now: str) -> Value:
        return WHOLE_TABLE

    def why_extract(self, state: CopyState) -> str:
        return "it is copied in every run"
