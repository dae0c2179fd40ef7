"""The phases of a run: change schemas, land, load, remove. Each turns steps into outcomes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tidegate.errors import Differences, TidegateError
from tidegate.interfaces import ReadRequest
from tidegate.lakes.parquet import stamp_of
from tidegate.loads.replace_partition import Replacement
from tidegate.model.columns import Column, fingerprint
from tidegate.model.evidence import LedgerEntry
from tidegate.model.plan import ChangeSchema, Land, Load, Remove
from tidegate.model.report import StepOutcome
from tidegate.model.values import Value
from tidegate.runs.landing import LandSlice
from tidegate.runs.loading import LoadSlice
from tidegate.runs.looking import path_of
from tidegate.runs.planner import Planned
from tidegate.runs.tables import ResolvedTable
from tidegate.runs.work import Job, Snapshot, Work, guarded, outcome_of, run_jobs, snapshot_of, steps_of
from tidegate.spark.slices import Facts
from tidegate.sql.partitions import counts, delete_value, newest_of_value
from tidegate.sql.text import Sql, raw


def change_schemas(work: Work, planned: list[Planned]) -> None:
    """DDL of every table, and the scope that it declares; a table whose DDL fails is left out of the run."""
    for one in planned:
        for step in one.plan.steps:
            if isinstance(step, ChangeSchema):
                guarded(work, one.key, step, partial(_apply, work, step))
        if one.key not in work.failed and one.plan.does_something and one.plan.scope != one.evidence.scope:
            work.declare(one.table, one.plan.scope)
        work.boundary("schema changed")


def _apply(work: Work, step: ChangeSchema) -> int:
    with work.control.transaction():
        for statement in step.statements:
            work.control.execute(raw(statement))
    return 0


# Land


def land(work: Work, planned: list[Planned]) -> set[tuple[str, Value]]:
    """Extracts on one snapshot of the source for all tables. Returns what could not be landed."""
    steps = [(one, step) for one in planned if one.key not in work.failed for step in steps_of(one, Land)]
    if not steps:
        return set()
    failed: set[tuple[str, Value]] = set()
    work.lake.prepare(work.run)
    with snapshot_of(work.source) as snapshot:
        jobs = [
            Job(one, step, _land_slice(work, one, step, snapshot, number)) for number, (one, step) in enumerate(steps)
        ]

        def finished(job: Job, facts: Facts) -> None:
            outcome = _landed(work, job, facts)
            work.note(outcome)
            if outcome.outcome == "failed":
                failed.add((job.one.key, job.step.value))

        run_jobs(work, "land", jobs, finished)
    return failed


def _land_slice(work: Work, one: Planned, step: Land, snapshot: Snapshot, number: int) -> LandSlice:
    table, value = one.table, step.value
    from_source = step.origin == "source"
    entry = one.evidence.ledger.get(value)
    request = table.source_request(value) if from_source else _as_it_was_loaded(table.target_request(value), entry)
    watched = table.restatement_column if from_source else None
    return LandSlice(
        database=work.source if from_source else work.target,
        request=request,
        snapshot=snapshot.name if from_source else "",
        read_at=snapshot.taken_at if from_source else "",
        newest=newest_of_value(table.source.name, table.column, value, watched) if watched else None,
        steady=_steady(table, value, watched) if from_source and not table.source.reads_consistently else None,
        folder=work.lake.workspace(work.run),
        name=str(number),
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


def _steady(table: ResolvedTable, value: Value, watched: Column | None) -> Sql:
    return counts(table.source.name, table.column, [value], watched)


def _as_it_was_loaded(request: ReadRequest, entry: LedgerEntry | None) -> ReadRequest:
    """What the source no longer has can be compared only in the columns that it had."""
    return request if entry is None else request.only(entry.columns).with_text(entry.text_columns)


def _landed(work: Work, job: Job, facts: Facts) -> StepOutcome:
    """Publish what a task wrote, and remember it where no load will."""
    step = job.step
    assert isinstance(step, Land)
    outcome = outcome_of(job, facts)
    if outcome.outcome == "failed":
        return outcome
    if not facts["rows"] and step.rows:
        return replace(outcome, outcome="failed", error=str(_left_meanwhile(job)))
    try:
        place = path_of(job.table, work.lake, step.value)
        published = work.lake.publish(Path(facts["file"]), place, step.replaces)
        work.boundary("published")
        entry = job.entry()
        if published and entry is not None and entry.stands and entry.hash == facts["hash"]:
            _restamp(work, job, entry, stamp_of(place), facts)
    except TidegateError as problem:
        return replace(outcome, outcome="failed", error=str(problem))
    return outcome


def _left_meanwhile(job: Job) -> Differences:
    return Differences(
        f"{job.one.key} {job.step.value}: the source counted {job.step.rows:,} rows and none arrived: they left.",
        "The lake and the target keep what they had.",
        "Run again: a value that the source purged stays as it is.",
    )


def _restamp(work: Work, job: Job, entry: LedgerEntry, stamp: str, facts: Facts) -> None:
    assert isinstance(job.slice, LandSlice)
    columns = job.slice.request.columns
    known = replace(
        entry,
        stamp=stamp,
        newest=facts["newest"],
        columns=tuple(column.name for column in columns),
        columns_id=fingerprint(columns),
    )
    work.ledger.restamp(job.table.ledger_name, job.step.value.text, known)


# Load


def load(work: Work, planned: list[Planned], not_landed: set[tuple[str, Value]]) -> None:
    """Each value in its own transaction, as many at once as there are connections to use."""
    steps = [(one, step) for one in planned for step in steps_of(one, Load) if (one.key, step.value) not in not_landed]
    steps = [(one, step) for one, step in steps if not _schema_failed(work, one)]
    if not steps:
        return
    jobs = [Job(one, step, _load_slice(work, one, step)) for one, step in steps]

    def finished(job: Job, facts: Facts) -> None:
        outcome = outcome_of(job, facts)
        if facts.get("result") in ("equal already", "done before"):
            outcome = replace(outcome, outcome="skipped", why=f"{outcome.why}; the target holds it already")
        work.note(outcome)
        work.boundary("loaded")

    run_jobs(work, "load", jobs, finished)


def _load_slice(work: Work, one: Planned, step: Load) -> LoadSlice:
    table = one.table
    entry = LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=work.run)
    replacement = Replacement(
        table=table.ledger_name,
        request=table.target_request(step.value),
        column=table.target_column,
        value=step.value,
        entry=entry,
        proof=table.settings.proof,
        look_first=step.look_first,
        unless_hash=step.unless_hash,
    )
    return LoadSlice(
        database=work.target,
        work=replacement,
        lake=work.lake,
        path=path_of(table, work.lake, step.value),
        lake_table=table.lake_table,
        lake_column=table.lake_column,
        boundary=work.boundary,
    )


# Remove


def remove(work: Work, planned: list[Planned]) -> None:
    """Values that a retention rule takes away, one transaction each."""
    for one in planned:
        if one.key not in work.failed:
            for step in steps_of(one, Remove):
                guarded(work, one.key, step, partial(_remove, work, one, step))
                work.boundary("removed")


def _remove(work: Work, one: Planned, step: Remove) -> int:
    if step.side == "lake":
        work.lake.remove(path_of(one.table, work.lake, step.value))
        return 0
    name = one.table.ledger_name
    with work.control.transaction():
        work.control.lock_in_transaction(f"tidegate value {name} {step.value}")
        gone = work.control.execute(delete_value(one.table.target_name, one.table.target_column, step.value))
        entry = replace(one.evidence.ledger[step.value], kind="removed", generation=step.generation, run=work.run)
        work.ledger.record(name, step.value.text, entry)
    return gone


def _schema_failed(work: Work, one: Planned) -> bool:
    return any(
        outcome.table == one.key and outcome.step == "change schema" and outcome.outcome == "failed"
        for outcome in work.outcomes
    )
