"""Mirrors of watermarks: compared with the ledger before a run moves rows, and written after it.

A killed run leaves its mirrors behind the ledger. The next run says so and writes them again, also when it has no rows
to move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidegate.errors import TidegateError
from tidegate.interfaces.session import Session
from tidegate.model.records import Watermark, text_of
from tidegate.model.report import Finding
from tidegate.runs.record import newest_watermark
from tidegate.runs.run import Run
from tidegate.state import own_tables
from tidegate.state.mirrors import FileMirror, PropertyMirror, TableMirror, WatermarkMirror
from tidegate.state.records import PIPELINE, whoami
from tidegate.tables.planned import PlannedTable


@dataclass
class Mirrors:
    """The mirrors that the configuration asks for, of the tables of one run."""

    run: Run
    session: Session
    tables: Sequence[PlannedTable]
    kinds: tuple[str, ...] = ()
    _copies: dict[tuple[str, str], Watermark | None] = field(default_factory=dict)
    """What each mirror of each table held when it was compared."""

    def compare(self) -> None:
        """Add a warning for every mirror that disagrees with the ledger. One that is missing disagrees with nobody."""
        for table, mirror in self._all():
            known = newest_watermark(self.session, table)
            try:
                copy = mirror.read()
            except ValueError:
                self._warn(table, f"{mirror.place} cannot be understood as a watermark; it is written again")
                continue
            except Exception as problem:  # of a catalog, a disk or a store; the run goes on without its mirror
                self._warn(table, f"{mirror.place} could not be read: {_reason(problem)}")
                continue
            self._copies[table.key, mirror.place] = copy
            if copy is not None and not _is_equal(copy, table, known):
                text = (
                    f"{mirror.place} has the watermark {copy.watermark_value or 'none'} where the ledger has"
                    f" {known or 'none'}: the ledger counts, and the mirror is written again"
                )
                self._warn(table, text)

    def write(self) -> None:
        """Write the ledger's watermark into every mirror that has another one."""
        for table, mirror in self._all():
            known, place = newest_watermark(self.session, table), (table.key, mirror.place)
            if place in self._copies and _is_equal(self._copies[place], table, known):
                continue
            at, who, change = self.session.now(), whoami(), table.table.change
            watermark = Watermark(PIPELINE, table.key, change.divided_by, known, change.name, at, who)
            try:
                mirror.write(watermark)
            except Exception as problem:  # the rows are loaded all the same
                self._warn(table, f"{mirror.place} could not be written: {_reason(problem)}; the next run tries again")

    def _all(self) -> Iterator[tuple[PlannedTable, WatermarkMirror]]:
        for table in self.tables:
            for kind in self.kinds:
                yield table, self._mirror(table, kind)

    def _mirror(self, table: PlannedTable, kind: str) -> WatermarkMirror:
        lake = self.run.pipeline.lake
        if kind == "file":
            return FileMirror(lake, table.key)
        if kind == "properties":
            name = table.table.lake_table.name
            return PropertyMirror(lake.opened(name), f"the lake table {name}")
        return TableMirror(self.session, PIPELINE, table.key, table.table.change.divided_by)

    def _warn(self, table: PlannedTable, text: str) -> None:
        self.run.findings.append(Finding(table.key, "watermark", text, severity="warning"))


def compared_mirrors(run: Run, control: Session, planned: Sequence[PlannedTable]) -> Mirrors:
    """Return the mirrors of these tables after they were compared with the ledger."""
    mirrors = Mirrors(run, control, planned, _usable(run, control))
    mirrors.compare()
    return mirrors


def write_mirrors(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write the ledger's watermarks into all mirrors, whatever they hold: a person has just set one."""
    Mirrors(run, control, planned, _usable(run, control)).write()


def _usable(run: Run, control: Session) -> tuple[str, ...]:
    """Return the kinds of mirrors that are asked for. Creates the own tables where a mirror is a row of them."""
    kinds = run.pipeline.project.watermark_mirrors
    try:
        if "table" in kinds and not own_tables.exist(control):
            own_tables.create(control)
    except TidegateError as problem:
        text = f"the table of watermarks could not be created: {problem.happened}"
        run.findings.append(Finding("", "watermark", text, severity="warning"))
        return tuple(kind for kind in kinds if kind != "table")
    return kinds


def _is_equal(copy: Watermark | None, table: PlannedTable, known: str | None) -> bool:
    """Return whether a copy says what the ledger says. None says that there is no watermark."""
    if copy is None:
        return known is None
    return (copy.watermark_column, text_of(copy.watermark_value)) == (table.table.change.divided_by, known)


def _reason(problem: Exception) -> str:
    return problem.happened if isinstance(problem, TidegateError) else type(problem).__name__
