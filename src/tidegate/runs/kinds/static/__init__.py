"""Static tables: compared as a whole, moved when they differ, by their keys or all at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from tidegate.changes import content_hash
from tidegate.changes.content_hash import WHOLE
from tidegate.config.tables import StaticTable
from tidegate.loads import merge
from tidegate.loads import replace as replacing
from tidegate.loads._unit import Unit
from tidegate.loads.merge import Merge
from tidegate.model.columns import fingerprint
from tidegate.model.evidence import LedgerEntry, PartitionEvidence
from tidegate.model.plan import Land, Load, Request, Step
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.scope import Scope
from tidegate.model.status import TableStatus
from tidegate.model.values import Value
from tidegate.runs.kinds.kind import Compared, TableKind, Witnesses, comparison_of, difference_in_words
from tidegate.runs.kinds.static.looking import look
from tidegate.runs.kinds.static.status import status
from tidegate.runs.kinds.static.table import WholeTable, resolve
from tidegate.runs.landing import LandSlice
from tidegate.runs.loading import LoadSlice
from tidegate.runs.planned import Planned
from tidegate.runs.proving import CompareSlice
from tidegate.runs.tables import Catalogs
from tidegate.runs.work import Snapshot, Work
from tidegate.spark.slices import Facts, Slice
from tidegate.sql.contents import checksum


class StaticKind(TableKind):
    loads_in = 1
    known_by_stamp = False  # its only file costs one footer

    def resolve(self, settings: StaticTable, catalogs: Catalogs) -> WholeTable:
        return resolve(settings, catalogs)

    def look(self, table: WholeTable, at: Witnesses, *, count_all: bool) -> PartitionEvidence:
        return look(table, at)

    def plan(self, table: WholeTable, seen: PartitionEvidence, asked: Request) -> tuple[Scope, list[Step]]:
        return content_hash.plan(table.settings, seen, asked, deletes=table.deletes)

    def land_slice(self, work: Work, one: Planned, step: Land, snapshot: Snapshot, name: str) -> LandSlice:
        table = _table(one)
        by_server = table.settings.change_detection_method == "checksum"
        total = checksum(table.source.name, table.hashed_columns)
        return LandSlice(
            database=work.source,
            request=table.from_source(None),
            snapshot=snapshot.name,
            read_at=snapshot.taken_at,
            newest=total if by_server else None,
            watched=() if by_server else table.hashed,
            steady=None if table.source.reads_consistently else total,
            folder=work.lake.workspace(work.run),
            name=name,
            about={
                "table": str(table.lake_table),
                "column": table.lake_column,
                "value": step.value.text,
                "run": work.run,
                "columns_id": fingerprint(table.columns),
                "scope": one.plan.scope.to_json(),
                "why": step.why,
            },
        )

    def place(self, work: Work, one: Planned, value: Value) -> Path:
        return work.lake.static_path(one.table.lake_table, f"{datetime.now(timezone.utc):%Y-%m-%d-%H-%M-%S}")

    def load_slice(self, work: Work, one: Planned, step: Load, path: Path) -> LoadSlice:
        table = _table(one)
        unit = Unit(
            table=table.ledger_name,
            request=table.from_target(None),
            value=step.value,
            entry=LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=work.run),
            look_first=step.look_first,
            unless_hash=step.unless_hash,
            own_columns=table.own_columns,
            own_key=table.own_key,
        )
        return LoadSlice(
            database=work.target,
            way=merge.merge if table.merges else replacing.replace,
            work=_merge(table, unit) if table.merges else unit,
            lake=work.lake,
            path=path,
            lake_table=table.lake_table,
            lake_column=table.lake_column,
            boundary=work.boundary,
        )

    def left_behind(self, receipt: Receipt) -> str | None:
        return receipt.as_text()

    def status(self, one: Planned) -> TableStatus:
        return status(one, _table(one))

    # Proof

    def to_verify(self, one: Planned) -> tuple[list[Value], list[Finding]]:
        if not one.evidence.ledger:
            return [], [Finding(one.key, "scope", "nothing was loaded yet: there is nothing to verify")]
        if _table(one).settings.on_target_change == "keep" and status(one, _table(one)).values[0].state == "differs":
            text = "left out of the proof: `on_target_change: keep` and somebody changed rows in the target"
            return [], [Finding(one.key, "receipt", text, WHOLE.text, "note")]
        return [WHOLE], []

    def compare_slice(self, work: Compared, one: Planned, value: Value) -> Slice:
        """Where rows may stay that the source no longer has, only keys tell whether all others are there."""
        made, table = super().compare_slice(work, one, value), _table(one)
        assert isinstance(made, CompareSlice)
        return made if table.deletes else replace(made, keys=table.keys)

    def judged(self, one: Planned, value: Value, facts: Facts) -> tuple[Comparison, list[Finding]]:
        comparison, keys = comparison_of(one, value, facts), facts.get("keys")
        if comparison.equal:
            return comparison, []
        if not _table(one).deletes and keys is not None and set(keys) <= {"only in the target"}:
            comparison = replace(comparison, contained=True)
            more = keys["only in the target"]["count"]
            what = f"every row of the source is in the target, which holds {more:,} more (`allow_deletes` is off)"
            return comparison, [Finding(one.key, "receipt", what, value.text, "note")]
        return comparison, [Finding(one.key, "receipt", difference_in_words(comparison, keys), value.text)]


def _merge(table: WholeTable, unit: Unit) -> Merge:
    return Merge(**vars(unit), keys=table.row_key, deletes=table.deletes, rewrites=table.rewrites)


def _table(one: Planned) -> WholeTable:
    assert isinstance(one.table, WholeTable)
    return one.table
