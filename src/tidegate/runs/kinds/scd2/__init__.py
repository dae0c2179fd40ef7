"""Tables of versions (SCD type 2): read by their mark, loaded into timelines whose flags are settled."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tidegate.changes import mark
from tidegate.changes.mark import ALL, MarkEvidence, Window
from tidegate.config.tables import Scd2Table
from tidegate.interfaces import ReadRequest
from tidegate.lakes.parquet import ParquetLake
from tidegate.loads import scd2
from tidegate.loads._unit import Batches
from tidegate.loads._version_load import Made, VersionLoad
from tidegate.model.columns import Column, fingerprint
from tidegate.model.coverage import Coverage
from tidegate.model.evidence import LedgerEntry, PartitionEvidence
from tidegate.model.plan import Land, Load, Request, Step
from tidegate.model.report import Comparison, Finding
from tidegate.model.scope import Scope
from tidegate.model.status import VersionsStatus
from tidegate.model.values import Value
from tidegate.runs.kinds.kind import Compared, TableKind, Witnesses, comparison_of
from tidegate.runs.kinds.scd2.covering import coverage_of
from tidegate.runs.kinds.scd2.looking import look
from tidegate.runs.kinds.scd2.proving import CompareVersions
from tidegate.runs.kinds.scd2.status import status
from tidegate.runs.kinds.scd2.table import VersionTable, resolve
from tidegate.runs.landing import LandSlice
from tidegate.runs.loading import LoadSlice
from tidegate.runs.planned import Planned
from tidegate.runs.tables import Catalogs
from tidegate.runs.work import Snapshot, Work
from tidegate.spark.slices import Facts
from tidegate.sql import marks
from tidegate.sql.contents import checksum
from tidegate.sql.text import Sql


class Scd2Kind(TableKind):
    loads_in = 2
    known_by_stamp = False
    one_at_a_time = True  # what was read later has the last word

    def resolve(self, settings: Scd2Table, catalogs: Catalogs) -> VersionTable:
        return resolve(settings, catalogs)

    def look(self, table: VersionTable, at: Witnesses, *, count_all: bool) -> MarkEvidence:
        return look(table, at, count_all=count_all)

    def plan(self, table: VersionTable, seen: PartitionEvidence, asked: Request) -> tuple[Scope, list[Step]]:
        assert isinstance(seen, MarkEvidence)
        return mark.plan(table.settings, seen, asked, table.look_back)

    def coverage(self, table: VersionTable, seen: PartitionEvidence, scope: Scope) -> Coverage:
        assert isinstance(seen, MarkEvidence)
        return coverage_of(table.settings, seen, scope)

    def land_slice(self, work: Work, one: Planned, step: Land, snapshot: Snapshot, name: str) -> LandSlice:
        table = _table(one)
        window = Window.from_json(step.window, table.marks_of)
        request = table.from_source(_rows(one, window))
        return LandSlice(
            database=work.source,
            request=request,
            snapshot=snapshot.name,
            read_at=snapshot.taken_at,
            newest=None,
            tail=_tail(table, window) if table.mark is not None else None,
            watched=() if table.mark is not None else tuple(column.name for column in table.kept_columns),
            steady=None if table.source.reads_consistently else _steady(table, window),
            keys=table.all_keys if table.reads_keys else None,
            check=partial(_check_current_rows, work.lake, _unit(table, step.value, LedgerEntry(1, "loaded", 0, ""))),
            folder=work.lake.workspace(work.run),
            name=name,
            about={
                "table": str(table.lake_table),
                "column": table.lake_column,
                "value": step.value.text,
                "window": step.window,
                "run": work.run,
                "columns_id": fingerprint(request.columns),
                "scope": one.plan.scope.to_json(),
                "why": step.why,
            },
        )

    def place(self, work: Work, one: Planned, value: Value) -> Path:
        return work.lake.scd_path(one.table.lake_table, value.text)

    def published(self, work: Work, one: Planned, value: Value, facts: Facts) -> list[tuple[Path, Path]]:
        own = super().published(work, one, value, facts)
        if facts["keys"] is None:
            return own
        return [(Path(facts["keys"]), work.lake.scd_keys_path(one.table.lake_table, value.text)), *own]

    def load_slice(self, work: Work, one: Planned, step: Load, path: Path) -> LoadSlice:
        table, rows, size = _table(one), step.rows or 0, _table(one).settings.batch_size
        entry = LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=work.run)
        unit = _unit(table, step.value, entry)
        # Only all rows together tell which keys are gone, where no file of their own does.
        is_one = step.exact or (unit.closes_absent and not table.reads_keys)
        keys = work.lake.scd_keys_path(table.lake_table, step.value.text)
        return LoadSlice(
            database=work.target,
            way=scd2.load,
            work=replace(
                unit,
                made=_made(table),
                wins=step.is_newest,
                exact=step.exact,
                landed=_landed(work.lake, table, unit),
                held=_held(one),
                parts=-(-rows // size) or 1 if size and not is_one else 1,
            ),
            lake=work.lake,
            path=path,
            lake_table=table.lake_table,
            lake_column=table.lake_column,
            boundary=work.boundary,
            # Files from before it was asked for have none, and those that lost theirs are broken.
            keys=keys if table.reads_keys and keys.exists() else None,
        )

    def adopted(self, seen: PartitionEvidence) -> Scope:
        """As a first run would set it: what the target holds is brought in step from there on."""
        assert isinstance(seen, MarkEvidence)
        return seen.scope or Scope(seen.floor)

    def status(self, one: Planned) -> VersionsStatus:
        return status(one)

    # Proof

    def to_verify(self, one: Planned) -> tuple[list[Value], list[Finding]]:
        if not one.evidence.ledger:
            return [], [Finding(one.key, "scope", "nothing was loaded yet: there is no scope to verify")]
        return [ALL], []

    def compare_slice(self, work: Compared, one: Planned, value: Value) -> CompareVersions:
        table, seen, floor = _table(one), one.evidence, one.plan.scope.floor
        assert isinstance(seen, MarkEvidence)
        upto = mark.reach(seen.in_ledger.values(), floor)
        known = max((batch, seen.ledger[batch]) for batch in seen.in_ledger or seen.ledger)[1]
        later = marks.beyond(table.mark, upto) if table.mark is not None and upto is not None else None
        form = replace(_unit(table, value, known), made=_made(table), entry=replace(known, newest=None))
        return CompareVersions(
            source=work.source,
            target=work.target,
            snapshot=work.snapshot.name,
            inside=table.from_source(table.source_rows(floor, upto, whole_scope=True)),
            beyond=table.from_source(later) if later is not None else None,
            held=table.from_target(None),
            floor=floor.text if floor is not None and table.sorts_alike else None,
            form=form,
            text_columns=known.text_columns,
            keys=table.all_keys if table.reads_keys else None,
            landed=_landed(work.lake, table, form),
            besides="note" if table.settings.on_target_change == "keep" else "error",
        )

    def judged(self, one: Planned, value: Value, facts: Facts) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(one, value, facts)
        found = facts["findings"]
        if not any(severity == "error" for _, _, severity in found):
            comparison = replace(comparison, contained=True)
        return comparison, [Finding(one.key, check, what, value.text, severity) for check, what, severity in found]


def _table(one: Planned) -> VersionTable:
    assert isinstance(one.table, VersionTable)
    return one.table


def _held(one: Planned) -> int | None:
    """None where several files are loaded: what the first brings was not there when the target was counted."""
    assert isinstance(one.evidence, MarkEvidence)
    loads = [step for step in one.plan.steps if isinstance(step, Load)]
    return (one.evidence.held or 0) if len(loads) == 1 else None


def _rows(one: Planned, window: Window) -> Sql | None:
    return _table(one).source_rows(window.after, window.upto, whole_scope=window.after == one.plan.scope.floor)


def _tail(table: VersionTable, window: Window) -> ReadRequest:
    """What is beyond the bound was not read, and must look like news next time."""
    low = window.mark.less(table.look_back) if window.mark is not None else None
    return table.tail(low, window.upto)


def _steady(table: VersionTable, window: Window) -> Sql:
    """What must be the same before and after, where no snapshot can be had."""
    if table.mark is None:
        return checksum(table.source.name, table.kept_columns)
    return marks.tail(table.source.name, table.mark, window.after)


def _check_current_rows(lake: ParquetLake, unit: VersionLoad, request: ReadRequest, path: Path) -> None:
    """Raise ValueProblem when the rows of a file have several current ones for a business key."""
    rows = partial(lake.batches, path, request.batch.rows, request.batch.bytes)
    scd2.require_one_current_row(replace(unit, request=request), rows)


def _made(table: VersionTable) -> Made | None:
    if not table.is_made:
        return None
    return Made(table.made_columns, table.mark.name if table.mark is not None else "")


def _unit(table: VersionTable, value: Value, entry: LedgerEntry) -> VersionLoad:
    return VersionLoad(
        table=table.ledger_name,
        request=replace(table.from_target(None), columns=_in_target(table)),
        value=value,
        entry=entry,
        keys=table.business_keys,
        mark=table.start.name,
        mark_kind=table.marks_of,
        version_key=table.version_key,
        wider_keys=table.wider_keys,
        flag=table.flag.name if table.flag else None,
        end=table.end.name if table.end else None,
        outside=table.outside,
        tombstone=table.tombstone,
        latest=table.settings.latest_value,
        superseded=table.settings.superseded_value,
        recompute=table.recompute,
        closes_absent=table.settings.deletes == "close",
        own_columns=table.own_columns,
        own_key=table.own_key,
    )


def _landed(lake: ParquetLake, table: VersionTable, unit: VersionLoad) -> Batches | None:
    """What names a version, as the lake has it: one that is made here begins with its mark."""
    if table.mark is None:
        return None
    names = [table.mark.name if name == table.start.name else name for name in unit.form.group]
    return partial(lake.scd_rows, table.lake_table, names, unit.request.batch.rows, unit.request.batch.bytes)


def _in_target(table: VersionTable) -> tuple[Column, ...]:
    """The target's columns that the source has too."""
    return tuple(column for column in table.target_columns if column.name not in table.made_names)
