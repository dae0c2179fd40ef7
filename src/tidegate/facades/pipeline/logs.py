"""One line of log per major operation, with standard `logging`. No line has a secret or a row's value."""

from __future__ import annotations

import logging

from tidegate.model.report import RunReport

LOGGER = logging.getLogger("IncrementalSQLServerParquetPipeline")


def configure_logging(level: str | int | None) -> None:
    """Set the level of the pipeline's own logger; where the lines go is the program's decision."""
    if level is not None:
        LOGGER.setLevel(level.upper() if isinstance(level, str) else level)


def log_report(report: RunReport) -> None:
    for step in report.steps:
        level = logging.ERROR if step.outcome == "failed" else logging.INFO
        text = "%s %s %s: %s, %d rows, %.3f s, run %s"
        LOGGER.log(level, text, step.step, step.table, step.value, step.outcome, step.rows, step.seconds, report.run)
    LOGGER.info("%s %s: %s, %.3f s", report.verb, report.run, report.outcome, report.seconds)
