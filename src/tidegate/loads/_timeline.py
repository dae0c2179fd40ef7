"""Apply a window of versions to a timeline: insert what it lacks, and set the flags of the keys that were touched.

What is to be done is decided by our own hashes of both sides (`history/timelines.py`), so that reruns, late arrivals,
windows out of order, equal cursor values and repeated rows all end in the same table. Versions that are no longer
current are closed before others come, so that a unique index over current versions never sees two. Inside of the
transaction the touched keys are read back: what is not exactly as decided is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.errors import NotNative
from tidegate.history.version_task import GeneratedColumns, VersionTask
from tidegate.interfaces.load import Batches, LedgerView, Loaded, acquire_fence, with_entry
from tidegate.interfaces.session import Session
from tidegate.loads._as_text import with_text_column
from tidegate.loads._current_rows import refuse_several_current, versions_of
from tidegate.loads._large_timeline import LARGE, apply_large, is_large
from tidegate.loads._version_writes import Counts, VersionWrites, moved, target_rows_after

if TYPE_CHECKING:
    import pyarrow as pa


def apply_versions(session: Session, task: VersionTask, ledger: LedgerView, batches: Batches) -> Loaded:
    """Make the target hold every version of the entry, and at most one current version of each key."""
    before, total = ledger.newest(), Counts()
    if task.generated is not None:
        task, batches = _with_generated(task, task.generated, batches)
    if is_large(task, before):
        if session.database.capabilities.streams_into_transaction:
            return apply_large(session, task, ledger, batches)
        if not task.compares_all:  # rows cannot be staged inside of a transaction
            task = replace(task, parts=-(-task.entry.rows // LARGE))
    if task.parts > 1 and task.trusts_flags:
        # A key is refused before the first of several transactions, not after some of them.
        refuse_several_current(task, versions_of(task, batches()), batches)
    for part in range(task.parts):
        rows = _part(task, batches, part)
        ended = _load_part(session, task, ledger, rows, before, total, last=part == task.parts - 1)
        if ended is not None:
            return ended
    if not total.any:
        return Loaded("equal already")
    return Loaded("loaded", total.inserted + total.changed, str(total))


def _with_generated(task: VersionTask, generated: GeneratedColumns, batches: Batches) -> tuple[VersionTask, Batches]:
    """Return the task with the generated columns, and rows that have them."""
    request = replace(task.request, columns=(*task.request.columns, *generated.columns))

    def versions() -> Iterator[pa.RecordBatch]:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.generated import add_validity_columns

        schema = arrow_schema(generated.columns, request.text_columns)
        for batch in batches():
            yield add_validity_columns(batch, schema, generated.cursor, task.read_at)

    return replace(task, request=request), versions


def _part(task: VersionTask, batches: Batches, part: int) -> Batches:
    """Return every version of some keys: a key is written in one transaction or not at all."""
    if task.parts == 1:
        return batches

    def some() -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.hashing.rows import hash_rows

        for batch in batches():
            chosen = hash_rows(batch.select(list(task.keys)))[:, 0] % task.parts == part
            yield batch.filter(pa.array(chosen))

    return some


def _load_part(
    session: Session,
    task: VersionTask,
    ledger: LedgerView,
    rows: Batches,
    before: object,
    total: Counts,
    *,
    last: bool,
) -> Loaded | None:
    """Load one part. Return None when it was done; else how the whole load had ended before."""
    with ExitStack() as stages:
        change = _decided(session, task, rows, stages)
        with session.transaction():
            fenced = acquire_fence(session, task, ledger)
            if isinstance(fenced, Loaded):
                return fenced
            if ledger.newest() != before:
                raise moved(task)
            change.apply(total)
            more = change.prove()
            if last:
                ledger.record(with_entry(fenced, target_rows=target_rows_after(session, task, more)).entry)
    return None


def _decided(session: Session, task: VersionTask, rows: Batches, stages: ExitStack) -> VersionWrites:
    """Return what is to be written. Where the target holds values that Arrow has no room for (NaN, infinity) and the
    entry has none, the rows are taken with that column as text, too: hashes compare only what was read alike."""
    while True:
        try:
            return VersionWrites(session, task, rows, stages)
        except NotNative as met:
            task, rows = with_text_column(session, task, rows, stages, met)
