"""Remove: windows that a retention rule takes away from the target or the lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tidegate.interfaces.session import Session
from tidegate.model.plan import Remove
from tidegate.runs.run import Run
from tidegate.sql.contents import delete_rows
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import PlannedTable


def remove(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Remove each window, in a transaction of its own where it leaves the target."""
    for table in planned:
        if table.key in run.failed:
            continue
        for step in table.steps(Remove):
            run.do(table.key, step, partial(_remove, run, control, table, step))
            run.boundary("removed")


def _remove(run: Run, control: Session, planned: PlannedTable, step: Remove) -> int:
    """Return how many rows left the target."""
    lake, table = run.pipeline.lake, planned.table
    if step.side == "lake":
        if step.entries:
            lake.drop_superseded(table.lake_table, step.entries)
        else:
            lake.drop(table.lake_table, step.value.text)
            if table.raw_lake_table is not None:
                lake.drop(table.raw_lake_table, step.value.text)
        return 0
    request = table.change.target_request(step.value)
    with control.transaction():
        control.lock_in_transaction(f"tidegate value {table.ledger_name} {step.value}")
        deleted = control.execute(delete_rows(request.table, request.rows))
        entry = replace(planned.state.ledger[step.value], kind="removed", generation=step.generation, run=run.id)
        Ledger(control).record(table.ledger_name, step.value.text, entry)
    return deleted
