"""Lake versions: of a table of versions that is kept in the lake, the current ones are the rows of the source."""

from __future__ import annotations

from typing import Any

from tidegate.checks._kept import KeptCheck
from tidegate.tables.planned import PlannedTable


class LakeVersions(KeptCheck):
    """Compares the source with the current versions of a table that is kept in the lake."""

    name = "lake_versions"
    loads = ("lake_scd2",)

    def flag(self, planned: PlannedTable) -> str:
        load: Any = planned.table.load
        return str(load.flag)
