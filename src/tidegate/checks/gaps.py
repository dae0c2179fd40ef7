"""Gaps: cursor values that an open transaction could still write when the watermark went past them."""

from __future__ import annotations

from typing import Any

from tidegate.interfaces.check import Check, Sides
from tidegate.model.report import Comparison, Finding
from tidegate.model.status import VersionsStatus
from tidegate.model.values import Value
from tidegate.tables.planned import PlannedTable
from tidegate.tables.status import status_of


class GapsCheck(Check):
    """Names every gap that is carried. It is read again when its transaction has ended."""

    name = "gaps"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        status = status_of(planned)
        gaps = status.gaps if isinstance(status, VersionsStatus) else ()
        return [], [Finding(planned.key, "gaps", f"carried: {gap}", severity="warning") for gap in gaps]

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> None:
        return None

    def evaluate(self, planned: PlannedTable, window: Value, result: Any) -> tuple[Comparison | None, list[Finding]]:
        return None, []
