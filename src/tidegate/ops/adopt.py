"""Adopt: take over a target that was there before us. Receipts for what it holds, scope set, nothing reloaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.errors import Locked, MissingObject
from tidegate.interfaces import Session
from tidegate.model.evidence import LedgerEntry, PartitionEvidence
from tidegate.model.receipt import Receipt
from tidegate.model.report import RunReport, StepOutcome
from tidegate.model.values import Value
from tidegate.runs.executor import Clock, Places, new_run
from tidegate.runs.kinds import kind_of
from tidegate.runs.listener import Listener
from tidegate.runs.planned import Planned, Unplanned
from tidegate.runs.proving import CompareSlice
from tidegate.runs.tables import ResolvedTable
from tidegate.spark.engine import Engine
from tidegate.spark.slices import Facts, run_slices
from tidegate.state import lock
from tidegate.state.ledger import Ledger


@dataclass(frozen=True)
class Candidate:
    """A table whose target holds rows."""

    key: str
    table: ResolvedTable
    evidence: PartitionEvidence


@dataclass
class Adoption:
    """One call of adopt. A foreign ledger is emptied first: what it says is about another database."""

    places: Places
    engine: Engine
    listener: Listener = field(default_factory=Listener)
    clock: Clock = field(default_factory=Clock)
    run: str = field(default_factory=new_run)
    steps: list[StepOutcome] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def adopt(self, keys: Sequence[str], *, foreign: bool) -> RunReport:
        with self.places.target.connect("adopt") as control:
            ledger = Ledger(control)
            if not ledger.exists():
                ledger.create()
            if foreign:
                with control.transaction():
                    ledger.disown()
            held = self._lock(control, keys)
            with self.places.planner().open() as planner:
                planned = planner.plan(held)
            candidates = [self._candidate(one) for one in planned]
            self._receive(ledger, [one for one in candidates if one is not None])
            report = self._report()
            ledger.keep_report(report.run, report.to_dict())
        return report

    def _lock(self, control: Session, keys: Sequence[str]) -> list[str]:
        held = []
        for key in keys:
            try:
                lock.take(
                    control,
                    str(self.places.project.tables[key].target_table.within(self.places.target.default_schema)),
                    self.run,
                )
                held.append(key)
            except Locked as problem:
                self.failures[key] = str(problem)
        return held

    def _candidate(self, one: Planned | Unplanned) -> Candidate | None:
        """Also a table that could not be planned: a target that was there before us is the very reason to adopt it."""
        if one.table is not None and one.evidence is not None and one.evidence.target:
            return Candidate(one.key, one.table, one.evidence)
        nothing = MissingObject(
            f"{one.key}: the target holds no rows to adopt.", "Nothing was written.", "`tidegate run` loads them."
        )
        self.failures[one.key] = str(one.problem if isinstance(one, Unplanned) else nothing)
        return None

    def _receive(self, ledger: Ledger, candidates: list[Candidate]) -> None:
        pairs = [(one, value) for one in candidates for value in _unknown(one)]
        if pairs:
            workspace = self.places.lake.prepare(self.run)
            slices = [self._slice(one, value) for one, value in pairs]
            self.listener.phase("adopt", len(slices), None)

            def finished(number: int, facts: Facts) -> None:
                self._record(ledger, *pairs[number], facts)

            run_slices(
                self.engine.mover([one.evidence.target.get(value) for one, value in pairs]),
                slices,
                workspace,
                finished,
                self.listener.moved,
                self.places.project.max_connections,
            )
            self.listener.phase_ended()
            self.places.lake.finish(self.run)
        for one in candidates:
            if one.key not in self.failures:
                scope = kind_of(one.table.common).adopted(one.evidence)
                ledger.declare(one.table.ledger_name, scope)
                place = self.places.target.connection.display
                self.places.lake.keep_scope(one.table.lake_table, place, scope)

    def _slice(self, one: Candidate, value: Value) -> CompareSlice:
        return CompareSlice(None, None, "", self.places.target, one.table.target_request(value))

    def _record(self, ledger: Ledger, one: Candidate, value: Value, facts: Facts) -> None:
        outcome = StepOutcome(
            one.key,
            "adopt",
            value.text,
            "held by the target before us",
            facts["outcome"],
            seconds=facts["seconds"],
        )
        if facts["outcome"] == "failed":
            self.failures.setdefault(one.key, facts["error"])
            self._note(StepOutcome(**{**outcome.__dict__, "error": facts["error"]}))
            return
        last = one.evidence.ledger.get(value)
        entry = LedgerEntry(
            generation=last.generation + 1 if last else 1,
            kind="adopted",
            rows=facts["target"]["rows"],
            hash=facts["target"]["hash"],
            text_columns=tuple(facts["text_columns"]),
            columns=tuple(column.name for column in one.table.columns),
            columns_id=one.table.columns_id,
            storage_types=tuple(column.rests_as for column in one.table.columns),
            newest=kind_of(one.table.common).left_behind(Receipt(facts["target"]["rows"], facts["target"]["hash"])),
            run=self.run,
        )
        ledger.record(one.table.ledger_name, value.text, entry)
        self._note(StepOutcome(**{**outcome.__dict__, "rows": entry.rows}))

    def _note(self, outcome: StepOutcome) -> None:
        self.steps.append(outcome)
        self.listener.step(outcome)

    def _report(self) -> RunReport:
        outcome = "failed" if self.failures else "done" if self.steps else "nothing to do"
        return RunReport(
            run=self.run,
            verb="adopt",
            started_at=self.clock.started_at,
            seconds=self.clock.seconds,
            outcome=outcome,
            steps=tuple(self.steps),
            failures=tuple(self.failures.items()),
            engine=self.engine.name,
            exit_code=1 if self.failures else 0,
        )


def _unknown(one: Candidate) -> list[Value]:
    standing = {value for value, entry in one.evidence.ledger.items() if entry.stands}
    return sorted(value for value in one.evidence.target if value not in standing)
