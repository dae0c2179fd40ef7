"""What becomes of a timeline when more versions of it arrive. Decided by hashes and marks alone; nothing is read here.

A version stands in a group: that of its business key and its mark, or where a version has a key of its own, of that.
Two rows of one group are the same version when their content is equal; the flag and what else is kept outside of the
content does not count. From this follow, whatever the order in which batches arrive and however often:

 * what the timeline lacks is inserted, once;
 * where both sides have versions of one group that nothing equals, a row was changed in place: a newer batch updates
   it, an older one has nothing to say;
 * the newest version of a key holds, if its own flag says so or if flags are recomputed; no other does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.model.receipt import Receipt
from tidegate.rows.differences import EXAMPLES, Mask
from tidegate.rows.hashing import hash_rows, sum_of

Places = npt.NDArray[np.int64]

_KEY, _GROUP, _ROW = ["key1", "key2"], ["group1", "group2"], ["row1", "row2"]


@dataclass(frozen=True)
class Form:
    """How rows are to be understood: their columns by role, and what the flag says."""

    keys: tuple[str, ...]
    mark: str
    group: tuple[str, ...]
    """What names a version, but for its content."""
    flag: str | None
    outside: tuple[str, ...]
    """Columns that are no part of the content, the flag among them."""
    latest: str
    superseded: str

    def flags(self, column: pa.ChunkedArray | pa.Array) -> pa.Array:
        """As truths; a null says that a version does not hold."""
        said = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if not pa.types.is_boolean(said.type):
            said = pc.equal(said, self._said(True, said.type))
        return pc.fill_null(said, False)

    def spelled(self, truths: npt.NDArray[np.bool_], type_: pa.DataType) -> pa.Array:
        """As the column says it."""
        return pc.if_else(pa.array(truths), self._said(True, type_), self._said(False, type_))

    def _said(self, truth: bool, type_: pa.DataType) -> pa.Scalar:
        if pa.types.is_boolean(type_):
            return pa.scalar(truth)
        text = self.latest if truth else self.superseded
        return pa.scalar(text).cast(type_)


@dataclass(frozen=True)
class Versions:
    """The rows of one side, in the order in which they were read."""

    hashes: pa.Table
    """`key1`, `key2`, `group1`, `group2`, `row1`, `row2` of each row."""
    named: pa.Table
    """The columns of key, group and mark, row by row."""
    marks: pa.Array
    flags: Mask

    @property
    def rows(self) -> int:
        return int(self.hashes.num_rows)

    def column(self, name: str) -> npt.NDArray[np.uint64]:
        values: npt.NDArray[np.uint64] = self.hashes[name].to_numpy()
        return values

    def without(self, columns: Sequence[str]) -> list[str]:
        """Examples of rows with a null in one of these columns; empty when there is none."""
        empty = np.zeros(self.rows, bool)
        for name in columns:
            empty |= np.asarray(self.named[name].is_null())
        return self._examples(np.flatnonzero(empty))

    def names(self, places: Places) -> str:
        """Some of these versions, for people."""
        more = "; ..." if len(places) > EXAMPLES else ""
        return "; ".join(self._examples(places)) + more

    def _examples(self, places: Places) -> list[str]:
        some = self.named.take(pa.array(places[:EXAMPLES], pa.int64())).to_pylist()
        return [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in some]

    @property
    def receipt(self) -> Receipt:
        """Of the content, without what is outside of it."""
        return Receipt.of_sum(self.rows, sum_of(np.stack([self.column(name) for name in _ROW], axis=1)))


def versions_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: Form) -> Versions:
    """`schema` is that of all columns, for a side without rows."""
    content = [name for name in schema.names if name not in form.outside]
    named = list(dict.fromkeys((*form.keys, *form.group, form.mark)))
    parts, kept, flags = [], [], []
    for batch in batches:
        hashed = [hash_rows(batch.select(columns)) for columns in (list(form.keys), list(form.group), content)]
        columns = [pa.array(hashes[:, side]) for hashes in hashed for side in (0, 1)]
        parts.append(pa.table(columns, names=[*_KEY, *_GROUP, *_ROW]))
        kept.append(pa.Table.from_batches([batch.select(named)]))
        flags.append(form.flags(batch.column(form.flag)) if form.flag else pa.array([False] * batch.num_rows))
    empty = pa.schema([(name, pa.uint64()) for name in (*_KEY, *_GROUP, *_ROW)]).empty_table()
    held = pa.concat_tables(kept) if kept else pa.schema([schema.field(name) for name in named]).empty_table()
    marks = held[form.mark].combine_chunks()
    said = np.concatenate([np.asarray(one) for one in flags]) if flags else np.zeros(0, bool)
    return Versions(pa.concat_tables(parts) if parts else empty, held, marks, said)


@dataclass(frozen=True)
class Decision:
    """What is to be done: rows of the batch by their place in it, rows of the timeline by theirs."""

    fresh: Mask
    """Rows of the batch to be inserted."""
    changed: Mask
    """Rows of the batch that replace the only row of their group."""
    flags: Mask
    """Of every row of the batch that is written: whether it holds."""
    closed: Places
    """Rows of the timeline that no longer hold."""
    opened: Places
    """Rows of the timeline that hold from now on."""
    rewritten: Places
    """Rows of the timeline that share their group with others and are to be written anew."""
    rewritten_flags: Mask
    gone: Places
    """Rows of the timeline, in such groups, that rows of the batch stand in for."""
    expected: pa.Table
    """The timeline afterwards: `key1`, `key2`, `row1`, `row2`, `flag`."""

    @property
    def is_empty(self) -> bool:
        moved = self.fresh.any() or self.changed.any()
        return not (moved or len(self.closed) or len(self.opened) or len(self.rewritten) or len(self.gone))


def decide(batch: Versions, timeline: Versions, *, wins: bool, recompute: bool, flagged: bool) -> Decision:
    """`wins` says that the batch was read later than what the timeline came from."""
    first = _first_of_each(batch)
    matched, theirs = _matched(batch, timeline, first)
    fresh, replacing, replaced = _paired(batch, timeline, _without(first, matched), theirs)
    if not wins:
        replacing, replaced = replacing[:0], replaced[:0]
    own = timeline.flags.copy()
    if wins:
        own[theirs] = batch.flags[matched]
    stays = np.setdiff1d(np.arange(timeline.rows), replaced)
    written = np.concatenate([replacing, fresh])
    holds = _newest(batch, timeline, written, stays, own, recompute) if flagged else _all_closed(written, stays)
    return _arranged(batch, timeline, fresh, replacing, replaced, stays, holds, flagged)


def _first_of_each(batch: Versions) -> Places:
    """One place for rows that are there more than once; of those that differ in their flag, one that holds."""
    ordered = batch.hashes.append_column("place", pa.array(np.arange(batch.rows)))
    ordered = ordered.append_column("closed", pa.array(~batch.flags))
    ordered = ordered.sort_by([("closed", "ascending"), ("place", "ascending")])
    each = ordered.group_by([*_GROUP, *_ROW], use_threads=False).aggregate([("place", "first")])
    return np.sort(each["place_first"].to_numpy())


def _matched(batch: Versions, timeline: Versions, first: Places) -> tuple[Places, Places]:
    """Places on both sides of versions that are there already."""
    here = _placed(batch, first)
    there = _placed(timeline, np.arange(timeline.rows)).group_by([*_GROUP, *_ROW]).aggregate([("place", "min")])
    both = here.join(there, [*_GROUP, *_ROW], join_type="inner").sort_by("place")
    return both["place"].to_numpy(), both["place_min"].to_numpy()


def _placed(side: Versions, places: Places) -> pa.Table:
    chosen = side.hashes.select([*_GROUP, *_ROW]).take(pa.array(places))
    return chosen.append_column("place", pa.array(places))


def _without(places: Places, some: Places) -> Places:
    return np.setdiff1d(places, some)


def _paired(batch: Versions, timeline: Versions, new: Places, known: Places) -> tuple[Places, Places, Places]:
    """New versions to be inserted, and pairs of what was changed in place: one of the batch, one of the timeline."""
    others = _without(np.arange(timeline.rows), known)
    here, there = _ranked(batch, new), _ranked(timeline, others)
    both = here.join(there, [*_GROUP, "rank"], join_type="left outer", right_suffix="_there").sort_by("place")
    alone = both["place_there"].is_null()
    pairs = both.filter(pc.invert(alone))
    return both.filter(alone)["place"].to_numpy(), pairs["place"].to_numpy(), pairs["place_there"].to_numpy()


def _ranked(side: Versions, places: Places) -> pa.Table:
    """With the number of each row among those of its group."""
    table = _placed(side, places).sort_by([(name, "ascending") for name in (*_GROUP, *_ROW)])
    groups = np.stack([table[name].to_numpy() for name in _GROUP], axis=1)
    begins = np.ones(len(groups), bool)
    begins[1:] = (groups[1:] != groups[:-1]).any(axis=1)
    numbers = np.arange(len(groups))
    starts = np.maximum.accumulate(np.where(begins, numbers, 0)) if len(groups) else numbers
    return table.select([*_GROUP, "place"]).append_column("rank", pa.array(numbers - starts))


@dataclass(frozen=True)
class _Holds:
    written: Mask
    stays: Mask


def _all_closed(written: Places, stays: Places) -> _Holds:
    return _Holds(np.zeros(len(written), bool), np.zeros(len(stays), bool))


def _newest(batch: Versions, timeline: Versions, written: Places, stays: Places, own: Mask, recompute: bool) -> _Holds:
    """Which rows hold: of each key the newest, if it says so itself or is not asked."""
    said = np.concatenate([batch.flags[written], own[stays]])
    columns: dict[str, Any] = {
        name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]]) for name in (*_KEY, *_ROW)
    }
    marks = pa.concat_arrays([batch.marks.take(pa.array(written)), timeline.marks.take(pa.array(stays))])
    table = pa.table({**columns, "mark": marks, "said": said, "place": np.arange(len(said))})
    # Of two versions with one mark the one that says so holds, else the full row decides.
    order = [*_KEY, "mark", *(() if recompute else ("said",)), *_ROW]
    table = table.sort_by([(name, "ascending") for name in order])
    keys = np.stack([table[name].to_numpy() for name in _KEY], axis=1)
    last = np.ones(len(keys), bool)
    last[:-1] = (keys[1:] != keys[:-1]).any(axis=1)
    holds = np.zeros(len(said), bool)
    holds[table["place"].to_numpy()[last]] = True
    if not recompute:
        holds &= said
    return _Holds(holds[: len(written)], holds[len(written) :])


def _arranged(
    batch: Versions,
    timeline: Versions,
    fresh: Places,
    replacing: Places,
    replaced: Places,
    stays: Places,
    holds: _Holds,
    flagged: bool,
) -> Decision:
    """Rows that are alone in their group are updated, others are written anew: nothing but their content names them."""
    shared = _shared(timeline)
    flags = np.zeros(batch.rows, bool)
    flags[np.concatenate([replacing, fresh])] = holds.written
    unlike = (timeline.flags[stays] != holds.stays) if flagged else np.zeros(len(stays), bool)
    moved, says = stays[unlike], holds.stays[unlike]
    in_place = ~shared[replaced]
    written = np.concatenate([fresh, replacing[~in_place]])
    return Decision(
        fresh=_mask(batch, written),
        changed=_mask(batch, replacing[in_place]),
        flags=flags,
        closed=moved[~says & ~shared[moved]],
        opened=moved[says & ~shared[moved]],
        rewritten=moved[shared[moved]],
        rewritten_flags=says[shared[moved]],
        gone=replaced[~in_place],
        expected=_expected(batch, timeline, np.concatenate([replacing, fresh]), stays, holds),
    )


def _expected(batch: Versions, timeline: Versions, written: Places, stays: Places, holds: _Holds) -> pa.Table:
    columns = {
        name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]]) for name in (*_KEY, *_ROW)
    }
    return pa.table({**columns, "flag": np.concatenate([holds.written, holds.stays])})


def _shared(timeline: Versions) -> Mask:
    """Whether a row of the timeline shares its group with another."""
    if not timeline.rows:
        return np.zeros(0, bool)
    groups = np.stack([timeline.column(name) for name in _GROUP], axis=1)
    _, inverse, counts = np.unique(groups, axis=0, return_inverse=True, return_counts=True)
    shared: Mask = counts[inverse.reshape(-1)] > 1
    return shared


def _mask(side: Versions, places: Places) -> Mask:
    mask = np.zeros(side.rows, bool)
    mask[places] = True
    return mask


def differs(expected: pa.Table, found: Versions, *, flagged: bool) -> str:
    """What a timeline that was read again has otherwise than expected; empty when nothing."""
    content = [*_KEY, *_ROW, *(("flag",) if flagged else ())]
    held = found.hashes.select([*_KEY, *_ROW]).append_column("flag", pa.array(found.flags))
    counted = [side.group_by(content).aggregate([([], "count_all")]) for side in (expected, held)]
    both = counted[0].join(counted[1], content, join_type="full outer", right_suffix="_held")
    here, there = (pc.fill_null(both[name], 0) for name in ("count_all", "count_all_held"))
    missing, more = pc.greater(here, there), pc.less(here, there)
    lost, added = pc.sum(missing).as_py() or 0, pc.sum(more).as_py() or 0
    return (
        f"{lost:,} versions are not there as they should be, {added:,} are there and should not" if lost + added else ""
    )


def with_flags(batches: Iterator[pa.RecordBatch], flags: Mask, form: Form) -> Iterator[pa.RecordBatch]:
    """The same rows, each saying whether it holds."""
    place = 0
    for batch in batches:
        some = flags[place : place + batch.num_rows]
        place += batch.num_rows
        yield set_flags(batch, some, form)


def set_flags(batch: pa.RecordBatch, flags: Mask, form: Form) -> pa.RecordBatch:
    if form.flag is None:
        return batch
    position = batch.schema.get_field_index(form.flag)
    field = batch.schema.field(position)
    return batch.set_column(position, field, form.spelled(flags, field.type))


def settled(batches: Iterator[pa.RecordBatch], expected: pa.Table, form: Form) -> Iterator[pa.RecordBatch]:
    """Rows that are written anew, with the flag that is expected of each; what is not expected is left out."""
    said: dict[tuple[int, ...], list[bool]] = {}
    for row in expected.to_pylist():
        said.setdefault(tuple(row[name] for name in (*_KEY, *_ROW)), []).append(row["flag"])
    for batch in batches:
        content = [name for name in batch.schema.names if name not in form.outside]
        keys, rows = hash_rows(batch.select(list(form.keys))), hash_rows(batch.select(content))
        names = [tuple(map(int, (*key, *row))) for key, row in zip(keys, rows, strict=True)]
        flags = [said[name].pop() if said.get(name) else None for name in names]
        kept = np.array([flag is not None for flag in flags])
        if kept.any():
            chosen = batch.filter(pa.array(kept))
            yield set_flags(chosen, np.array([flag for flag in flags if flag is not None]), form)


# Verifying


def in_agreement(
    source: Versions, beyond: Versions, held: Versions, in_scope: Versions
) -> Iterator[tuple[str, str, str]]:
    """What of the source the target lacks, and what it has in the scope besides: (check, what, severity)."""
    missing, extra = _absent(source, held), np.intersect1d(_absent(in_scope, source), _absent(in_scope, beyond))
    if len(missing):
        yield "receipt", f"{len(missing):,} versions missing in the target ({source.names(missing)})", "error"
    if len(extra):
        yield "receipt", f"{len(extra):,} versions only in the target ({in_scope.names(extra)})", "error"
    twice = held.rows - len(_first_of_each(held))
    if twice:
        yield "scd_integrity", f"{twice:,} versions are there more than once", "error"


def findings(source: Versions, beyond: Versions, held: Versions, *, recompute: bool) -> Iterator[tuple[str, str, str]]:
    """What the flags of the target do not tell as they should."""
    holding = np.flatnonzero(held.flags)
    more = _repeated_keys(held, holding)
    if len(more):
        yield "scd_integrity", f"{len(more):,} keys have more than one version that holds ({held.names(more)})", "error"
    stale = np.flatnonzero(held.flags & ~_newest_of_each(held))
    if len(stale):
        what = f"{len(stale):,} versions hold although newer ones are there ({held.names(stale)})"
        yield "scd_integrity", what, "error"
    superseded = _keys_of(beyond)
    expected = np.ones(source.rows, bool) if recompute else source.flags
    expected = expected & _newest_of_each(source)
    there = _placed(held, np.arange(held.rows)).append_column("held", pa.array(held.flags))
    here = _placed(source, np.arange(source.rows)).append_column("expected", pa.array(expected))
    both = here.join(there, [*_GROUP, *_ROW], join_type="inner", right_suffix="_there")
    unlike = both.filter(pc.not_equal(both["expected"], both["held"]))["place"].to_numpy()
    unlike = np.array([place for place in unlike if _key_at(source, place) not in superseded], np.int64)
    closed = unlike[expected[unlike]]
    still_open = unlike[~expected[unlike]]
    if len(closed):
        yield "scd_integrity", f"{len(closed):,} versions hold in the source alone ({source.names(closed)})", "error"
    if len(still_open):
        what = f"{len(still_open):,} versions hold in the target alone ({source.names(still_open)})"
        yield "scd_integrity", what, "error"


def _absent(side: Versions, other: Versions) -> Places:
    """Places of versions that the other side does not have."""
    here = _placed(side, np.arange(side.rows))
    there = _placed(other, np.arange(other.rows)).select([*_GROUP, *_ROW])
    return np.sort(here.join(there, [*_GROUP, *_ROW], join_type="left anti")["place"].to_numpy())


def _repeated_keys(side: Versions, places: Places) -> Places:
    chosen = side.hashes.select(_KEY).take(pa.array(places)).append_column("place", pa.array(places))
    counted = chosen.group_by(_KEY).aggregate([("place", "count"), ("place", "min")])
    return np.sort(counted.filter(pc.greater(counted["place_count"], 1))["place_min"].to_numpy())


def _newest_of_each(side: Versions) -> Mask:
    """Rows that no other row of their key is newer than; those of one mark all count."""
    if not side.rows:
        return np.zeros(0, bool)
    table = side.hashes.select(_KEY).append_column("mark", side.marks)
    table = table.append_column("place", pa.array(np.arange(side.rows)))
    greatest = table.group_by(_KEY).aggregate([("mark", "max")])
    both = table.join(greatest, _KEY)
    mask = np.zeros(side.rows, bool)
    mask[both.filter(pc.equal(both["mark"], both["mark_max"]))["place"].to_numpy()] = True
    return mask


def _keys_of(side: Versions) -> set[tuple[int, int]]:
    return {(int(one), int(two)) for one, two in zip(side.column("key1"), side.column("key2"), strict=True)}


def _key_at(side: Versions, place: int) -> tuple[int, int]:
    return int(side.column("key1")[place]), int(side.column("key2")[place])
