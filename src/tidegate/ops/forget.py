"""Forget: take a value out of the declared scope. Rows and files stay where they are."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import ConfigError
from tidegate.interfaces.lake import Layout
from tidegate.model.scope import Scope
from tidegate.runs.plan import planning
from tidegate.runs.run import Run
from tidegate.state import lock
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import FailedTable


def forget(run: Run, key: str, text: str) -> Scope:
    """Return the scope from now on. Raises ConfigError when the value is not in it."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, FailedTable):
        raise planned.problem
    table = planned.table
    if table.lake_table.layout is not Layout.VALUES:
        raise ConfigError(
            f"{key}: only values of a partition table can be forgotten.",
            "Nothing was changed.",
            "Take the table out of the configuration: its rows and files stay.",
        )
    value, scope = table.change.value(text), planned.state.scope
    if scope is None or not scope.covers(value):
        raise ConfigError(
            f"{key}: {value} is not in the scope ({scope or 'nothing was loaded yet'}).",
            "Nothing was changed.",
        )
    entry, remaining = planned.state.ledger.get(value), scope.without(value)
    with run.control() as control:
        ledger = Ledger(control)
        lock.take(control, table.ledger_name, run.id)
        with control.transaction():
            if entry is not None:
                forgotten = replace(entry, generation=entry.generation + 1, kind="forgotten", run=run.id)
                ledger.record(table.ledger_name, value.text, forgotten)
            ledger.declare_in_transaction(table.ledger_name, remaining)
        run.keep_by_hand(control, key, value.text, f"the scope is now {remaining}")
    run.pipeline.lake.save_scope(table.lake_table, run.pipeline.target_place, remaining)
    return remaining
