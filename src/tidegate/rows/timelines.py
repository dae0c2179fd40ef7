"""What becomes of a timeline when more versions of it arrive. Decided by hashes and marks alone; nothing is read here.

Whatever the order in which batches arrive, and however often:

 * what the timeline lacks is inserted, once;
 * where both sides have versions of one group that nothing equals, a row was changed in place: a newer batch updates
   it, an older one has nothing to say;
 * the newest version of a key holds, if its own flag says so or if flags are recomputed; no other does;
 * where versions are made here, one that says nothing new beside the one before it is none;
 * where versions have an end, it is where the next one begins, if they do not say that they ended before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.model.names import counted
from tidegate.rows.differences import Mask
from tidegate.rows.hashing import hash_rows
from tidegate.rows.versions import (
    ASIDE,
    GROUP,
    KEY,
    ROW,
    STATE,
    Form,
    Places,
    Versions,
    first_of_each,
    keys_of,
    like_before,
    placed,
)


@dataclass(frozen=True)
class Decision:
    """What is to be done: rows of the batch by their place in it, rows of the timeline by theirs."""

    fresh: Mask
    """Rows of the batch to be inserted."""
    changed: Mask
    """Rows of the batch that replace the only row of their group."""
    flags: Mask
    """Of every row of the batch that is written: whether it holds."""
    ends: pa.Array | None
    """And where it ends."""
    closed: Places
    """Rows of the timeline that no longer hold, or end elsewhere."""
    opened: Places
    """Rows of the timeline that hold from now on."""
    timeline_ends: pa.Array | None
    """Where each row of the timeline ends."""
    rewritten: Places
    """Rows of the timeline that share their group with others and are to be written anew."""
    gone: Places
    """Rows of the timeline, in such groups, that rows of the batch stand in for; and those that say nothing new."""
    expected: pa.Table
    """The timeline afterwards: `key1`, `key2`, `row1`, `row2`, `flag`."""


@dataclass(frozen=True)
class Rules:
    """How a timeline is settled."""

    wins: bool = True
    """The batch was read later than what the timeline came from."""
    recompute: bool = False
    """Of each key the newest version holds, whatever its flag says."""
    collapses: bool = False
    """A version that says nothing new is none."""
    absent_end_at: pa.Scalar | None = None
    """The batch is all that there is: keys that it lacks ended then."""
    all_between: tuple[pa.Scalar | None, pa.Scalar | None] | None = None
    """The batch is all that there is between these marks, both included: what it lacks of them leaves."""


def decide(batch: Versions, timeline: Versions, rules: Rules) -> Decision:
    first = first_of_each(batch)
    matched, theirs = _matched(batch, timeline, first)
    touched = _unlike_aside(batch, timeline, matched, theirs) if rules.wins else np.zeros(len(matched), bool)
    fresh, replacing, replaced = _paired(batch, timeline, _without(first, matched), theirs)
    if not rules.wins:
        replacing, replaced = replacing[:0], replaced[:0]
    replacing = np.concatenate([replacing, matched[touched]])
    replaced = np.concatenate([replaced, theirs[touched]])
    own = timeline.flags.copy()
    if rules.wins:
        own[theirs] = batch.flags[matched]
    surplus = _surplus(timeline, theirs, replaced, rules)
    stays = np.setdiff1d(np.arange(timeline.rows), np.concatenate([replaced, surplus]))
    written = np.concatenate([replacing, fresh])
    all_of_it = _Together.of(batch, timeline, written, stays, own)
    order = all_of_it.ordered(rules)
    decision = _arranged(batch, timeline, fresh, replacing, replaced, stays, order)
    return dataclasses.replace(decision, gone=np.concatenate([decision.gone, surplus]))


def _surplus(timeline: Versions, theirs: Places, replaced: Places, rules: Rules) -> Places:
    """Versions between the marks that the batch does not have."""
    if rules.all_between is None:
        return np.zeros(0, np.int64)
    low, high = rules.all_between
    inside = np.ones(timeline.rows, bool)
    if low is not None:
        inside &= np.asarray(pc.greater_equal(timeline.order, low))
    if high is not None:
        inside &= np.asarray(pc.less_equal(timeline.order, high))
    inside[theirs] = inside[replaced] = False
    return np.flatnonzero(inside)


def _unlike_aside(batch: Versions, timeline: Versions, matched: Places, theirs: Places) -> Mask:
    """Versions whose content is the same, and what is outside of it, but for flag and end, is not."""
    unlike = np.zeros(len(matched), bool)
    for name in ASIDE:
        unlike |= batch.column(name)[matched] != timeline.column(name)[theirs]
    return unlike


def _matched(batch: Versions, timeline: Versions, first: Places) -> tuple[Places, Places]:
    """Places on both sides of versions that are there already."""
    here = placed(batch, first)
    there = placed(timeline, np.arange(timeline.rows)).group_by([*GROUP, *ROW]).aggregate([("place", "min")])
    both = here.join(there, [*GROUP, *ROW], join_type="inner").sort_by("place")
    return both["place"].to_numpy(), both["place_min"].to_numpy()


def _without(places: Places, some: Places) -> Places:
    return np.setdiff1d(places, some)


def _paired(batch: Versions, timeline: Versions, new: Places, known: Places) -> tuple[Places, Places, Places]:
    """New versions to be inserted, and pairs of what was changed in place: one of the batch, one of the timeline."""
    others = _without(np.arange(timeline.rows), known)
    here, there = _ranked(batch, new), _ranked(timeline, others)
    both = here.join(there, [*GROUP, "rank"], join_type="left outer", right_suffix="_there").sort_by("place")
    alone = both["place_there"].is_null()
    pairs = both.filter(pc.invert(alone))
    return both.filter(alone)["place"].to_numpy(), pairs["place"].to_numpy(), pairs["place_there"].to_numpy()


def _ranked(side: Versions, places: Places) -> pa.Table:
    """With the number of each row among those of its group."""
    table = placed(side, places).sort_by([(name, "ascending") for name in (*GROUP, *ROW)])
    groups = np.stack([table[name].to_numpy() for name in GROUP], axis=1)
    begins = np.ones(len(groups), bool)
    begins[1:] = (groups[1:] != groups[:-1]).any(axis=1)
    numbers = np.arange(len(groups))
    starts = np.maximum.accumulate(np.where(begins, numbers, 0)) if len(groups) else numbers
    return table.select([*GROUP, "place"]).append_column("rank", pa.array(numbers - starts))


@dataclass(frozen=True)
class _Ordered:
    """Of every row, in the order in which they were put together: whether it stays, whether it holds, where it ends."""

    kept: Mask
    holds: Mask
    ends: pa.Array | None


@dataclass(frozen=True)
class _Together:
    """Rows of the batch that are written and rows of the timeline that stay, one after the other."""

    table: pa.Table
    ends: pa.Array | None
    batch: Versions

    @classmethod
    def of(cls, batch: Versions, timeline: Versions, written: Places, stays: Places, own: Mask) -> _Together:
        columns: dict[str, Any] = {
            name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]])
            for name in (*KEY, *ROW, *STATE)
        }
        marks = _joined(batch.marks, timeline.marks, written, stays)
        order = _joined(batch.order, timeline.order, written, stays)
        said = np.concatenate([batch.flags[written], own[stays]])
        table = pa.table({**columns, "mark": marks, "order": order, "said": said, "place": np.arange(len(said))})
        ends = None
        if batch.ends is not None and timeline.ends is not None:
            ends = _joined(batch.ends, timeline.ends, written, stays)
        return cls(table, ends, batch)

    @property
    def absent(self) -> Mask:
        """Rows of keys that the batch does not have."""
        there = keys_of(self.batch)
        keys = zip(*(self.table[name].to_pylist() for name in KEY), strict=True)
        return np.array([key not in there for key in keys], bool)

    def ordered(self, rules: Rules) -> _Ordered:
        # Of two versions with one mark the one that says so holds, else the full row decides.
        order = [*KEY, "order", *(() if rules.recompute else ("said",)), *ROW]
        table = self.table.sort_by([(name, "ascending") for name in order])
        places = table["place"].to_numpy()
        kept = ~self._says_nothing_new(table, places) if rules.collapses else np.ones(len(places), bool)
        table, places_kept = table.filter(pa.array(kept)), places[kept]
        last = ~like_before(table, KEY, shifted=True)
        holds, stays = np.zeros(len(places), bool), np.zeros(len(places), bool)
        stays[places_kept] = True
        said = np.ones(len(last), bool) if rules.recompute else table["said"].to_numpy()
        holds[places_kept] = last & said
        ends = self._ends(table, places_kept, last, rules) if self.ends is not None else None
        if ends is not None and rules.recompute:
            holds &= np.asarray(ends.is_null())
        return _Ordered(stays, holds, ends)

    def _says_nothing_new(self, table: pa.Table, places: Places) -> Mask:
        """The same state as the version before it, which had not ended by then."""
        like = like_before(table, [*KEY, *STATE])
        if self.ends is None or not len(places):
            return like
        before = self.ends.take(pa.array(np.concatenate([places[:1], places[:-1]])))
        lasted = pc.fill_null(pc.greater_equal(before, table["mark"].combine_chunks().cast(before.type)), True)
        nothing_new: Mask = like & np.asarray(lasted)
        return nothing_new

    def _ends(self, table: pa.Table, places: Places, last: Mask, rules: Rules) -> pa.Array:
        """Where the next version begins, unless a row says that it ended before."""
        assert self.ends is not None
        marks = table["mark"].combine_chunks()
        following = np.append(np.arange(1, len(places)), 0)[: len(places)]
        nexts = pc.if_else(pa.array(last), pa.scalar(None, marks.type), marks.take(pa.array(following)))
        if rules.absent_end_at is not None:
            at = rules.absent_end_at.cast(marks.type)
            leaves = pa.array(last & self.absent[places] & np.asarray(pc.less_equal(marks, at)))
            nexts = pc.if_else(leaves, at, nexts)
        own = self.ends.take(pa.array(places))
        settled = pc.min_element_wise(own, nexts.cast(own.type))
        # Rows that do not stay end as they did: nobody asks.
        back = np.full(len(self.ends), -1)
        back[places] = np.arange(len(places))
        return pc.if_else(pa.array(back >= 0), settled.take(pa.array(np.maximum(back, 0))), self.ends)


def _joined(one: pa.Array, other: pa.Array, first: Places, second: Places) -> pa.Array:
    return pa.concat_arrays([one.take(pa.array(first)), other.take(pa.array(second))])


def _arranged(
    batch: Versions,
    timeline: Versions,
    fresh: Places,
    replacing: Places,
    replaced: Places,
    stays: Places,
    order: _Ordered,
) -> Decision:
    """Rows that are alone in their group are updated, others are written anew: nothing but their content names them."""
    written = np.concatenate([replacing, fresh])
    here, there = slice(0, len(written)), slice(len(written), None)
    shared, moved = _shared(timeline), _moved(timeline, stays, order, there)
    flags = np.zeros(batch.rows, bool)
    flags[written] = order.holds[here]
    in_place = ~shared[replaced]
    new = np.zeros(batch.rows, bool)
    new[written] = order.kept[here]
    updated = in_place & new[replacing]
    inserted = np.concatenate([fresh, replacing[~in_place]])
    holds = order.holds[there][moved]
    return Decision(
        fresh=_mask(batch, inserted[new[inserted]]),
        changed=_mask(batch, replacing[updated]),
        flags=flags,
        ends=_spread(order.ends, here, written, batch.ends),
        closed=stays[moved][~holds & ~shared[stays[moved]]],
        opened=stays[moved][holds & ~shared[stays[moved]]],
        timeline_ends=_spread(order.ends, there, stays, timeline.ends),
        rewritten=stays[moved][shared[stays[moved]]],
        gone=np.concatenate([replaced[~updated], stays[~order.kept[there]]]),
        expected=_expected(batch, timeline, written, stays, order),
    )


def _moved(timeline: Versions, stays: Places, order: _Ordered, there: slice) -> Places:
    """Rows of the timeline whose flag or end is to be another; by their number among those that stay."""
    unlike = timeline.flags[stays] != order.holds[there]
    if order.ends is not None and timeline.ends is not None:
        new, old = order.ends[there], timeline.ends.take(pa.array(stays))
        same = pc.fill_null(pc.equal(new, old), False)
        both_open = pc.and_(new.is_null(), old.is_null())
        unlike |= ~np.asarray(pc.or_(same, both_open))
    return np.flatnonzero(unlike & order.kept[there])


def _spread(ends: pa.Array | None, part: slice, places: Places, own: pa.Array | None) -> pa.Array | None:
    """Where every row of one side ends: as settled, or as it did."""
    if ends is None or own is None:
        return None
    back = np.full(len(own), -1)
    back[places] = np.arange(len(places))
    settled = ends[part]
    if not len(settled):
        return own
    return pc.if_else(pa.array(back >= 0), settled.take(pa.array(np.maximum(back, 0))), own)


def _expected(batch: Versions, timeline: Versions, written: Places, stays: Places, order: _Ordered) -> pa.Table:
    columns = {
        name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]]) for name in (*KEY, *ROW)
    }
    table = pa.table({**columns, "flag": order.holds})
    if order.ends is not None:
        table = table.append_column("end", order.ends)
    return table.filter(pa.array(order.kept))


def _shared(timeline: Versions) -> Mask:
    """Whether a row of the timeline shares its group with another."""
    if not timeline.rows:
        return np.zeros(0, bool)
    groups = np.stack([timeline.column(name) for name in GROUP], axis=1)
    _, inverse, counts = np.unique(groups, axis=0, return_inverse=True, return_counts=True)
    shared: Mask = counts[inverse.reshape(-1)] > 1
    return shared


def _mask(side: Versions, places: Places) -> Mask:
    mask = np.zeros(side.rows, bool)
    mask[places] = True
    return mask


# Rows as they were decided


def differs(expected: pa.Table, found: Versions) -> str:
    """What a timeline that was read again has otherwise than expected; empty when nothing."""
    held = found.hashes.select([*KEY, *ROW]).append_column("flag", pa.array(found.flags))
    if found.ends is not None:
        held = held.append_column("end", _as_text(found.ends))
        expected = expected.set_column(expected.num_columns - 1, "end", _as_text(expected["end"].combine_chunks()))
    content = held.column_names
    sides = [side.group_by(content).aggregate([([], "count_all")]) for side in (expected, held)]
    both = sides[0].join(sides[1], content, join_type="full outer", right_suffix="_held")
    here, there = (pc.fill_null(both[name], 0) for name in ("count_all", "count_all_held"))
    missing, more = pc.greater(here, there), pc.less(here, there)
    lost, added = pc.sum(missing).as_py() or 0, pc.sum(more).as_py() or 0
    return f"{counted(lost, 'version')} not as it should be, {added:,} should not be there" if lost + added else ""


def _as_text(ends: pa.Array) -> pa.Array:
    """A join takes no nulls for equal."""
    return pc.fill_null(ends.cast(pa.string()), "open")


def settle(
    batches: Iterator[pa.RecordBatch], flags: Mask, ends: pa.Array | None, form: Form
) -> Iterator[pa.RecordBatch]:
    """The same rows, each saying whether it holds and where it ends."""
    place = 0
    for batch in batches:
        after = place + batch.num_rows
        yield with_validity(batch, flags[place:after], None if ends is None else ends[place:after], form)
        place = after


def with_validity(batch: pa.RecordBatch, flags: Mask, ends: pa.Array | None, form: Form) -> pa.RecordBatch:
    if form.flag is not None:
        position = batch.schema.get_field_index(form.flag)
        field = batch.schema.field(position)
        batch = batch.set_column(position, field, form.spelled(flags, field.type))
    if form.end is not None and ends is not None:
        position = batch.schema.get_field_index(form.end)
        field = batch.schema.field(position)
        batch = batch.set_column(position, field, ends.cast(field.type))
    return batch


def settled_again(batches: Iterator[pa.RecordBatch], expected: pa.Table, form: Form) -> Iterator[pa.RecordBatch]:
    """Rows that are written anew, as is expected of each; what is not expected is left out."""
    said: dict[tuple[int, ...], list[tuple[bool, Any]]] = {}
    for row in expected.to_pylist():
        said.setdefault(tuple(row[name] for name in (*KEY, *ROW)), []).append((row["flag"], row.get("end")))
    for batch in batches:
        content = [name for name in batch.schema.names if name not in form.outside]
        keys, rows = hash_rows(batch.select(list(form.keys))), hash_rows(batch.select(content))
        names = [tuple(map(int, (*key, *row))) for key, row in zip(keys, rows, strict=True)]
        found = [said[name].pop() if said.get(name) else None for name in names]
        kept = [one for one in found if one is not None]
        if kept:
            chosen = batch.filter(pa.array([one is not None for one in found]))
            flags = np.array([flag for flag, _ in kept])
            ends = pa.array([end for _, end in kept], batch.schema.field(form.end).type) if form.end else None
            yield with_validity(chosen, flags, ends, form)
