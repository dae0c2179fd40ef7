"""A load inside of a task: windows of one table, or of several, in one transaction of the target.

Where a key of the target does not tell windows apart (`PRIMARY KEY (id)` beside a partition column), the server can
refuse a window because of a row that another window has. The task then asks the target which windows hold its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tidegate.errors import DuplicateKey, NotNative, OutcomeUnknown, Transient, Unsupported, ValueProblem
from tidegate.hashing.receipts import read_receipt
from tidegate.hashing.refused_rows import row_with
from tidegate.interfaces.database import Database
from tidegate.interfaces.load import Incoming, Load, Loaded, LoadTask
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Progress, Worker
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.values import Value
from tidegate.runs.listener import Boundary
from tidegate.sql.partitions import values_with_keys
from tidegate.state.ledger import Ledger

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 5


class LoadableWindow(Protocol):
    """A window that a split loads, with its lake entry opened when its rows are needed."""

    @property
    def task(self) -> LoadTask: ...

    def incoming(self, session: Session, boundary: Boundary, progress: Progress) -> Incoming: ...

    def cells(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class LoadResult:
    """The outcome of each window. If the server refused a key: the refusal, and the windows that hold this key."""

    loaded: tuple[Loaded, ...] = ()
    refusal: DuplicateKey | None = None
    held_by: tuple[Value, ...] | None = None
    """Windows that hold the refused keys. None if these rows belong to no window."""


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
            request = window.task.request
            if {column, *self.keys} <= {each.name for each in request.columns} and self.keys:
                cells = window.cells([*self.keys, column])
                row = row_with(cells, self.keys, column, text, shows_values=request.shows_values)
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
        exchanged, kind = self.load.exchanges_rows, task.window.kind
        of_null = Value.null(kind) if exchanged.loads_nulls else None
        by_name = {one.name: one for one in task.request.columns}
        found: set[Value | None] = set()
        for key in exchanged.keys:
            if by_name.keys() >= {*key}:
                columns = [by_name[name] for name in key]
                with session.staging_table(task.request.table, columns, window.cells(key)) as stage:
                    rows = session.query(values_with_keys(task.request.table, exchanged.column, stage, columns))
                found |= {of_null if text is None else Value.of(text, kind) for (text,) in rows}
        return found

    def _explained(self, refusal: DuplicateKey, others: Sequence[Value]) -> DuplicateKey:
        """Return the refusal with the windows that are in the way, for a run that cannot load these anew."""
        assert self.load.exchanges_rows is not None
        shown = ", ".join(str(value) for value in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        column = self.load.exchanges_rows.column.name
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
