"""Show progress while rows move: bars on a terminal, plain lines elsewhere, nothing with --json or --quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tidegate.model.report import StepOutcome
from tidegate.model.values import shown
from tidegate.model.windows import is_whole
from tidegate.runs.listener import Listener

if TYPE_CHECKING:
    from rich.progress import Progress


_LINE_SECONDS = 30.0


class PlainProgress(Listener):
    """Prints one line per step on standard error, in the words of the plan, and the rows so far now and then."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._name, self._expected = "", ""
        self._started = self._said = 0.0

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        self._name, self._expected = name, f" of {rows:,}" if rows else ""
        self._started = self._said = time.monotonic()

    def moved(self, rows: int) -> None:
        now = time.monotonic()
        if rows and now - self._said >= _LINE_SECONDS:
            self._said = now
            speed = rows / (now - self._started)
            click.echo(f"{self._name}: {rows:,}{self._expected} rows so far, {speed:,.0f} rows/s", err=True)

    def step(self, outcome: StepOutcome) -> None:
        click.echo(self._redact(_line(outcome)), err=True)


class BarProgress(Listener):
    """Shows one bar per phase, with rows per second. Failed steps and schema changes stay visible above it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._bars: Progress | None = None
        self._task: Any = None
        self._splits = self._done = 0
        self._started = 0.0

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = [
            TextColumn("{task.description:>7}"),
            BarColumn(32),
            TextColumn("{task.fields[rows]:>14} rows"),
            TextColumn("{task.fields[speed]:>12} rows/s"),
            MofNCompleteColumn(),
            TextColumn("values"),
            TimeElapsedColumn(),
        ]
        self._bars = Progress(*columns, console=Console(file=sys.stderr), transient=False)
        self._splits, self._done, self._started = splits, 0, time.monotonic()
        self._rows_expected = rows
        self._task = self._bars.add_task(name, total=splits, rows="0", speed="-")
        self._bars.start()

    def moved(self, rows: int) -> None:
        if self._bars is not None and rows and self._done < self._splits:
            seconds = max(time.monotonic() - self._started, 0.001)
            self._bars.update(self._task, rows=f"{rows:,}", speed=f"{rows / seconds:,.0f}")

    def step(self, outcome: StepOutcome) -> None:
        if self._bars is None:
            click.echo(self._redact(_line(outcome)), err=True)
            return
        self._done += 1
        self._bars.advance(self._task)
        if outcome.outcome == "failed":
            self._bars.console.print(self._redact(_line(outcome)), markup=False, highlight=False)

    def phase_ended(self) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._bars = None


def _line(outcome: StepOutcome) -> str:
    value = "" if is_whole(outcome.value) else shown(outcome.value)
    about = f"{outcome.table}  {outcome.step} {value}".rstrip()
    if outcome.outcome == "failed":
        return f"{about}  failed: {outcome.error.splitlines()[0] if outcome.error else 'no reason was given'}"
    if outcome.outcome == "skipped":
        return f"{about}  skipped: {outcome.why}"
    rows = f"  {outcome.rows:,} rows" if outcome.rows else ""
    return f"{about}{rows} in {outcome.seconds:.1f} s: {outcome.why}"
