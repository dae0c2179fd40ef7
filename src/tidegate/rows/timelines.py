"""What becomes of a timeline when more versions of it arrive. Decided by hashes and marks alone; nothing is read here.

Whatever the order in which batches arrive, and however often:

 * what the timeline lacks is inserted, once;
 * where both sides have versions of one group that nothing equals, a row was changed in place: a newer batch updates
   it, an older one has nothing to say;
 * the newest version of a key holds, if its own flag says so or if flags are recomputed, and if it is no tombstone; no
   other does;
 * where versions are made here, one that says nothing new beside the one before it is none;
 * where versions have an end, it is where the next one begins, if they do not say that they ended before;
 * where it is known which keys the source had, a key that it lacked ended by then, and holds again when it is back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.rows.differences import Mask, neighbours
from tidegate.rows.pairs import differ_aside, known_versions, new_and_changed, without
from tidegate.rows.settled import ends_as_text
from tidegate.rows.versions import (
    GROUP,
    KEY,
    ROW,
    STATE,
    Places,
    Versions,
    among,
    first_of_each,
    groups_of,
    keys_of,
    like_before,
    placed,
    taken_back,
    was_lost,
    words_of,
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
    """Rows of the timeline that share their group with others, or will, and are to be written anew."""
    gone: Places
    """Rows of the timeline, in such groups, that rows of the batch stand in for; and those that say nothing new."""
    expected: pa.Table
    """The timeline afterwards: `key1`, `key2`, `row1`, `row2`, `flag`."""
    staying: pa.Table
    """Of these, the rows that the timeline has already."""


@dataclass(frozen=True)
class Rules:
    """How a timeline is settled."""

    wins: bool = True
    """The batch was read later than what the timeline came from."""
    recompute: bool = False
    """Of each key the newest version holds, whatever its flag says."""
    collapses: bool = False
    """A version that says nothing new is none."""
    there: pa.Array | None = None
    """The keys that the source had when the batch was read, where that is known: all others had left."""
    left_by: pa.Scalar | None = None
    """When that was, on the clock of the marks."""
    keeps_closed: bool = False
    """A key that no version holds of has left, as far as the batch does not know better."""
    all_between: tuple[pa.Scalar | None, pa.Scalar | None] | None = None
    """The batch is all that there is between these marks, both included: what it lacks of them leaves."""
    landed: pa.Array | None = None
    """Groups of versions that the source had once: what it has lost of them is history, and stays."""


def decide(batch: Versions, timeline: Versions, rules: Rules) -> Decision:
    first = first_of_each(batch)
    matched, theirs = known_versions(batch, timeline, first)
    touched = differ_aside(batch, timeline, matched, theirs) if rules.wins else np.zeros(len(matched), bool)
    fresh, replacing, replaced = new_and_changed(batch, timeline, without(first, matched), theirs)
    if not rules.wins:
        replacing, replaced = replacing[:0], replaced[:0]
    replacing = np.concatenate([replacing, matched[touched]])
    replaced = np.concatenate([replaced, theirs[touched]])
    surplus = _surplus(batch, timeline, theirs, replaced, rules)
    stays = without(np.arange(timeline.rows), np.concatenate([replaced, surplus]))
    written = np.concatenate([replacing, fresh])
    speaking = _in_its_own_words(batch, timeline, matched, theirs, rules)
    all_of_it = _Together.of(batch, speaking, written, stays, _closed(timeline), rules)
    order = all_of_it.ordered(rules)
    decision = _arranged(batch, timeline, fresh, replacing, replaced, stays, order)
    return replace(decision, gone=np.concatenate([decision.gone, surplus]))


def _surplus(batch: Versions, timeline: Versions, theirs: Places, replaced: Places, rules: Rules) -> Places:
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
    keys, holds = keys_of(timeline), timeline.flags
    if rules.there is not None:  # what left is closed, and what the source lost of others is history
        inside &= among(keys, rules.there) & holds
    if rules.landed is not None:
        lost = was_lost(groups_of(timeline), rules.landed, groups_of(batch))
        if rules.collapses:  # no source has what was made here of its earlier states
            inside &= holds & ~lost
        elif rules.there is None:
            inside &= ~lost | taken_back(timeline, keys_of(batch))
    return np.flatnonzero(inside)


def _in_its_own_words(batch: Versions, timeline: Versions, matched: Places, theirs: Places, rules: Rules) -> Versions:
    """The timeline with what its rows say of themselves, not what was settled here. A newer batch has the last word."""
    said = replace(timeline, ends=_own_ends(timeline))
    if not rules.wins:
        return said
    flags = timeline.flags.copy()
    flags[theirs] = batch.flags[matched]
    return replace(said, flags=flags, ends=_told_anew(batch, said, matched, theirs))


def _own_ends(timeline: Versions) -> pa.Array | None:
    """Without ends at which another version of the key begins: these were found here, and move when that one does."""
    if timeline.ends is None:
        return None
    marks = timeline.marks.cast(timeline.ends.type)
    keys = timeline.hashes.select(KEY)
    begin = keys.append_column("end", marks).group_by([*KEY, "end"]).aggregate([([], "count_all")])
    ending = keys.append_column("end", timeline.ends).append_column("place", pa.array(np.arange(timeline.rows)))
    found = ending.join(begin, [*KEY, "end"], join_type="left outer").sort_by("place")
    others = pc.subtract(found["count_all"], pc.equal(timeline.ends, marks).cast(pa.int64())).combine_chunks()
    was_found = pc.fill_null(pc.greater(others, 0), False)
    return pc.if_else(was_found, pa.scalar(None, timeline.ends.type), timeline.ends)


def _told_anew(batch: Versions, timeline: Versions, matched: Places, theirs: Places) -> pa.Array | None:
    """Where the rows of the timeline end, as far as the batch has them as the batch says it."""
    if batch.ends is None or timeline.ends is None:
        return timeline.ends
    said = np.arange(timeline.rows) + len(batch.ends)
    said[theirs] = matched
    return pa.concat_arrays([batch.ends, timeline.ends]).take(pa.array(said))


def _closed(timeline: Versions) -> pa.Array:
    """Keys that no version holds of."""
    keys = keys_of(timeline)
    return keys.filter(pa.array(~among(keys, keys_of(timeline, timeline.flags))))


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
    keys: pa.Array
    ends: pa.Array | None
    tombstones: Mask
    is_written: Mask
    closed: pa.Array
    """Keys that no version of the timeline held of."""

    @classmethod
    def of(
        cls, batch: Versions, timeline: Versions, written: Places, stays: Places, closed: pa.Array, rules: Rules
    ) -> _Together:
        columns: dict[str, Any] = {
            name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]])
            for name in (*KEY, *ROW, *STATE)
        }
        marks = _joined(batch.marks, timeline.marks, written, stays)
        may_hold = [side.may_hold(recompute=rules.recompute) for side in (batch, timeline)]
        said = np.concatenate([may_hold[0][written], may_hold[1][stays]])
        gone = np.concatenate([batch.tombstones[written], timeline.tombstones[stays]])
        order = _joined(batch.order, timeline.order, written, stays)
        table = pa.table({**columns, "mark": marks, "order": order, "said": said, "place": np.arange(len(said))})
        ends = None
        if batch.ends is not None and timeline.ends is not None:
            ends = _joined(batch.ends, timeline.ends, written, stays)
        keys = _joined(keys_of(batch), keys_of(timeline), written, stays)
        return cls(table, keys, ends, gone, np.arange(len(said)) < len(written), closed)

    def ordered(self, rules: Rules) -> _Ordered:
        # Of two versions with one mark the one that says so holds, else the full row decides.
        table = self.table.sort_by([(name, "ascending") for name in (*KEY, "order", "said", *ROW)])
        places = table["place"].to_numpy()
        kept = ~self._says_nothing_new(table, places) if rules.collapses else np.ones(len(places), bool)
        table, places_kept = table.filter(pa.array(kept)), places[kept]
        last = ~like_before(table, KEY, shifted=True)
        holds, stays = np.zeros(len(places), bool), np.zeros(len(places), bool)
        stays[places_kept] = True
        holds[places_kept] = last
        holds &= self._may_hold(rules)
        ends = self._ends(table, places_kept, last, rules, self._open_again(places, kept, rules))
        if ends is not None and rules.recompute:
            holds &= np.asarray(ends.is_null())
        return _Ordered(stays, holds, ends)

    def _may_hold(self, rules: Rules) -> Mask:
        """Whether the newest version of a key holds, if it is this one."""
        may: Mask = ~self.tombstones if rules.recompute else np.asarray(self.table["said"])
        if rules.there is not None and rules.wins:
            return may & among(self.keys, rules.there)
        if rules.recompute and rules.keeps_closed:
            return may & (~among(self.keys, self.closed) | (self.is_written & rules.wins))
        return may

    def _says_nothing_new(self, table: pa.Table, places: Places) -> Mask:
        """The same state as the version before it, which had not ended by then."""
        like = like_before(table, [*KEY, *STATE])
        if self.ends is None or not len(places):
            return like
        before = self.ends.take(pa.array(np.concatenate([places[:1], places[:-1]])))
        lasted = pc.fill_null(pc.greater_equal(before, table["mark"].combine_chunks().cast(before.type)), True)
        nothing_new: Mask = like & np.asarray(lasted)
        return nothing_new

    def _open_again(self, places: Places, kept: Mask, rules: Rules) -> Mask:
        """Versions of which a row of the batch, which says nothing new, says that they last."""
        again = np.zeros(len(places), bool)
        if rules.wins and len(places):
            before = np.maximum.accumulate(np.where(kept, np.arange(len(places)), 0))
            again[places[before[~kept & self.is_written[places]]]] = True
        return again

    def _ends(self, table: pa.Table, places: Places, last: Mask, rules: Rules, again: Mask) -> pa.Array | None:
        """Where the next version begins, unless a row says that it ended before."""
        if self.ends is None:
            return None
        marks = table["mark"].combine_chunks()
        following = np.append(np.arange(1, len(places)), 0)[: len(places)]
        nexts = pc.if_else(pa.array(last), pa.scalar(None, marks.type), marks.take(pa.array(following)))
        if rules.there is not None and rules.left_by is not None:
            by = rules.left_by.cast(marks.type)
            absent = pa.array(~among(self.keys, rules.there)[places])
            not_followed = pc.fill_null(pc.greater(nexts, by), True)
            # What is to begin later, and is gone, has never been: it ends where it begins.
            ended = pc.if_else(pc.greater(marks, by), marks, by) if rules.wins else by
            leaves = pc.and_(absent, pc.and_(not_followed, pc.less_equal(marks, ended)))
            nexts = pc.if_else(leaves, ended, nexts)
        own = pc.if_else(pa.array(again), pa.scalar(None, self.ends.type), self.ends).take(pa.array(places))
        settled = _earlier(own, nexts.cast(own.type))
        # Rows that do not stay end as they did: nobody asks.
        back = np.full(len(self.ends), -1)
        back[places] = np.arange(len(places))
        return pc.if_else(pa.array(back >= 0), settled.take(pa.array(np.maximum(back, 0))), self.ends)


def _earlier(one: pa.Array, other: pa.Array) -> pa.Array:
    """The lesser of each two; where one is null, the other. Arrow's own min_element_wise takes no times with a zone."""
    takes_one = pc.or_(other.is_null(), pc.fill_null(pc.less_equal(one, other), False))
    return pc.if_else(takes_one, one, other)


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
    inserted = inserted[new[inserted]]
    holds = order.holds[there][moved]
    # What holds from now on is opened last: by then its group may have others.
    anew = shared[stays[moved]] | (holds & _joined_by(timeline, batch, inserted)[stays[moved]])
    expected = _expected(batch, timeline, written, stays, order)
    return Decision(
        fresh=_mask(batch, inserted),
        changed=_mask(batch, replacing[updated]),
        flags=flags,
        ends=_spread(order.ends, here, written, batch.ends),
        closed=stays[moved][~holds & ~anew],
        opened=stays[moved][holds & ~anew],
        timeline_ends=_spread(order.ends, there, stays, timeline.ends),
        rewritten=stays[moved][anew],
        gone=np.concatenate([replaced[~updated], stays[~order.kept[there]]]),
        expected=expected,
        staying=expected.slice(int(order.kept[here].sum())),
    )


def _moved(timeline: Versions, stays: Places, order: _Ordered, there: slice) -> Places:
    """Rows of the timeline whose flag or end is to be another; by their number among those that stay."""
    unlike = timeline.flags[stays] != order.holds[there]
    if order.ends is not None and timeline.ends is not None:
        new, old = order.ends[there], timeline.ends.take(pa.array(stays))
        unlike |= np.asarray(pc.not_equal(ends_as_text(new), ends_as_text(old)))
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
    order, same = neighbours(words_of(timeline, GROUP))
    shared = np.zeros(timeline.rows, bool)
    shared[order[:-1][same]] = shared[order[1:][same]] = True
    return shared


def _joined_by(timeline: Versions, batch: Versions, inserted: Places) -> Mask:
    """Whether a row of the timeline gets others of the batch into its group."""
    coming = placed(batch, inserted).select(GROUP)
    here = placed(timeline, np.arange(timeline.rows))
    return _mask(timeline, here.join(coming, GROUP, join_type="left semi")["place"].to_numpy())


def _mask(side: Versions, places: Places) -> Mask:
    mask = np.zeros(side.rows, bool)
    mask[places] = True
    return mask
