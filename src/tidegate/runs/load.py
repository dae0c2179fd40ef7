"""Load: windows of the lake into the target, each inside of a task and in one transaction.

Where a key of the target does not tell windows apart (`PRIMARY KEY (id)` beside a partition column), rows can go from
one window to another. A window is loaded alone first. Where the server refuses it because of a key, the target is asked
which windows hold the keys of its rows; the run extracts all of them again and loads them in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tidegate.errors import (
    BrokenReference,
    DuplicateKey,
    NotNative,
    OutcomeUnknown,
    Transient,
    Unsupported,
    ValueProblem,
)
from tidegate.hashing.receipts import read_receipt
from tidegate.hashing.refused_rows import row_with
from tidegate.interfaces.database import Database, ReadRequest, Session
from tidegate.interfaces.load import Incoming, Load, Loaded, LoadTask
from tidegate.interfaces.worker import Progress, Worker
from tidegate.model.names import TableName
from tidegate.model.plan import EXCHANGED, Remove
from tidegate.model.plan import Load as LoadStep
from tidegate.model.receipt import Receipt
from tidegate.model.report import Finding, StepOutcome
from tidegate.model.state import LedgerEntry
from tidegate.model.values import Value
from tidegate.runs.extract import Entries
from tidegate.runs.listener import Boundary
from tidegate.runs.order import in_order
from tidegate.runs.run import Job, Run
from tidegate.runs.window import WindowLoad
from tidegate.spark.executor import SplitOutcome
from tidegate.sql.partitions import values_with_keys
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

Exchanges = Mapping[str, frozenset[Value]]
"""Windows by table, between which rows went from one to another: they have to be loaded in one transaction."""
_SHOWN = 5


# In a task


class LoadableWindow(Protocol):
    """A window that a split loads."""

    @property
    def task(self) -> LoadTask: ...

    def incoming(self, session: Session, boundary: Boundary, progress: Progress) -> Incoming: ...

    def cells(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class LoadResult:
    """How each window ended; or, of windows that the server refused, which other windows are in their way."""

    loaded: tuple[Loaded, ...] = ()
    refusal: DuplicateKey | None = None
    held_by: tuple[Value, ...] | None = None
    """Windows that hold the same keys; None where rows are in the way that no window has."""


@dataclass(frozen=True)
class LoadSplit:
    """Loads windows, sorted, in one transaction. Repeating it is harmless: a generation is written once."""

    database: Database
    load: Load
    windows: Sequence[LoadableWindow]
    boundary: Boundary = field(default_factory=Boundary)
    max_rows: int | None = None
    without_triggers: tuple[TableName, ...] = ()
    """The target, where its triggers must not fire."""
    keys: tuple[str, ...] = ()
    """The columns that name a row in a message."""

    def run(self, worker: Worker) -> LoadResult:
        with worker.sessions.session(self.database, "load") as session:
            incoming = self.incoming(session, worker)
            tasks = [each.task for each in incoming]
            try:
                if self.without_triggers:
                    with session.one_transaction((), self.without_triggers):
                        loaded = self.apply(session, incoming)
                else:
                    loaded = self.apply(session, incoming)
                self.boundary("task committed")
            except OutcomeUnknown:
                # Raises Transient unless the ledger has each window as it was to be loaded.
                loaded = self.outcomes_of(tasks)
            except DuplicateKey as refusal:
                if self.load.exchanges_rows is None:
                    raise
                return self._refused(session, tasks, refusal)
        return LoadResult(tuple(loaded))

    def incoming(self, session: Session, worker: Worker) -> list[Incoming]:
        """Open the windows in the lake. Raises Unsupported for more rows than one transaction may bring."""
        incoming = [window.incoming(session, self.boundary, worker.progress) for window in self.windows]
        self._require_few([each.task for each in incoming])
        return incoming

    def outcomes_of(self, tasks: Sequence[LoadTask]) -> list[Loaded]:
        """Ask the ledger after a commit without an answer. Raises Transient where it was rolled back."""
        return [self._outcome_of(task) for task in tasks]

    def apply(self, session: Session, incoming: Sequence[Incoming]) -> list[Loaded]:
        """Load the windows. Raises ValueProblem for a value of the target that the source's column cannot have."""
        try:
            return self._apply(session, incoming)
        except NotNative as problem:
            raise ValueProblem(
                f"{incoming[0].task.table}: column {problem.column} of the target holds a value that the source's"
                " cannot have.",
                "The load was rolled back; the target keeps what it had.",
                f"Correct these rows of the target, or keep it as text: `columns: {{{problem.column}: text}}`.",
            ) from None
        except ValueProblem as problem:
            row = self._refused_row(problem)
            if not row:
                raise
            raise ValueProblem(f"{problem.happened} The row: {row}.", problem.safe, problem.remedy) from None

    def _refused_row(self, problem: ValueProblem) -> str:
        """Return the key of the first row with the value that the server refused; empty where it is not known."""
        column, text = problem.refused or ("", "")
        for window in self.windows if problem.refused else ():
            if {column, *self.keys} <= {each.name for each in window.task.request.columns} and self.keys:
                row = row_with(window.cells([*self.keys, column]), self.keys, column, text)
                if row:
                    return row
        return ""

    def _apply(self, session: Session, incoming: Sequence[Incoming]) -> list[Loaded]:
        receipt_of = partial(_receipt_or_other, session)
        if len(incoming) == 1:
            return [self.load.apply(session, incoming[0], receipt_of)]
        return self.load.apply_together(session, incoming, receipt_of)

    def _outcome_of(self, task: LoadTask) -> Loaded:
        """Ask the ledger whether a commit without an answer happened. If not, the whole split may be repeated."""
        with self.database.connect("inspect") as session:
            last = Ledger(session).newest(task.table, task.window.text)
        if last is not None and (last.run, last.hash) == (task.entry.run, task.entry.hash):
            return Loaded("loaded", task.entry.rows)
        raise Transient(
            f"{task.table} {task.window}: the connection was lost before the commit.",
            "The target keeps what it had.",
            "Run again: it completes what is missing.",
        )

    def _refused(self, session: Session, tasks: Sequence[LoadTask], refusal: DuplicateKey) -> LoadResult:
        found: set[Value | None] = set()
        for window, task in zip(self.windows, tasks, strict=True):
            found |= self._holders(session, window, task)
        found -= {task.window for task in tasks}
        others = sorted(value for value in found if value is not None)
        # Rows without a partition value are nobody's to replace.
        held_by = None if None in found else tuple(others)
        return LoadResult(refusal=self._explained(refusal, others), held_by=held_by)

    def _holders(self, session: Session, window: LoadableWindow, task: LoadTask) -> set[Value | None]:
        """Return the windows under which the target holds a key of the incoming rows; None for rows without one.

        A key with a column that is not copied is left out."""
        assert self.load.exchanges_rows is not None
        column, keys = self.load.exchanges_rows
        by_name = {one.name: one for one in task.request.columns}
        found: set[Value | None] = set()
        for key in keys:
            if by_name.keys() >= {*key}:
                columns = [by_name[name] for name in key]
                with session.staging_table(task.request.table, columns, window.cells(key)) as stage:
                    rows = session.query(values_with_keys(task.request.table, column, stage, columns))
                found |= {None if text is None else Value.of(text, task.window.kind) for (text,) in rows}
        return found

    def _explained(self, refusal: DuplicateKey, others: Sequence[Value]) -> DuplicateKey:
        """Return the refusal with the windows that are in the way, for a run that cannot load these anew."""
        assert self.load.exchanges_rows is not None
        shown = ", ".join(str(value) for value in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        column = self.load.exchanges_rows[0].name
        held_by = f" Rows of {column} {shown}{more} have the same keys." if others else ""
        return DuplicateKey(
            refusal.happened + held_by,
            refusal.safe,
            f"{refusal.remedy} Rows of a value that the source no longer has stay in the target, and so do rows that"
            " Tidegate did not load: `tidegate forget` such a value, delete its rows in the target, and run again.",
        )

    def _require_few(self, tasks: Sequence[LoadTask]) -> None:
        rows = sum(task.entry.rows for task in tasks)
        if self.max_rows is not None and rows > self.max_rows and len(tasks) > 1:
            raise Unsupported(
                f"{tasks[0].table}: rows went from one value to another, so that {len(tasks):,} values come in one"
                f" transaction. They have {rows:,} rows, `max_apply_rows` allows {self.max_rows:,}.",
                "The target keeps what it had.",
                "Raise `max_apply_rows`, or add the partition column to the key of the target.",
            )


@dataclass(frozen=True)
class JointSplit:
    """Loads windows of several tables in one transaction, at whose end the foreign keys between them are checked."""

    splits: tuple[LoadSplit, ...]

    def run(self, worker: Worker) -> tuple[LoadResult, ...]:
        first = self.splits[0]
        tables = [split.windows[0].task.request.table for split in self.splits]
        bypassed = [table for split in self.splits for table in split.without_triggers]
        with worker.sessions.session(first.database, "load") as session:
            incoming = [split.incoming(session, worker) for split in self.splits]
            try:
                with session.one_transaction(tables, bypassed):
                    loaded = [split.apply(session, each) for split, each in zip(self.splits, incoming, strict=True)]
                first.boundary("task committed")
            except OutcomeUnknown:
                loaded = [
                    split.outcomes_of([window.task for window in each])
                    for split, each in zip(self.splits, incoming, strict=True)
                ]
        return tuple(LoadResult(tuple(each)) for each in loaded)


def _receipt_or_other(session: Session, request: ReadRequest) -> Receipt:
    """Return the receipt; rows that cannot be read as the entry was read are not what the entry holds."""
    try:
        return read_receipt(session, request)
    except NotNative as problem:
        return Receipt(0, f"unlike in {problem.column}")


# In the driver


@dataclass(frozen=True)
class LoadSteps:
    """Steps of one table that one split does, in one transaction."""

    planned: PlannedTable
    steps: tuple[LoadStep, ...]


@dataclass(frozen=True)
class JointSteps:
    """Steps of several tables that one split does, in one transaction."""

    parts: tuple[LoadSteps, ...]

    @property
    def planned(self) -> PlannedTable:
        return self.parts[0].planned


def load(
    run: Run, planned: Sequence[PlannedTable], entries: Entries, not_extracted: set[tuple[str, Value]]
) -> Exchanges:
    """Load each window in its own transaction, as many at once as there are connections to use. Return windows that
    were refused, with those that hold their keys."""
    steps = [
        LoadSteps(table, group)
        for table in planned
        if not run.has_failed(table.key, "change schema")
        for group in table.table.load.groups(
            [step for step in table.steps(LoadStep) if (table.key, step.value) not in not_extracted]
        )
    ]
    exchanges: dict[str, frozenset[Value]] = {}
    refused: list[LoadSteps] = []
    for group in in_order(_in_cycles(steps), _priority):
        ready = [about for about in group if not _waits(run, about.planned, refused)]
        jobs = [_job(run, about, entries) for about in ready if isinstance(about, LoadSteps)]
        exchanges = {**exchanges, **_run_loads(run, jobs, exchanges, {}, refused)}
        for about in ready:
            if isinstance(about, JointSteps):
                _run_jointly(run, about, entries, refused)
    if refused:
        _run_jointly(run, JointSteps(tuple(refused)), entries, None)
    return exchanges


def _in_cycles(steps: Sequence[LoadSteps]) -> list[LoadSteps | JointSteps]:
    """Return the steps, those of tables whose foreign keys form a cycle as one: together they are in order."""
    cycles: dict[frozenset[str], list[LoadSteps]] = {}
    for about in steps:
        if about.planned.loads_with:
            cycles.setdefault(about.planned.loads_with, []).append(about)
    joint = [JointSteps(tuple(each)) for each in cycles.values()]
    return [*(about for about in steps if not about.planned.loads_with), *joint]


def load_together(
    run: Run,
    planned: Sequence[PlannedTable],
    entries: Entries,
    not_extracted: set[tuple[str, Value]],
    asked: Exchanges,
) -> Exchanges:
    """Load all windows of a table in one transaction. Return those that were refused again, with further windows that
    hold their keys; `asked` is what was returned before."""
    units = [(table, sorted(table.steps(LoadStep), key=lambda step: step.value)) for table in planned]
    extracted = [
        LoadSteps(table, tuple(steps))
        for table, steps in units
        if steps and not {(table.key, step.value) for step in steps} & not_extracted
    ]
    return _run_loads(run, [_job(run, about, entries) for about in extracted], {}, asked)


def _priority(about: LoadSteps | JointSteps, number: int) -> tuple[int, int]:
    if isinstance(about, JointSteps):
        return about.planned.table.load_priority, 0
    table, steps = about.planned.table, about.planned.steps(LoadStep)
    is_serial = table.change.serial_loads or table.load.is_serial(steps, about.planned.state)
    return table.load_priority, number if is_serial else 0


def _waits(run: Run, planned: PlannedTable, refused: list[LoadSteps]) -> bool:
    """Where windows follow on one another, none is loaded after one that failed: it would look as if all were there."""
    is_refused = any(about.planned.key == planned.key for about in refused)
    return planned.table.change.serial_loads and (is_refused or run.has_failed(planned.key, "load"))


def _job(run: Run, about: LoadSteps, entries: Entries) -> Job[LoadSteps]:
    planned = about.planned
    windows = tuple(_window(run, planned, step, entries) for step in about.steps)
    found = planned.table.found
    bypassed = (found.target_name,) if found.bypasses_triggers else ()
    limit = found.settings.max_apply_rows
    keys = planned.table.naming_keys
    split = LoadSplit(run.pipeline.target, planned.table.load, windows, run.boundary, limit, bypassed, keys)
    counts = [step.rows for step in about.steps]
    return Job(about, split, None if None in counts else sum(rows or 0 for rows in counts))


def _window(run: Run, planned: PlannedTable, step: LoadStep, entries: Entries) -> WindowLoad:
    table, state = planned.table, planned.state
    entry = entries.get((planned.key, step.value)) or state.lake[step.value]
    task = LoadTask(
        table=table.ledger_name,
        request=table.change.target_request(step.value),
        window=step.value,
        entry=LedgerEntry(generation=step.generation, kind="loaded", rows=0, hash="", run=run.id),
        compare_first=step.compare_first,
        keeps_unless=step.keeps_unless,
        unless_hash=step.unless_hash,
        own_columns=table.found.own_columns,
        own_key=table.found.own_key,
    )
    task = table.load.task(task, step, state, len(planned.steps(LoadStep)))
    reads_keys = entry.has_keys and table.load.needs.all_keys
    return WindowLoad(task, run.pipeline.lake, table.lake_table, entry.id, reads_keys, planned.key, table.naming_keys)


def _run_jointly(run: Run, about: JointSteps, entries: Entries, refused: list[LoadSteps] | None) -> None:
    """Load windows of several tables in one transaction: all of them, or none. What a foreign key of yet another table
    refuses is added to `refused`."""
    jobs = [_job(run, part, entries) for part in about.parts]
    splits = [job.split for job in jobs if isinstance(job.split, LoadSplit)]
    counts = [job.rows for job in jobs]
    rows = None if None in counts else sum(count or 0 for count in counts)

    def finished(job: Job[JointSteps], outcome: SplitOutcome) -> None:
        if refused is not None and _is_out_of_order(outcome.error, run):
            refused.extend(about.parts)
            return
        results = outcome.result or [LoadResult() for _ in about.parts]
        for part, result in zip(about.parts, results, strict=True):
            for number, step in enumerate(part.steps):
                noted = StepOutcome(
                    part.planned.key, "load", step.value.text, step.why, "done", seconds=outcome.seconds
                )
                if outcome.error is not None:
                    noted = replace(noted, outcome="failed", error=str(outcome.error))
                else:
                    noted = _as_loaded(noted, result.loaded[number])
                    run.findings += [*_kept_rows(noted, result.loaded[number]), *_warned(noted, result.loaded[number])]
                run.note(noted)
        run.boundary("loaded")

    windows = sum(len(part.steps) for part in about.parts)
    run.run_jobs("load", [Job(about, JointSplit(tuple(splits)), rows)], finished, windows)


def _is_out_of_order(error: object, run: Run) -> bool:
    """Return whether a load may succeed together with others: a row refers to one that comes later, or that leaves."""
    return isinstance(error, BrokenReference) and not run.pipeline.target.deferral(())[1]


def _run_loads(
    run: Run,
    jobs: list[Job[LoadSteps]],
    found: Exchanges,
    asked: Exchanges,
    refused: list[LoadSteps] | None = None,
) -> Exchanges:
    """Run the loads. Those that a foreign key refuses are added to `refused` and tried again with all others."""
    exchanges = dict(found)

    def finished(job: Job[LoadSteps], outcome: SplitOutcome) -> None:
        if refused is not None and _is_out_of_order(outcome.error, run):
            refused.append(job.about)
            return
        key, result = job.about.planned.key, outcome.result or LoadResult()
        known = asked.get(key, frozenset())
        windows = _exchanging(job.about, result) | known
        joined = windows - known
        if joined:
            exchanges[key] = exchanges.get(key, frozenset()) | windows
        error = outcome.error or result.refusal
        for number, step in enumerate(job.about.steps):
            noted = StepOutcome(key, "load", step.value.text, step.why, "done", seconds=outcome.seconds)
            noted = replace(noted, cpu_seconds=outcome.cpu_seconds, memory=outcome.memory)
            if joined:
                noted = replace(noted, outcome="skipped", why=f"{step.why}; {EXCHANGED}")
            elif error is not None:
                noted = replace(noted, outcome="failed", error=str(error))
            else:
                noted = _as_loaded(noted, result.loaded[number])
                run.findings += [*_kept_rows(noted, result.loaded[number]), *_warned(noted, result.loaded[number])]
            run.note(noted)
            run.boundary("loaded")

    if jobs:
        run.run_jobs("load", jobs, finished)
    return exchanges


def _as_loaded(outcome: StepOutcome, loaded: Loaded) -> StepOutcome:
    outcome = replace(outcome, rows=loaded.rows, counts=loaded.counts)
    if loaded.result in ("equal already", "done before"):
        return replace(outcome, outcome="skipped", why=f"{outcome.why}; the target holds it already")
    if loaded.result == "kept":
        return replace(outcome, outcome="skipped", rows=0, why=f"{outcome.why}; the target's rows differ and stay")
    return replace(outcome, why=f"{outcome.why}; {loaded.detail}") if loaded.detail else outcome


def _warned(outcome: StepOutcome, loaded: Loaded) -> list[Finding]:
    return [Finding(outcome.table, "load", loaded.warning, outcome.value, "warning")] if loaded.warning else []


def _kept_rows(outcome: StepOutcome, loaded: Loaded) -> list[Finding]:
    """Return the warning about rows of the target that a load left as they are."""
    if loaded.result != "kept":
        return []
    text = (
        f"the target holds {loaded.rows:,} rows that differ from the lake's, and no ledger tells who changed them: they"
        " stay. `tidegate repair` restores what the source has, `tidegate adopt` takes them over."
    )
    return [Finding(outcome.table, "load", text, outcome.value, severity="warning")]


def _exchanging(about: LoadSteps, result: LoadResult) -> frozenset[Value]:
    """Return windows that were refused because of a key, and those that hold such keys. None of them where a window is
    in the way that no load of this run can replace."""
    others = result.held_by
    if others is None or not all(_is_replaceable(about.planned, window) for window in others):
        return frozenset()
    return frozenset([*others, *(step.value for step in about.steps)])


def _is_replaceable(planned: PlannedTable, window: Value) -> bool:
    """Return whether the source has the window and Tidegate loads it, or this run removes it."""
    if any(step.value == window and step.side == "target" for step in planned.steps(Remove)):
        return True
    entry = planned.state.ledger.get(window)
    is_ours = (entry is not None and entry.is_active) or planned.has(LoadStep, window)
    return is_ours and window in planned.state.source
