"""Verify: is the target equal to the source, within the declared scope? Reads both sides, writes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.errors import TidegateError
from tidegate.model.coverage import Coverage
from tidegate.model.report import Comparison, Finding, RunReport, StepOutcome
from tidegate.model.values import Value
from tidegate.runs.executor import Clock, Places, keep_report, new_run
from tidegate.runs.kinds import kind_of
from tidegate.runs.kinds.kind import Compared
from tidegate.runs.listener import Listener
from tidegate.runs.planned import Planned, sorted_out
from tidegate.runs.work import snapshot_of
from tidegate.spark.engine import Engine
from tidegate.spark.slices import Facts, Slice, run_slices


@dataclass(frozen=True)
class Pair:
    """One value to compare."""

    one: Planned
    value: Value


@dataclass
class Verifier:
    """One verification. Tables with `proof: count` are compared by their counts alone, without Spark."""

    places: Places
    engine: Engine
    listener: Listener = field(default_factory=Listener)
    clock: Clock = field(default_factory=Clock)
    run: str = field(default_factory=new_run)
    findings: list[Finding] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    steps: list[StepOutcome] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    def verify(self, keys: Sequence[str], *, deep: bool = False, verb: str = "verify") -> RunReport:
        with self.places.planner().open() as planner:
            planned, failures = sorted_out(planner.plan(keys, count_all=True))
        pairs = []
        for one in planned:
            values, findings = kind_of(one.table.common).to_verify(one)
            self.findings += [*findings, *one.coverage.findings(one.key)]
            self.coverage[one.key] = one.coverage
            pairs += [Pair(one, value) for value in values]
        by_count = [pair for pair in pairs if _proof(pair) == "count"]
        by_hash = [pair for pair in pairs if _proof(pair) == "hash"]
        for pair in by_count:
            self._compare_counts(pair)
        failures |= self._compare_contents(by_hash, deep)
        report = self._report(verb, failures)
        keep_report(self.places, report)
        return report

    # By count

    def _compare_counts(self, pair: Pair) -> None:
        evidence = pair.one.evidence
        source, target = evidence.source.get(pair.value), evidence.target.get(pair.value) or 0
        entry = evidence.ledger.get(pair.value)
        expected = source.rows if source is not None else entry.rows if entry else 0
        if expected != target:
            what = f"{expected:,} rows in the source, {target:,} in the target"
            self.findings.append(Finding(pair.one.key, "row_count", what, pair.value.text))
        self._note(StepOutcome(pair.one.key, "verify", pair.value.text, "proof: count", "done", rows=target))

    # By content

    def _compare_contents(self, pairs: list[Pair], deep: bool) -> dict[str, str]:
        failures: dict[str, str] = {}
        comparable = [pair for pair in pairs if self._is_there(pair)]
        if not comparable:
            return failures
        started = time.monotonic()
        mover = self.engine.mover([count for pair in comparable for count in _counts(pair)])
        self.timings["spark start"] = round(time.monotonic() - started, 3)
        started = time.monotonic()
        workspace = self.places.lake.prepare(self.run)
        try:
            with snapshot_of(self.places.source) as snapshot:
                shared = Compared(self.places.source, self.places.target, self.places.lake, snapshot, deep)
                slices = [_slice(shared, pair) for pair in comparable]
                self.listener.phase("verify", len(slices), self._rows(comparable))

                def finished(number: int, facts: Facts) -> None:
                    if facts["outcome"] == "failed":
                        failures.setdefault(comparable[number].one.key, facts["error"])
                    else:
                        self._compared(comparable[number], facts)

                run_slices(
                    mover,
                    slices,
                    workspace,
                    finished,
                    self.listener.moved,
                    self.places.project.max_connections,
                )
        except TidegateError as problem:
            failures.update({pair.one.key: str(problem) for pair in comparable})
        finally:
            self.listener.phase_ended()
            self.places.lake.finish(self.run)
        self.timings["verify"] = round(time.monotonic() - started, 3)
        return failures

    def _is_there(self, pair: Pair) -> bool:
        """A value that the target lacks altogether needs no reading to be found missing."""
        evidence = pair.one.evidence
        if pair.value in evidence.target:
            return True
        self.findings.append(Finding(pair.one.key, "receipt", "missing in the target", pair.value.text))
        return False

    def _compared(self, pair: Pair, facts: Facts) -> None:
        comparison, findings = kind_of(pair.one.table.common).judged(pair.one, pair.value, facts)
        self.comparisons.append(comparison)
        self.findings += findings
        rows = comparison.target.rows if comparison.target else 0
        outcome = StepOutcome(pair.one.key, "verify", pair.value.text, "proof: hash", "done", rows, facts["seconds"])
        self._note(outcome)

    def _note(self, outcome: StepOutcome) -> None:
        self.steps.append(outcome)
        self.listener.step(outcome)

    def _rows(self, pairs: list[Pair]) -> int:
        return sum(count or 0 for pair in pairs for count in _counts(pair))

    def _report(self, verb: str, failures: dict[str, str]) -> RunReport:
        differs = any(finding.severity == "error" for finding in self.findings)
        incomplete = any(coverage.is_empty for coverage in self.coverage.values())
        return RunReport(
            run=self.run,
            verb=verb,
            started_at=self.clock.started_at,
            seconds=self.clock.seconds,
            outcome="failed" if failures else "differences" if differs else "incomplete" if incomplete else "equal",
            steps=tuple(self.steps),
            findings=tuple(self.findings),
            comparisons=tuple(sorted(self.comparisons, key=lambda one: (one.table, one.value))),
            coverage=self.coverage,
            failures=tuple(failures.items()),
            engine=self.engine.name,
            timings=self.timings,
            exit_code=1 if failures else 3 if differs else 0,
        )


def values_that_differ(report: RunReport) -> dict[str, list[str]]:
    """Table and values with an error, for repair."""
    found: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.severity == "error" and finding.value:
            found.setdefault(finding.table, []).append(finding.value)
    return found


def _proof(pair: Pair) -> str:
    return str(getattr(pair.one.table.common, "proof", "hash"))


def _counts(pair: Pair) -> list[int | None]:
    """How many rows either side has, as far as planning or the ledger knows."""
    seen = pair.one.evidence
    source, entry = seen.source.get(pair.value), seen.ledger.get(pair.value)
    in_source = source.rows if source is not None and source.rows is not None else entry.rows if entry else None
    return [in_source, seen.target.get(pair.value, in_source)]


def _slice(shared: Compared, pair: Pair) -> Slice:
    return kind_of(pair.one.table.common).compare_slice(shared, pair.one, pair.value)
