"""Apply a window of versions to a timeline: insert what it lacks, and set the flags of the keys that were touched.

What is to be done is decided by our own hashes of both sides (`history/timelines.py`), so that reruns, late arrivals,
windows out of order, equal cursor values and repeated rows all end in the same table. Versions that are no longer
current are closed before others come, so that a unique index over current versions never sees two. Inside of the
transaction the touched keys are read back: what is not exactly as decided is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import NotNative, Transient, ValueProblem
from tidegate.history.version_task import GeneratedColumns, VersionTask
from tidegate.interfaces.database import ReadRequest, Session
from tidegate.interfaces.load import (
    Batches,
    LedgerView,
    Loaded,
    acquire_fence,
    proof_failed,
    proved_columns,
    with_entry,
)
from tidegate.model.columns import Column
from tidegate.model.names import TableName, pluralize, staged_name
from tidegate.model.values import Value
from tidegate.sql.contents import count_rows, has_rows
from tidegate.sql.cursors import is_current
from tidegate.sql.staged import delete_by_stage, key_is_staged, update_from_stage

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask, Positions
    from tidegate.history.versions import Versions
    from tidegate.history.writes import TimelineWrites


def apply_versions(session: Session, task: VersionTask, ledger: LedgerView, batches: Batches) -> Loaded:
    """Make the target hold every version of the entry, and at most one current version of each key."""
    before, total = ledger.newest(), _Counts()
    if task.generated is not None:
        task, batches = _with_generated(task, task.generated, batches)
    if task.parts > 1 and task.trusts_flags:
        # A key is refused before the first of several transactions, not after some of them.
        _require_one_current(task, _versions_of(task, batches()), batches)
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


@dataclass
class _Counts:
    inserted: int = 0
    changed: int = 0
    closed: int = 0
    opened: int = 0
    removed: int = 0

    @property
    def any(self) -> int:
        return self.inserted + self.changed + self.closed + self.opened + self.removed

    def __str__(self) -> str:
        reopened = f", {self.opened:,} reopened" if self.opened else ""
        removed = f", {self.removed:,} removed" if self.removed > 0 else ""
        counts = f"{pluralize(self.inserted, 'version')} inserted, {self.changed:,} changed, {self.closed:,} superseded"
        return counts + reopened + removed


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
    total: _Counts,
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
                raise _moved(task)
            change.apply(total)
            more = change.prove()
            if last:
                ledger.record(with_entry(fenced, target_rows=_target_rows(session, task, more)).entry)
    return None


def _target_rows(session: Session, task: VersionTask, more: int) -> int:
    """Return how many versions the target has from now on.

    One that was counted when this was planned, and what was proved to have come, is as good as another count, and
    better where somebody changed the target meanwhile: the next plan sees it. Of several transactions the first may
    stem from an attempt that is not known here."""
    if task.target_rows is not None and task.parts == 1:
        return task.target_rows + more
    return int(str(session.query(count_rows(task.request.table))[0][0]))


def _decided(session: Session, task: VersionTask, rows: Batches, stages: ExitStack) -> _Change:
    """Return what is to be written. Where the target holds values that Arrow has no room for (NaN, infinity) and the
    entry has none, the rows are taken with that column as text, too: hashes compare only what was read alike."""
    scd2_columns = task.scd2_columns
    while True:
        try:
            return _Change(session, task, rows, stages)
        except NotNative as met:
            # Of what is ordered or understood a text would be taken for something else.
            if met.column in (
                scd2_columns.cursor,
                scd2_columns.end,
                scd2_columns.flag,
                scd2_columns.tombstone,
                *task.request.text_columns,
            ):
                raise
            task = replace(task, request=task.request.with_text((met.column,)))
            rows = _as_the_server_writes(session, task, rows, stages)


def _as_the_server_writes(session: Session, task: VersionTask, rows: Batches, stages: ExitStack) -> Batches:
    """Return the same rows with some columns as text. They are kept: a stage may be read in another order each time."""
    request, columns = task.request, task.written_columns
    names = {column.name: staged_name(place) for place, column in enumerate(columns)}
    in_order = (batch.select(list(names)) for batch in rows())
    staged = replace(
        request,
        table=stages.enter_context(session.staging_table(request.table, columns, in_order)),
        columns=tuple(replace(column, name=names[column.name]) for column in columns),
        text_columns=tuple(names[name] for name in request.text_columns if name in names),
        rows=None,
    )
    kept = [batch.rename_columns(list(names)) for batch in session.read(staged)]
    return lambda: iter(kept)


def _versions_of(task: VersionTask, batches: Iterator[pa.RecordBatch]) -> Versions:
    from tidegate.hashing.arrow import arrow_schema
    from tidegate.history.versions import hash_versions

    return hash_versions(batches, arrow_schema(task.request.columns, task.request.text_columns), task.scd2_columns)


def require_one_current_row(task: VersionTask, batches: Batches) -> None:
    """Raise ValueProblem, as below, for rows that were read and are not yet published in the lake.

    A file with such rows would be refused by every later load, also when the source has cleared its flags since."""

    def current() -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches():
            yield batch.filter(pa.array(task.scd2_columns.current_flags(batch)))

    if task.trusts_flags:
        again = "; if it has cleared them since, run again"
        _require_one_current(task, _versions_of(task, current()), current, again)


def _require_one_current(task: VersionTask, batch: Versions, batches: Batches, again: str = "") -> None:
    """Raise ValueProblem for a business key under which the source itself has several current rows.

    Only one of them can be current in the target: to clear the flags of the others in silence would lose entities."""
    from tidegate.history.findings import several_current

    places = several_current(batch)
    if not len(places):
        return
    key, wider = ", ".join(task.keys), _wider_key(task, batches)
    cure = f"[{', '.join(wider)}]" if wider else "the columns that name one entity"
    raise ValueProblem(
        f"{task.table}: the source has several current rows for {pluralize(len(places), 'value')} of the business key"
        f" ({key}), such as {batch.describe(places, task.keys)}.",
        "Nothing was loaded; the target keeps what it had.",
        f"Set `business_keys` to {cure}, if each of these rows is an entity of its own. Set `flags: recompute`, if the"
        f" source clears the flags of old versions late or never{again}.",
    )


def _wider_key(task: VersionTask, batches: Batches) -> tuple[str, ...]:
    """Return the first wider key of the catalog under which no two rows are current; empty when there is none."""
    from tidegate.history.findings import several_current

    known = {column.name for column in task.request.columns}
    for key in task.wider_keys:
        if set(key) <= known and not len(several_current(_versions_of(replace(task, keys=key), batches()))):
            return key
    return ()


def _moved(task: VersionTask) -> Transient:
    return Transient(
        f"{task.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


class _Change:
    """One part of a window: decided and staged before the transaction, applied and proved inside of it."""

    def __init__(self, session: Session, task: VersionTask, batches: Batches, stages: ExitStack) -> None:
        self._session, self._task, self._stages, self._scd2_columns = session, task, stages, task.scd2_columns
        batch = self._versions(proved_columns(task, batches)())
        self._require_names(batch)
        if task.trusts_flags:
            _require_one_current(task, batch, batches)
        self._there = self._keys_there(batch)
        self._touched = self._request(batch)
        self._timeline = self._versions(session.read(self._touched))
        self._decision = self._decide(batch)
        self._stage(batches)

    def _decide(self, batch: Versions) -> TimelineWrites:
        from tidegate.history.rules import MergeRules
        from tidegate.history.timelines import merge_versions

        task = self._task
        extracted = self._extracted() if task.exact else None
        # Where nobody can tell what the source had once, nothing leaves.
        all_between = self._between() if extracted is not None else None
        rules = MergeRules(
            batch_is_newer=task.is_newest,
            recompute_flags=task.recompute,
            drop_unchanged=task.generated is not None,
            source_keys=self._there,
            source_keys_as_of=self._left_by() if self._there is not None and task.end is not None else None,
            keep_closed=task.closes_absent and task.end is None,
            complete_range=all_between,
            extracted_version_keys=extracted,
        )
        return merge_versions(batch, self._timeline, rules)

    def _keys_there(self, batch: Versions) -> pa.Array | None:
        """Return the keys that the source had; None where that is not known."""
        import pyarrow as pa

        from tidegate.history.keys import business_keys, hash_keys

        if not self._task.tells_who_left:
            return None
        own = business_keys(batch)
        if self._task.source_keys is None:
            return own
        return pa.concat_arrays([hash_keys(self._task.source_keys(), self._scd2_columns.keys), own]).unique()

    def _left_by(self) -> pa.Scalar | None:
        """Return when the keys were read: on the clock of the cursor, or on that of the source."""
        from tidegate.history.cursors import parse_cursor, parse_read_at

        read_at = self._task.cursor_range.keys_read_at
        return (
            parse_read_at(self._task.read_at)
            if read_at is None
            else parse_cursor(read_at.text, self._timeline.cursor_values.type)
        )

    def _extracted(self) -> pa.Array | None:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.keys import hash_version_keys

        request = self._task.request
        assert self._task.extracted is not None
        return hash_version_keys(
            self._task.extracted(), arrow_schema(request.columns, request.text_columns), self._scd2_columns
        )

    def _between(self) -> tuple[pa.Scalar | None, pa.Scalar | None]:
        from tidegate.history.cursors import parse_sort_value

        window, type_ = self._task.cursor_range, self._timeline.cursor_values.type
        low, high = (
            parse_sort_value(_text(end), type_, self._scd2_columns.cursor_kind) for end in (window.after, window.upto)
        )
        return low, high

    def _versions(self, batches: Iterator[pa.RecordBatch]) -> Versions:
        return _versions_of(self._task, batches)

    def _require_names(self, batch: Versions) -> None:
        examples = batch.null_examples([*self._scd2_columns.keys, *self._scd2_columns.version_key])
        if examples:
            key = ", ".join(self._scd2_columns.keys)
            raise ValueProblem(
                f"{self._task.table}: versions without a value for {key}: {'; '.join(examples)}.",
                "Nothing was loaded; the target keeps what it had.",
                "Correct these rows in the source, or name other `business_keys`.",
            )

    def _request(self, batch: Versions) -> ReadRequest:
        """Return the request for the history of the keys in the batch; all of it where that is most of it."""
        import numpy as np
        import pyarrow as pa

        from tidegate.hashing.differences import first_positions
        from tidegate.hashing.rows import hash_rows

        task = self._task
        is_empty = self._session.query(has_rows(task.request.table)) == [(0,)]
        if is_empty or task.exact or (self._there is not None and task.source_keys is None):
            return task.request
        keys = batch.key_values.select(list(self._scd2_columns.keys))
        if self._there is not None:
            keys = pa.concat_tables([keys, *self._left(self._there, keys.schema)])
        hashes = np.concatenate([hash_rows(one) for one in keys.to_batches()] or [np.zeros((0, 2), np.uint64)])
        columns, keys = task.columns(self._scd2_columns.keys), keys.take(pa.array(first_positions(hashes)))
        stage = self._stages.enter_context(
            self._session.staging_table(task.request.table, columns, iter(keys.to_batches()))
        )
        return replace(task.request, rows=key_is_staged(stage, columns))

    def _left(self, there: pa.Array, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield keys that have a current version and that the source no longer has."""
        import pyarrow as pa

        from tidegate.history.keys import hash_keys, is_in

        flag = self._task.columns([self._scd2_columns.flag])[0] if self._scd2_columns.flag is not None else None
        holding = is_current(flag, self._scd2_columns.current_value) if flag is not None else None
        for batch in self._session.read(replace(self._task.request.only(self._scd2_columns.keys), rows=holding)):
            left = batch.filter(pa.array(~is_in(hash_keys([batch], self._scd2_columns.keys), there)))
            if left.num_rows:
                yield pa.Table.from_batches([left]).cast(schema)

    # Before the transaction

    def _stage(self, batches: Batches) -> None:
        import numpy as np

        from tidegate.hashing.differences import select_rows
        from tidegate.history.resolved import resolve_rows

        decision, task = self._decision, self._task
        group = list(self._scd2_columns.version_key)
        others = [column.name for column in task.request.columns if column.name not in group]

        def coming_rows() -> Iterator[pa.RecordBatch]:
            return resolve_rows(batches(), decision.is_current, decision.ends, self._scd2_columns)

        self._closed = self._flags(decision.closed, False)
        self._opened = self._flags(decision.reopened, True)
        self._changed: TableName | None = None
        if decision.changed.any():
            rows = select_rows(coming_rows(), decision.changed, [*group, *others])
            self._changed = self._stages.enter_context(
                self._session.staging_table(task.request.table, task.columns([*group, *others]), rows)
            )
        self._others = others
        again = np.concatenate([decision.rewritten, decision.removed])
        self._again = self._rows_of(again) if len(again) else None
        # Read now: what the target holds of them is gone when they are to be written.
        written_again = list(self._written_again())
        self._rewritten = sum(batch.num_rows for batch in written_again)
        written = [column.name for column in task.written_columns]
        coming: list[tuple[tuple[Column, ...], Batches]] = [
            (task.written_columns, lambda: select_rows(coming_rows(), decision.inserted, written))
        ]
        if written_again:
            coming.append((self._columns_written_again, lambda: iter(written_again)))
        self._inserts = [
            self._stages.enter_context(self._session.bulk_insert(task.request.table, columns, rows))
            for columns, rows in coming
        ]

    def _flags(self, places: Positions, holds: bool) -> TableName | None:
        """Stage the keys of these versions with their new flag and end; None when there is nothing to set."""
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.resolved import set_validity

        names = self._validity
        if not len(places) or not names:
            return None
        group, request = list(self._scd2_columns.version_key), self._task.request
        columns = self._task.columns([*group, *names])
        named = self._timeline.key_values.select(group).take(pa.array(places)).combine_chunks()
        schema = arrow_schema(columns, request.text_columns)
        arrays = [*(named[name].combine_chunks() for name in group), *(pa.nulls(len(places)) for _ in names)]
        cast = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
        ends = self._decision.timeline_ends
        batch = set_validity(
            pa.record_batch(cast, schema=schema),
            _all(len(places), holds),
            None if ends is None else ends.take(pa.array(places)),
            self._scd2_columns,
        )
        return self._stages.enter_context(self._session.staging_table(request.table, columns, iter([batch])))

    @property
    def _validity(self) -> list[str]:
        return [name for name in (self._scd2_columns.flag, self._scd2_columns.end) if name is not None]

    def _rows_of(self, places: Positions) -> TableName:
        """Stage the version keys under which rows are written again."""
        import pyarrow as pa

        group = list(self._scd2_columns.version_key)
        named = self._timeline.key_values.select(group).take(pa.array(places))
        each = named.group_by(group).aggregate([]).select(group)
        batches = iter(each.combine_chunks().to_batches())
        return self._stages.enter_context(
            self._session.staging_table(self._task.request.table, self._task.columns(group), batches)
        )

    @property
    def _columns_written_again(self) -> tuple[Column, ...]:
        """Return also the columns that only the target has: a row that is written again keeps their values."""
        return (*self._task.request.columns, *self._task.own_columns)

    def _written_again(self) -> Iterator[pa.RecordBatch]:
        """Yield the target's rows of those version keys with their new flags, without the rows that are replaced."""
        from tidegate.history.resolved import resolve_existing_rows

        if self._again is None:
            return
        own = tuple(column.name for column in self._task.own_columns)
        request = replace(
            self._task.request,
            columns=self._columns_written_again,
            rows=key_is_staged(self._again, self._task.columns(self._scd2_columns.version_key)),
        )
        scd2_columns = replace(self._scd2_columns, ignored=(*self._scd2_columns.ignored, *own))
        yield from resolve_existing_rows(self._session.read(request), self._decision.expected_existing, scd2_columns)

    # Inside of it

    def apply(self, total: _Counts) -> None:
        """Write everything. Versions are closed first: a unique index over current versions never sees two."""
        table, group = self._task.request.table, self._task.columns(self._scd2_columns.version_key)
        flag = self._task.columns(self._validity)
        execute = self._session.execute
        if self._closed is not None:
            total.closed += execute(update_from_stage(table, self._closed, group, flag))
        removed = execute(delete_by_stage(table, self._again, group)) if self._again is not None else 0
        if self._changed is not None:
            others, identity = self._task.columns(self._others), self._session.database.capabilities.updates_identity
            total.changed += execute(update_from_stage(table, self._changed, group, others, identity=identity))
        fresh, written = int(self._decision.inserted.sum()), sum(insert() for insert in self._inserts)
        if written != fresh + self._rewritten:
            raise proof_failed(self._task, f"{fresh + self._rewritten:,} rows were sent, the server took {written:,}")
        total.inserted += fresh
        total.removed += removed - self._rewritten
        if self._opened is not None:
            total.opened += execute(update_from_stage(table, self._opened, group, flag))

    def prove(self) -> int:
        """Return how many versions the touched keys have more than before. Raises ProofFailed."""
        from tidegate.history.resolved import describe_mismatch

        found = self._versions(self._session.read(self._touched))
        difference = describe_mismatch(self._decision.expected, found)
        if difference:
            raise proof_failed(self._task, difference)
        return found.rows - self._timeline.rows


def _all(count: int, holds: bool) -> Mask:
    import numpy as np

    return np.full(count, holds)


def _text(value: Value | None) -> str | None:
    return None if value is None else value.text
