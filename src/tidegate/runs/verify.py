"""Verify: is the target equal to the source, within the declared scope? Reads both sides, writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.errors import TidegateError
from tidegate.interfaces.check import Check, Sides, Snapshot
from tidegate.model.report import Finding, RunReport, StepOutcome
from tidegate.model.values import Value
from tidegate.runs.derived import evaluate_derived
from tidegate.runs.plan import planning
from tidegate.runs.rules import ask_rules
from tidegate.runs.run import Job, Run, snapshot_of
from tidegate.spark.executor import SplitOutcome
from tidegate.tables.planned import FailedTable, PlannedTable, partition_results


@dataclass(frozen=True)
class Comparable:
    """One window to compare, by one check."""

    planned: PlannedTable
    check: Check
    window: Value

    @property
    def rows(self) -> int | None:
        """Return how many rows both sides have together, as far as planning or the ledger knows."""
        state = self.planned.state
        source, entry = state.source.get(self.window), state.ledger.get(self.window)
        in_source = source.rows if source is not None and source.rows is not None else entry.rows if entry else None
        in_target = state.target.get(self.window, in_source)
        return None if in_source is None or in_target is None else in_source + in_target


def verify(run: Run, keys: Sequence[str], *, deep: bool = False) -> RunReport:
    """Compare every table with its checks; with `deep` name the keys that differ."""
    with planning(run.pipeline) as planner:
        results = planner.plan(keys, count_all=True, planned=partial(_prewarm, run))
    planned, problems = partition_results(results)
    run.failed.update(problems)
    windows: list[Comparable] = []
    for table in planned:
        run.findings += [*table.coverage.findings(table.key), *_what_sides_hide(table)]
        run.coverage[table.key] = table.coverage
        if not table.table.change.has_source_table:
            what = "not compared: no table of the source has its rows"
            run.findings.append(Finding(table.key, "scope", what, severity="note"))
            continue
        for check in table.table.checks:
            to_compare, findings = check.windows(table)
            run.findings += findings
            windows += [Comparable(table, check, window) for window in to_compare]
    _compare(run, windows, deep=deep)
    ask_rules(run, planned)
    return run.keep(_report(run))


def _what_sides_hide(planned: PlannedTable) -> list[Finding]:
    """Return what can make the rows of a side incomplete for this login: the comparison does not see such rows."""
    texts = planned.table.found.source.source_warnings
    return [Finding(planned.key, "scope", text, severity="warning") for text in texts]


def _prewarm(run: Run, result: PlannedTable | FailedTable) -> None:
    """Start what will read both sides, in the background, as soon as a table has a window that must be read."""
    if not isinstance(result, PlannedTable):
        return
    pipeline = run.pipeline
    sides = Sides(pipeline.source, pipeline.target, pipeline.lake, Snapshot(), deep=False)
    for check in result.table.checks:
        windows = [window for window in check.windows(result)[0] if window in result.state.target]
        if windows and check.split(sides, result, windows[0]) is not None:
            run.engine.prewarm()


def _compare(run: Run, windows: Sequence[Comparable], *, deep: bool) -> None:
    pipeline = run.pipeline
    try:
        with snapshot_of(pipeline.source) as snapshot:
            sides = Sides(pipeline.source, pipeline.target, pipeline.lake, snapshot, deep)
            jobs = []
            for about in windows:
                split = about.check.split(sides, about.planned, about.window)
                if split is None:
                    _evaluate(run, about, SplitOutcome(0))
                elif about.window not in about.planned.state.target:
                    # Nothing has to be read to find that a window is missing altogether.
                    text = about.window.text
                    run.findings.append(Finding(about.planned.key, "receipt", "missing in the target", text))
                else:
                    jobs.append(Job(about, split, about.rows))
            if jobs:
                run.run_jobs("verify", jobs, lambda job, outcome: _evaluate(run, job.about, outcome))
    except TidegateError as problem:
        for about in windows:
            run.failed.setdefault(about.planned.key, str(problem))


def _evaluate(run: Run, about: Comparable, outcome: SplitOutcome) -> None:
    planned, window = about.planned, about.window
    if outcome.error is not None:
        run.failed.setdefault(planned.key, str(outcome.error))
        return
    is_derived = planned.table.transform is not None and about.check.compares_content
    evaluate = partial(evaluate_derived, run) if is_derived else about.check.evaluate
    comparison, findings = evaluate(planned, window, outcome.result)
    run.findings += findings
    if comparison is not None:
        run.comparisons.append(comparison)
        rows = comparison.target.rows if comparison.target else 0
    else:
        rows = planned.state.target.get(window) or 0
    proof = "count" if comparison is None else "hash"
    noted = StepOutcome(planned.key, "verify", window.text, f"proof: {proof}", "done", rows, outcome.seconds)
    run.note(replace(noted, cpu_seconds=outcome.cpu_seconds, memory=outcome.memory))


def _report(run: Run) -> RunReport:
    differs = any(finding.severity == "error" for finding in run.findings)
    incomplete = any(coverage.is_empty for coverage in run.coverage.values())
    verdict = "failed" if run.failed else "differences" if differs else "incomplete" if incomplete else "equal"
    return run.report(verdict, 1 if run.failed else 3 if differs else 0)


def windows_that_differ(report: RunReport) -> dict[str, list[str]]:
    """Return tables and windows with an error, for repair."""
    found: dict[str, list[str]] = {}
    for finding in report.findings:
        if finding.severity == "error" and finding.value:
            found.setdefault(finding.table, []).append(finding.value)
    return found
