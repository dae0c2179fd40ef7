"""The load of a table that is kept in the lake: where it is, and how its commit and the ledger's row belong together.

The ledger's row is written after the commit in the lake. A load that was killed between the two finds its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeAlias

from tidegate.errors import Unsupported, ValueProblem
from tidegate.interfaces.lake import KeptTable, Lake, LakeTable
from tidegate.interfaces.load import Batches, Incoming, Loaded, acquire_fence, with_entry
from tidegate.interfaces.session import Session
from tidegate.loads._kept_rows import Kept, KeptTask, TableWriter, Wanted, moved, tries, was_loaded
from tidegate.loads._keys import key_of
from tidegate.model.columns import TableSchema
from tidegate.model.plan import Notice
from tidegate.tables.found import UNTOUCHED, FoundTable

BY_CURSOR = ("timestamp", "hybrid", "sequence", "rowversion", "xmin")
BY_FEED = ("cdc", "triggers", "change_tracking")

Keep: TypeAlias = Callable[[Incoming, Any, TableWriter, KeptTable, ExitStack], Wanted]
"""Returns what the table is to hold of the keys of a window."""


def required_key(settings: Any, source: TableSchema) -> tuple[str, ...]:
    """Return what names a row. Raises Unsupported where nothing does."""
    key = key_of(settings, source, "keys")
    if not key:
        raise Unsupported(
            f"{settings.name}: nothing names a row of {source.name}, so changes cannot be merged.",
            UNTOUCHED,
            "Name `keys`.",
        )
    return key


def place_of(settings: Any, table: FoundTable) -> tuple[LakeTable, FoundTable]:
    """Return the table of the lake that is the target, and the table with a notice that says so."""
    if table.kept is None:
        raise Unsupported(
            f"{settings.name}: `load: {settings.load}` keeps a table in the lake, and `target: lake` is missing.",
            UNTOUCHED,
            "Write `target: lake`, or leave out `load`.",
        )
    notice = Notice(f"the target is the table {table.kept.name} of the lake")
    return table.kept, replace(table, notices=(*table.notices, notice))


def apply_kept(session: Session, incoming: Incoming, keep: Keep) -> Loaded:
    """Bring a window into the table of the lake, and then into the ledger."""
    task: KeptTask = incoming.task
    assert incoming.lake is not None
    with session.transaction():
        fenced = acquire_fence(session, task, incoming.ledger)
        if isinstance(fenced, Loaded):
            return fenced
        done = _kept(incoming, fenced, incoming.lake.prepared(task.place, task.schema), keep)
        incoming.ledger.reached("kept in the lake")
        incoming.ledger.record(with_entry(fenced, target_rows=done.rows).entry)
    counts = {"inserted": done.inserted, "updated": done.updated, "deleted": done.deleted}
    if done.was_done:
        return Loaded("done before", task.entry.rows)
    if not any(counts.values()):
        return Loaded("equal already", counts=counts)
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    return Loaded("loaded", done.inserted + done.updated, words, counts)


def _kept(incoming: Incoming, task: KeptTask, lake: Lake, keep: Keep) -> Kept:
    for _ in tries():
        kept = lake.kept(task.place)
        if was_loaded(kept, task, task.entry.generation):
            return Kept(kept.rows, was_done=True)
        writer = TableWriter(lake, task)
        with ExitStack() as opened:
            wanted = keep(incoming, task, writer, kept, opened)
            done = writer.keep(kept, wanted, task.entry.generation)
        if done is not None:
            return done
    raise moved(task)


def require_values(task: KeptTask, names: Sequence[str], rows: Batches) -> None:
    """Raise ValueProblem for a row without a value of a column that it is known by."""
    without = sum(batch.column(name).null_count for batch in rows() for name in names)
    if without:
        raise ValueProblem(
            f"{task.table}: {without:,} rows of the source lack {', '.join(names)}, which tells rows apart.",
            "Nothing was loaded; the table in the lake keeps what it had.",
            "Name other `keys`, or correct these rows.",
        )
