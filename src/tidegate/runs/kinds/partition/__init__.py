"""Partition tables: each value of one column moves and is proved as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegate.changes import partition
from tidegate.changes.partition import settled_values
from tidegate.config.tables import PartitionTable
from tidegate.interfaces import ReadRequest
from tidegate.loads import replace_partition
from tidegate.loads.replace_partition import Replacement
from tidegate.model.columns import fingerprint
from tidegate.model.coverage import Coverage
from tidegate.model.evidence import LedgerEntry, PartitionEvidence
from tidegate.model.plan import Land, Load, Remove, Request, Step
from tidegate.model.report import Comparison, Finding
from tidegate.model.scope import Scope
from tidegate.model.values import Value
from tidegate.runs.kinds.kind import RemovingKind, Witnesses, comparison_of, difference_in_words
from tidegate.runs.kinds.partition import looking
from tidegate.runs.kinds.partition.covering import coverage_of
from tidegate.runs.kinds.partition.table import PartitionedTable, resolve
from tidegate.runs.kinds.partition.together import LoadTogether
from tidegate.runs.landing import LandSlice
from tidegate.runs.loading import LoadSlice
from tidegate.runs.planned import Planned
from tidegate.runs.tables import Catalogs
from tidegate.runs.work import Snapshot, Work
from tidegate.spark.slices import Facts, Slice
from tidegate.sql.partitions import counts, delete_value, newest_of_value


class PartitionKind(RemovingKind):
    loads_in = 3
    updates = False  # but for columns that only the target has, which `grants` cannot know of

    def resolve(self, settings: PartitionTable, catalogs: Catalogs) -> PartitionedTable:
        return resolve(settings, catalogs)

    def look(self, table: PartitionedTable, at: Witnesses, *, count_all: bool) -> PartitionEvidence:
        return looking.look(table, at, count_all=count_all)

    def plan(self, table: PartitionedTable, seen: PartitionEvidence, asked: Request) -> tuple[Scope, list[Step]]:
        return partition.plan(table.settings, seen, asked)

    def coverage(self, table: PartitionedTable, seen: PartitionEvidence, scope: Scope) -> Coverage:
        return coverage_of(table.settings, seen, scope)

    def land_slice(self, work: Work, one: Planned, step: Land, snapshot: Snapshot, name: str) -> LandSlice:
        table, value = _table(one), step.value
        from_source = step.origin == "source"
        entry = one.evidence.ledger.get(value)
        request = table.source_request(value) if from_source else _as_it_was_loaded(table, value, entry)
        watched = table.restatement_column if from_source else None
        steady = counts(table.source.name, table.column, [value], watched)
        return LandSlice(
            database=work.source if from_source else work.target,
            request=request,
            snapshot=snapshot.name if from_source else "",
            read_at=snapshot.taken_at if from_source else "",
            newest=newest_of_value(table.source.name, table.column, value, watched) if watched else None,
            steady=steady if from_source and not table.source.reads_consistently else None,
            folder=work.lake.workspace(work.run),
            name=name,
            about={
                "table": str(table.lake_table),
                "column": table.lake_column,
                "value": value.text,
                "run": work.run,
                "columns_id": fingerprint(request.columns),
                "scope": one.plan.scope.to_json(),
                "why": step.why,
            },
            proven_by="" if from_source or entry is None else entry.hash,
        )

    def place(self, work: Work, one: Planned, value: Value) -> Path:
        return work.lake.path_of(one.table.lake_table, one.table.lake_column, value)

    def loads_singly(self, one: Planned) -> bool:
        """Two loads at once would wait for rows that the other deletes, where rows can go from value to value."""
        replaces = any(isinstance(step, Load) and step.value in one.evidence.target for step in one.plan.steps)
        return replaces and bool(_table(one).keys_across_values)

    def load_slice(self, work: Work, one: Planned, step: Load, path: Path) -> LoadSlice:
        table = _table(one)
        replacement = Replacement(
            table=table.ledger_name,
            request=table.target_request(step.value),
            column=table.target_column,
            value=step.value,
            entry=LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=work.run),
            proof=table.settings.proof,
            keys=table.keys_across_values,
            look_first=step.look_first,
            unless_hash=step.unless_hash,
            own_columns=table.own_columns,
            own_key=table.own_key,
        )
        return LoadSlice(
            database=work.target,
            way=replace_partition.replace,
            work=replacement,
            lake=work.lake,
            path=path,
            lake_table=table.lake_table,
            lake_column=table.lake_column,
            boundary=work.boundary,
        )

    def in_one_transaction(self, one: Planned, parts: Sequence[LoadSlice]) -> Slice:
        table = _table(one)
        if len(parts) > 1 or table.keys_across_values:
            return LoadTogether(tuple(parts), table.settings.max_apply_rows)
        return super().in_one_transaction(one, parts)

    def remove(self, work: Work, one: Planned, step: Remove) -> int:
        table, name = _table(one), one.table.ledger_name
        if step.side == "lake":
            work.lake.remove(self.place(work, one, step.value))
            return 0
        with work.control.transaction():
            work.control.lock_in_transaction(f"tidegate value {name} {step.value}")
            gone = work.control.execute(delete_value(table.target_name, table.target_column, step.value))
            entry = replace(one.evidence.ledger[step.value], kind="removed", generation=step.generation, run=work.run)
            work.ledger.record(name, step.value.text, entry)
        return gone

    # Proof

    def to_verify(self, one: Planned) -> tuple[list[Value], list[Finding]]:
        """What is in scope, known to the ledger or ready in the source, and inside of the retention."""
        seen, settings = one.evidence, _table(one).settings
        if seen.scope is None and not seen.ledger:
            return [], [Finding(one.key, "scope", "nothing was loaded yet: there is no scope to verify")]
        standing = {value for value, entry in seen.ledger.items() if entry.stands}
        settled = settled_values(settings, seen.source, seen.ready)
        known = sorted(value for value in {*standing, *settled} if one.plan.scope.holds(value))
        kept = known if settings.retain.target is None else known[-settings.retain.target :]
        left_out = {value: finding for value in kept if (finding := _kept_by_a_tester(one, value))}
        return [value for value in kept if value not in left_out], list(left_out.values())

    def judged(self, one: Planned, value: Value, facts: Facts) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(one, value, facts)
        if comparison.source is None:
            return comparison, [_about_purged(one, value, comparison)]
        if comparison.equal:
            return comparison, []
        what = difference_in_words(comparison, facts.get("keys"))
        return comparison, [Finding(one.key, "receipt", what, value.text)]


def _table(one: Planned) -> PartitionedTable:
    assert isinstance(one.table, PartitionedTable)
    return one.table


def _as_it_was_loaded(table: PartitionedTable, value: Value, entry: LedgerEntry | None) -> ReadRequest:
    """What the source no longer has can be compared only in the columns that it had."""
    request = table.target_request(value)
    return request if entry is None else table.as_loaded(request, entry)


def _kept_by_a_tester(one: Planned, value: Value) -> Finding | None:
    entry, held = one.evidence.ledger.get(value), one.evidence.target.get(value)
    if one.table.common.on_target_change != "keep" or entry is None or held is None or held <= entry.rows:
        return None
    text = f"left out of the proof: `on_target_change: keep` and the target holds {held - entry.rows:,} rows more"
    return Finding(one.key, "receipt", text, value.text, "note")


def _about_purged(one: Planned, value: Value, comparison: Comparison) -> Finding:
    """The source no longer has it: the ledger's receipt is the measure."""
    entry = one.evidence.ledger.get(value)
    if entry is not None:
        loaded = _as_it_was_loaded(_table(one), value, entry).columns
        left = [name for name in entry.columns if name not in {column.name for column in loaded}]
        if left:
            text = f"no longer in the source; not compared: it was loaded with {', '.join(left)}, which left the target"
            return Finding(comparison.table, "receipt", text, comparison.value, "note")
    same = comparison.target is not None and comparison.target.hash == comparison.ledger_hash
    what = "no longer in the source; the target " + (
        "holds what was loaded" if same else "differs from what was loaded"
    )
    return Finding(comparison.table, "receipt", what, comparison.value, "note" if same else "error")
