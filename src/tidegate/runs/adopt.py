"""Adopt: take over a target that was there before us. Receipts for what it holds, scope set, nothing reloaded.

All receipts of a table are computed first. Then one transaction writes its entries and its scope: a single entry would
disarm the guard against a target that nobody knows, so a table is adopted as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.buckets.compare import Compared, CompareSplit
from tidegate.errors import DatabaseError, MissingObject, Unsupported
from tidegate.model.report import RunReport, StepOutcome
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry, TableState
from tidegate.model.values import Value
from tidegate.runs.plan import planning
from tidegate.runs.run import Job, Run
from tidegate.spark.executor import SplitOutcome
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import FailedTable, PlannedTable, SyncTable


@dataclass(frozen=True)
class Candidate:
    """A table whose target holds rows."""

    key: str
    table: SyncTable
    state: TableState

    @property
    def unknown_windows(self) -> list[Value]:
        """Return the windows that the target holds and the ledger does not know."""
        active = {window for window, entry in self.state.ledger.items() if entry.is_active}
        return sorted(window for window in self.state.target if window not in active)


@dataclass(frozen=True)
class Received:
    """What a task found out about one window, and the ledger's entry for it; None where the task failed."""

    window: Value
    entry: LedgerEntry | None
    outcome: StepOutcome


def adopt(run: Run, keys: Sequence[str], *, foreign: bool) -> RunReport:
    """Take over the targets of these tables. A foreign ledger, which belongs to another database, is emptied in the
    transaction that adopts: then all tables are adopted in it, or none."""
    with run.control() as control:
        held = run.lock(control, keys)
        with planning(run.pipeline) as planner:
            results = planner.plan(held, trust_ledger=not foreign)
        candidates = [found for result in results if (found := _candidate(run, result)) is not None]
        received = _receive(run, candidates)
        is_ours = _take_over(run, Ledger(control), candidates, received, foreign=foreign)
        report = run.report(
            "failed" if run.failed else "done" if run.outcomes else "nothing to do", 1 if run.failed else 0
        )
        return run.keep(report, control) if is_ours else report


def _candidate(run: Run, result: PlannedTable | FailedTable) -> Candidate | None:
    """Return also a table that could not be planned: a target that was there before us is the reason to adopt it."""
    if result.table is not None and result.table.found.kept is not None:
        text = f"{result.key}: a table of the lake is not adopted: its commits say which windows it has."
        run.failed[result.key] = str(Unsupported(text, "Nothing was written.", "`tidegate run` goes on from them."))
        return None
    if result.table is not None and result.state is not None and result.state.target:
        return Candidate(result.key, result.table, result.state)
    nothing = MissingObject(
        f"{result.key}: the target holds no rows to adopt.", "Nothing was written.", "`tidegate run` loads them."
    )
    run.failed[result.key] = str(result.problem if isinstance(result, FailedTable) else nothing)
    return None


def _receive(run: Run, candidates: Sequence[Candidate]) -> dict[str, list[Received]]:
    """Return the receipts of what the targets hold, by table. Nothing is written."""
    received: dict[str, list[Received]] = {candidate.key: [] for candidate in candidates}
    jobs = [
        Job((candidate, window), _split(run, candidate, window), candidate.state.target.get(window))
        for candidate in candidates
        for window in candidate.unknown_windows
    ]

    def finished(job: Job[tuple[Candidate, Value]], outcome: SplitOutcome) -> None:
        candidate, window = job.about
        received[candidate.key].append(_received(run, candidate, window, outcome))

    if jobs:
        run.run_jobs("adopt", jobs, finished)
    return received


def _split(run: Run, candidate: Candidate, window: Value) -> CompareSplit:
    request = candidate.table.change.target_request(window)
    return CompareSplit(None, None, "", run.pipeline.target, request)


def _received(run: Run, candidate: Candidate, window: Value, result: SplitOutcome) -> Received:
    why = "held by the target before us"
    outcome = StepOutcome(candidate.key, "adopt", window.text, why, "done", seconds=result.seconds)
    if result.error is not None:
        run.failed.setdefault(candidate.key, str(result.error))
        return Received(window, None, replace(outcome, outcome="failed", error=str(result.error)))
    compared: Compared = result.result
    last, receipt, found = candidate.state.ledger.get(window), compared.target, candidate.table.found
    assert receipt is not None
    is_whole = candidate.table.change.target_request(window).rows is None
    entry = LedgerEntry(
        generation=last.generation + 1 if last else 1,
        kind="adopted",
        rows=receipt.rows,
        hash=receipt.hash,
        text_columns=compared.text_columns,
        columns=tuple(column.name for column in found.columns),
        columns_id=found.columns_id,
        storage_types=tuple(column.storage_type for column in found.columns),
        target_rows=receipt.rows if is_whole else None,
        target_hash=receipt.hash if is_whole else "",
        run=run.id,
    )
    return Received(window, entry, replace(outcome, rows=entry.rows))


def _take_over(
    run: Run, ledger: Ledger, candidates: list[Candidate], received: dict[str, list[Received]], *, foreign: bool
) -> bool:
    """Write the tables of which every window was read. Return whether the ledger belongs to this database now."""
    groups = [candidates] if foreign and candidates else [[candidate] for candidate in candidates if not foreign]
    is_ours = not foreign
    for tables in groups:
        failed = any(candidate.key in run.failed for candidate in tables)
        done = not failed and _write(run, ledger, tables, received, foreign=foreign)
        is_ours = is_ours or done
        for outcome in (each.outcome for candidate in tables for each in received[candidate.key]):
            is_left_out = not done and outcome.outcome == "done"
            run.note(replace(outcome, outcome="skipped", rows=0) if is_left_out else outcome)
    return is_ours


def _scope(candidate: Candidate) -> Scope:
    scope = candidate.table.change.adopted_scope(candidate.state)
    settings = candidate.table.found.settings
    return candidate.state.scope_copies.completed(scope, settings.decided, settings.where or "")


def _write(
    run: Run, ledger: Ledger, tables: list[Candidate], received: dict[str, list[Received]], *, foreign: bool
) -> bool:
    """Write all entries and the scope of these tables in one transaction. Return whether that was done."""
    scopes = {candidate.key: _scope(candidate) for candidate in tables}
    try:
        with ledger.session.transaction():
            if foreign:
                ledger.disown(locks=False)
            for candidate in tables:
                for each in received[candidate.key]:
                    assert each.entry is not None
                    ledger.record(candidate.table.ledger_name, each.window.text, each.entry)
                ledger.declare_in_transaction(candidate.table.ledger_name, scopes[candidate.key])
            run.boundary("adoption about to commit")
    except DatabaseError as problem:
        run.failed.update({candidate.key: str(problem) for candidate in tables})
        return False
    run.boundary("adopted")
    # The ledger has it: the copy in the lake only restores it after the ledger was lost.
    lake, place = run.pipeline.lake, run.pipeline.target_place
    for candidate in tables:
        lake.save_scope(candidate.table.lake_table, place, scopes[candidate.key])
    return True
