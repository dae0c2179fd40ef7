"""Write versions into a timeline: decided and staged before the transaction, applied and proved inside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import Transient
from tidegate.history.version_task import VersionTask
from tidegate.interfaces.load import Batches, proof_failed, proved_columns
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._current_rows import refuse_several_current, require_names, versions_of
from tidegate.model.columns import Column
from tidegate.model.names import TableName, pluralize
from tidegate.model.values import Value
from tidegate.sql.contents import count_rows, has_rows
from tidegate.sql.cursors import is_current
from tidegate.sql.staged import delete_by_stage, key_is_staged, update_from_stage

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Mask, Positions
    from tidegate.history.versions import Versions
    from tidegate.history.writes import TimelineWrites


@dataclass
class Counts:
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


@dataclass(frozen=True)
class VersionPart:
    """What was read of some business keys: all that a decision about them needs."""

    batch: Versions
    timeline: Versions
    there: pa.Array | None
    """Those of the keys that the source has; None where that is not known."""


def moved(task: VersionTask) -> Transient:
    return Transient(
        f"{task.table}: another load came between reading the target and writing to it.",
        "This one was rolled back.",
        "Run again: it completes what is missing.",
    )


def target_rows_after(session: Session, task: VersionTask, more: int) -> int:
    """Return how many versions the target has from now on.

    One that was counted when this was planned, and what was proved to have come, is as good as another count, and
    better where somebody changed the target meanwhile: the next plan sees it. Of several transactions the first may
    stem from an attempt that is not known here."""
    if task.target_rows is not None and task.parts == 1:
        return task.target_rows + more
    return int(str(session.query(count_rows(task.request.table))[0][0]))


class VersionWrites:
    """One part of a window: decided and staged before the transaction, applied and proved inside of it."""

    def __init__(
        self,
        session: Session,
        task: VersionTask,
        batches: Batches,
        stages: ExitStack,
        part: VersionPart | None = None,
    ) -> None:
        """Without `part`, the timeline of the keys of all batches is read from the target."""
        self._session, self._task, self._stages, self._scd2_columns = session, task, stages, task.scd2_columns
        batch = self._versions(proved_columns(task, batches)()) if part is None else part.batch
        require_names(task, batch)
        if task.trusts_flags:
            refuse_several_current(task, batch, batches)
        self._there = self._keys_there(batch) if part is None else part.there
        self._touched = self._request(batch) if part is None else task.request
        self._timeline = self._versions(session.read(self._touched)) if part is None else part.timeline
        self._decision = self._decide(batch)
        self._stage(batches)

    @property
    def expected(self) -> pa.Table:
        """Return the timeline as it is to be: the hashes of each version, its flag and its end."""
        return self._decision.expected

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
        return versions_of(self._task, batches)

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

    def apply(self, total: Counts) -> None:
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
