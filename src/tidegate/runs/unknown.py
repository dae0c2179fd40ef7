"""Rows of a target that no ledger and no lake entry knows: they are reported and stay.

When the ledger was lost, nobody can tell who wrote the rows of a target. Rows that were extracted once are Tidegate's
own. If there are others, somebody changed or added them, and `on_target_change: report` promises to leave them alone.
So such a table is not loaded until a person decides. Partition tables decide this value by value, inside of the load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tidegate.buckets.assign import buckets_for
from tidegate.buckets.unknown import FindUnknownRows, UnknownRows
from tidegate.model.plan import Load, Notice, Remove, Request, Step
from tidegate.model.report import Finding, StepOutcome
from tidegate.model.state import TableState, types_when_extracted
from tidegate.runs.run import Job, Pipeline, Run
from tidegate.spark.executor import SplitOutcome
from tidegate.tables.planned import PlannedTable, SyncTable

COMPARE = "compare"


def note_for(table: SyncTable, state: TableState, request: Request, steps: Sequence[Step]) -> list[Step]:
    """Return what a plan says of a table whose rows have to be looked at before they are loaded over."""
    if not _must_look(table, state, request, steps):
        return []
    text = (
        "the ledger lost rows: where the target holds rows that the lake does not have, they stay and nothing is loaded"
    )
    return [Notice(text)]


def keep_unknown_rows(
    run: Run, planned: Sequence[PlannedTable], asked: Callable[[PlannedTable], Request]
) -> list[PlannedTable]:
    """Return the tables; those whose target holds rows that nobody extracted are left without their loads."""
    jobs = [
        Job(table, _split(run.pipeline, table), _rows(table.state))
        for table in planned
        if _must_look(table.table, table.state, asked(table), table.plan.steps) and _compared_columns(table)
    ]
    if not jobs:
        return list(planned)
    kept: dict[str, PlannedTable] = {}

    def finished(job: Job[PlannedTable], outcome: SplitOutcome) -> None:
        table, found = job.about, outcome.result
        if outcome.error is not None:
            run.failed.setdefault(table.key, str(outcome.error))
            kept[table.key] = _without_loads(table)
        elif isinstance(found, UnknownRows) and found.count:
            _report(run, table, found)
            kept[table.key] = _without_loads(table)

    run.run_jobs(COMPARE, jobs, finished)
    return [kept.get(table.key, table) for table in planned]


def _must_look(table: SyncTable, state: TableState, request: Request, steps: Sequence[Step]) -> bool:
    """Return whether loads would go over rows although the ledger is lost that could tell whose they are."""
    if request.reload_all or request.reload is not None or table.found.settings.on_target_change == "restore":
        return False
    if table.found.kept is not None:  # each commit of such a table says which window it brought
        return False
    loads = [step for step in steps if isinstance(step, Load)]
    is_lost = not any(entry.is_active for entry in state.ledger.values())
    if not (table.load.updates_rows or table.load.replaces_rows) or not (is_lost or _lost_a_row(table, state, loads)):
        return False
    decides_itself = any(step.keeps_unless is not None for step in loads)
    return bool(loads) and not decides_itself and any(state.target.values()) and bool(_entries(state))


def _lost_a_row(table: SyncTable, state: TableState, loads: Sequence[Load]) -> bool:
    """Return whether the ledger lost the row of a single window.

    Windows of a log are loaded in their order. So a window that was never loaded comes after all that were, and one
    that comes before lost its row. The newest window cannot be told from one whose load was killed."""
    if not table.change.serial_loads:
        return False
    newest = max((window for window, entry in state.ledger.items() if entry.is_active), default=None)
    return newest is not None and any(step.value not in state.ledger and step.value < newest for step in loads)


def _entries(state: TableState) -> tuple[str, ...]:
    return (*state.superseded, *(entry.id for entry in state.lake.values() if not entry.broken))


def _rows(state: TableState) -> int:
    return sum(rows or 0 for rows in state.target.values()) + sum(entry.rows for entry in state.lake.values())


def _compared_columns(planned: PlannedTable) -> list[str]:
    """Return the columns that target and entries have alike, and that the load leaves as they were extracted."""
    entries = [entry for entry in planned.state.lake.values() if not entry.broken]
    held = [types_when_extracted(entry) for entry in entries]
    as_text = {name for entry in entries for name in entry.text_columns}
    found, changed = planned.table.found, {*planned.table.load.changed_columns}
    return [
        name
        for name, storage_type in found.storage_types.items()
        if name not in as_text | changed | {*found.target_lacks}
        and all(types.get(name, storage_type if not types else "") == storage_type for types in held)
    ]


def _split(pipeline: Pipeline, planned: PlannedTable) -> FindUnknownRows:
    table, state = planned.table, planned.state
    names = _compared_columns(planned)
    return FindUnknownRows(
        target=pipeline.target,
        request=replace(table.found.from_target(None).only(names), text_columns=()),
        source=pipeline.source,
        source_request=table.found.from_source(None),
        lake=pipeline.lake,
        table=table.lake_table,
        entries=_entries(state),
        keys=table.row_names,
        buckets=buckets_for(_rows(state)),
    )


def _report(run: Run, planned: PlannedTable, found: UnknownRows) -> None:
    more = "; ..." if found.count > len(found.examples) else ""
    shown = f"{', '.join(planned.table.row_names)} = {'; '.join(found.examples)}{more}"
    text = (
        f"the target holds {found.count:,} rows that differ from the lake's ({shown}), and no ledger tells who changed"
        " them: they stay, and nothing is loaded into this table. `tidegate repair` restores what the source has,"
        " `tidegate adopt` takes them over."
    )
    run.findings.append(Finding(planned.key, "load", text, severity="warning"))
    for step in planned.steps(Load):
        why = f"{step.why}; the target's rows differ and stay"
        run.note(StepOutcome(planned.key, "load", step.value.text, why, "skipped"))


def _without_loads(planned: PlannedTable) -> PlannedTable:
    steps = tuple(step for step in planned.plan.steps if not isinstance(step, (Load, Remove)))
    return replace(planned, plan=replace(planned.plan, steps=steps))
