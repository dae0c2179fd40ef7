"""Write what a run did into the tables that people and their tools read: metrics, watermarks, gaps.

The ledger is the truth. These rows are written after it, where `tidegate schema create` has created the tables. A
watermark that is lost or wrong there is put right by the next run that moves rows of its table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from tidegate.errors import TidegateError
from tidegate.interfaces.session import Session
from tidegate.model.records import Gap, LoadMetrics, Watermark
from tidegate.model.report import Finding, StepOutcome
from tidegate.model.tokens import CursorWindow, IncrementalWindow, PartitionToken, WatermarkSet
from tidegate.model.values import Value
from tidegate.runs.run import Run
from tidegate.state import own_tables
from tidegate.state.ledger import Ledger
from tidegate.state.records import PIPELINE, Records
from tidegate.tables.planned import PlannedTable


def record(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Record what was done for these tables. A problem is a warning: the rows are loaded all the same."""
    try:
        if not own_tables.exist(control):
            return
        with control.transaction():
            for table in planned:
                outcomes = [outcome for outcome in run.outcomes if outcome.table == table.key]
                if any(outcome.step in ("load", "remove") for outcome in outcomes):
                    _record_table(run, control, table, outcomes)
    except TidegateError as problem:
        what = f"metrics and watermarks could not be written: {problem.happened}"
        run.findings.append(Finding("", "record", what, severity="warning"))


def record_watermark(control: Session, planned: PlannedTable, token: WatermarkSet) -> None:
    """Record that somebody set or reset the watermark of a table. Joins the open transaction."""
    if own_tables.exist(control):
        change, value = planned.table.change, None if token.watermark is None else token.watermark.text
        mark = Watermark(PIPELINE, planned.key, change.divided_by, value, change.name, "", token.who, token.why)
        Records(control).set_watermark(mark)


def _record_table(run: Run, control: Session, planned: PlannedTable, outcomes: Sequence[StepOutcome]) -> None:
    records, table = Records(control), planned.table
    column, load_id = table.change.divided_by, f"{run.id}-{hashlib.sha256(planned.key.encode()).hexdigest()[:8]}"
    token, reached = _newest(control, planned)
    before = records.watermark(PIPELINE, planned.key, column)
    metrics = LoadMetrics(
        load_id,
        target_table=table.ledger_name,
        load_type=table.load.name,
        strategy=table.change.name,
        pipeline_id=PIPELINE,
        source_id=planned.key,
        records_extracted=_rows(outcomes, "extract"),
        records_written=_rows(outcomes, "load"),
        records_inserted=_counted(outcomes, "inserted"),
        records_updated=_counted(outcomes, "updated"),
        records_deleted=_rows(outcomes, "remove") + (_counted(outcomes, "deleted") or 0),
        records_unchanged=None,
        duplicates_removed=_counted(outcomes, "duplicates") or 0,
        late_records=(_counted(outcomes, "late") or 0) + (_counted(outcomes, "in quarantine") or 0),
        milliseconds=round(1000 * sum(outcome.seconds for outcome in outcomes)),
        status="failed" if any(outcome.outcome == "failed" for outcome in outcomes) else "done",
    )
    if reached is not None:
        metrics = replace(
            metrics,
            watermark_column=column,
            watermark_before=None if before is None else str(before.watermark_value),
            watermark_after=reached.text,
        )
        mark = Watermark(PIPELINE, planned.key, column, reached.text, table.change.name, load_id=load_id)
        records.set_watermark(mark)
    if isinstance(token, IncrementalWindow):
        _record_gaps(records, planned.key, column, token)
    records.record_load(metrics)


def newest_watermark(control: Session, planned: PlannedTable) -> str | None:
    """Return how far the ledger says that the table is synced; None where it has no watermark, or was reset."""
    entries = Ledger(control).entries(planned.table.ledger_name)
    newest = max(entries.values(), key=lambda entry: entry.at, default=None)
    if newest is not None and isinstance(newest.token, WatermarkSet):
        return None if newest.token.watermark is None else newest.token.watermark.text
    reached = _newest(control, planned)[1]
    return None if reached is None else reached.text


def _newest(control: Session, planned: PlannedTable) -> tuple[CursorWindow | None, Value | None]:
    """Return the token of the window that was loaded last, and how far the table is synced: by its cursor, or by the
    greatest partition value."""
    entries = Ledger(control).entries(planned.table.ledger_name)
    active = {window: entry for window, entry in entries.items() if entry.is_active}
    partitions = [window for window, entry in active.items() if isinstance(entry.token, PartitionToken)]
    if partitions:
        return None, max(planned.table.change.value(window) for window in partitions)
    loaded = sorted(active.values(), key=lambda entry: entry.at)
    cursors = [entry.token for entry in loaded if isinstance(entry.token, CursorWindow)]
    marks = [token.watermark for token in cursors if token.watermark is not None]
    return (cursors[-1] if cursors else None), (marks[-1] if marks else None)


def _record_gaps(records: Records, key: str, column: str, window: IncrementalWindow) -> None:
    """Write the values that an open transaction could still bring; they are read again until it has ended."""
    upto = "" if window.watermark is None else window.watermark.text
    gaps = {
        hashlib.sha256(f"{key}\n{gap.low.text}\n{gap.session}".encode()).hexdigest(): Gap(
            "window", gap.low.text, upto, reason=f"open transaction of {gap.who} since {gap.since}"
        )
        for gap in window.gaps
    }
    records.record_gaps(PIPELINE, key, column, gaps)


def _counted(outcomes: Sequence[StepOutcome], what: str) -> int | None:
    """Return how many rows the loads counted; None where none of them told these rows apart."""
    found = [outcome.counts[what] for outcome in outcomes if outcome.outcome != "failed" and what in outcome.counts]
    return sum(found) if found else None


def _rows(outcomes: Sequence[StepOutcome], step: str) -> int:
    return sum(outcome.rows for outcome in outcomes if outcome.step == step and outcome.outcome == "done")
