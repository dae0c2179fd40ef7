"""Apply a large window of versions in parts: what is decided at a time is one bucket of business keys.

The rows of the lake entry, the versions that the target has of their keys, and the keys of the source wait in a
temporary file, divided by the hash of the business key. One transaction writes bucket after bucket. At its end the
touched keys are read back once, and what their rows add up to is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.buckets.assign import ROWS_PER_BUCKET, buckets_for, in_buckets
from tidegate.buckets.spill import Spill
from tidegate.errors import NotNative
from tidegate.history.version_task import VersionTask
from tidegate.interfaces.load import (
    Batches,
    LedgerView,
    Loaded,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._as_text import with_text_column
from tidegate.loads._current_rows import versions_of
from tidegate.loads._version_writes import Counts, VersionPart, VersionWrites, moved, target_rows_after
from tidegate.model.receipt import Receipt
from tidegate.model.state import LedgerEntry
from tidegate.sql.contents import count_rows
from tidegate.sql.cursors import is_current
from tidegate.sql.staged import key_is_staged

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words
    from tidegate.history.versions import Versions

LARGE = 2 * ROWS_PER_BUCKET
"""More rows than this are decided in buckets."""

_MOST_KEYS = 0.2
"""Versions of more than this share of the target are found by reading all of it, not by the keys in a stage."""

_ENTRY, _TIMELINE, _SOURCE_KEYS, _CURRENT_KEYS = range(4)


def is_large(task: VersionTask, before: LedgerEntry | None) -> bool:
    """Return whether a window is decided in buckets: one with many rows, or one that is compared with many keys.

    A repair compares the target with all that was ever extracted, as a whole."""
    held = (before.target_rows if before is not None else None) or task.target_rows or 0
    compared = held if task.tells_who_left else 0
    return not task.exact and task.parts == 1 and max(task.entry.rows, compared) > LARGE


def apply_large(session: Session, task: VersionTask, ledger: LedgerView, batches: Batches) -> Loaded:
    """Make the target hold every version of the entry, and at most one current version of each key."""
    before, total = ledger.newest(), Counts()
    with ExitStack() as stages:
        rows = batches
        while True:
            with ExitStack() as reading:
                try:
                    window = _Window(session, task, rows, reading)
                    ended = _written(window, ledger, before, total)
                    break
                except NotNative as met:
                    task, rows = with_text_column(session, task, rows, stages, met)
    if ended is not None:
        return ended
    return Loaded("loaded", total.inserted + total.changed, str(total)) if total.any else Loaded("equal already")


def _written(window: _Window, ledger: LedgerView, before: LedgerEntry | None, total: Counts) -> Loaded | None:
    """Write all buckets in one transaction. Return None when it was done; else how the load had ended before."""
    session, task = window.session, window.task
    with session.transaction():
        fenced = acquire_fence(session, task, ledger)
        if isinstance(fenced, Loaded):
            return fenced
        if ledger.newest() != before:
            raise moved(task)
        expected = Receipt.EMPTY
        for bucket in window.buckets:
            with ExitStack() as stages:
                expected += window.write(bucket, total, stages)
        rows = target_rows_after(session, task, window.prove(expected))
        ledger.record(with_entry(fenced, target_rows=rows).entry)
    return None


@dataclass(frozen=True)
class _Bucket:
    """The rows of one bucket, as they wait in the file."""

    number: int
    spill: Spill

    def blocks(self, channel: int) -> list[pa.RecordBatch]:
        return list(self.spill.blocks(channel, self.number))


class _Window:
    """A window that was divided by business keys, with what the target has of them."""

    def __init__(self, session: Session, task: VersionTask, batches: Batches, stages: ExitStack) -> None:
        self.session, self.task, self._columns = session, task, task.scd2_columns
        held = int(str(session.query(count_rows(task.request.table))[0][0]))
        self._count = buckets_for(max(task.entry.rows, held if task.tells_who_left else 0), versions=True)
        self._spill = stages.enter_context(Spill())
        self._keep(_ENTRY, self._by_key(batches()))
        if task.tells_who_left and task.source_keys is not None:
            self._keep(_SOURCE_KEYS, self._by_key(task.source_keys()))
            self._keep(_CURRENT_KEYS, self._by_key(session.read(self._current_keys())))
        is_whole = task.compares_all
        self._touched = task.request
        if not is_whole and held and task.entry.rows <= _MOST_KEYS * held:
            columns = task.columns(self._columns.keys)
            stage = stages.enter_context(session.staging_table(task.request.table, columns, self._touched_keys()))
            self._touched = replace(task.request, rows=key_is_staged(stage, columns))
        self._rows_before = 0
        self._keep(_TIMELINE, self._timeline_tables(session.read(self._touched)))

    @property
    def buckets(self) -> list[_Bucket]:
        return [_Bucket(number, self._spill) for number in self._spill.buckets()]

    def _keep(self, channel: int, rows: Iterable[tuple[pa.Table, Words]]) -> None:
        for bucket, block in in_buckets(rows, self._count):
            self._spill.add(bucket, channel, block)

    def _by_key(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Words]]:
        import pyarrow as pa

        from tidegate.hashing.rows import hash_rows

        for batch in batches:
            yield pa.Table.from_batches([batch]), hash_rows(batch.select(list(self._columns.keys)))

    def _timeline_tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Words]]:
        from tidegate.history.blocks import as_table

        for batch in batches:
            self._rows_before += batch.num_rows
            yield as_table(versions_of(self.task, iter([batch])), self._columns, is_complete=True)

    def _current_keys(self) -> ReadRequest:
        """Return the request for keys that have a current version: one of them may have left the source."""
        task, flag = self.task, self._columns.flag
        holding = is_current(task.columns([flag])[0], self._columns.current_value) if flag is not None else None
        return replace(task.request.only(self._columns.keys), rows=holding)

    def _touched_keys(self) -> Iterator[pa.RecordBatch]:
        """Yield the keys of the entry, and those that left the source, each once."""
        import pyarrow as pa

        from tidegate.hashing.differences import first_positions
        from tidegate.hashing.rows import hash_rows

        for bucket in self.buckets:
            keys = [batch.select(list(self._columns.keys)) for batch in bucket.blocks(_ENTRY)]
            left = self._left(bucket)
            if not keys and not left:
                continue
            schema = keys[0].schema if keys else left[0].schema
            table = pa.concat_tables([pa.Table.from_batches(keys, schema), *(each.cast(schema) for each in left)])
            yield from table.take(pa.array(first_positions(hash_rows(table)))).combine_chunks().to_batches()

    def _left(self, bucket: _Bucket) -> list[pa.Table]:
        """Return the keys of a bucket that have a current version and that the source no longer has."""
        import pyarrow as pa

        from tidegate.history.keys import hash_keys, is_in

        keys = self._columns.keys
        there = pa.concat_arrays([hash_keys(bucket.blocks(channel), keys) for channel in (_SOURCE_KEYS, _ENTRY)])
        found = []
        for batch in bucket.blocks(_CURRENT_KEYS):
            left = batch.filter(pa.array(~is_in(hash_keys([batch], keys), there)))
            if left.num_rows:
                found.append(pa.Table.from_batches([left]))
        return found

    # In the transaction

    def write(self, bucket: _Bucket, total: Counts, stages: ExitStack) -> Receipt:
        """Write one bucket, and return what its rows of the target are to add up to."""
        import numpy as np
        import pyarrow as pa

        from tidegate.history.blocks import as_versions
        from tidegate.history.keys import business_keys, hash_keys, is_in
        from tidegate.history.resolved import rows_as_receipt, timeline_as_receipt

        task, spill = self.task, self._spill
        batches = partial(spill.blocks, _ENTRY, bucket.number)
        batch = versions_of(task, proved_columns(task, batches)())
        timeline = as_versions(bucket.blocks(_TIMELINE), self._schema, self._columns)
        there = self._keys_there(bucket, batch)
        is_touched = np.ones(timeline.rows, bool)
        if not task.compares_all:
            left = [hash_keys(table.to_batches(), self._columns.keys) for table in self._left(bucket)]
            is_touched = is_in(business_keys(timeline), pa.concat_arrays([business_keys(batch), *left]))
        others = timeline.filter(~is_touched)
        part = VersionPart(batch, timeline.filter(is_touched), there)
        writes = VersionWrites(self.session, task, batches, stages, part)
        writes.apply(total)
        return rows_as_receipt(writes.expected) + timeline_as_receipt(others)

    @property
    def _schema(self) -> pa.Schema:
        from tidegate.hashing.arrow import arrow_schema

        return arrow_schema(self.task.request.columns, self.task.request.text_columns)

    def _keys_there(self, bucket: _Bucket, batch: Versions) -> pa.Array | None:
        import pyarrow as pa

        from tidegate.history.keys import business_keys, hash_keys

        if not self.task.tells_who_left:
            return None
        known = hash_keys(bucket.blocks(_SOURCE_KEYS), self._columns.keys)
        return pa.concat_arrays([known, business_keys(batch)]).unique()

    def prove(self, expected: Receipt) -> int:
        """Read the touched keys back, and return how many versions there are more than before. Raises ProofFailed."""
        from tidegate.history.resolved import timeline_as_receipt

        found = Receipt.EMPTY
        for batch in self.session.read(self._touched):
            found += timeline_as_receipt(versions_of(self.task, iter([batch])))
        if found != expected:
            raise proof_failed(self.task, f"expected {expected}, read back {found}")
        return found.rows - self._rows_before
