"""What the phases of a run share: its places, its outcomes, and how steps become slices of a Spark job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegate.errors import TidegateError
from tidegate.interfaces import Database, Feature, Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.evidence import LedgerEntry
from tidegate.model.plan import Land, Load, Step
from tidegate.model.report import StepOutcome
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.values import Value
from tidegate.runs.explainer import value_of, verb_of
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.planned import Planned
from tidegate.runs.tables import ResolvedTable
from tidegate.spark.engine import Engine
from tidegate.spark.slices import Facts, Slice, run_slices
from tidegate.state.ledger import Ledger


@dataclass
class Work:
    """What all phases of one run share."""

    run: str
    source: Database
    target: Database
    lake: ParquetLake
    control: Session
    engine: Engine
    listener: Listener
    boundary: Boundary
    connections: int
    outcomes: list[StepOutcome] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Tables with a failed step, and the first error of each."""
    timings: dict[str, float] = field(default_factory=dict)
    landed: dict[tuple[str, Value], Path] = field(default_factory=dict)
    """Where the files are that this run landed."""
    jobs: int = 0

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.control)

    def declare(self, table: ResolvedTable, scope: Scope, copies: ScopeCopies) -> None:
        """Write the scope into the ledger and into the lake, where a copy lacks or differs: either restores the
        other."""
        if copies.in_ledger != scope:
            self.ledger.declare(table.ledger_name, scope)
        if copies.in_lake != scope:
            self.lake.keep_scope(table.lake_table, self.target.connection.display, scope)

    def note(self, outcome: StepOutcome) -> None:
        self.outcomes.append(outcome)
        if outcome.outcome == "failed":
            self.failed.setdefault(outcome.table, outcome.error)
        self.listener.step(outcome)

    def timed(self, name: str, seconds: float) -> None:
        self.timings[name] = round(self.timings.get(name, 0.0) + seconds, 3)


@dataclass(frozen=True)
class Job:
    """One step that becomes one slice; or several, in one transaction."""

    one: Planned
    step: Land | Load
    slice: Slice
    others: tuple[Load, ...] = ()
    """Further loads that the same slice does, in the same transaction."""

    @property
    def steps(self) -> tuple[Land | Load, ...]:
        return (self.step, *self.others)

    @property
    def table(self) -> ResolvedTable:
        return self.one.table

    def entry(self) -> LedgerEntry | None:
        return self.one.evidence.ledger.get(self.step.value)

    def each(self, facts: Facts) -> Iterator[tuple[Job, Facts]]:
        """Every step by itself, with what is known of it."""
        told = facts.get("each", [{}] * len(self.steps))
        for step, own in zip(self.steps, told, strict=True):
            yield replace(self, step=step, others=()), {**facts, **own}


def run_jobs(work: Work, name: str, jobs: list[Job], finished: Callable[[Job, Facts], None]) -> None:
    counts = [step.rows for job in jobs for step in job.steps]
    total = None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    started = time.monotonic()
    mover = work.engine.mover(counts)
    work.timed("spark start", time.monotonic() - started)
    started = time.monotonic()
    work.listener.phase(name, len(jobs), total)
    work.jobs += 1
    workspace = work.lake.prepare(work.run) / f"{name}-{work.jobs}"
    try:
        run_slices(
            mover,
            [job.slice for job in jobs],
            workspace,
            lambda number, facts: finished(jobs[number], facts),
            work.listener.moved,
            work.connections,
        )
    finally:
        work.listener.phase_ended()
        work.timed(name, time.monotonic() - started)
    work.boundary(f"{name} done")


def outcome_of(job: Job, facts: Facts) -> StepOutcome:
    return StepOutcome(
        table=job.one.key,
        step=verb_of(job.step),
        value=job.step.value.text,
        why=job.step.why,
        outcome=facts["outcome"],
        rows=facts.get("rows", 0),
        seconds=facts.get("seconds", 0.0),
        bytes=facts.get("bytes", 0),
        error=facts.get("error", ""),
    )


def steps_of(one: Planned, kind: type[Any]) -> list[Any]:
    return [step for step in one.plan.steps if isinstance(step, kind)]


def guarded(work: Work, key: str, step: Step, act: Callable[[], int]) -> None:
    """Do a step in the driver and note how it ended."""
    started, value = time.monotonic(), value_of(step)
    outcome = StepOutcome(key, verb_of(step), value.text if value else "", getattr(step, "why", ""), "done")
    try:
        outcome = replace(outcome, rows=act())
    except TidegateError as problem:
        outcome = replace(outcome, outcome="failed", error=str(problem))
    work.note(replace(outcome, seconds=round(time.monotonic() - started, 3)))


@dataclass(frozen=True)
class Snapshot:
    """One state of a database that many tasks read. Without a name, each task reads at its own moment."""

    name: str = ""
    taken_at: str = ""
    """The server's clock when it was taken; not later than anything that it shows."""


@contextmanager
def snapshot_of(database: Database) -> Iterator[Snapshot]:
    """One snapshot for many readers, held until the block ends."""
    if Feature.EXPORTED_SNAPSHOT not in database.features:
        yield Snapshot()
        return
    with database.connect("snapshot", read_only=True) as session:
        yield Snapshot(session.export_snapshot(), session.now())
