"""Load the rows of a frame into a table: staged, applied and proved in one transaction with watermark and metrics.

Which rows differ is told by our own hashes of both sides, so that case, blanks and nulls count as they are. Only rows
of staged keys are read and written, so the cost follows the frame, not the table. `replace`, and `append` without a
key, read the whole table. A load has an id: once its metrics are committed, repeating it does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import Locked, OutcomeUnknown, ProofFailed, Transient, ValueProblem
from tidegate.frames.spill import Again
from tidegate.frames.target import is_padded
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.records import LoadMetrics, Watermark
from tidegate.sql.contents import delete_rows
from tidegate.sql.staged import delete_by_stage, key_is_staged, update_from_stage
from tidegate.state.lock import newest_run
from tidegate.state.records import Records

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Content

UNCHANGED = "The load was rolled back; the table keeps what it had."
DELETED = "tidegate_deleted"
"""The column of a frame that says which rows are to be deleted; such rows need only their key."""
Batches = Callable[[], "Iterator[pa.RecordBatch]"]


@dataclass(frozen=True)
class Counts:
    """What was written, and what had been there already."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    came: int = 0
    """How many rows the frame had."""


@dataclass(frozen=True)
class Prepared:
    """A change that is staged: how it is applied, which rows it touches, and what they add up to afterwards."""

    apply: Callable[[], Counts]
    touched: ReadRequest
    expected: Receipt


@dataclass(frozen=True)
class FrameLoad:
    """One frame on its way into one table."""

    database: Database
    table: TableName
    columns: tuple[Column, ...]
    """The table's columns that the frame brings, in the frame's order."""
    keys: tuple[str, ...]
    how: str
    """`upsert`, `append`, `replace`, or `apply_changes`: an upsert with deletes."""
    lock: str
    metrics: LoadMetrics
    watermark: Watermark | None = None
    timeout: float | None = None
    started: float = 0.0
    """When the load began, in seconds of the clock."""
    rows_before: int | None = None
    """How many rows the frame had before duplicates were removed; None where none were."""
    is_recorded: bool = True
    """Off for rows of Tidegate's own tables: they need neither metrics nor the lock of a table."""

    def run(self, rows: Again) -> LoadMetrics:
        """Load the rows and return what was done. Harmless when repeated."""
        try:
            with self.database.connect("load", query_timeout=self.timeout) as session:
                return self._load(session, rows)
        except OutcomeUnknown:
            with self.database.connect("inspect") as session:
                done = Records(session).load(self.metrics.load_id)
            if done is None:
                raise Transient(
                    f"{self.table}: the connection was lost before the commit.", UNCHANGED, "Load again."
                ) from None
            return done

    def _load(self, session: Session, rows: Again) -> LoadMetrics:
        with ExitStack() as stages:
            prepared = self._prepared(session, rows, stages)
            with session.transaction():
                session.lock_in_transaction(f"tidegate frame {self.table}")
                if self.is_recorded:
                    self._require_lock(session)
                    done = Records(session).load(self.metrics.load_id)
                    if done is not None:
                        return done
                counts = prepared.apply()
                self._prove(session, prepared)
                metrics = replace(
                    self.metrics,
                    records_extracted=self.metrics.records_extracted or self.rows_before or counts.came,
                    duplicates_removed=0 if self.rows_before is None else self.rows_before - counts.came,
                    records_written=counts.inserted + counts.updated,
                    records_inserted=counts.inserted,
                    records_updated=counts.updated,
                    records_deleted=counts.deleted,
                    records_unchanged=counts.unchanged,
                    milliseconds=max(round(1000 * (time.time() - self.started)), 0) if self.started else 0,
                    finished_at=session.now(),
                )
                if self.watermark is not None:
                    Records(session).set_watermark(replace(self.watermark, load_id=metrics.load_id))
                if self.is_recorded:
                    Records(session).record_load(metrics)
        return metrics

    def _prepared(self, session: Session, rows: Again, stages: ExitStack) -> Prepared:
        batches, gone = self._written(rows), self._deleted(rows)
        if self.how == "replace":
            return _replace(session, self, batches, stages)
        if self.keys:
            return _by_key(session, self, batches, gone, stages)
        return _append_by_content(session, self, batches, stages)

    def _require_lock(self, session: Session) -> None:
        holder = newest_run(session, self.lock)
        if holder != self.metrics.load_id:
            raise Locked(f"{self.table}: {holder or 'another run'} has taken the table over.", UNCHANGED, "Load again.")

    def _prove(self, session: Session, prepared: Prepared) -> None:
        from tidegate.hashing.receipts import read_receipt

        held = read_receipt(session, prepared.touched)
        if not held.same_as(prepared.expected):
            raise ProofFailed(
                f"{self.table}: the table does not hold what was loaded ({held.rows:,} rows instead of"
                f" {prepared.expected.rows:,}, or other values).",
                UNCHANGED,
                "Look for triggers, rules, or another writer that changes rows of this table.",
            )

    # The rows of the frame, in the types of the table

    def _written(self, rows: Again) -> Batches:
        schema, again = rows
        return lambda: self._cast(_live(again(), schema), self.columns)

    def _deleted(self, rows: Again) -> Batches:
        schema, again = rows
        return lambda: self._cast(_flagged(again(), schema), self.key_columns)

    def _cast(self, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        from tidegate.frames.carried import cast_exactly, stored
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(columns)
        padded = [number for number, column in enumerate(columns) if is_padded(column)]
        for batch in batches:
            found = cast_exactly(stored(pa.Table.from_batches([batch])), schema, str(self.table))
            for number in padded:
                found = found.set_column(number, schema[number], pc.utf8_rtrim(found[number], " "))
            yield from found.to_batches()

    @property
    def key_columns(self) -> list[Column]:
        return [column for key in self.keys for column in self.columns if column.name == key]

    @property
    def other_columns(self) -> list[Column]:
        return [column for column in self.columns if column.name not in self.keys]

    @property
    def request(self) -> ReadRequest:
        return ReadRequest(self.table, self.columns)

    def content(self, batches: Iterator[pa.RecordBatch], keys: Sequence[str]) -> Content:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.hashing.differences import hash_content

        return hash_content(batches, arrow_schema([one for one in self.columns if one.name in keys]), keys)


def _by_key(session: Session, job: FrameLoad, batches: Batches, gone: Batches, stages: ExitStack) -> Prepared:
    """Insert rows whose key is missing; update those that differ, unless the load appends; delete flagged keys."""
    from itertools import chain

    from tidegate.hashing.differences import compare_content, select_rows

    keys, others = job.key_columns, job.other_columns
    new = job.content(batches(), job.keys)
    _require_keys(job, new)
    named = (batch.select(list(job.keys)) for batch in batches())
    stage = stages.enter_context(session.staging_table(job.table, keys, chain(named, gone())))
    touched = replace(job.request, rows=key_is_staged(stage, keys))
    old = job.content(session.read(touched), job.keys)
    found = compare_content(new, old)
    if len(found.duplicates[1]):
        raise _not_unique(job, "table", old.key_examples(found.duplicates[1]))
    updates = job.how != "append" and bool(found.changed.any())
    changed = stages.enter_context(
        session.staging_table(
            job.table,
            [*keys, *others],
            select_rows(batches(), found.changed, [column.name for column in (*keys, *others)])
            if updates
            else iter(()),
        )
    )
    leaving = stages.enter_context(session.staging_table(job.table, keys, gone()))
    written = [column.name for column in job.columns]
    insert = stages.enter_context(
        session.bulk_insert(job.table, job.columns, lambda: select_rows(batches(), found.inserted, written))
    )
    is_identity_fixed = not session.database.capabilities.updates_identity

    def apply() -> Counts:
        updated = 0
        if updates:
            statement = update_from_stage(job.table, changed, keys, others, identity=not is_identity_fixed)
            session.execute(statement)
            updated = int(found.changed.sum())
        deleted = session.execute(delete_by_stage(job.table, leaving, keys)) if job.how == "apply_changes" else 0
        inserted = insert() if found.inserted.any() else 0
        return Counts(inserted, updated, deleted, new.rows - inserted - updated, new.rows)

    if job.how == "append":
        kept = old.receipt + _receipt(select_rows(batches(), found.inserted, written))
        return Prepared(apply, touched, kept)
    return Prepared(apply, touched, new.receipt)


def _append_by_content(session: Session, job: FrameLoad, batches: Batches, stages: ExitStack) -> Prepared:
    """Insert the rows that the table does not have yet."""
    import numpy as np

    from tidegate.hashing.differences import first_positions, select_rows
    from tidegate.hashing.rows import hash_rows

    def hashes(rows: Iterator[pa.RecordBatch]) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
        return np.concatenate([np.zeros((0, 2), np.uint64), *(hash_rows(batch) for batch in rows)])

    new, old = hashes(batches()), hashes(session.read(job.request))
    pair = np.dtype([("upper", np.uint64), ("lower", np.uint64)])
    single = [np.ascontiguousarray(side).view(pair).reshape(-1) for side in (new, old)]
    known = np.isin(single[0], single[1])
    is_first = np.zeros(len(new), bool)
    is_first[first_positions(new)] = True
    fresh = ~known & is_first
    names = [column.name for column in job.columns]
    insert = stages.enter_context(
        session.bulk_insert(job.table, job.columns, lambda: select_rows(batches(), fresh, names))
    )

    def apply() -> Counts:
        inserted = insert() if fresh.any() else 0
        return Counts(inserted=inserted, unchanged=len(new) - inserted, came=len(new))

    expected = _receipt(session.read(job.request)) + _receipt(select_rows(batches(), fresh, names))
    return Prepared(apply, job.request, expected)


def _replace(session: Session, job: FrameLoad, batches: Batches, stages: ExitStack) -> Prepared:
    """Make the table hold these rows and no others. Readers see the old rows until the commit."""
    new, old = _receipt(batches()), _receipt(session.read(job.request))
    insert = stages.enter_context(session.bulk_insert(job.table, job.columns, batches))

    def apply() -> Counts:
        if old.same_as(new):
            return Counts(unchanged=new.rows, came=new.rows)
        deleted = session.execute(delete_rows(job.table))
        return Counts(inserted=insert() if new.rows else 0, deleted=deleted, came=new.rows)

    return Prepared(apply, job.request, new)


def _receipt(batches: Iterator[pa.RecordBatch]) -> Receipt:
    from tidegate.hashing.rows import receipt_of

    return receipt_of(batches)


def _require_keys(job: FrameLoad, new: Content) -> None:
    from tidegate.hashing.differences import sort_equal_together

    without = new.null_key_examples()
    if without:
        raise ValueProblem(
            f"{job.table}: rows of the frame have no value for the key ({', '.join(job.keys)}): {'; '.join(without)}.",
            "Nothing was written.",
            "Fill the key in, or leave these rows out.",
        )
    order, equals_next = sort_equal_together(new.key_hashes)
    if equals_next.any():
        raise _not_unique(job, "frame", new.key_examples(order[:-1][equals_next]))


def _not_unique(job: FrameLoad, side: str, examples: list[str]) -> ValueProblem:
    return ValueProblem(
        f"{job.table}: the key ({', '.join(job.keys)}) is not unique in the {side}: {'; '.join(examples)}.",
        "Nothing was written.",
        "Name further key columns, or remove the duplicates first.",
    )


def _live(batches: Iterator[pa.RecordBatch], schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows that are not flagged as deleted, without the flag."""
    import pyarrow.compute as pc

    if schema is None or DELETED not in schema.names:
        yield from batches
        return
    for batch in batches:
        yield batch.filter(pc.invert(batch[DELETED])).drop_columns([DELETED])


def _flagged(batches: Iterator[pa.RecordBatch], schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    if schema is not None and DELETED in schema.names:
        for batch in batches:
            yield batch.filter(batch[DELETED])
