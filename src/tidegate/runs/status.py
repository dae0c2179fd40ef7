"""Status: the evidence of a table, value by value, with what follows from it."""

from __future__ import annotations

from tidegate.model.evidence import LedgerEntry
from tidegate.model.plan import Land, Load, Notice, Remove
from tidegate.model.status import TableStatus, ValueStatus
from tidegate.model.values import Value
from tidegate.runs.explainer import explain
from tidegate.runs.planned import Planned, Unplanned


def status_of(one: Planned | Unplanned) -> TableStatus:
    """Works on what could be seen, also when the table could not be planned."""
    if isinstance(one, Unplanned):
        kind, windows = (one.table.common.kind, one.table.windows) if one.table else ("", "")
        return TableStatus(one.key, kind, windows, "failed", problem=str(one.problem))
    steps = [step for step in one.plan.steps if not isinstance(step, Notice)]
    values = tuple(_value(one, value) for value in _known(one))
    state = (
        "pending" if steps else "in step" if any(value.state in ("proven", "adopted") for value in values) else "empty"
    )
    return TableStatus(
        table=one.key,
        kind=one.table.common.kind,
        partition_column=one.table.windows,
        state=state,
        scope=str(one.plan.scope),
        values=values,
        pending=tuple(explain(step) for step in steps),
        notes=tuple(explain(step) for step in one.plan.steps if isinstance(step, Notice)),
    )


def _known(one: Planned) -> list[Value]:
    seen = one.evidence
    return sorted({*seen.source, *seen.lake, *seen.target, *seen.ledger})


def _value(one: Planned, value: Value) -> ValueStatus:
    seen, entry = one.evidence, one.evidence.ledger.get(value)
    source, file = seen.source.get(value), seen.lake.get(value)
    planned = [step for step in one.plan.steps if isinstance(step, (Land, Load, Remove)) and step.value == value]
    return ValueStatus(
        value=value.text,
        state=_state(one, value, entry, bool(planned)),
        source_rows=source.rows if source is not None else 0,
        lake_rows=file.rows if file is not None else 0,
        target_rows=_held(one, value, entry),
        lake_hash=file.hash if file is not None else "",
        ledger_hash=entry.hash if entry is not None else "",
        generation=entry.generation if entry is not None else 0,
        loaded_at=entry.at if entry is not None else "",
        next=tuple(explain(step) for step in planned),
    )


def _held(one: Planned, value: Value, entry: LedgerEntry | None) -> int | None:
    """Outside of the look-back rows are not counted: then the ledger's count stands, as what was proven."""
    if value not in one.evidence.target:
        return 0
    counted = one.evidence.target[value]
    return counted if counted is not None or entry is None else entry.rows


def _state(one: Planned, value: Value, entry: LedgerEntry | None, planned: bool) -> str:
    if entry is not None and not entry.stands:
        return entry.kind
    if not one.plan.scope.holds(value):
        return "out of scope"
    if entry is None:
        return "pending"
    held = one.evidence.target.get(value, 0)
    if value not in one.evidence.target:
        return "missing"
    if held is not None and held != entry.rows:
        return "differs"
    return "pending" if planned else "adopted" if entry.kind == "adopted" else "proven"
