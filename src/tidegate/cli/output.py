"""Print the results of commands: text for people, or one JSON document for programs. Secrets are hidden here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from tidegate.cli.health import in_figures
from tidegate.cli.status import heading, in_lines, in_one_line
from tidegate.errors import TidegateError
from tidegate.model.coverage import CHECK as COVERAGE
from tidegate.model.description import Section
from tidegate.model.explain import explain, place_of, value_of, verb_of
from tidegate.model.health import Snapshot
from tidegate.model.names import pluralize
from tidegate.model.plan import Labels, Notice, Plan
from tidegate.model.report import RULE, Finding, RunReport, engine_in_words
from tidegate.model.status import TableStatus
from tidegate.model.windows import is_whole

DIFFERS = "the target differs from the source"
MOST_NAMED = 5

_COLOURS = {
    "done": "green",
    "equal": "green",
    "nothing to do": "green",
    "in sync": "green",
    "failed": "red",
    "differs": "yellow",
    "differences": "yellow",
    "incomplete": "yellow",
}


_URGENCY = {"critical": "red", "warning": "yellow", "info": "blue"}


class Output:
    """Prints text on standard output. `redact` replaces secrets in everything that is printed."""

    is_json = False

    def __init__(self) -> None:
        self.redact: Callable[[str], str] = lambda text: text

    def line(self, text: str = "", **style: Any) -> None:
        click.secho(self.redact(text), **style)

    def plan(self, plan: Plan) -> None:
        for note in plan.notes:
            self.line(f"note: {note}")
        shared = _shared_notes(plan)
        for table in plan.tables:
            self.line(f"{table.table}  scope {table.labels.scope(table.scope)}", bold=True)
            for step in table.steps:
                if step not in shared:
                    self.line(f"  {explain(step, table.labels)}")
            if not table.does_something:
                self.line("  nothing to do")
        for notice, tables in shared.items():
            self.line(f"{notice.severity} for {_first_few(tables)}: {notice.text}")
        for key, problem in plan.failures:
            self.failure(key, problem)

    def report(self, report: RunReport) -> None:
        for finding in report.findings:
            self.line(
                f"{finding.severity}: {_about(finding)}{finding.what}",
                fg="red" if finding.severity == "error" else "yellow",
            )
        for key, problem in report.failures:
            self.failure(key, problem)
        self.line(_summary(report), fg=_COLOURS.get(report.outcome), bold=True)

    def failure(self, key: str, problem: str) -> None:
        lines = problem.splitlines() or ["no reason was given"]
        self.line(f"{key}: {lines[0]}" if not lines[0].startswith(f"{key}:") else lines[0], fg="red", err=True)
        for line in lines[1:]:
            self.line(f"    {line}", err=True)

    def status(self, tables: Sequence[TableStatus]) -> None:
        for table in tables:
            self.line(f"{table.table}  {table.state}", bold=True, fg=_COLOURS.get(table.state))
            if table.problem:
                self.failure(table.table, table.problem)
                continue
            self.line(f"  {in_one_line(table)}")
            for text in (*table.pending[:10], *table.notes):
                self.line(f"  {text}")
            if len(table.pending) > 10:
                self.line(f"  ... and {len(table.pending) - 10} more steps")

    def explanation(self, table: TableStatus) -> None:
        self.line(heading(table), bold=True)
        for line in in_lines(table):
            self.line(f"  {line}")
        for note in table.notes:
            self.line(f"  {note}")
        if table.problem:
            self.failure(table.table, table.problem)

    def description(self, sides: Mapping[str, Sequence[Section]]) -> None:
        for side, sections in sides.items():
            problem = "" if sections else ": it does not exist, or this login may not see it"
            self.line(f"in the {side}{problem}", bold=True)
            for section in sections:
                self.line(f"\n  {section.title}{f': not visible: {section.problem}' if section.problem else ''}")
                for line in _aligned(section):
                    self.line(f"    {line}")
            self.line()

    def history(self, reports: Sequence[dict[str, Any]]) -> None:
        for report in reports:
            moved = f"{report['rows_extracted']:,} extracted, {report['rows_loaded']:,} loaded"
            when, took = report["started_at"][:19], f"{report['seconds']:.1f} s"
            self.line(f"{when}  {report['run']}  {report['verb']:<8} {report['outcome']:<14} {moved}, {took}")
        if not reports:
            self.line("no run yet")

    def health(self, health: Snapshot, failed: Sequence[str]) -> None:
        for alert in health.alerts:
            self.line(str(alert), fg=_URGENCY[alert.severity])
            if alert.remedy:
                self.line(f"    {alert.remedy}")
        for table in health.tables:
            self.line(f"{table.table}  {table.state or 'unknown'}", bold=True, fg=_COLOURS.get(table.state))
            self.line(f"  {in_figures(table, health.at)}")
        for problem in failed:
            self.line(f"not sent: {problem}", fg="red", err=True)
        counts = [f"{sum(alert.severity == severity for alert in health.alerts)} {severity}" for severity in _URGENCY]
        self.line(f"monitor: {', '.join(counts)}", bold=True, fg=_URGENCY.get(health.severity, "green"))

    def facts(self, facts: dict[str, Any], text: str) -> None:
        """Print a small result: its text, or with `--json` its facts."""
        self.line(text)

    def error(self, problem: TidegateError) -> None:
        lines = str(problem).splitlines()
        self.line(lines[0], fg="red", bold=True, err=True)
        for line in lines[1:]:
            self.line(line, err=True)


class JsonOutput(Output):
    """Prints one JSON document on standard output, also for an error."""

    is_json = True

    def _print(self, document: Any) -> None:
        click.echo(self.redact(json.dumps(document, indent=2, default=str, ensure_ascii=False)))

    def plan(self, plan: Plan) -> None:
        tables = [
            {
                "table": table.table,
                "scope": table.labels.scope(table.scope),
                "steps": [_step(step, table.labels) for step in table.steps],
            }
            for table in plan.tables
        ]
        self._print(
            {
                "tables": tables,
                "failures": [{"table": key, "problem": problem} for key, problem in plan.failures],
                "notes": list(plan.notes),
            }
        )

    def report(self, report: RunReport) -> None:
        self._print(report.to_dict())

    def status(self, tables: Sequence[TableStatus]) -> None:
        self._print({"tables": [asdict(table) for table in tables]})

    def explanation(self, table: TableStatus) -> None:
        self._print(asdict(table))

    def description(self, sides: Mapping[str, Sequence[Section]]) -> None:
        self._print({side: [asdict(section) for section in sections] for side, sections in sides.items()})

    def history(self, reports: Sequence[dict[str, Any]]) -> None:
        self._print({"runs": list(reports)})

    def health(self, health: Snapshot, failed: Sequence[str]) -> None:
        self._print({**health.to_dict(), "not_sent": list(failed)})

    def facts(self, facts: dict[str, Any], text: str) -> None:
        self._print(facts)

    def error(self, problem: TidegateError) -> None:
        parts = {"happened": problem.happened, "safe": problem.safe, "remedy": problem.remedy}
        self._print({"error": {"kind": type(problem).__name__, **parts}, "exit_code": problem.exit_code})


def _aligned(section: Section) -> Iterator[str]:
    """Yield the rows of a section as lines with aligned columns, below their headings if there are any."""
    lines = [section.headings, *section.rows] if any(section.headings) else list(section.rows)
    if section.rows:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def _step(step: Any, labels: Labels) -> dict[str, Any]:
    value = value_of(step)
    return {
        **asdict(step),
        "step": verb_of(step),
        "value": value.text if value is not None else None,
        "text": explain(step, labels),
    }


def _compared(report: RunReport) -> str:
    """Return what was compared: `16 values and 2 whole tables`."""
    wholes = sum(is_whole(step.value) for step in report.steps)
    values = len(report.steps) - wholes
    tables = f"{wholes:,} whole {'table' if wholes == 1 else 'tables'}"
    return " and ".join([*([f"{values:,} values"] if values or not wholes else []), *([tables] if wholes else [])])


def _verdict(report: RunReport) -> str:
    """Return whether both sides are equal. Uncovered rows and rows that differ are two different verdicts."""
    equal = "the target equals the source within its scope"
    if report.outcome == "incomplete":
        empty = [table for table, coverage in report.coverage.items() if coverage.is_empty]
        return f"{equal}, but nothing is copied of {_first_few(empty)}"
    if report.outcome == "differences":
        errors = [finding for finding in report.findings if finding.severity == "error"]
        if all(finding.check == RULE for finding in errors):
            return f"{equal}, but {pluralize(len(errors), 'rule')} of the configuration do not hold"
        only_coverage = all(finding.check == COVERAGE for finding in report.findings if finding.severity == "error")
        return f"{equal}, but rows are missing that no setting excludes" if only_coverage else DIFFERS
    return equal if report.outcome == "equal" else report.outcome


def _outside(report: RunReport) -> str:
    """Return `; outside of the scope: 355 of 365 values of trades (initial_load_count: 10)`, or an empty text."""
    parts = [text for table, coverage in report.coverage.items() for text in coverage.in_words(table)]
    return f"; outside of the scope: {_first_few(parts)}" if parts else ""


def _shared_notes(plan: Plan) -> dict[Notice, list[str]]:
    """Return notes that several tables have, with these tables: each is printed once."""
    found: dict[Notice, list[str]] = {}
    for table in plan.tables:
        for step in table.steps:
            if isinstance(step, Notice) and step.value is None:
                found.setdefault(step, []).append(table.table)
    return {notice: tables for notice, tables in found.items() if len(tables) >= MOST_NAMED}


def _about(finding: Finding) -> str:
    """Return what a finding is about; nothing where it is about the whole run."""
    place = place_of(finding.table, finding.value)
    return f"{place}: " if place else ""


def _first_few(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - MOST_NAMED:,} more" if len(texts) > MOST_NAMED else ""
    return ", ".join(texts[:MOST_NAMED]) + more


def _summary(report: RunReport) -> str:
    """Return the last line of a run: its outcome, rows, seconds, and what moved the rows."""
    engine = engine_in_words(report.engine, report.verb, report.outcome)
    if report.verb == "verify":
        values = f"{_compared(report)}, {sum(step.rows for step in report.steps):,} rows in the target"
        return f"verify: {_verdict(report)} ({values}, {report.seconds:.1f} s); {engine}{_outside(report)}"
    if report.outcome == "nothing to do":
        moved_by = engine.removeprefix("nothing to move, ")
        return f"{report.verb}: nothing to do ({report.seconds:.1f} s, {moved_by})"
    moved = f"{report.rows_extracted:,} rows extracted, {report.rows_loaded:,} loaded"
    return f"{report.verb}: {report.outcome}, {moved} ({report.seconds:.1f} s); {engine}"
