"""Adopt: take over a target that was there before us. Receipts for what it holds, scope set, nothing reloaded.

All receipts of a table are computed first. Then one transaction writes its entries and its scope: a single entry would
disarm the guard against a target that nobody knows, so a table is adopted as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tidegate.errors import DatabaseError, Locked, MissingObject
from tidegate.interfaces import Session
from tidegate.model.evidence import LedgerEntry, PartitionEvidence
from tidegate.model.receipt import Receipt
from tidegate.model.report import RunReport, StepOutcome
from tidegate.model.values import Value
from tidegate.runs.executor import Clock, Places, new_run
from tidegate.runs.kinds import kind_of
from tidegate.runs.listener import Boundary, Listener
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


@dataclass(frozen=True)
class Received:
    """What a task found out of one value, and the ledger's entry for it; None where the task failed."""

    value: Value
    entry: LedgerEntry | None
    outcome: StepOutcome


@dataclass
class Adoption:
    """One call of adopt. A foreign ledger, which speaks of another database, is emptied in the transaction that adopts:
    then all tables are adopted in it, or none."""

    places: Places
    engine: Engine
    listener: Listener = field(default_factory=Listener)
    boundary: Boundary = field(default_factory=Boundary)
    clock: Clock = field(default_factory=Clock)
    run: str = field(default_factory=new_run)
    steps: list[StepOutcome] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def adopt(self, keys: Sequence[str], *, foreign: bool) -> RunReport:
        with self.places.target.connect("adopt") as control:
            ledger = Ledger(control)
            if not ledger.exists():
                ledger.create()
            held = self._lock(control, keys)
            with self.places.planner().open() as planner:
                planned = planner.plan(held, trust_ledger=not foreign)
            candidates = [one for one in map(self._candidate, planned) if one is not None]
            is_ours = self._take_over(ledger, candidates, self._receive(candidates), foreign=foreign)
            report = self._report()
            if is_ours:
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

    def _receive(self, candidates: list[Candidate]) -> dict[str, list[Received]]:
        """Return the receipts of what the targets hold, by table. Nothing is written."""
        received: dict[str, list[Received]] = {one.key: [] for one in candidates}
        pairs = [(one, value) for one in candidates for value in _unknown(one)]
        if not pairs:
            return received
        workspace = self.places.lake.prepare(self.run)
        slices = [self._slice(one, value) for one, value in pairs]
        self.listener.phase("adopt", len(slices), None)

        def finished(number: int, facts: Facts) -> None:
            one, value = pairs[number]
            received[one.key].append(self._received(one, value, facts))

        try:
            run_slices(
                self.engine.mover([one.evidence.target.get(value) for one, value in pairs]),
                slices,
                workspace,
                finished,
                self.listener.moved,
                self.places.project.max_connections,
            )
        finally:
            self.listener.phase_ended()
            self.places.lake.finish(self.run)
        return received

    def _slice(self, one: Candidate, value: Value) -> CompareSlice:
        return CompareSlice(None, None, "", self.places.target, one.table.target_request(value))

    def _received(self, one: Candidate, value: Value, facts: Facts) -> Received:
        why = "held by the target before us"
        outcome = StepOutcome(one.key, "adopt", value.text, why, facts["outcome"], seconds=facts["seconds"])
        if facts["outcome"] == "failed":
            self.failures.setdefault(one.key, facts["error"])
            return Received(value, None, replace(outcome, error=facts["error"]))
        last, receipt = one.evidence.ledger.get(value), Receipt(facts["target"]["rows"], facts["target"]["hash"])
        entry = LedgerEntry(
            generation=last.generation + 1 if last else 1,
            kind="adopted",
            rows=receipt.rows,
            hash=receipt.hash,
            text_columns=tuple(facts["text_columns"]),
            columns=tuple(column.name for column in one.table.columns),
            columns_id=one.table.columns_id,
            storage_types=tuple(column.rests_as for column in one.table.columns),
            newest=kind_of(one.table.common).left_behind(receipt),
            run=self.run,
        )
        return Received(value, entry, replace(outcome, rows=entry.rows))

    def _take_over(
        self, ledger: Ledger, candidates: list[Candidate], received: dict[str, list[Received]], *, foreign: bool
    ) -> bool:
        """Write the tables of which every value was read; whether the ledger belongs to this database now."""
        together = [candidates] if foreign and candidates else [[one] for one in candidates if not foreign]
        is_ours = not foreign
        for tables in together:
            failed = any(one.key in self.failures for one in tables)
            done = not failed and self._write(ledger, tables, received, foreign=foreign)
            is_ours = is_ours or done
            for outcome in (one.outcome for table in tables for one in received[table.key]):
                is_left_out = not done and outcome.outcome == "done"
                self._note(replace(outcome, outcome="skipped", rows=0) if is_left_out else outcome)
        return is_ours

    def _write(
        self, ledger: Ledger, tables: list[Candidate], received: dict[str, list[Received]], *, foreign: bool
    ) -> bool:
        """Write all entries and the scope of these tables in one transaction; whether that was done."""
        scopes = {one.key: kind_of(one.table.common).adopted(one.evidence) for one in tables}
        try:
            with ledger.session.transaction():
                if foreign:
                    ledger.disown(locks=False)
                for one in tables:
                    for value, entry in ((got.value, got.entry) for got in received[one.key]):
                        assert entry is not None
                        ledger.record(one.table.ledger_name, value.text, entry)
                    ledger.declare_in_transaction(one.table.ledger_name, scopes[one.key])
                self.boundary("adoption about to commit")
        except DatabaseError as problem:
            self.failures.update({one.key: str(problem) for one in tables})
            return False
        self.boundary("adopted")
        # The ledger has it: the copy in the lake only restores it after the ledger was lost.
        place = self.places.target.connection.display
        for one in tables:
            self.places.lake.keep_scope(one.table.lake_table, place, scopes[one.key])
        return True

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
