"""The status of a table: the state of each of its windows, and what the next run does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tidegate.model.explain import explain
from tidegate.model.plan import Extract, Load, Notice, Read, Remove
from tidegate.model.state import LedgerEntry
from tidegate.model.status import TableStatus, ValueStatus
from tidegate.model.values import Value
from tidegate.tables.planned import FailedTable, PlannedTable

AnyStatus = TypeVar("AnyStatus", bound=TableStatus)


def status_of(result: PlannedTable | FailedTable) -> TableStatus:
    """Return where a table stands, also when it could not be planned."""
    if isinstance(result, FailedTable):
        table = result.table
        kind, divided_by = (table.found.settings.kind, table.change.divided_by) if table else ("", "")
        return TableStatus(result.key, kind, divided_by, "failed", problem=str(result.problem))
    own = result.table.change.status(result, result.state)
    return own or table_status(TableStatus, result, [_window(result, window) for window in _windows(result)])


def table_status(form: type[AnyStatus], planned: PlannedTable, values: Sequence[ValueStatus], **own: Any) -> AnyStatus:
    """Return a status of this form: what every table has, and `own`, which its change adds."""
    plan = planned.plan
    steps = [step for step in plan.steps if not isinstance(step, Notice)]
    moves = [step for step in steps if not isinstance(step, Read)]
    return form(
        table=planned.key,
        kind=plan.kind,
        partition_column=planned.table.change.divided_by,
        state="pending" if moves else summary_of(values),
        scope=plan.labels.scope(plan.scope),
        values=tuple(values),
        pending=tuple(explain(step, plan.labels) for step in steps),
        notes=tuple(explain(step, plan.labels) for step in plan.steps if isinstance(step, Notice)),
        **own,
    )


def next_steps(planned: PlannedTable, value: Value) -> tuple[str, ...]:
    steps = [step for step in planned.plan.steps if isinstance(step, (Extract, Load, Remove)) and step.value == value]
    return tuple(explain(step, planned.plan.labels) for step in steps)


def summary_of(values: Sequence[ValueStatus]) -> str:
    states = {value.state for value in values}
    return "differs" if "differs" in states else "in sync" if states & {"proven", "adopted", "loaded"} else "empty"


def _windows(planned: PlannedTable) -> list[Value]:
    seen = planned.state
    return sorted({*seen.source, *seen.lake, *seen.target, *seen.ledger})


def _window(planned: PlannedTable, value: Value) -> ValueStatus:
    seen, entry = planned.state, planned.state.ledger.get(value)
    source, file, steps = seen.source.get(value), seen.lake.get(value), next_steps(planned, value)
    return ValueStatus(
        value=value.text,
        state=_state(planned, value, entry, bool(steps)),
        source_rows=source.rows if source is not None else 0,
        lake_rows=file.rows if file is not None else 0,
        target_rows=_held(planned, value, entry),
        lake_hash=file.hash if file is not None else "",
        ledger_hash=entry.hash if entry is not None else "",
        generation=entry.generation if entry is not None else 0,
        loaded_at=entry.at if entry is not None else "",
        next=steps,
    )


def _held(planned: PlannedTable, value: Value, entry: LedgerEntry | None) -> int | None:
    """Outside of the look-back rows are not counted: then the ledger's count stands, as what was proven."""
    if value not in planned.state.target:
        return 0
    counted = planned.state.target[value]
    return counted if counted is not None or entry is None else entry.rows


def _state(planned: PlannedTable, value: Value, entry: LedgerEntry | None, has_steps: bool) -> str:
    if entry is not None and not entry.is_active:
        return entry.kind
    if not planned.plan.scope.covers(value):
        return "out of scope"
    if entry is None:
        return "pending"
    held = planned.state.target.get(value, 0)
    if value not in planned.state.target:
        return "missing"
    expected = entry.rows if entry.target_rows is None else entry.target_rows
    if held is not None and held != expected:
        return "differs"
    return "pending" if has_steps else "adopted" if entry.kind == "adopted" else "proven"
