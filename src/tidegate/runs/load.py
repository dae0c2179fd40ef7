"""Load: windows of the lake into the target, each in one transaction (`load_split.py`), in an order that fits.

Where a key of the target does not tell windows apart (`PRIMARY KEY (id)` beside a partition column), rows can go from
one window to another. A window is loaded alone first. Where the server refuses it because of a key, the target is asked
which windows hold the keys of its rows; the run extracts all of them again and loads them in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.errors import BrokenReference
from tidegate.interfaces.load import Loaded, LoadTask
from tidegate.model.plan import EXCHANGED, Remove
from tidegate.model.plan import Load as LoadStep
from tidegate.model.report import Finding, StepOutcome
from tidegate.model.state import LedgerEntry
from tidegate.model.values import Value
from tidegate.runs.extract import Entries
from tidegate.runs.load_split import JointSplit, LoadResult, LoadSplit
from tidegate.runs.order import in_order
from tidegate.runs.run import Job, Run
from tidegate.runs.window import WindowLoad
from tidegate.spark.executor import SplitOutcome
from tidegate.tables.planned import PlannedTable

Exchanges = Mapping[str, frozenset[Value]]
"""By table: windows that exchanged rows with each other. One transaction must load them."""


@dataclass(frozen=True)
class LoadSteps:
    """Load steps of one table that one split does in one transaction."""

    planned: PlannedTable
    steps: tuple[LoadStep, ...]


@dataclass(frozen=True)
class JointSteps:
    """Load steps of several tables that one split does in one transaction."""

    parts: tuple[LoadSteps, ...]

    @property
    def planned(self) -> PlannedTable:
        return self.parts[0].planned


def load(
    run: Run, planned: Sequence[PlannedTable], entries: Entries, not_extracted: set[tuple[str, Value]]
) -> Exchanges:
    """Load each window in its own transaction, as many at once as there are connections to use. Return windows that
    were refused, with those that hold their keys."""
    steps = [
        LoadSteps(table, group)
        for table in planned
        if not run.has_failed(table.key, "change schema")
        for group in table.table.load.groups(
            [step for step in table.steps(LoadStep) if (table.key, step.value) not in not_extracted]
        )
    ]
    exchanges: dict[str, frozenset[Value]] = {}
    refused: list[LoadSteps] = []
    for group in in_order(_in_cycles(steps), _priority):
        ready = [about for about in group if not _waits(run, about.planned, refused)]
        jobs = [_job(run, about, entries) for about in ready if isinstance(about, LoadSteps)]
        exchanges = {**exchanges, **_run_loads(run, jobs, exchanges, {}, refused)}
        for about in ready:
            if isinstance(about, JointSteps):
                _run_jointly(run, about, entries, refused)
    if refused:
        _run_jointly(run, JointSteps(tuple(refused)), entries, None)
    return exchanges


def _in_cycles(steps: Sequence[LoadSteps]) -> list[LoadSteps | JointSteps]:
    """Return the steps, those of tables whose foreign keys form a cycle as one: together they are in order."""
    cycles: dict[frozenset[str], list[LoadSteps]] = {}
    for about in steps:
        if about.planned.loads_with:
            cycles.setdefault(about.planned.loads_with, []).append(about)
    joint = [JointSteps(tuple(each)) for each in cycles.values()]
    return [*(about for about in steps if not about.planned.loads_with), *joint]


def load_together(
    run: Run,
    planned: Sequence[PlannedTable],
    entries: Entries,
    not_extracted: set[tuple[str, Value]],
    asked: Exchanges,
) -> Exchanges:
    """Load all windows of a table in one transaction. Return those that were refused again, with further windows that
    hold their keys; `asked` is what was returned before."""
    units = [(table, sorted(table.steps(LoadStep), key=lambda step: step.value)) for table in planned]
    extracted = [
        LoadSteps(table, tuple(steps))
        for table, steps in units
        if steps and not {(table.key, step.value) for step in steps} & not_extracted
    ]
    return _run_loads(run, [_job(run, about, entries) for about in extracted], {}, asked)


def _priority(about: LoadSteps | JointSteps, number: int) -> tuple[int, int]:
    if isinstance(about, JointSteps):
        return about.planned.table.load_priority, 0
    table, steps = about.planned.table, about.planned.steps(LoadStep)
    is_serial = table.change.serial_loads or table.load.is_serial(steps, about.planned.state)
    return table.load_priority, number if is_serial else 0


def _waits(run: Run, planned: PlannedTable, refused: list[LoadSteps]) -> bool:
    """Where windows follow on one another, none is loaded after one that failed: it would look as if all were there."""
    is_refused = any(about.planned.key == planned.key for about in refused)
    return planned.table.change.serial_loads and (is_refused or run.has_failed(planned.key, "load"))


def _job(run: Run, about: LoadSteps, entries: Entries) -> Job[LoadSteps]:
    planned = about.planned
    windows = tuple(_window(run, planned, step, entries) for step in about.steps)
    found = planned.table.found
    bypassed = (found.target_name,) if found.bypasses_triggers else ()
    limit = found.settings.max_apply_rows
    keys = planned.table.naming_keys
    split = LoadSplit(run.pipeline.target, planned.table.load, windows, run.boundary, limit, bypassed, keys)
    counts = [step.rows for step in about.steps]
    return Job(about, split, None if None in counts else sum(rows or 0 for rows in counts))


def _window(run: Run, planned: PlannedTable, step: LoadStep, entries: Entries) -> WindowLoad:
    table, state = planned.table, planned.state
    entry = entries.get((planned.key, step.value)) or state.lake[step.value]
    task = LoadTask(
        table=table.ledger_name,
        request=table.change.target_request(step.value),
        window=step.value,
        entry=LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=run.id),
        compare_first=step.compare_first,
        keeps_unless=step.keeps_unless,
        unless_hash=step.unless_hash,
        own_columns=table.found.own_columns,
        own_key=table.found.own_key,
    )
    task = table.load.task(task, step, state, len(planned.steps(LoadStep)))
    reads_keys = entry.has_keys and table.load.needs.all_keys
    return WindowLoad(task, run.pipeline.lake, table.lake_table, entry.id, reads_keys, planned.key, table.naming_keys)


def _run_jointly(run: Run, about: JointSteps, entries: Entries, refused: list[LoadSteps] | None) -> None:
    """Load windows of several tables in one transaction: all of them, or none. What a foreign key of yet another table
    refuses is added to `refused`."""
    jobs = [_job(run, part, entries) for part in about.parts]
    splits = [job.split for job in jobs if isinstance(job.split, LoadSplit)]
    counts = [job.rows for job in jobs]
    rows = None if None in counts else sum(count or 0 for count in counts)

    def finished(job: Job[JointSteps], outcome: SplitOutcome) -> None:
        if refused is not None and _is_out_of_order(outcome.error, run):
            refused.extend(about.parts)
            return
        results = outcome.result or [LoadResult() for _ in about.parts]
        for part, result in zip(about.parts, results, strict=True):
            for number, step in enumerate(part.steps):
                noted = StepOutcome(
                    part.planned.key, "load", step.value.text, step.why, "done", seconds=outcome.seconds
                )
                if outcome.error is not None:
                    noted = replace(noted, outcome="failed", error=str(outcome.error))
                else:
                    noted = _as_loaded(noted, result.loaded[number])
                    run.findings += [*_kept_rows(noted, result.loaded[number]), *_warned(noted, result.loaded[number])]
                run.note(noted)
        run.boundary("loaded")

    windows = sum(len(part.steps) for part in about.parts)
    run.run_jobs("load", [Job(about, JointSplit(tuple(splits)), rows)], finished, windows)


def _is_out_of_order(error: object, run: Run) -> bool:
    """Return whether a load may succeed together with others: a row refers to one that comes later, or that leaves."""
    return isinstance(error, BrokenReference) and not run.pipeline.target.deferral(())[1]


def _run_loads(
    run: Run,
    jobs: list[Job[LoadSteps]],
    found: Exchanges,
    asked: Exchanges,
    refused: list[LoadSteps] | None = None,
) -> Exchanges:
    """Run the loads. Those that a foreign key refuses are added to `refused` and tried again with all others."""
    exchanges = dict(found)

    def finished(job: Job[LoadSteps], outcome: SplitOutcome) -> None:
        if refused is not None and _is_out_of_order(outcome.error, run):
            refused.append(job.about)
            return
        key, result = job.about.planned.key, outcome.result or LoadResult()
        known = asked.get(key, frozenset())
        windows = _exchanging(job.about, result) | known
        joined = windows - known
        if joined:
            exchanges[key] = exchanges.get(key, frozenset()) | windows
        error = outcome.error or result.refusal
        for number, step in enumerate(job.about.steps):
            noted = StepOutcome(key, "load", step.value.text, step.why, "done", seconds=outcome.seconds)
            noted = replace(noted, cpu_seconds=outcome.cpu_seconds, memory=outcome.memory)
            if joined:
                noted = replace(noted, outcome="skipped", why=f"{step.why}; {EXCHANGED}")
            elif error is not None:
                noted = replace(noted, outcome="failed", error=str(error))
            else:
                noted = _as_loaded(noted, result.loaded[number])
                run.findings += [*_kept_rows(noted, result.loaded[number]), *_warned(noted, result.loaded[number])]
            run.note(noted)
            run.boundary("loaded")

    if jobs:
        run.run_jobs("load", jobs, finished)
    return exchanges


def _as_loaded(outcome: StepOutcome, loaded: Loaded) -> StepOutcome:
    outcome = replace(outcome, rows=loaded.rows, counts=loaded.counts)
    if loaded.result in ("equal already", "done before"):
        return replace(outcome, outcome="skipped", why=f"{outcome.why}; the target holds it already")
    if loaded.result == "kept":
        return replace(outcome, outcome="skipped", rows=0, why=f"{outcome.why}; the target's rows differ and stay")
    return replace(outcome, why=f"{outcome.why}; {loaded.detail}") if loaded.detail else outcome


def _warned(outcome: StepOutcome, loaded: Loaded) -> list[Finding]:
    return [Finding(outcome.table, "load", loaded.warning, outcome.value, "warning")] if loaded.warning else []


def _kept_rows(outcome: StepOutcome, loaded: Loaded) -> list[Finding]:
    """Return the warning about rows of the target that a load left as they are."""
    if loaded.result != "kept":
        return []
    text = (
        f"the target holds {loaded.rows:,} rows that differ from the lake's, and no ledger tells who changed them: they"
        " stay. `tidegate repair` restores what the source has, `tidegate adopt` takes them over."
    )
    return [Finding(outcome.table, "load", text, outcome.value, severity="warning")]


def _exchanging(about: LoadSteps, result: LoadResult) -> frozenset[Value]:
    """Return windows that were refused because of a key, and those that hold such keys. None of them where a window is
    in the way that no load of this run can replace."""
    others = result.held_by
    if others is None or not all(_is_replaceable(about.planned, window) for window in others):
        return frozenset()
    return frozenset([*others, *(step.value for step in about.steps)])


def _is_replaceable(planned: PlannedTable, window: Value) -> bool:
    """Return whether the source has the window and Tidegate loads it, or this run removes it."""
    if any(step.value == window and step.side == "target" for step in planned.steps(Remove)):
        return True
    entry = planned.state.ledger.get(window)
    is_ours = (entry is not None and entry.is_active) or planned.has(LoadStep, window)
    return is_ours and window in planned.state.source
