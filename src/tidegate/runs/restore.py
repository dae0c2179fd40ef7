"""Restore: bring the target back to what the lake held at an earlier time, in one transaction, and stop there.

The ledger records each window as restored. As long as one is, every run says so and moves nothing of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import Unsupported
from tidegate.interfaces.lake import Layout
from tidegate.interfaces.load import Incoming, LoadTask, with_entry
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Progress
from tidegate.model.lake_versions import LakeVersion
from tidegate.model.plan import Load as LoadStep
from tidegate.model.receipt import Receipt
from tidegate.model.report import RunReport, StepOutcome
from tidegate.model.state import RESTORED, LakeEntry, LedgerEntry
from tidegate.model.values import Value
from tidegate.runs.listener import Boundary
from tidegate.runs.load_split import LoadSplit
from tidegate.runs.plan import planning
from tidegate.runs.run import Job, Run
from tidegate.runs.window import WindowLedger, WindowLoad
from tidegate.spark.executor import SplitOutcome
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import FailedTable, PlannedTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

UNTOUCHED = "Nothing was written."


@dataclass(frozen=True)
class EmptyWindow:
    """A window that the lake did not hold at that time: its rows leave the target."""

    task: LoadTask

    def incoming(self, session: Session, boundary: Boundary, progress: Progress) -> Incoming:
        ledger = WindowLedger(Ledger(session), self.task.table, self.task.window.text, boundary)
        return Incoming(self.task, ledger, lambda: iter(()))

    def cells(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return iter(())


@dataclass(frozen=True)
class PastWindow(WindowLoad):
    """A window as the lake held it at that time."""

    def prepared(self) -> LoadTask:
        return with_entry(super().prepared(), kind=RESTORED)


def restore_as_of(run: Run, key: str, version: LakeVersion) -> RunReport:
    """Bring one table back to a version. Raises what stands in the way before anything is written."""
    with run.control() as control:
        Ledger(control).claim()
        if run.lock(control, [key]):
            with planning(run.pipeline) as planner:
                result = planner.plan([key])[0]
            if isinstance(result, FailedTable):
                raise result.problem
            _restore(run, control, result, version)
        report = run.report("failed" if run.failed else "done", 1 if run.failed else 0)
        return run.keep(report, control)


def _restore(run: Run, control: Session, planned: PlannedTable, version: LakeVersion) -> None:
    _require_restorable(planned)
    table = planned.table
    then = run.pipeline.lake.entries_at(table.lake_table, version.id)
    broken = {window: entry.broken for window, entry in then.items() if entry.broken}
    if broken:
        window, why = next(iter(broken.items()))
        raise Unsupported(
            f"{planned.key} cannot be restored to {version.at}: {window} cannot be used: {why}.",
            UNTOUCHED,
            f"`tidegate lake history {planned.key}` lists other versions.",
        )
    windows = _windows(run, planned, then, version)
    if not windows:
        _hold(run, control, planned)
        return
    split = LoadSplit(run.pipeline.target, table.load, windows, run.boundary)
    rows = sum(entry.rows for entry in then.values())

    def finished(job: Job[str], outcome: SplitOutcome) -> None:
        problem = outcome.error or (outcome.result.refusal if outcome.result else None)
        for window in windows:
            noted = StepOutcome(planned.key, "restore", window.task.window.text, f"as of {version.at}", "done")
            if problem is not None:
                noted = replace(noted, outcome="failed", error=str(problem))
            run.note(replace(noted, seconds=outcome.seconds))

    run.run_jobs("load", [Job(planned.key, split, rows)], finished)


def _hold(run: Run, control: Session, planned: PlannedTable) -> None:
    """Record a window that is what it was already as restored: then no run moves the table."""
    ledger = planned.state.ledger
    window, known = max(ledger.items())
    entry = replace(known, kind=RESTORED, generation=known.generation + 1, run=run.id)
    with control.transaction():
        control.lock_in_transaction(f"tidegate value {planned.table.ledger_name} {window}")
        Ledger(control).record(planned.table.ledger_name, window.text, entry)


def _require_restorable(planned: PlannedTable) -> None:
    table = planned.table
    keeps_added = getattr(table.found.settings, "allow_deletes", True) is False
    if table.lake_table.layout is Layout.LOG or (keeps_added and table.lake_table.layout is Layout.WHOLE):
        why = "`allow_deletes` is off" if keeps_added else "its lake is a log of changes"
        raise Unsupported(
            f"{planned.key} cannot be restored: {why}.",
            UNTOUCHED,
            "Read what it held: `Tidegate.dataframe(table, as_of=...)`.",
        )


def _windows(
    run: Run, planned: PlannedTable, then: Mapping[str, LakeEntry], version: LakeVersion
) -> list[PastWindow | EmptyWindow]:
    """Return the windows that differ from what was loaded, in their order."""
    table, state = planned.table, planned.state
    entries = {table.change.value(text): entry for text, entry in then.items()}
    standing = {window for window, entry in state.ledger.items() if entry.is_active}
    windows: list[PastWindow | EmptyWindow] = []
    for window in sorted(standing | set(entries)):
        known, entry = state.ledger.get(window), entries.get(window)
        is_standing = known is not None and known.is_active
        if entry is not None and not (is_standing and known and known.hash == entry.hash):
            windows.append(_loaded(run, planned, window, entry, version))
        elif entry is None and known is not None and known.rows:
            empty = replace(known, kind=RESTORED, rows=0, hash=Receipt.EMPTY.hash, etag="", run=run.id)
            task = _task(run, planned, window, replace(empty, generation=known.generation + 1))
            windows.append(EmptyWindow(replace(task, request=task.request.only(known.columns))))
    return windows


def _loaded(run: Run, planned: PlannedTable, window: Value, entry: LakeEntry, version: LakeVersion) -> PastWindow:
    table, known = planned.table, planned.state.ledger.get(window)
    generation = known.generation + 1 if known is not None else 1
    task = _task(run, planned, window, LedgerEntry(generation, "loaded", 0, "", run=run.id))
    step = LoadStep(window, f"as of {version.at}", generation, entry.rows)
    task = table.load.task(task, step, planned.state, 1)
    return PastWindow(task, run.pipeline.lake, table.lake_table, entry.id)


def _task(run: Run, planned: PlannedTable, window: Value, entry: LedgerEntry) -> LoadTask:
    table = planned.table
    return LoadTask(
        table=table.ledger_name,
        request=table.change.target_request(window),
        window=window,
        entry=entry,
        own_columns=table.found.own_columns,
        own_key=table.found.own_key,
    )
