"""A run from lock to report: lock, look, plan, do, prove, report."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from tidegate.config.project import Project
from tidegate.errors import DatabaseError, Locked, TidegateError
from tidegate.interfaces import Database, Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.plan import DAILY, EXCHANGED, Notice, Request
from tidegate.model.report import Finding, RunReport
from tidegate.runs import phases
from tidegate.runs.listener import Boundary, Listener
from tidegate.runs.planned import Ask, Planned, Unplanned, sorted_out
from tidegate.runs.planner import Planner
from tidegate.runs.work import Work
from tidegate.spark.engine import Engine
from tidegate.state import lock
from tidegate.state.ledger import Ledger


@dataclass(frozen=True)
class Places:
    """Where a project's data are, and the settings of all of it."""

    project: Project
    source: Database
    target: Database
    lake: ParquetLake

    def planner(self) -> Planner:
        return Planner(self.project, self.source, self.target, self.lake)


@dataclass
class Clock:
    """Times of one call, for its report."""

    started_at: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    _start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._start, 3)


def new_run() -> str:
    return f"r-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


@dataclass
class Executor:
    """Does what the planner says. One instance does one run."""

    places: Places
    engine: Engine
    listener: Listener = field(default_factory=Listener)
    boundary: Boundary = field(default_factory=Boundary)
    clock: Clock = field(default_factory=Clock)
    run: str = field(default_factory=new_run)

    def execute(
        self,
        keys: Sequence[str],
        ask: Ask = lambda table, seen: DAILY,
        *,
        verb: str = "run",
        disown: bool = False,
    ) -> RunReport:
        """One failing table does not stop the others. Raises only for what concerns all of them."""
        with self.places.target.connect(verb) as control:
            work = self._work(control)
            self._own_the_target(control, disown)
            with self.locked(control, keys, work) as held:
                planned = self._plan(held, ask, work)
                self._do(work, planned)
            report = self._report(work, planned, keys, verb)
            return self._keep(work, report)

    def _work(self, control: Session) -> Work:
        places = self.places
        return Work(
            self.run,
            places.source,
            places.target,
            places.lake,
            control,
            self.engine,
            self.listener,
            self.boundary,
            places.project.max_connections,
        )

    def _own_the_target(self, control: Session, disown: bool) -> None:
        ledger = Ledger(control)
        if not ledger.exists():
            ledger.create()
        if disown:
            with control.transaction():
                ledger.disown()
        ledger.claim()
        self.boundary("ledger ready")

    @contextmanager
    def locked(self, control: Session, keys: Sequence[str], work: Work) -> Iterator[list[str]]:
        """The tables that this run holds now. The session holds the locks; they end with it."""
        held = []
        for key in keys:
            name = str(self.places.project.tables[key].target_table.within(self.places.target.default_schema))
            try:
                lock.take(control, name, self.run)
                held.append(key)
            except Locked as problem:
                work.failed[key] = str(problem)
        yield held

    def _plan(self, held: list[str], ask: Ask, work: Work) -> list[Planned]:
        started = time.monotonic()
        counts: list[int | None] = []

        def planned(one: Planned | Unplanned) -> None:
            if isinstance(one, Planned) and one.plan.moves_rows:
                counts.extend(one.plan.row_counts)
                self.engine.expect(counts)

        with self.places.planner().open() as planner:
            found = planner.plan(held, ask, planned=planned, foresee=self.engine.foresee)
        work.timed("look", time.monotonic() - started)
        found_well, problems = sorted_out(found)
        work.failed.update(problems)
        self.boundary("planned")
        return found_well

    def _do(self, work: Work, planned: list[Planned]) -> None:
        phases.mark_dropped_columns(work, planned)
        busy = [one for one in planned if one.plan.does_something and one.key not in work.failed]
        phases.restore_scopes(work, [one for one in planned if not one.plan.does_something])
        if not busy:
            return
        try:
            phases.change_schemas(work, busy)
            not_landed = phases.land(work, busy)
            exchanges = phases.load(work, busy, not_landed)
            phases.remove(work, busy)
            self._load_together(work, exchanges)
        except TidegateError as problem:
            # What concerns all tables (Spark, the lake, the control session) fails those that were not done.
            for one in busy:
                work.failed.setdefault(one.key, str(problem))
        finally:
            self.places.lake.finish(self.run)

    def _load_together(self, work: Work, exchanges: phases.Exchanges) -> None:
        """Extract values that exchanged rows again, on one snapshot of the source, and load them in one transaction.
        Values that hold further keys of these rows join them in the next round."""
        while exchanges:
            planned = self._plan(list(exchanges), _reload(exchanges), work)
            exchanges = phases.load_together(work, planned, phases.land(work, planned), exchanges)

    def _report(self, work: Work, planned: list[Planned], keys: Sequence[str], verb: str) -> RunReport:
        share = len(work.failed) / max(len(keys), 1)
        acted = bool(work.outcomes)
        outcome = "failed" if work.failed else "done" if acted else "nothing to do"
        return RunReport(
            run=self.run,
            verb=verb,
            started_at=self.clock.started_at,
            seconds=self.clock.seconds,
            outcome=outcome,
            steps=tuple(work.outcomes),
            findings=tuple(_findings(planned)),
            failures=tuple(work.failed.items()),
            engine=self.engine.name,
            timings=work.timings,
            exit_code=1 if share > self.places.project.error_threshold else 0,
        )

    def _keep(self, work: Work, report: RunReport) -> RunReport:
        """The report is for people: when the target is away and cannot keep it, the run is no less done."""
        try:
            if work.control.is_open:
                work.ledger.keep_report(report.run, report.to_dict())
            else:
                keep_report(self.places, report)
        except DatabaseError as problem:
            lost = Finding("", "report", f"the report could not be kept: {problem.happened}", severity="warning")
            return replace(report, findings=(*report.findings, lost))
        return report


def _reload(exchanges: phases.Exchanges) -> Ask:
    return lambda table, seen: Request(reload=exchanges[table.key], why=EXCHANGED)


def _findings(planned: list[Planned]) -> Iterator[Finding]:
    for one in planned:
        for step in one.plan.steps:
            if isinstance(step, Notice) and step.severity != "note":
                yield Finding(one.key, "plan", step.text, step.value.text if step.value else "", step.severity)


def keep_report(places: Places, report: RunReport) -> None:
    """Keep the report of a call that wrote nothing else. A target without a ledger keeps none."""
    with places.target.connect("report") as session:
        ledger = Ledger(session)
        if ledger.exists():
            ledger.keep_report(report.run, report.to_dict())
