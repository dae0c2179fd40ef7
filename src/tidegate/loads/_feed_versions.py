"""Versions from a change feed: one version per change, from the time of its commit on.

In the mode `images` every change of the log makes a version, in the order of the log. Several changes of a row in one
transaction have one commit time: each later one starts a microsecond later, so that their order stays. A delete and a
truncate end a version. In the mode `keys` a version is what a run found: it starts at the time of the read.

A window that holds the whole table is compared with the current versions. What later windows made is taken back first,
because they are loaded again: so a ledger or rows of the target that were lost lead to the same versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.buckets.assign import buckets_for, in_buckets
from tidegate.buckets.spill import Spill
from tidegate.interfaces.change import LoadNeeds
from tidegate.interfaces.load import (
    Batches,
    Incoming,
    Load,
    Loaded,
    LoadTask,
    ReceiptOf,
    acquire_fence,
    proof_failed,
    with_entry,
)
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.loads._difference import difference_of
from tidegate.loads._merge_window import kept_events
from tidegate.model.columns import Column
from tidegate.model.feeds import DELETE, OPERATION, TIME, TRUNCATE
from tidegate.model.names import TableName
from tidegate.model.plan import Load as LoadStep
from tidegate.model.state import TableState
from tidegate.model.tokens import FeedWindow
from tidegate.settings import Settings
from tidegate.sql.contents import both, count_rows
from tidegate.sql.cursors import is_current
from tidegate.sql.staged import key_is_staged, update_from_stage
from tidegate.sql.text import Literal, Name, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

_NEW, _OLD, _VERSIONS, _CLOSED = range(4)
_NUMBER, _KEY = "tidegate_number", ("tidegate_key1", "tidegate_key2")
_START, _END, _FLAG = "tidegate_start", "tidegate_end", "tidegate_flag"


@dataclass(frozen=True, kw_only=True)
class FeedVersionTask(LoadTask):
    """One window of a change feed for a table of versions."""

    keys: tuple[str, ...]
    start: Column
    end: Column
    flag: Column
    closes: bool
    """Entities that were deleted are closed."""

    @property
    def key_columns(self) -> list[Column]:
        return self.columns(self.keys)

    @property
    def window_token(self) -> FeedWindow:
        assert isinstance(self.entry.token, FeedWindow), "only change feeds make such windows"
        return self.entry.token

    @property
    def current(self) -> Sql:
        return is_current(self.flag, "1")


@dataclass(frozen=True)
class FeedVersions(Load):
    """The load of one table of versions from a change feed."""

    name = "scd2 from a change feed"
    Settings = Settings

    keys: tuple[str, ...]
    start: Column
    end: Column
    flag: Column
    closes: bool
    events: int | None = None
    """For how many seconds changes are kept as events; None where they are not."""

    @classmethod
    def requirements(cls, *given: Any) -> Any:
        raise NotImplementedError("the load `scd2` asks this")

    @classmethod
    def bind(cls, *given: Any) -> Any:
        raise NotImplementedError("the load `scd2` makes this")

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, all_keys=True, order_matters=True, deletes=self.closes, images=True)

    @property
    def row_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def keeps_rows_aside(self) -> bool:
        return self.events is not None

    def task(self, task: LoadTask, step: LoadStep, state: TableState, loads: int) -> FeedVersionTask:
        given = {**vars(task), "request": replace(task.request, rows=None)}
        return FeedVersionTask(
            **given, keys=self.keys, start=self.start, end=self.end, flag=self.flag, closes=self.closes
        )

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        task: FeedVersionTask = incoming.task
        before = incoming.ledger.newest()
        with ExitStack() as opened:
            writes = _Writes(session, task, opened)
            if task.window_token.whole or task.window_token.mode != "images":
                _compare(writes, incoming)
            else:
                _replay(writes, incoming)
            apply = writes.prepared()
            keep_events = kept_events(incoming, task.keys, self.events, opened)
            with session.transaction():
                fenced = acquire_fence(session, task, incoming.ledger)
                if isinstance(fenced, Loaded):
                    return fenced
                if incoming.ledger.newest() != before:
                    raise proof_failed(task, "another load came between reading the target and writing to it")
                apply(receipt_of)
                keep_events()
                rows = int(str(session.query(count_rows(task.request.table, task.current))[0][0]))
                incoming.ledger.record(with_entry(fenced, target_rows=rows).entry)
        counts = {"inserted": writes.inserted, "closed": writes.closed}
        if not writes.inserted + writes.closed:
            return Loaded("equal already", counts=counts)
        return Loaded("loaded", writes.inserted, f"{writes.inserted:,} versions, {writes.closed:,} closed", counts)


class _Writes:
    """Versions that are to be inserted, and current ones that are to be closed: gathered in files, then applied."""

    def __init__(self, session: Session, task: FeedVersionTask, opened: ExitStack) -> None:
        self.session, self.task, self.opened = session, task, opened
        self.spill = opened.enter_context(Spill())
        self.inserted = self.closed = 0
        self.rewinds: list[Sql] = []

    def insert(self, rows: pa.Table, starts: pa.Array, ends: pa.Array, flags: pa.Array) -> None:
        """Add versions: rows in the columns of the request, with their validity."""
        names = [column.name for column in self.task.request.columns]
        table = rows.select(names)
        for name, values in ((_START, starts), (_END, ends), (_FLAG, flags)):
            table = table.append_column(name, values)
        for batch in table.combine_chunks().to_batches(max_chunksize=self.task.request.batch.rows):
            self.spill.add(0, _VERSIONS, batch)
            self.inserted += batch.num_rows

    def close(self, keys: pa.Table, starts: pa.Array, ends: pa.Array) -> None:
        """Close the current versions of these keys, which have these starts."""
        table = keys.select(list(self.task.keys)).append_column(_START, starts).append_column(_END, ends)
        for batch in table.combine_chunks().to_batches(max_chunksize=self.task.request.batch.rows):
            self.spill.add(0, _CLOSED, batch)
            self.closed += batch.num_rows

    def _version_columns(self) -> list[Column]:
        return [*self.task.request.columns, self.task.start, self.task.end, self.task.flag]

    def _versions(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        """Yield the new versions in these columns, in the types that the target's columns are written in."""
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        task = self.task
        ours = {task.start.name: _START, task.end.name: _END, task.flag.name: _FLAG}
        schema = arrow_schema(columns, task.request.text_columns)
        for batch in self.spill.blocks(_VERSIONS):
            arrays = [batch.column(ours.get(column.name, column.name)) for column in columns]
            yield pa.RecordBatch.from_arrays(
                [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
            )

    def _closings(self) -> Iterator[pa.RecordBatch]:
        """Yield key and start of versions that are closed, then what is set: flag and end."""
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        task = self.task
        columns = [*task.key_columns, task.start, task.flag, task.end]
        schema = arrow_schema(columns, task.request.text_columns)
        for batch in self.spill.blocks(_CLOSED):
            flags = pa.array([0] * batch.num_rows)
            keys = [batch.column(name) for name in task.keys]
            arrays = [*keys, batch.column(_START), flags, batch.column(_END)]
            yield pa.RecordBatch.from_arrays(
                [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
            )

    def prepared(self) -> Any:
        """Stage what is to be written. Return the function that writes and proves it inside of the transaction."""
        from tidegate.hashing.rows import receipt_of as receipt_of_rows

        session, task, opened = self.session, self.task, self.opened
        table, columns = task.request.table, self._version_columns()
        found = [*task.key_columns, task.start]
        closing = touched = None
        if self.closed:
            closing = opened.enter_context(
                session.staging_table(table, [*found, task.flag, task.end], self._closings())
            )
        insert = opened.enter_context(session.bulk_insert(table, columns, lambda: self._versions(columns)))
        if self.inserted:
            touched = opened.enter_context(session.staging_table(table, found, self._versions(found)))
        expected = receipt_of_rows(self._versions(columns))

        def apply(receipt_of: ReceiptOf) -> None:
            for statement in self.rewinds:
                session.execute(statement)
            if closing is not None:
                closed = session.execute(update_from_stage(table, closing, found, [task.flag, task.end]))
                if closed != self.closed:
                    raise proof_failed(task, f"{self.closed:,} versions were to be closed, {closed:,} were")
            if touched is not None:
                insert()
                request = replace(task.request, columns=tuple(columns), rows=key_is_staged(touched, found))
                left = receipt_of(request)
                if not left.same_as(expected):
                    raise proof_failed(task, f"expected {expected}, read back {left}")

        return apply

    def staged_keys(self, keys: Iterator[pa.RecordBatch]) -> TableName:
        task = self.task
        return self.opened.enter_context(self.session.staging_table(task.request.table, task.key_columns, keys))

    def current_starts(self, rows: Sql | None) -> ReadRequest:
        """Return the request of key and start of current versions, of those that meet a condition."""
        task = self.task
        condition = task.current if rows is None else both(rows, task.current)
        return replace(task.request, columns=(*task.key_columns, task.start), rows=condition)

    def versions_that_matter(self, rows: Sql | None, since: Literal) -> ReadRequest:
        """Return the request of key, start and end of current versions, and of those that ended at a time or later: a
        key that was deleted and comes again within the unit of commit times must not start before its end."""
        task = self.task
        recent = sql("({current} OR {end} >= {since})", current=task.current, end=Name.of(task.end.name), since=since)
        condition = recent if rows is None else both(rows, recent)
        return replace(task.request, columns=(*task.key_columns, task.start, task.end), rows=condition)


# A window that holds the whole table, or rows that were read again


def _compare(writes: _Writes, incoming: Incoming) -> None:
    """Make the current versions what the rows of the window say, from the time of the read on."""
    import numpy as np
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_schema
    from tidegate.hashing.differences import select_rows
    from tidegate.history.cursors import parse_read_at

    task, session = writes.task, writes.session
    moment = parse_read_at(task.window_token.read_at)
    current = task.current
    if task.window_token.whole:
        writes.rewinds = take_back(task, moment.as_py().isoformat(" ", "microseconds"))
        with session.transaction():
            # Taken back before the rows are compared; a killed load leaves versions that the next one takes back again.
            for statement in writes.rewinds:
                session.execute(statement)
        writes.rewinds = []
        rows: Sql = current
    else:
        assert incoming.keys is not None, "a window of a change feed comes with its changes"
        changes = incoming.keys
        stage = writes.staged_keys(batch.select(list(task.keys)) for batch in changes())
        rows = both(key_is_staged(stage, task.key_columns), current)
    request = replace(task.request, rows=rows)
    schema = arrow_schema(task.key_columns, request.text_columns)
    most = max(task.entry.rows, int(str(session.query(count_rows(request.table, rows))[0][0])))
    found = difference_of(incoming.batches, partial(session.read, request), schema, task.keys, task.entry.rows, most)
    writes.opened.enter_context(found.removed)
    names = [column.name for column in task.request.columns]
    coming: Any = found.inserted | found.changed
    nothing = pa.scalar(None, pa.timestamp("us"))
    for batch in select_rows(incoming.batches(), coming, names):
        count = batch.num_rows
        writes.insert(
            pa.Table.from_batches([batch]),
            pa.repeat(moment, count),
            pa.repeat(nothing, count),
            pa.array(np.ones(count, np.int64)),
        )
    gone = found.removed_keys() if task.closes else iter(())
    changed = select_rows(incoming.batches(), np.asarray(found.changed, bool), list(task.keys))
    _close_current(writes, [*changed, *gone], moment)


def take_back(task: FeedVersionTask, moment: str) -> list[Sql]:
    """Return statements that take back what windows made that were read later."""
    start, end, flag = (Name.of(column.name) for column in (task.start, task.end, task.flag))
    table, at = Name.of(task.request.table), Literal(moment, task.start.type)
    return [
        sql("DELETE FROM {table} WHERE {start} > {at}", table=table, start=start, at=at),
        sql(
            "UPDATE {table} SET {end} = NULL, {flag} = {yes} WHERE {end} > {at}",
            table=table,
            end=end,
            flag=flag,
            yes=Literal("1", task.flag.type),
            at=at,
        ),
    ]


def _close_current(writes: _Writes, keys: Sequence[pa.RecordBatch], moment: pa.Scalar) -> None:
    import pyarrow as pa

    if not any(batch.num_rows for batch in keys):
        return
    task = writes.task
    stage = writes.staged_keys(iter(keys))
    for batch in writes.session.read(writes.current_starts(key_is_staged(stage, task.key_columns))):
        starts = batch.column(task.start.name).cast(pa.timestamp("us"))
        writes.close(pa.Table.from_batches([batch]), starts, pa.repeat(moment, batch.num_rows))


# A window of images


def _replay(writes: _Writes, incoming: Incoming) -> None:
    """Make a version of every change, and close the versions before."""
    assert incoming.keys is not None, "a window of a change feed comes with its changes"
    task, changes = writes.task, incoming.keys
    truncates, count, first = _looked_at(task, changes)
    rows = None
    if not truncates:
        stage = writes.staged_keys(batch.select(list(task.keys)) for batch in changes())
        rows = key_is_staged(stage, task.key_columns)
    buckets = buckets_for(count, versions=True)
    with Spill(in_memory=buckets == 1) as spill:
        for bucket, block in in_buckets(_hashed(task, changes), buckets):
            spill.add(bucket, _NEW, block)
        for bucket, block in in_buckets(_hashed_versions(writes, rows, first), buckets):
            spill.add(bucket, _OLD, block)
        for bucket in spill.buckets():
            _replay_bucket(writes, list(spill.blocks(_NEW, bucket)), list(spill.blocks(_OLD, bucket)), truncates)


def _looked_at(task: FeedVersionTask, changes: Batches) -> tuple[list[tuple[int, int]], int, str]:
    """Return number and time of each truncate, how many changes there are, and the earliest time of a commit."""
    import numpy as np
    import pyarrow.compute as pc

    truncates: list[tuple[int, int]] = []
    count, firsts = 0, []
    for batch in changes():
        firsts += [pc.min(batch.column(TIME)).as_py()] if batch.num_rows else []
        operations = np.asarray(batch.column(OPERATION))
        for position in np.flatnonzero(operations == TRUNCATE).tolist():
            truncates.append((count + position, batch.column(TIME)[position].value))
        count += batch.num_rows
    return truncates, count, min(firsts).replace(tzinfo=None).isoformat(" ", "microseconds") if firsts else ""


def _hashed(task: FeedVersionTask, changes: Batches) -> Iterator[tuple[pa.Table, Words]]:
    import numpy as np
    import pyarrow as pa

    from tidegate.hashing.rows import hash_rows

    number = 0
    for batch in changes():
        hashes = hash_rows(batch.select(list(task.keys)))
        table = pa.Table.from_batches([batch])
        table = table.append_column(_NUMBER, pa.array(np.arange(number, number + batch.num_rows)))
        number += batch.num_rows
        mask = np.asarray(batch.column(OPERATION)) != TRUNCATE
        yield _with_hashes(table, hashes).filter(pa.array(mask)), hashes[mask]


def _hashed_versions(writes: _Writes, rows: Sql | None, first: str) -> Iterator[tuple[pa.Table, Words]]:
    import pyarrow as pa

    from tidegate.hashing.rows import hash_rows

    if not first:
        return
    for batch in writes.session.read(writes.versions_that_matter(rows, Literal(first, writes.task.start.type))):
        hashes = hash_rows(batch.select(list(writes.task.keys)))
        yield _with_hashes(pa.Table.from_batches([batch]), hashes), hashes


def _with_hashes(table: pa.Table, hashes: Words) -> pa.Table:
    import pyarrow as pa

    for position, name in enumerate(_KEY):
        table = table.append_column(name, pa.array(hashes[:, position]))
    return table


@dataclass
class _Decided:
    """What the changes of a bucket make of the timelines of their keys."""

    rows: list[int]
    starts: list[int]
    ends: list[int | None]
    closed: list[tuple[int, int, int]]
    """Number of the current version of the target, its start, and its end from now on."""


def _replay_bucket(
    writes: _Writes,
    changes: Sequence[pa.RecordBatch],
    current: Sequence[pa.RecordBatch],
    truncates: Sequence[tuple[int, int]],
) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    task = writes.task
    old, ended = _divided(task, current)
    starts = [] if old is None else old[task.start.name].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    known = {} if old is None else {key: number for number, key in enumerate(_keys(old))}
    decided = _Decided([], [], [], [])
    closed = set[int]()
    if changes:
        table = pa.Table.from_batches(changes)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in (*_KEY, _NUMBER)])
        table = table.take(order)
        times = np.asarray(table[TIME].cast(pa.int64()))
        operations, numbers = np.asarray(table[OPERATION]), np.asarray(table[_NUMBER])
        keys = list(_keys(table))
        position = 0
        while position < len(keys):
            following = position
            while following < len(keys) and keys[following] == keys[position]:
                following += 1
            place = known.get(keys[position])
            begin = None if place is None else starts[place]
            last = max(filter(None, (begin, ended.get(keys[position]))), default=None)
            events = [(int(numbers[at]), int(times[at]), int(operations[at]), at) for at in range(position, following)]
            _decide(decided, events, truncates, place, begin, last, closes=task.closes)
            if place is not None:
                closed.add(place)
            position = following
        if decided.rows:
            moments = pa.timestamp("us")
            ends = pa.array(decided.ends, pa.int64())
            flags = ends.is_null().cast(pa.int64())
            rows = table.take(pa.array(decided.rows))
            writes.insert(rows, pa.array(decided.starts, pa.int64()).cast(moments), ends.cast(moments), flags)
    if truncates and task.closes:
        others = set(range(len(starts))) - closed
        decided.closed += [(place, starts[place], max(truncates[0][1], starts[place] + 1)) for place in sorted(others)]
    if decided.closed and old is not None:
        places, begins, finishes = zip(*decided.closed, strict=True)
        moments = pa.timestamp("us")
        writes.close(
            old.take(pa.array(places)),
            pa.array(begins, pa.int64()).cast(moments),
            pa.array(finishes, pa.int64()).cast(moments),
        )


def _divided(
    task: FeedVersionTask, versions: Sequence[pa.RecordBatch]
) -> tuple[pa.Table | None, dict[tuple[int, int], int]]:
    """Return the current ones of these versions, and the last end of each key among the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not versions:
        return None, {}
    table = pa.Table.from_batches(versions)
    is_open = pc.is_null(table[task.end.name])
    past = table.filter(pc.invert(is_open))
    ends = past[task.end.name].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    ended: dict[tuple[int, int], int] = {}
    for key, end in zip(_keys(past), ends, strict=True):
        ended[key] = max(end, ended.get(key, end))
    return table.filter(is_open), ended


def _keys(table: pa.Table) -> Iterator[tuple[int, int]]:
    return zip(*(table[name].to_pylist() for name in _KEY), strict=True)


def _decide(
    decided: _Decided,
    events: Sequence[tuple[int, int, int, int]],
    truncates: Sequence[tuple[int, int]],
    place: int | None,
    begin: int | None,
    last: int | None,
    *,
    closes: bool,
) -> None:
    """Add the versions of one key: number, time, operation and row of each change, in the order of the log.

    `last` is the latest time in the versions that the target has: none begins before."""
    ends = [(number, time, TRUNCATE, -1) for number, time in truncates]
    open_version, is_open_in_target = -1, place is not None
    for _, time, operation, row in sorted([*events, *ends]):
        moment = time if last is None or time > last else last + 1
        is_end = operation in (DELETE, TRUNCATE)
        if is_end and (not closes or (open_version < 0 and not is_open_in_target)):
            continue
        if is_open_in_target:
            assert place is not None and begin is not None
            decided.closed.append((place, begin, moment))
            is_open_in_target = False
        elif open_version >= 0:
            decided.ends[open_version] = moment
        open_version, last = -1, moment
        if not is_end:
            open_version = len(decided.rows)
            decided.rows.append(row)
            decided.starts.append(moment)
            decided.ends.append(None)
