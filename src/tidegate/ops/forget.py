"""Forget: take a value out of the declared scope. Rows and files stay where they are."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import ConfigError
from tidegate.model.scope import Scope
from tidegate.runs.executor import Places, new_run
from tidegate.runs.planned import Unplanned
from tidegate.state import lock
from tidegate.state.ledger import Ledger


def forget(places: Places, key: str, text: str) -> Scope:
    """The scope from now on. Raises ConfigError when the value is not in it."""
    with places.planner().open() as planner:
        one = planner.plan([key])[0]
    if isinstance(one, Unplanned):
        raise one.problem
    if one.table.common.kind != "partition":
        raise ConfigError(
            f"{key}: only values of a partition table can be forgotten.",
            "Nothing was changed.",
            "Take the table out of the configuration: its rows and files stay.",
        )
    value, scope = one.table.value(text), one.evidence.scope
    if scope is None or not scope.holds(value):
        raise ConfigError(
            f"{key}: {value} is not in the scope ({scope or 'nothing was loaded yet'}).",
            "Nothing was changed.",
        )
    run, entry = new_run(), one.evidence.ledger.get(value)
    with places.target.connect("forget") as control:
        ledger = Ledger(control)
        if not ledger.exists():  # it was lost, and the lake told the scope
            ledger.create()
        lock.take(control, one.table.ledger_name, run)
        if entry is not None:
            ledger.record(
                one.table.ledger_name,
                value.text,
                replace(entry, generation=entry.generation + 1, kind="forgotten", run=run),
            )
        ledger.declare(one.table.ledger_name, scope.without(value))
    places.lake.keep_scope(one.table.lake_table, places.target.connection.display, scope.without(value))
    return scope.without(value)
