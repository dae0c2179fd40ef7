"""The shell of a run: what run, verify, repair and adopt share, from their first second to their report."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from tidegate.config.project import Project
from tidegate.config.secrets import Redactor
from tidegate.errors import DatabaseError, Locked, TidegateError
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Split
from tidegate.model.coverage import Coverage
from tidegate.model.explain import value_of, verb_of
from tidegate.model.plan import Step
from tidegate.model.report import Comparison, Finding, RunReport, StepOutcome
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.log_lines import log_begin, log_end, log_step
from tidegate.spark.engine import Engine
from tidegate.spark.executor import SplitOutcome
from tidegate.state import lock
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import SyncTable

About = TypeVar("About")


@dataclass(frozen=True)
class Pipeline:
    """One source, one lake and one target, with the settings of the project."""

    project: Project
    source: Database
    target: Database
    lake: Lake
    notes: tuple[str, ...] = ()
    """What the catalog of the source completed or found new, for people."""
    selected: tuple[str, ...] | None = None
    """The tables that patterns select; None without patterns. The first run remembers them."""

    @property
    def target_place(self) -> str:
        return self.target.connection.display


@dataclass(frozen=True)
class Job(Generic[About]):
    """A split to run, what it is about, and how many rows it will move; None where nobody counted."""

    about: About
    split: Split
    rows: int | None = None


@dataclass
class Run:
    """One call of run, verify, repair or adopt. Gathers outcomes and findings for one report."""

    pipeline: Pipeline
    engine: Engine
    verb: str = "run"
    listener: Listener = field(default_factory=Listener)
    boundary: Boundary = field(default_factory=Boundary)
    id: str = field(default_factory=lambda: f"r-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}")
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    outcomes: list[StepOutcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Tables with a failed step, and the first error of each."""
    timings: dict[str, float] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    """How many windows each phase could move at the same time."""
    tables: Sequence[str] = ()
    """The tables that it was asked to take."""
    _start: float = field(default_factory=time.monotonic)

    _redactor: Redactor | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        log_begin(self)

    # The target: one writer per table, and a ledger that belongs to this database

    @contextmanager
    def control(self) -> Iterator[Session]:
        """Open the session that holds the locks of this run."""
        with self.pipeline.target.connect(self.verb) as session:
            ledger = Ledger(session)
            if not ledger.exists():
                ledger.create()
            yield session

    def lock(self, control: Session, keys: Sequence[str]) -> list[str]:
        """Take the locks of these tables and return those that this run holds now; they end with the session."""
        held = []
        now = control.now() if keys else ""
        for key in keys:
            settings = self.pipeline.project.tables[key]
            name = str(settings.target_table.within(self.pipeline.target.default_schema))
            try:
                lock.take(control, name, self.id, now)
                held.append(key)
            except Locked as problem:
                self.failed[key] = str(problem)
        return held

    def declare_scope(self, control: Session, table: SyncTable, scope: Scope, copies: ScopeCopies) -> None:
        """Write the scope into the ledger and into the lake where a copy is missing or differs: either restores the
        other."""
        settings = table.found.settings
        scope = copies.completed(scope, settings.decided, settings.where or "")
        if copies.in_ledger != scope:
            Ledger(control).declare(table.ledger_name, scope)
        if copies.in_lake != scope:
            self.pipeline.lake.save_scope(table.lake_table, self.pipeline.target_place, scope)

    # Work

    def run_jobs(
        self,
        phase: str,
        jobs: Sequence[Job[About]],
        finished: Callable[[Job[About], SplitOutcome], None],
        windows: int | None = None,
    ) -> None:
        """Run the splits of all jobs; `finished` is called in this thread, as soon as each is done.

        `windows` is how many windows the jobs are; a job for each, when it is left out."""
        counts = [job.rows for job in jobs]
        total = None if None in counts else sum(rows or 0 for rows in counts)
        with self.timed("spark start"):
            executor = self.engine.executor()
        self._warn_of_engine()
        at_once = executor.width(len(jobs), self.pipeline.project.max_connections)
        self.at_once[phase] = max(self.at_once.get(phase, 0), at_once)
        self.listener.phase(phase, len(jobs) if windows is None else windows, total)
        try:
            with self.timed(phase):
                executor.run(
                    [job.split for job in jobs],
                    lambda outcome: finished(jobs[outcome.number], outcome),
                    self.listener.moved,
                    self.pipeline.project.max_connections,
                    [rows or 0 for rows in counts],
                    f"tidegate {phase} {self.id}",
                )
        finally:
            self.listener.phase_ended()
        self.boundary(f"{phase} done")

    def _warn_of_engine(self) -> None:
        warning = Finding("", "engine", self.engine.notice, severity="warning")
        if self.engine.notice and warning not in self.findings:
            self.findings.append(warning)

    def do(self, table: str, step: Step, act: Callable[[], int]) -> None:
        """Do a step in this process and note how it ended; `act` returns how many rows it touched."""
        started, window = time.monotonic(), value_of(step)
        outcome = StepOutcome(table, verb_of(step), window.text if window else "", getattr(step, "why", ""), "done")
        try:
            outcome = replace(outcome, rows=act())
        except TidegateError as problem:
            outcome = replace(outcome, outcome="failed", error=str(problem))
        self.note(replace(outcome, seconds=round(time.monotonic() - started, 3)))

    def note(self, outcome: StepOutcome) -> None:
        self.outcomes.append(outcome)
        log_step(self, outcome)
        if outcome.outcome == "failed":
            self.failed.setdefault(outcome.table, outcome.error)
        self.listener.step(outcome)

    def redact(self, text: str) -> str:
        """Return the text without the secrets of the project."""
        if self._redactor is None:
            self._redactor = self.pipeline.project.redactor()
        return self._redactor.redact(text)

    def has_failed(self, table: str, step: str) -> bool:
        return any((done.table, done.step, done.outcome) == (table, step, "failed") for done in self.outcomes)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.timings[name] = round(self.timings.get(name, 0.0) + time.monotonic() - started, 3)

    # The report

    def report(self, outcome: str, exit_code: int) -> RunReport:
        report = self._report(outcome, exit_code)
        log_end(self, report)
        return report

    def _report(self, outcome: str, exit_code: int) -> RunReport:
        return RunReport(
            run=self.id,
            verb=self.verb,
            started_at=self.started_at,
            seconds=round(time.monotonic() - self._start, 3),
            outcome=outcome,
            steps=tuple(self.outcomes),
            findings=tuple(self.findings),
            comparisons=tuple(sorted(self.comparisons, key=lambda comparison: (comparison.table, comparison.value))),
            coverage=dict(self.coverage),
            failures=tuple(self.failed.items()),
            engine=self.engine.name,
            timings=self.timings,
            at_once=self.at_once,
            configuration=self.pipeline.project.fingerprints(self.tables),
            exit_code=exit_code,
        )

    def keep_by_hand(self, control: Session, key: str, value: str, what: str, rows: int = 0) -> None:
        """Keep a report of one change that somebody made by hand, so that history and alerts tell it."""
        self.tables = (key,)
        self.note(StepOutcome(key, self.verb, value, what, "done", rows))
        self.keep(self.report("done", 0), control)

    def keep(self, report: RunReport, control: Session | None = None) -> RunReport:
        """Keep the report in the target. It is for people: when the target is away, the run is no less done."""
        try:
            if control is not None and control.is_open:
                Ledger(control).keep_report(report.run, report.to_dict())
            else:
                with self.pipeline.target.connect("report") as session:
                    if Ledger(session).exists():
                        Ledger(session).keep_report(report.run, report.to_dict())
        except DatabaseError as problem:
            lost = Finding("", "report", f"the report could not be kept: {problem.happened}", severity="warning")
            return replace(report, findings=(*report.findings, lost))
        finally:
            self.listener.ended()
        return report


@contextmanager
def snapshot_of(database: Database) -> Iterator[Snapshot]:
    """Hold one snapshot for many readers until the block ends. Without a name where the database exports none."""
    if not database.capabilities.exported_snapshots:
        yield Snapshot()
        return
    with database.connect("snapshot", read_only=True) as session:
        yield Snapshot(session.export_snapshot(), session.now())
