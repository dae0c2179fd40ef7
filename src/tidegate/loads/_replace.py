"""Replace rows that match a condition: the old rows leave and the new rows arrive in one transaction.

Inside of that transaction the rows are read back through the same canonicaliser that hashed them when they were
extracted. What does not equal the lake's receipt is rolled back, so nothing is ever committed unproven. Columns that
only the target has keep their values (`_own_columns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from tidegate.interfaces.load import (
    Incoming,
    Loaded,
    LoadTask,
    ReceiptOf,
    acquire_fence,
    proof_failed,
    with_entry,
)
from tidegate.interfaces.session import Session
from tidegate.loads._own_columns import own_columns
from tidegate.model.receipt import Receipt
from tidegate.sql.contents import delete_rows


def replace_rows(
    session: Session,
    incoming: Sequence[Incoming],
    receipt_of: ReceiptOf,
    *,
    by_hash: bool = True,
    rebuilds_indexes: bool = False,
) -> list[Loaded]:
    """Replace the rows of all windows, or of none. Locks are taken in the order of `incoming`: sort it by window.

    The rows of a window are those that match `task.request.rows`; all rows of the table where that is None. With
    `rebuilds_indexes`, plain indexes are set aside before the rows come, and built once afterwards."""
    with ExitStack() as stages:
        writes = [
            stages.enter_context(
                session.bulk_insert(each.task.request.table, each.task.written_columns, each.batches, each.files)
            )
            for each in incoming
        ]
        own = [stages.enter_context(own_columns(session, each.task)) for each in incoming]
        with session.transaction():
            fenced = [fence(session, each, receipt_of) for each in incoming]
            replaced = [
                (task, each.ledger, write, kept)
                for task, each, write, kept in zip(fenced, incoming, writes, own, strict=True)
                if not isinstance(task, Loaded)
            ]
            tables = dict.fromkeys(task.request.table for task, *_ in replaced) if rebuilds_indexes else {}
            indexes = [build for table in tables for build in session.set_indexes_aside(table)]
            deleted = 0
            for task, _, _, kept in replaced:
                kept.save(task.request.rows)
                deleted += session.execute(delete_rows(task.request.table, task.request.rows))
            for task, _, write, _ in replaced:
                _require_all(task, write())
            for build in indexes:
                session.execute(build)
            for task, ledger, _, kept in replaced:
                kept.put_back()
                if by_hash:
                    _prove(task, receipt_of)
                ledger.record(task.entry)
    return [task if isinstance(task, Loaded) else _loaded(task, deleted) for task in fenced]


def _loaded(task: LoadTask, deleted: int) -> Loaded:
    is_whole = task.request.rows is None
    detail = f"{deleted:,} rows replaced by {task.entry.rows:,}" if is_whole else ""
    return Loaded("loaded", task.entry.rows, detail)


def fence(session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> LoadTask | Loaded:
    """Return the task with a generation of its own, or how it ended without a write."""
    task: LoadTask | Loaded = acquire_fence(session, incoming.task, incoming.ledger)
    if isinstance(task, Loaded):
        return task
    if task.request.rows is None:
        task = with_entry(task, target_rows=task.entry.rows, target_hash=task.entry.hash)
    return _compared(task, incoming, receipt_of(task.request)) if task.compare_first else task


def _compared(task: LoadTask, incoming: Incoming, found: Receipt) -> LoadTask | Loaded:
    """Return how rows that the ledger does not know compare with those that come; the task where they are replaced."""
    if found == Receipt(task.entry.rows, task.entry.hash):
        incoming.ledger.record(task.entry)
        return Loaded("equal already")
    if task.keeps_unless is not None and found.rows >= task.entry.rows and found.hash not in task.keeps_unless:
        return Loaded("kept", found.rows)
    return task


def _require_all(task: LoadTask, written: int) -> None:
    if written != task.entry.rows:
        raise proof_failed(task, f"{task.entry.rows:,} rows were sent, the server took {written:,}")


def _prove(task: LoadTask, receipt_of: ReceiptOf) -> None:
    expected, found = Receipt(task.entry.rows, task.entry.hash), receipt_of(task.request)
    if found != expected:
        raise proof_failed(task, f"sent {expected}, read back {found}")
