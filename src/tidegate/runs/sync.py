"""Sync: the verb `run`, in its order. Lock, plan, change schemas, extract, load, remove, report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from tidegate.errors import DatabaseError, TidegateError
from tidegate.interfaces.session import Session
from tidegate.model.plan import (
    DAILY,
    EXCHANGED,
    ChangeSchema,
    CompleteSchema,
    Extract,
    Load,
    Notice,
    Remove,
    Request,
    Step,
)
from tidegate.model.report import Finding, RunReport
from tidegate.model.state import RESTORED
from tidegate.model.values import Value
from tidegate.runs.confirm import confirm
from tidegate.runs.counters import advance_counters
from tidegate.runs.extract import extract
from tidegate.runs.load import Exchanges, load, load_together
from tidegate.runs.mirrors import Mirrors, compared_mirrors
from tidegate.runs.noted import note
from tidegate.runs.plan import planning
from tidegate.runs.read import READ, read_first
from tidegate.runs.record import record
from tidegate.runs.remove import remove
from tidegate.runs.run import Run
from tidegate.runs.selection import notes_of, remember_selected
from tidegate.runs.stages import tidy_stages
from tidegate.runs.unknown import keep_unknown_rows
from tidegate.sql.text import raw
from tidegate.state import own_tables
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import Ask, FailedTable, PlannedTable, partition_results


@dataclass(frozen=True)
class Part:
    """Which part of a plan is done: both phases, or one of them."""

    extracts: bool = True
    loads: bool = True
    windows: frozenset[str] | None = None
    """Only these windows; None for all."""

    def of(self, planned: PlannedTable) -> PlannedTable:
        """Return the table with the steps of this part. What was not extracted yet cannot be loaded alone."""
        missing = {step.value for step in planned.steps(Extract)} if not self.extracts else set()
        steps = tuple(step for step in planned.plan.steps if self._has(step, missing))
        return replace(planned, plan=replace(planned.plan, steps=steps))

    def _has(self, step: Step, missing: set[Value]) -> bool:
        match step:
            case Extract(value=window):
                return self.extracts and self._is_chosen(window)
            case Load(value=window):
                return self.loads and window not in missing and self._is_chosen(window)
            case Remove():
                return self.extracts and self.loads and self.windows is None
        return True

    def _is_chosen(self, window: Value) -> bool:
        return self.windows is None or window.text in self.windows


EVERYTHING = Part()


def sync(
    run: Run,
    keys: Sequence[str],
    ask: Ask = lambda table, state: DAILY,
    *,
    disown: bool = False,
    part: Part = EVERYTHING,
) -> RunReport:
    """Bring the target in sync. One failing table does not stop the others; raises only what concerns all of them."""
    with run.control() as control:
        ledger = Ledger(control)
        if disown:
            with control.transaction():
                ledger.disown()
        ledger.claim()
        remember_selected(control, run.pipeline)
        run.boundary("ledger ready")
        held = run.lock(control, keys)
        planned = [part.of(table) for table in _plan(run, held, ask)]
        planned = keep_unknown_rows(run, planned, lambda table: ask(table.table, table.state))
        mirrors = compared_mirrors(run, control, planned)
        _do(run, control, planned)
        _finish(run, control, held, planned, mirrors)
        _declare_changed_where(run, control, planned)
        run.findings += [*notes_of(run.pipeline), *_warnings(planned)]
        is_held = any(table.is_held for table in planned)
        return run.keep(_report(run, keys, is_held=is_held), control)


def _plan(run: Run, keys: Sequence[str], ask: Ask) -> list[PlannedTable]:
    def planned(result: PlannedTable | FailedTable) -> None:
        if isinstance(result, PlannedTable) and result.plan.moves_rows:
            run.engine.prewarm()

    with planning(run.pipeline) as planner:
        with run.timed("inspect"):
            results = planner.plan(keys, ask, planned=planned, expect_rows=run.engine.prewarm)
        results = read_first(run, planner, results, ask)
    found, problems = partition_results(results)
    run.failed.update(problems)
    run.boundary("planned")
    return found


def _do(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    _remember_dropped_columns(run, control, planned)
    busy = [table for table in planned if table.plan.does_something and table.key not in run.failed]
    idle = [table for table in planned if not table.plan.does_something and table.key not in run.failed]
    _restore_scopes(run, control, [table for table in planned if not table.plan.does_something])
    _remember(control, idle)
    if not busy:
        return
    try:
        _change_schemas(run, control, busy)
        ledger = Ledger(control)
        entries, not_extracted = extract(run, ledger, busy)
        exchanges = load(run, busy, entries, not_extracted)
        remove(run, control, busy)
        _load_together(run, ledger, exchanges)
        advance_counters(run, control, busy)
        _complete_schemas(run, control, busy)
    except TidegateError as problem:
        # What concerns all tables (Spark, the lake, the control session) fails those that were not done.
        for table in busy:
            run.failed.setdefault(table.key, str(problem))
    finally:
        run.pipeline.lake.end(run.id)


def _finish(run: Run, control: Session, held: Sequence[str], planned: Sequence[PlannedTable], mirrors: Mirrors) -> None:
    """Do what follows the loads. The rows are committed: where the control session was lost, the next run does it."""
    if not control.is_open:
        return
    try:
        tidy_stages(run, control, held)
        record(run, control, planned)
        mirrors.write()
        _go_on(run, control, planned)
        confirm(run, control, planned)
        note(run, control, planned)
    except DatabaseError as problem:
        text = f"what follows the loads was left to the next run: {problem.happened}"
        run.findings.append(Finding("", "control", text, severity="warning"))


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
    if any(table.table.load.keeps_rows_aside for table in planned):
        own_tables.create(control)
    created: set[str] = set()
    for table in planned:
        for step in table.steps(ChangeSchema):
            # Two tables may need one type, which is created once.
            fresh = replace(step, statements=tuple(text for text in step.statements if text not in created))
            run.do(table.key, step, partial(_execute, control, fresh))
            created |= {*step.statements} if table.key not in run.failed else set()
        if table.key not in run.failed:
            run.declare_scope(control, table.table, table.plan.scope, table.state.scope_copies)
        run.boundary("schema changed")


def _complete_schemas(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Create what `create` asks for, of tables whose rows are there; foreign keys last."""
    for comes_last in (False, True):
        for table in planned:
            for step in table.steps(CompleteSchema):
                if step.comes_last == comes_last and table.key not in run.failed:
                    run.do(table.key, step, partial(_execute, control, step))


def _execute(control: Session, step: ChangeSchema | CompleteSchema) -> int:
    # Where DDL joins no transaction, each statement counts by itself: the next plan has those that are missing.
    joins = control.database.capabilities.transactional_ddl
    with control.transaction() if joins else nullcontext():
        for statement in step.statements:
            control.execute(raw(statement))
    return 0


def _remember(control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write down what was learned while planning tables with nothing to do, so that the next plan is cheaper."""
    for table in planned:
        entries = table.table.change.remembered(table.state)
        if entries:
            with control.transaction():
                for window, entry in entries.items():
                    Ledger(control).update_etag(table.table.ledger_name, window.text, entry)


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


def _declare_changed_where(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Write down a changed `where` once every row was copied under it: a run that was interrupted begins again."""
    for table in planned:
        known, settings = table.state.scope_copies.known, table.table.found.settings
        where = settings.where or ""
        if known is None or known.where == where or table.key in run.failed or not control.is_open:
            continue
        scope = replace(table.plan.scope, settings=settings.decided or known.settings, where=where)
        Ledger(control).declare(table.table.ledger_name, scope)
        run.pipeline.lake.save_scope(table.table.lake_table, run.pipeline.target_place, scope)


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


def _go_on(run: Run, control: Session, planned: Sequence[PlannedTable]) -> None:
    """Take windows that were restored, and whose rows are right as they are, for loaded again."""
    for table in planned:
        if table.is_held or table.key in run.failed:
            continue
        for window in table.restored:
            ledger, name = Ledger(control), table.table.ledger_name
            with control.transaction():
                newest = ledger.newest(name, window.text)
                if newest is not None and newest.kind == RESTORED:
                    entry = replace(newest, kind="loaded", generation=newest.generation + 1, run=run.id)
                    ledger.record(name, window.text, entry)


def _report(run: Run, keys: Sequence[str], *, is_held: bool = False) -> RunReport:
    share = len(run.failed) / max(len(keys), 1)
    has_acted = any(outcome.step != READ for outcome in run.outcomes)
    outcome = "failed" if run.failed else "done" if has_acted else "nothing to do"
    if run.failed or not is_held:
        return run.report(outcome, 1 if share > run.pipeline.project.error_threshold else 0)
    return run.report(outcome, 3)
