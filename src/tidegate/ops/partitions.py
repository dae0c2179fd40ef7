"""The native partitions of one table of the target, looked at and changed by hand, outside of a run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from tidegate.errors import MissingObject, ProofFailed, Unsupported
from tidegate.hashing.receipts import read_receipt
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, PartitionLayout, Precondition, new_partition, unmet
from tidegate.model.plan import Load, Notice
from tidegate.model.stages import BY_HAND, STAGE, StageRecord, stage_name
from tidegate.model.state import LedgerEntry
from tidegate.model.values import Value
from tidegate.ops.native_partitions import layout_in
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline, Run
from tidegate.sql.contents import drop_table, rows_exist
from tidegate.sql.partitions import other_rows
from tidegate.sql.text import Name, sql
from tidegate.state import lock
from tidegate.state.ledger import Ledger
from tidegate.state.stages import Stages
from tidegate.tables.planned import SyncTable


class Partitions:
    """One table's native partitions. Every call opens a session of its own, and changes take the table's lock."""

    def __init__(self, pipeline: Pipeline, begin: Callable[[], Run], key: str) -> None:
        self._pipeline, self._begin, self._key = pipeline, begin, key

    # Looking

    def layout(self) -> PartitionLayout | None:
        """Return how the target's server partitions the table; None if it does not."""
        with self._session() as session:
            schema = session.table_schemas([self._name]).get(self._name)
            return None if schema is None else layout_in(session, schema)

    def number_of(self, value: object) -> int | None:
        """Return the number of the partition that takes a value; None when none does."""
        layout = self._required_layout()
        kinds = [bound.kind for part in layout.partitions for bound in (part.low, part.high, *part.values) if bound]
        partition = layout.partition_of(Value.of(value, kinds[0])) if kinds else None
        return None if partition is None else partition.number

    def preconditions(self, stage: TableName | None = None, value: object = None) -> list[Precondition]:
        """Return what must be so before partitions can be switched, and whether it is."""
        layout = self.layout()
        is_partitioned = Precondition("the table is partitioned", layout is not None, reason="it has no partitions")
        if layout is None:
            return [is_partitioned]
        with self._session() as session:
            native = _native(session)
            partitions = layout.partitions
            if value is not None:
                partitions = tuple(part for part in partitions if part.number == self.number_of(value))
            found = [rule for part in partitions[:1] or (None,) for rule in native.preconditions(layout, part, stage)]
            for part in partitions[1:]:
                found += unmet(native.preconditions(layout, part, None))
        return [is_partitioned, *found]

    def strategy(self, value: object) -> str:
        """Return how a value would be loaded now, and why: `switch: ...` or `direct: ...`."""
        with planning(self._pipeline) as planner:
            table = planner.plan([self._key])[0].require_table()
        window = table.change.value(value)
        if table.found.target is None:
            return "direct: the target table does not exist yet"
        with self._session() as session:
            _, steps = table.load.prepare(session, table.found.target_name, [Load(window, "", 1)])
        notices = [step.text for step in steps if isinstance(step, Notice)]
        return notices[-1] if notices else "direct: the table is loaded without switches"

    # Stages

    def create_stage(self, value: object, suffix: str) -> TableName:
        """Create an empty table that can be switched for the partition of a value, with all of its indexes."""
        with self._changing() as (run, control, layout):
            window = self._window(control, layout, value)
            partition = layout.partition_of(window)
            if partition is None:
                partition = self._with_partition(control, layout, window)
            stage = stage_name(layout.table, suffix, [window], uuid.uuid4().hex)
            Stages(control).add(self._record(run, stage, partition.name, window, BY_HAND))
            native = _native(control)
            native.create_stage(layout, partition, stage, compress=True)
            native.finish_stage(layout, partition, stage)
        return stage

    def switch(self, stage: TableName, value: object) -> LedgerEntry:
        """Put a stage in place of the partition of a value, and record what the target holds now.

        Refused where the stage has rows of other values, or where the partition has: they would be lost."""
        with planning(self._pipeline) as planner:
            planned = planner.plan([self._key])[0]
        table = planned.require_table()
        window = table.change.value(value)
        request = table.change.target_request(window)
        with self._changing() as (run, control, layout):
            native, partition = _native(control), layout.partition_of(window)
            if partition is None:
                partition = self._with_partition(control, layout, window)
            native.finish_stage(layout, partition, stage)
            problems = unmet(native.preconditions(layout, partition, stage))
            if problems:
                raise Unsupported(
                    f"{stage} cannot be switched into {partition.name}: " + "; ".join(map(str, problems)),
                    "Nothing was changed.",
                    "Run what cures it, or create the stage again.",
                )
            others = other_rows(table.found.in_target(_by(table)), [window])
            places = (native.rows_of(layout, partition), partition.name), (sql("{t}", t=Name.of(stage)), str(stage))
            for rows, where in places:
                if control.query(rows_exist(rows, others)) != [(0,)]:
                    raise ProofFailed(
                        f"{where} has rows of other values than {window}.",
                        "Nothing was changed.",
                        "A switch would lose or misplace them: load the value directly (`switch: direct`).",
                    )
            receipt = read_receipt(control, replace(request, table=stage))
            history = Ledger(control).generations(table.ledger_name, window.text)
            entry = LedgerEntry(
                generation=history[0].generation + 1 if history else 1,
                kind="adopted",
                rows=receipt.rows,
                hash=receipt.hash,
                columns=tuple(column.name for column in table.found.columns),
                columns_id=table.found.columns_id,
                storage_types=tuple(column.storage_type for column in table.found.columns),
                run=run.id,
            )
            old = stage_name(layout.table, "_OLD", [window], uuid.uuid4().hex)
            switched = Switch(layout, partition, stage, old, wait_seconds=5.0)
            replaced, book = native.replaced_rows(switched), Stages(control)
            book.replace(self._record(run, replaced, partition.name, window, STAGE))
            with control.transaction():
                control.lock_in_transaction(f"tidegate value {table.ledger_name} {window}")
                native.switch(switched)
                Ledger(control).record(table.ledger_name, window.text, entry)
                book.remove(stage)
            run.keep_by_hand(control, self._key, window.text, f"{stage} for {partition.name}", receipt.rows)
            for name in {stage, replaced}:
                control.execute(drop_table(name))
                book.remove(name)
        return entry

    def rebuild_indexes(self, stage: TableName) -> None:
        with self._session(writes=True) as session:
            _native(session).rebuild_indexes(stage)

    def update_statistics(self, table: TableName | None = None) -> None:
        with self._session(writes=True) as session:
            native = session.native_partitions
            if native is not None:
                native.update_statistics(table or self._name)

    # Shared

    def beside(self, name: str) -> TableName:
        """Return the name of a table in the target table's schema."""
        return TableName(self._name.schema, name)

    @property
    def _name(self) -> TableName:
        database = self._pipeline.target
        return self._pipeline.project.tables[self._key].target_table.within(database.default_schema)

    @contextmanager
    def _session(self, *, writes: bool = False) -> Iterator[Session]:
        with self._pipeline.target.connect("partitions", read_only=not writes) as session:
            yield session

    @contextmanager
    def _changing(self) -> Iterator[tuple[Run, Session, PartitionLayout]]:
        layout, run = self._required_layout(), self._begin()
        with run.control() as control:
            lock.take(control, str(self._name), run.id)
            yield run, control, layout

    def _required_layout(self) -> PartitionLayout:
        layout = self.layout()
        if layout is None or layout.problem:
            why = "is not partitioned" if layout is None else f"cannot be switched: {layout.problem}"
            raise Unsupported(f"{self._name} {why}.", "Nothing was changed.", "Load it directly.")
        return layout

    def _window(self, session: Session, layout: PartitionLayout, value: object) -> Value:
        schema = session.table_schemas([self._name])[self._name]
        column = schema.column(layout.column)
        kind = session.database.value_kind(column) if column else None
        assert kind is not None
        return Value.of(value, kind)

    def _with_partition(self, control: Session, layout: PartitionLayout, window: Value) -> NativePartition:
        new = new_partition(layout, window)
        if new is None:
            raise MissingObject(f"{self._name}: no partition takes {window}.", "Nothing was changed.", "Create one.")
        for statement in _native(control).new_boundaries(layout, new):
            control.execute(statement)
        partition = self._required_layout().partition_of(window)
        assert partition is not None
        return partition

    def _record(self, run: Run, name: TableName, partition: str, window: Value, purpose: str) -> StageRecord:
        return StageRecord(name, str(self._name), partition, purpose, run.id, ((window.text, 0),))


def _native(session: Session) -> NativePartitions:
    native = session.native_partitions
    if native is None:
        raise Unsupported(f"{session.database.label} has no partitions that can be switched.", "Nothing was changed.")
    return native


def _by(table: SyncTable) -> Column:
    name = table.change.divided_by
    return next(column for column in table.found.columns if column.name.lower() == name.lower())
