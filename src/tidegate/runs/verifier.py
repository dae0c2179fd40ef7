"""Verify: is the target equal to the source, within the declared scope? Reads both sides, writes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.changes.partition import settled_values
from tidegate.errors import TidegateError
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding, RunReport, StepOutcome
from tidegate.model.values import Value
from tidegate.runs.executor import Clock, Places, keep_report, new_run
from tidegate.runs.listener import Listener
from tidegate.runs.planner import Planned, sorted_out
from tidegate.runs.proving import CompareSlice
from tidegate.runs.work import Snapshot, snapshot_of
from tidegate.spark.engine import Engine
from tidegate.spark.slices import Facts, run_slices


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
    steps: list[StepOutcome] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    def verify(self, keys: Sequence[str], *, deep: bool = False, verb: str = "verify") -> RunReport:
        with self.places.planner().open() as planner:
            planned, failures = sorted_out(planner.plan(keys, count_all=True))
        pairs = [Pair(one, value) for one in planned for value in self._values(one)]
        by_count = [pair for pair in pairs if pair.one.table.settings.proof == "count"]
        by_hash = [pair for pair in pairs if pair.one.table.settings.proof == "hash"]
        for pair in by_count:
            self._compare_counts(pair)
        failures |= self._compare_contents(by_hash, deep)
        report = self._report(verb, failures)
        keep_report(self.places, report)
        return report

    def _values(self, one: Planned) -> list[Value]:
        """What is in scope, known to the ledger or ready in the source, and inside of the retention."""
        seen, settings = one.evidence, one.table.settings
        if seen.scope is None and not seen.ledger:
            self.findings.append(Finding(one.key, "scope", "nothing was loaded yet: there is no scope to verify"))
            return []
        standing = {value for value, entry in seen.ledger.items() if entry.stands}
        settled = settled_values(settings, seen.source, seen.ready)
        known = sorted(value for value in {*standing, *settled} if one.plan.scope.holds(value))
        kept = known if settings.retain.target is None else known[-settings.retain.target :]
        return [value for value in kept if not self._kept_by_a_tester(one, value)]

    def _kept_by_a_tester(self, one: Planned, value: Value) -> bool:
        entry, held = one.evidence.ledger.get(value), one.evidence.target.get(value)
        if one.table.settings.on_target_change != "keep" or entry is None or held is None or held <= entry.rows:
            return False
        text = f"left out of the proof: `on_target_change: keep` and the target holds {held - entry.rows:,} rows more"
        self.findings.append(Finding(one.key, "receipt", text, value.text, "note"))
        return True

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
        session = self.engine.session()
        self.timings["spark start"] = round(time.monotonic() - started, 3)
        started = time.monotonic()
        workspace = self.places.lake.prepare(self.run)
        try:
            with snapshot_of(self.places.source) as snapshot:
                slices = [self._slice(pair, snapshot, deep) for pair in comparable]
                self.listener.phase("verify", len(slices), self._rows(comparable))

                def finished(number: int, facts: Facts) -> None:
                    if facts["outcome"] == "failed":
                        failures.setdefault(comparable[number].one.key, facts["error"])
                    else:
                        self._compared(comparable[number], facts)

                run_slices(
                    session,
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

    def _slice(self, pair: Pair, snapshot: Snapshot, deep: bool) -> CompareSlice:
        table, evidence, value = pair.one.table, pair.one.evidence, pair.value
        in_source, entry = value in evidence.source, evidence.ledger.get(value)
        known = evidence.lake.get(value) or entry
        target = table.target_request(value)
        return CompareSlice(
            source=self.places.source if in_source else None,
            source_request=table.source_request(value) if in_source else None,
            snapshot=snapshot.name,
            target=self.places.target,
            # What the source purged is compared with the ledger, and so in the columns of that time.
            target_request=target if in_source or entry is None else target.only(entry.columns),
            text_columns=known.text_columns if known else (),
            keys=table.keys if deep and in_source else (),
        )

    def _compared(self, pair: Pair, facts: Facts) -> None:
        evidence = pair.one.evidence
        entry, file = evidence.ledger.get(pair.value), evidence.lake.get(pair.value)
        source, target = _receipt(facts["source"]), _receipt(facts["target"])
        comparison = Comparison(
            pair.one.key,
            pair.value.text,
            source,
            target,
            file.hash if file else "",
            entry.hash if entry else "",
        )
        self.comparisons.append(comparison)
        rows = target.rows if target else 0
        outcome = StepOutcome(pair.one.key, "verify", pair.value.text, "proof: hash", "done", rows, facts["seconds"])
        self._note(outcome)
        if source is None:
            self._judge_purged(comparison)
        elif not comparison.equal:
            self.findings.append(
                Finding(pair.one.key, "receipt", _what(comparison, facts.get("keys")), pair.value.text)
            )

    def _note(self, outcome: StepOutcome) -> None:
        self.steps.append(outcome)
        self.listener.step(outcome)

    def _judge_purged(self, comparison: Comparison) -> None:
        """The source no longer has it: the ledger's receipt is the measure."""
        same = comparison.target is not None and comparison.target.hash == comparison.ledger_hash
        what = "no longer in the source; the target " + (
            "holds what was loaded" if same else "differs from what was loaded"
        )
        severity = "note" if same else "error"
        self.findings.append(Finding(comparison.table, "receipt", what, comparison.value, severity))

    def _rows(self, pairs: list[Pair]) -> int | None:
        total = 0
        for pair in pairs:
            source, target = (
                pair.one.evidence.source.get(pair.value),
                pair.one.evidence.target.get(pair.value),
            )
            total += ((source.rows or 0) if source else 0) + (target or 0)
        return total

    def _report(self, verb: str, failures: dict[str, str]) -> RunReport:
        differs = any(finding.severity == "error" for finding in self.findings)
        return RunReport(
            run=self.run,
            verb=verb,
            started_at=self.clock.started_at,
            seconds=self.clock.seconds,
            outcome="failed" if failures else "differences" if differs else "equal",
            steps=tuple(self.steps),
            findings=tuple(self.findings),
            comparisons=tuple(sorted(self.comparisons, key=lambda one: (one.table, one.value))),
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


def _receipt(facts: Facts | None) -> Receipt | None:
    return None if facts is None else Receipt(facts["rows"], facts["hash"])


def _what(comparison: Comparison, keys: Facts | None) -> str:
    source, target = comparison.source, comparison.target
    assert source is not None and target is not None
    text = (
        f"{source.rows:,} rows in the source, {target.rows:,} in the target"
        if source.rows != target.rows
        else "equal counts, other content"
    )
    if comparison.lake_hash and target.hash == comparison.lake_hash:
        text += "; the source changed after it was extracted"
    elif comparison.lake_hash and source.hash == comparison.lake_hash:
        text += "; the target was changed after it was loaded"
    for name, found in (keys or {}).items():
        more = ", ..." if found["count"] > len(found["examples"]) else ""
        text += f"; {found['count']:,} {name} ({', '.join(found['examples'])}{more})"
    return text
