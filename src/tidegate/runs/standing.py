"""Where a table stands, by the values that it has: what every kind answers unless it knows better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tidegate.model.evidence import LedgerEntry
from tidegate.model.plan import Land, Load, Notice, Remove
from tidegate.model.status import TableStatus, ValueStatus
from tidegate.model.values import Value
from tidegate.runs.explainer import explain, scope_in_words
from tidegate.runs.planned import Planned

AnyStatus = TypeVar("AnyStatus", bound=TableStatus)


def by_value(one: Planned) -> TableStatus:
    return standing(TableStatus, one, [_value(one, value) for value in _known(one)])


def standing(form: type[AnyStatus], one: Planned, values: Sequence[ValueStatus], **own: Any) -> AnyStatus:
    """What is said of every table, with what its kind has to say of it besides."""
    plan = one.plan
    steps = [step for step in plan.steps if not isinstance(step, Notice)]
    return form(
        table=one.key,
        kind=plan.kind,
        partition_column=one.table.windows,
        state="pending" if steps else _summed(values),
        scope=scope_in_words(plan.scope, plan.kind),
        values=tuple(values),
        pending=tuple(explain(step, plan.kind) for step in steps),
        notes=tuple(explain(step, plan.kind) for step in plan.steps if isinstance(step, Notice)),
        **own,
    )


def next_steps(one: Planned, value: Value) -> tuple[str, ...]:
    steps = [step for step in one.plan.steps if isinstance(step, (Land, Load, Remove)) and step.value == value]
    return tuple(explain(step, one.plan.kind) for step in steps)


def _summed(values: Sequence[ValueStatus]) -> str:
    states = {value.state for value in values}
    return "differs" if "differs" in states else "in step" if states & {"proven", "adopted"} else "empty"


def _known(one: Planned) -> list[Value]:
    seen = one.evidence
    return sorted({*seen.source, *seen.lake, *seen.target, *seen.ledger})


def _value(one: Planned, value: Value) -> ValueStatus:
    seen, entry = one.evidence, one.evidence.ledger.get(value)
    source, file, planned = seen.source.get(value), seen.lake.get(value), next_steps(one, value)
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
        next=planned,
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
