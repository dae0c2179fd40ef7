"""Duplicates: keys of which the source or the target has several rows."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.interfaces.check import Check, Sides
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import Worker
from tidegate.model.names import pluralize
from tidegate.model.report import Finding
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.sql.contents import count_doubled
from tidegate.tables.planned import PlannedTable

SIDES = ("source", "target")


@dataclass(frozen=True)
class DoubledSplit:
    """Counts on both sides the keys that have several rows, and these rows. Each server answers one query."""

    sides: tuple[tuple[Database, ReadRequest], ...]
    keys: tuple[str, ...]

    def run(self, worker: Worker) -> list[tuple[int, int]]:
        return [self._count(worker, database, request) for database, request in self.sides]

    def _count(self, worker: Worker, database: Database, request: ReadRequest) -> tuple[int, int]:
        keys = request.only(self.keys).columns
        with worker.sessions.session(database, "verify", read_only=True) as session:
            [(doubled, rows)] = session.query(count_doubled(request.table, keys, request.rows))
        return int(str(doubled)), int(str(rows))


class DuplicatesCheck(Check):
    """Finds keys with several rows. In the source they are a warning: a load chooses one of them. In the target they
    are an error."""

    name = "duplicates"

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not planned.table.load.row_keys:
            return [], [Finding(planned.key, "duplicates", "nothing names a row: there is nothing to compare")]
        return [WHOLE_TABLE], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> DoubledSplit:
        change = planned.table.change
        requests = (sides.source, change.source_request(window)), (sides.target, change.target_request(window))
        return DoubledSplit(requests, tuple(planned.table.load.row_keys))

    def evaluate(
        self, planned: PlannedTable, window: Value, result: list[tuple[int, int]]
    ) -> tuple[None, list[Finding]]:
        findings = []
        for side, (doubled, rows) in zip(SIDES, result, strict=True):
            if doubled:
                keys = ", ".join(planned.table.load.row_keys)
                what = f"{pluralize(doubled, 'key')} ({keys}) with several rows in the {side}: {rows:,} rows"
                severity = "error" if side == "target" else "warning"
                findings.append(Finding(planned.key, "duplicates", what, window.text, severity))
        return None, findings
