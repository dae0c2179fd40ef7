"""Watermark: read how far a table is synced, set it, or reset it. Who did so and why is kept in the ledger."""

from __future__ import annotations

from datetime import UTC, datetime

from tidegate.errors import ConfigError
from tidegate.model.state import LedgerEntry
from tidegate.model.status import VersionsStatus
from tidegate.model.tokens import WatermarkSet
from tidegate.model.values import Value, ValueKind
from tidegate.runs.mirrors import write_mirrors
from tidegate.runs.plan import planning
from tidegate.runs.record import record_watermark
from tidegate.runs.run import Pipeline, Run
from tidegate.state import lock
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import FailedTable, PlannedTable
from tidegate.tables.status import status_of


def watermark_status(pipeline: Pipeline, key: str) -> VersionsStatus:
    """Return how far a table is synced, what holds the watermark, and which gaps are carried."""
    status = status_of(_planned(pipeline, key))
    if not isinstance(status, VersionsStatus):
        raise _without_watermark(key)
    return status


def set_watermark(run: Run, key: str, text: str | None, who: str, why: str) -> WatermarkSet:
    """Set the watermark of a table, or reset it where `text` is None. The next run reads from there on."""
    if not who or not why:
        raise ConfigError("A watermark is changed only with who did it and why.", "Nothing was changed.", "Say both.")
    planned = _planned(run.pipeline, key)
    table = planned.table
    if not table.change.brings_changes:
        raise _without_watermark(key)
    token = WatermarkSet(None if text is None else table.change.value(text), who, why)
    with run.control() as control:
        ledger = Ledger(control)
        ledger.claim()
        lock.take(control, table.ledger_name, run.id)
        with control.transaction():
            name = _name([*planned.state.ledger, *planned.state.lake])
            entry = LedgerEntry(1, "watermark", 0, "", token=token, run=run.id)
            ledger.record(table.ledger_name, name.text, entry)
            record_watermark(control, planned, token)
        write_mirrors(run, control, [planned])
        changed = "reset" if token.watermark is None else f"set to {token.watermark}"
        run.keep_by_hand(control, key, "", f"{changed} by {who}: {why}")
    return token


def _planned(pipeline: Pipeline, key: str) -> PlannedTable:
    with planning(pipeline) as planner:
        [planned] = planner.plan([key])
    if isinstance(planned, FailedTable):
        raise planned.problem
    return planned


def _name(known: list[Value]) -> Value:
    """Return the time now, to the second, and later than every window that is known."""
    now = Value.of(f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}", ValueKind.TEXT)
    last = max(known, default=None)
    return now if last is None or now > last else Value.of(f"{last.text}-1", ValueKind.TEXT)


def _without_watermark(key: str) -> ConfigError:
    return ConfigError(
        f"{key}: only a table that is read by a cursor has a watermark, and only that of an incremental table can be"
        " set.",
        "Nothing was changed.",
        "`tidegate status` shows what each table has; `tidegate run --reload` reads a table again.",
    )
