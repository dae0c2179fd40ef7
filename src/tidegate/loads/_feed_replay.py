"""What the changes of a feed make of versions: from images, one version of each change; else what a run found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.buckets.assign import buckets_for, in_buckets
from tidegate.buckets.spill import Spill
from tidegate.interfaces.load import Batches, Incoming
from tidegate.loads._difference import difference_of
from tidegate.loads._feed_version_writes import FeedVersionTask, VersionWrites
from tidegate.model.feeds import DELETE, OPERATION, TIME, TRUNCATE
from tidegate.sql.contents import both, count_rows
from tidegate.sql.staged import key_is_staged
from tidegate.sql.text import Literal, Name, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

_NEW, _OLD = range(2)
_NUMBER, _KEY = "tidegate_number", ("tidegate_key1", "tidegate_key2")


# A window that holds the whole table, or rows that were read again


def compare(writes: VersionWrites, incoming: Incoming) -> None:
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


def _close_current(writes: VersionWrites, keys: Sequence[pa.RecordBatch], moment: pa.Scalar) -> None:
    import pyarrow as pa

    if not any(batch.num_rows for batch in keys):
        return
    task = writes.task
    stage = writes.staged_keys(iter(keys))
    for batch in writes.session.read(writes.current_starts(key_is_staged(stage, task.key_columns))):
        starts = batch.column(task.start.name).cast(pa.timestamp("us"))
        writes.close(pa.Table.from_batches([batch]), starts, pa.repeat(moment, batch.num_rows))


# A window of images


def replay(writes: VersionWrites, incoming: Incoming) -> None:
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


def _hashed_versions(writes: VersionWrites, rows: Sql | None, first: str) -> Iterator[tuple[pa.Table, Words]]:
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
    writes: VersionWrites,
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
