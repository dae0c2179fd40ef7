"""The lines of log of a run: its begin, each step as it ends, its findings and its end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tidegate.logs import log
from tidegate.model.names import pluralize
from tidegate.model.report import RunReport, StepOutcome
from tidegate.model.values import shown

if TYPE_CHECKING:
    from tidegate.runs.run import Run

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}


def log_begin(run: Run) -> None:
    if run.tables:
        text = f"{run.verb} begins: {pluralize(len(run.tables), 'table')}, run {run.id}"
        log(logging.INFO, text, run.redact, event="begin", verb=run.verb, tables=len(run.tables), run=run.id)


def log_step(run: Run, step: StepOutcome) -> None:
    """Write how a step ended. `why` says of a switch which partition it took, how long readers waited, and where the
    replaced rows are."""
    level = logging.ERROR if step.outcome == "failed" else logging.INFO
    place = f"{step.table} {shown(step.value)}".strip()
    rate = f", {step.rows / step.seconds:,.0f} rows/s" if step.rows and step.seconds else ""
    text = (
        f"{place}: {step.step} {step.outcome}, {pluralize(step.rows, 'row')}, {step.seconds:.3f} s{rate}, run {run.id}"
    )
    why = step.error or step.why
    log(
        level,
        f"{text} ({why})" if why else text,
        run.redact,
        event="step",
        step=step.step,
        table=step.table,
        window=step.value,
        outcome=step.outcome,
        rows=step.rows,
        bytes=step.bytes,
        seconds=step.seconds,
        cpu_seconds=step.cpu_seconds,
        memory=step.memory,
        why=step.why,
        error=step.error,
        run=run.id,
    )


def log_end(run: Run, report: RunReport) -> None:
    for finding in report.findings:
        place = f"{finding.table} {finding.value}".strip() or "run"
        log(
            _LEVELS.get(finding.severity, logging.INFO),
            f"{place}: {finding.check}: {finding.what}, run {run.id}",
            run.redact,
            event="finding",
            table=finding.table,
            window=finding.value,
            check=finding.check,
            severity=finding.severity,
            run=run.id,
        )
    noted = {(step.table, step.error) for step in report.steps}
    for table, problem in report.failures:
        if (table, problem) not in noted:
            text = f"{table}: {problem}, run {run.id}"
            log(logging.ERROR, text, run.redact, event="failure", table=table, error=problem, run=run.id)
    moved = f"{report.rows_extracted:,} rows extracted, {report.rows_loaded:,} loaded"
    log(
        logging.ERROR if report.exit_code == 1 else logging.INFO,
        f"{report.verb} ends: {report.outcome}, {moved}, {report.seconds:.3f} s, run {run.id}",
        run.redact,
        event="end",
        verb=report.verb,
        outcome=report.outcome,
        rows_extracted=report.rows_extracted,
        rows_loaded=report.rows_loaded,
        seconds=report.seconds,
        exit_code=report.exit_code,
        run=run.id,
    )
