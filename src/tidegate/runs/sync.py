"""Sync: the verb `run`, in its order. Lock, plan, change schemas, extract, load, remove, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tidegate.errors import TidegateError
from tidegate.interfaces.database import Session
from tidegate.model.plan import DAILY, EXCHANGED, ChangeSchema, Notice, Request
from tidegate.model.report import Finding, RunReport
from tidegate.runs.extract import extract
from tidegate.runs.load import Exchanges, load, load_together
from tidegate.runs.plan import planning
from tidegate.runs.remove import remove
from tidegate.runs.run import Run
from tidegate.sql.text import raw
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import Ask, FailedTable, PlannedTable, partition_results


def sync(run: Run, keys: Sequence[str], ask: Ask = lambda table, state: DAILY, *, disown: bool = False) -> RunReport:
    """Bring the target in sync. One failing table does not stop the others; raises only what concerns all of them."""
    with run.control() as control:
        ledger = Ledger(control)
        if disown:
            with control.transaction():
                ledger.disown()
        ledger.claim()
        run.boundary("ledger ready")
        planned = _plan(run, run.lock(control, keys), ask)
        _do(run, control, planned)
        run.findings += _warnings(planned)
        return run.keep(_report(run, keys), control)


def _plan(run: Run, keys: Sequence[str], ask: Ask) -> list[PlannedTable]:
    counts: list[int | None] = []

    def planned(result: PlannedTable | FailedTable) -> None:
        if isinstance(result, PlannedTable) and result.plan.moves_rows:
            counts.extend(result.plan.row_counts)
            run.engine.prewarm(counts)

    with run.timed("inspect"), planning(run.pipeline) as planner:
        results = planner.plan(keys, ask, planned=planned, expect_rows=run.engine.expect_rows)
    found, problems = partition_results(results)
    run.failed.update(problems)
    run.boundary("planned")
    return found


def _do(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    _remember_dropped_columns(run, control, planned)
    busy = [table for table in planned if table.plan.does_something and table.key not in run.failed]
    _restore_scopes(run, control, [table for table in planned if not table.plan.does_something])
    if not busy:
        return
    try:
        _change_schemas(run, control, busy)
        ledger = Ledger(control)
        entries, not_extracted = extract(run, ledger, busy)
        exchanges = load(run, busy, entries, not_extracted)
        remove(run, control, busy)
        _load_together(run, ledger, exchanges)
    except TidegateError as problem:
        # What concerns all tables (Spark, the lake, the control session) fails those that were not done.
        for table in busy:
            run.failed.setdefault(table.key, str(problem))
    finally:
        run.pipeline.lake.end(run.id)


def _load_together(run: Run, ledger: Ledger, exchanges: Exchanges) -> None:
    """Extract windows that exchanged rows again, on one snapshot of the source, and load them in one transaction.
    Windows that hold further keys of these rows join them in the next round."""
    while exchanges:
        planned = _plan(run, list(exchanges), _reload(exchanges))
        entries, not_extracted = extract(run, ledger, planned)
        exchanges = load_together(run, planned, entries, not_extracted, exchanges)


def _reload(exchanges: Exchanges) -> Ask:
    return lambda table, state: Request(reload=exchanges[table.key], why=EXCHANGED)


# Before rows move


def _change_schemas(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Run the DDL of every table and declare its scope. A table whose DDL fails is left out of the run."""
    for table in planned:
        for step in table.steps(ChangeSchema):
            run.do(table.key, step, partial(_execute, control, step))
        if table.key not in run.failed:
            run.declare_scope(control, table.table, table.plan.scope, table.state.scope_copies)
        run.boundary("schema changed")


def _execute(control: Session, step: ChangeSchema) -> int:
    with control.transaction():
        for statement in step.statements:
            control.execute(raw(statement))
    return 0


def _restore_scopes(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write again the copies of scopes that got lost, also of tables that have nothing else to do.

    A lost lake takes its copies along. Without a new one, the ledger could not be rebuilt when it is lost next."""
    for table in planned:
        state = table.state
        if state.is_ours:
            scope = table.plan.scope if state.scope is None else state.scope
            try:
                run.declare_scope(control, table.table, scope, state.scope_copies)
            except TidegateError as problem:
                run.failed.setdefault(table.key, str(problem))


def _remember_dropped_columns(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write into the ledger which columns left the source: one that comes back under the same name is another."""
    for table in planned:
        entries = table.state.ledger
        marked = {window: table.state.without_dropped(entry) for window, entry in entries.items() if entry.is_active}
        changed = {window: entry for window, entry in marked.items() if entry != entries[window]}
        if not changed:
            continue
        try:
            with control.transaction():
                for window, entry in changed.items():
                    Ledger(control).update_etag(table.table.ledger_name, window.text, entry)
        except TidegateError as problem:
            run.failed[table.key] = str(problem)


# The report


def _warnings(planned: Sequence[PlannedTable]) -> Iterator[Finding]:
    for table in planned:
        for step in table.steps(Notice):
            if step.severity != "note":
                yield Finding(table.key, "plan", step.text, step.value.text if step.value else "", step.severity)


def _report(run: Run, keys: Sequence[str]) -> RunReport:
    share = len(run.failed) / max(len(keys), 1)
    outcome = "failed" if run.failed else "done" if run.outcomes else "nothing to do"
    return run.report(outcome, 1 if share > run.pipeline.project.error_threshold else 0)
