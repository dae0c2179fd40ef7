"""Switch a partition: rows go into a stage beside the target, are proved there, and take the partition's place.

The order protects the target. The stage is written into the book before it is created. It is filled, indexed and
compared with the lake's receipt while readers use the table. One short transaction then locks the table, switches, and
writes the ledger row. Where a switch commits by itself, a record of it is committed before: `resume_switch` finds out
by the rows what became of it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from tidegate.errors import DatabaseError, OutcomeUnknown, Transient
from tidegate.interfaces.load import Incoming, Loaded, LoadTask, ReceiptOf, acquire_fence, proof_failed
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import back_off
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, PartitionLayout
from tidegate.model.receipt import Receipt
from tidegate.model.stages import ARCHIVE, REPLACED, STAGE, SWITCHING, StageRecord, stage_name
from tidegate.sql.contents import drop_table, has_rows, rows_exist
from tidegate.sql.partitions import other_rows
from tidegate.sql.text import Name, Sql, names, sql


@dataclass(frozen=True)
class SwitchRules:
    """What the settings of a table say about its switches."""

    suffix: str = "_STAGE"
    compress: bool = True
    archives: bool = False
    """Replaced rows are kept in a table of their own."""
    wait_seconds: float = 1.0
    tries: int = 20
    by_hash: bool = True


@dataclass(frozen=True)
class SwitchPlace:
    """The partition that takes the values, and the column that they belong to."""

    native: NativePartitions
    layout: PartitionLayout
    partition: NativePartition
    column: Column
    carries: bool


class PartitionSwitch:
    """One switch of one partition: some windows that belong to it, from the lake into the target."""

    def __init__(
        self,
        session: Session,
        place: SwitchPlace,
        incoming: Sequence[Incoming],
        receipt_of: ReceiptOf,
        rules: SwitchRules,
    ) -> None:
        self._session, self._place, self._incoming = session, place, incoming
        self._receipt_of, self._rules = receipt_of, rules
        self._ledger = incoming[0].ledger
        self._task: LoadTask = incoming[0].task
        self._windows = [each.task.window for each in incoming]
        token = uuid.uuid4().hex
        stage = stage_name(place.layout.table, rules.suffix, self._windows, token)
        old = stage_name(place.layout.table, "_ARCHIVE" if rules.archives else "_OLD", self._windows, token)
        self._switch = Switch(place.layout, place.partition, stage, old, wait_seconds=rules.wait_seconds)
        self._old = place.native.replaced_rows(self._switch)
        self._filled = self._finished = 0.0
        """How many seconds the stage took."""
        self._is_half_done = False
        """The switch committed by itself, and what records it is not committed yet."""

    def run(self) -> list[Loaded]:
        """Return how each window was loaded."""
        with self._tables():
            self._fill()
            if not self._place.carries:
                self._finish()
            self._ledger.reached("stage filled")
            return self._switched()

    # The stage

    @contextmanager
    def _tables(self) -> Iterator[None]:
        """Write the stage into the book, and cross it out when it is gone. A table of which nobody knows what became
        stays written down: a later run finds out."""
        tables = {self._switch.stage, self._old}
        for name in sorted(tables):
            self._ledger.stages.add(self._record(name, STAGE))
        is_known = True
        try:
            self._place.native.create_stage(
                self._place.layout, self._place.partition, self._switch.stage, compress=self._rules.compress
            )
            self._ledger.reached("stage created")
            yield
        except OutcomeUnknown:
            is_known = False
            raise
        finally:
            if is_known and self._session.is_open and not self._is_half_done:
                self._clear(tables)

    def _clear(self, tables: Collection[TableName]) -> None:
        """Drop what is neither in use nor kept."""
        with suppress(DatabaseError):
            kept = {record.name for record in self._ledger.stages.records(self._task.table) if record.is_kept}
            for name in set(tables) - kept:
                self._session.execute(drop_table(name))
                self._ledger.stages.remove(name)

    def _record(self, name: TableName, purpose: str, tasks: Sequence[LoadTask] = ()) -> StageRecord:
        held = {task.window.text: task.entry.generation - 1 for task in tasks}
        return StageRecord(
            name,
            self._task.table,
            self._place.partition.name,
            purpose,
            self._task.entry.run,
            tuple({window.text: held.get(window.text, 0) for window in self._windows}.items()),
            is_whole=not self._place.carries,
        )

    def _fill(self) -> None:
        started = time.monotonic()
        for each in self._incoming:
            task: LoadTask = each.task
            written = self._session.write(self._switch.stage, task.written_columns, each.batches())
            if written != task.entry.rows:
                raise proof_failed(task, f"{task.entry.rows:,} rows were sent, the server took {written:,}")
        self._filled = time.monotonic() - started

    def _carry(self) -> None:
        """Copy the rows of other values into the stage. Nobody can write to them until the transaction ends."""
        layout, partition, columns = self._place.layout, self._place.partition, self._task.request.columns
        others = other_rows(self._place.column, self._windows)
        self._session.execute(copy_others(self._place.native, layout, partition, self._switch.stage, columns, others))
        self._finish()

    def _finish(self) -> None:
        """Build indexes and constraints, and compare the stage with what was extracted: the switch moves these rows."""
        started = time.monotonic()
        self._place.native.finish_stage(self._place.layout, self._place.partition, self._switch.stage)
        for each in self._incoming if self._rules.by_hash else ():
            task: LoadTask = each.task
            expected = Receipt(task.entry.rows, task.entry.hash)
            found = self._receipt_of(replace(task.request, table=self._switch.stage))
            if found != expected:
                raise proof_failed(task, f"sent {expected}, read back {found}")
        self._finished = time.monotonic() - started

    # The switch

    def _switched(self) -> list[Loaded]:
        """Switch, and try again with longer pauses while readers or writers keep the lock."""
        for attempt in range(1, self._rules.tries):
            try:
                return self._switch_once()
            except Transient:
                if self._is_half_done or not self._session.is_open:
                    raise
                time.sleep(back_off(attempt))
        return self._switch_once()

    def _switch_once(self) -> list[Loaded]:
        native = self._place.native
        with self._session.transaction():
            fenced = [acquire_fence(self._session, each.task, each.ledger) for each in self._incoming]
            tasks = [task for task in fenced if not isinstance(task, Loaded)]
            if not tasks:
                return [task for task in fenced if isinstance(task, Loaded)]
            if len(tasks) < len(fenced):
                raise self._interrupted("some of its values were loaded by another attempt")
            self._keep_others()
            keeps = self._rules.archives and self._holds(None)
            if native.commits_itself:
                self._ledger.stages.replace(self._record(self._old, SWITCHING, tasks))
            started = time.monotonic()
            native.switch(self._switch)
            switched = time.monotonic()
            self._is_half_done = native.commits_itself
            self._ledger.reached("switched")
            self._require_no_others()
            for task, each in zip(tasks, self._incoming, strict=True):
                each.ledger.record(task.entry)
            self._ledger.stages.remove(self._switch.stage)
            self._ledger.stages.replace(self._record(self._old, ARCHIVE if keeps else REPLACED, tasks))
        self._is_half_done = False
        # A switch that commits by itself frees the readers at once; any other does at the commit.
        blocked = (switched if native.commits_itself else time.monotonic()) - started
        return [self._loaded(task, blocked, keeps) for task in tasks]

    def _keep_others(self) -> None:
        """Copy the rows of other values, or make sure that there are none. Somebody may have written them since the
        partition was looked at."""
        if self._is_alone:
            return
        if self._place.native.can_carry_rows:
            self._place.native.lock_rows(self._switch)
        if self._place.carries:
            self._carry()
        elif self._holds(other_rows(self._place.column, self._windows)):
            raise self._interrupted(f"rows of other values came into {self._place.partition.name}")

    @property
    def _is_alone(self) -> bool:
        """Return whether the bounds of the partition leave room for no other value."""
        layout, partition = self._place.layout, self._place.partition
        return len(self._windows) == 1 and layout.holds_only(partition, self._windows[0])

    def _require_no_others(self) -> None:
        """Switch back where somebody wrote rows of other values in the last moment, and no lock could prevent it."""
        if not self._place.native.commits_itself or self._is_alone:
            return
        if self._session.query(has_rows(self._old, other_rows(self._place.column, self._windows))) == [(1,)]:
            self._place.native.switch(self._switch)
            self._is_half_done = False
            raise self._interrupted(f"rows of other values came into {self._place.partition.name}")

    def _holds(self, rows: Sql | None) -> bool:
        return holds_rows(self._session, self._place.native, self._place.layout, self._place.partition, rows)

    def _interrupted(self, why: str) -> Transient:
        return Transient(
            f"{self._task.table} {self._windows[0]}: {why} while it was staged.",
            "The partition keeps the rows that it had.",
            "Run again: it looks anew and completes what is missing.",
        )

    def _loaded(self, task: LoadTask, blocked: float, keeps: bool) -> Loaded:
        kept = f", the replaced rows are in {self._old}" if keeps else ""
        stage = self._switch.stage.name
        took = f"{self._filled:.1f} s to fill {stage}, {self._finished:.1f} s to index and compare it"
        text = (
            f"switched into {self._place.partition.name}, readers waited {blocked * 1000:,.0f} ms at most{kept}; {took}"
        )
        return Loaded("loaded", task.entry.rows, text)


def holds_rows(
    session: Session,
    native: NativePartitions,
    layout: PartitionLayout,
    partition: NativePartition,
    rows: Sql | None = None,
) -> bool:
    """Return whether a partition has rows, or rows that meet a condition."""
    return session.query(rows_exist(native.rows_of(layout, partition), rows)) == [(1,)]


def copy_others(
    native: NativePartitions,
    layout: PartitionLayout,
    partition: NativePartition,
    stage: TableName,
    columns: Sequence[Column],
    rows: Sql,
) -> Sql:
    """Return an INSERT that copies rows of a partition into a stage."""
    return sql(
        "INSERT INTO {stage} ({columns}) SELECT {columns} FROM {partition} WHERE {rows}",
        stage=Name.of(stage),
        columns=names(column.name for column in columns),
        partition=native.rows_of(layout, partition),
        rows=rows,
    )


# After a crash


def resume_switch(session: Session, incoming: Incoming, receipt_of: ReceiptOf, *, archives: bool) -> Loaded | None:
    """Complete a switch that committed by itself and whose ledger row is missing; None when there was none.

    The rows decide. Where the target holds exactly what the window is to hold, the switch happened: what it replaced is
    in the other table, and becomes the archive."""
    task: LoadTask = incoming.task
    begun = [
        record
        for record in incoming.ledger.stages.records(task.table)
        if record.purpose == SWITCHING and record.generation_of(task.window.text) is not None
    ]
    if not begun or receipt_of(task.request) != Receipt(task.entry.rows, task.entry.hash):
        return None
    with session.transaction():
        fenced = acquire_fence(session, task, incoming.ledger)
        if isinstance(fenced, Loaded):
            return fenced
        incoming.ledger.record(fenced.entry)
        for record in begun:
            keeps = archives and record.name in session.existing_tables([record.name])
            keeps = keeps and session.query(has_rows(record.name)) == [(1,)]
            incoming.ledger.stages.replace(replace(record, purpose=ARCHIVE if keeps else REPLACED))
    return Loaded("loaded", fenced.entry.rows, "an interrupted switch had happened, and is now recorded")
