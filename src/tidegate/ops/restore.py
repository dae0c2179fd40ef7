"""Restore: bring a partition value back to the rows that a switch replaced, from the archive that was kept of them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from tidegate.errors import MissingObject, ProofFailed
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName, pluralize
from tidegate.model.native import NativePartition, PartitionLayout, unmet
from tidegate.model.stages import ARCHIVE, STAGE, StageRecord, stage_name
from tidegate.model.state import RESTORED, LedgerEntry
from tidegate.model.values import Value
from tidegate.ops.native_partitions import layout_in
from tidegate.runs.plan import planning
from tidegate.runs.run import Run
from tidegate.sql.contents import delete_rows, drop_table, has_rows, rows_exist
from tidegate.sql.cursors import count_where
from tidegate.sql.partitions import other_rows
from tidegate.sql.text import Name, names, sql
from tidegate.state import lock
from tidegate.state.ledger import Ledger
from tidegate.state.stages import Stages
from tidegate.tables.planned import FailedTable, PlannedTable


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    table: str
    value: str
    rows: int
    archive: str
    """Where the rows came from."""
    by_switch: bool
    replaced: str = ""
    """Where the rows are that were there before; empty where they are in the lake alone."""


@dataclass(frozen=True)
class _Archive:
    """An archive, the window that is restored from it, and what the ledger is to say."""

    record: StageRecord
    window: Value
    request: ReadRequest
    entry: LedgerEntry


def restore(run: Run, key: str, text: str) -> Restored:
    """Bring back the rows of a value that the newest switch replaced. Raises MissingObject without an archive."""
    with planning(run.pipeline) as planner:
        planned = planner.plan([key])[0]
    if isinstance(planned, FailedTable):
        raise planned.problem
    with run.control() as control:
        lock.take(control, planned.table.ledger_name, run.id)
        archive = _archive(run, control, planned, text)
        place = _place(control, planned, archive)
        switched = place and _switched(control, planned, archive, *place)
        restored = switched or _copied(control, planned, archive)
        run.keep_by_hand(control, key, restored.value, f"rows of {restored.archive}", restored.rows)
        return restored


def _archive(run: Run, control: Session, planned: PlannedTable, text: str) -> _Archive:
    table, ledger = planned.table, Ledger(control)
    window = table.change.value(text)
    records = [record for record in Stages(control).records(table.ledger_name) if record.purpose == ARCHIVE]
    known = [record for record in records if record.generation_of(window.text) is not None]
    if not known:
        kept = sorted({value for record in records for value, _ in record.windows})
        raise MissingObject(
            f"{planned.key}: no archive has the rows of {window} that were replaced.",
            "Nothing was changed.",
            f"Archives have: {', '.join(kept)}." if kept else "Set `archive_retention_days` to keep replaced rows.",
        )
    record, history = known[-1], ledger.generations(table.ledger_name, window.text)
    then = next((entry for entry in history if entry.generation == record.generation_of(window.text)), None)
    newest = history[0] if history else LedgerEntry(0, "loaded", 0, "")
    request = table.change.target_request(window)
    rows = _count(control, record.name, request)
    if then is not None and then.is_active and then.rows != rows:
        raise ProofFailed(
            f"{record.name} has {pluralize(rows, 'row')} of {window}, and {then.rows:,} were loaded then.",
            "Nothing was changed.",
            "Somebody changed the archive: look at its rows, or extract the value again.",
        )
    known_then = then or replace(newest, rows=rows, hash="")
    entry = replace(known_then, kind=RESTORED, generation=newest.generation + 1, run=run.id)
    return _Archive(record, window, request, entry)


def _count(session: Session, table: TableName, request: ReadRequest) -> int:
    return int(str(session.query(count_where(table, request.rows or sql("1 = 1")))[0][0]))


def _place(
    control: Session, planned: PlannedTable, archive: _Archive
) -> tuple[NativePartitions, PartitionLayout, NativePartition] | None:
    """Return the partition that can be switched for the archive; None where other rows are in one of them."""
    native, schema = control.native_partitions, planned.table.found.target
    layout = layout_in(control, schema) if schema is not None else None
    partition = layout.partition_of(archive.window) if layout else None
    if native is None or layout is None or partition is None or partition.name != archive.record.partition:
        return None
    column = planned.table.found.in_target(_column(planned))
    others = other_rows(column, [archive.window])
    is_shared = control.query(has_rows(archive.record.name, others)) != [(0,)]
    if is_shared or (
        not layout.holds_only(partition, archive.window)
        and control.query(rows_exist(native.rows_of(layout, partition), others)) != [(0,)]
    ):
        return None
    return None if unmet(native.preconditions(layout, partition, None)) else (native, layout, partition)


def _column(planned: PlannedTable) -> Column:
    name = planned.table.change.divided_by
    return next(column for column in planned.table.found.columns if column.name.lower() == name.lower())


def _copied(control: Session, planned: PlannedTable, archive: _Archive) -> Restored:
    """Replace the rows of the value by those of the archive, in one transaction: other values keep their rows."""
    table, request = planned.table.ledger_name, archive.request
    columns = names(column.name for column in request.columns)
    with control.transaction():
        control.lock_in_transaction(f"tidegate value {table} {archive.window}")
        control.execute(delete_rows(request.table, request.rows))
        control.execute(
            sql(
                "INSERT INTO {table} ({columns}) SELECT {columns} FROM {archive} WHERE {rows}",
                table=Name.of(request.table),
                columns=columns,
                archive=Name.of(archive.record.name),
                rows=request.rows or sql("1 = 1"),
            )
        )
        Ledger(control).record(table, archive.window.text, archive.entry)
    return Restored(planned.key, archive.window.text, archive.entry.rows, str(archive.record.name), by_switch=False)


def _switched(
    control: Session,
    planned: PlannedTable,
    archive: _Archive,
    native: NativePartitions,
    layout: PartitionLayout,
    partition: NativePartition,
) -> Restored:
    """Switch the archive in. What was in the partition becomes the next archive, so a restore can be undone, too."""
    table, window, book = planned.table.ledger_name, archive.window, Stages(control)
    old = stage_name(layout.table, "_ARCHIVE", [window], uuid.uuid4().hex)
    switch = Switch(layout, partition, archive.record.name, old)
    replaced = native.replaced_rows(switch)
    record = replace(
        archive.record, name=replaced, windows=((window.text, archive.entry.generation - 1),), run=archive.entry.run
    )
    if replaced != archive.record.name:
        book.add(replace(record, purpose=STAGE))
    native.finish_stage(layout, partition, archive.record.name)
    with control.transaction():
        control.lock_in_transaction(f"tidegate value {table} {window}")
        # Before the switch: one that commits by itself must not leave rows that the ledger does not speak of.
        Ledger(control).record(table, window.text, archive.entry)
        native.switch(switch)
        book.remove(archive.record.name)
        book.replace(record)
    if replaced != archive.record.name:
        control.execute(drop_table(archive.record.name))
    shown = str(archive.record.name)
    return Restored(planned.key, window.text, archive.entry.rows, shown, by_switch=True, replaced=str(replaced))
