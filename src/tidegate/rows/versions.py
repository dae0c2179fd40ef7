"""What becomes of a timeline when more versions of it arrive. Decided by hashes and marks alone; nothing is read here.

A version stands in a group: that of its business key and its mark, or where a version has a key of its own, of that.
Two rows of one group are the same version when their content is equal; the flag and what else is kept outside of the
content does not count. From this follow, whatever the order in which batches arrive and however often:

 * what the timeline lacks is inserted, once;
 * where both sides have versions of one group that nothing equals, a row was changed in place: a newer batch updates
   it, an older one has nothing to say;
 * the newest version of a key holds, if its own flag says so or if flags are recomputed; no other does;
 * where versions are made here, one that says nothing new beside the one before it is none;
 * where versions have an end, it is where the next one begins, if they do not say that they ended before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ValueProblem
from tidegate.model.names import counted
from tidegate.model.receipt import Receipt
from tidegate.rows.differences import EXAMPLES, Mask
from tidegate.rows.hashing import hash_rows, sum_of

Places = npt.NDArray[np.int64]

_KEY, _GROUP, _ROW = ["key1", "key2"], ["group1", "group2"], ["row1", "row2"]
_STATE, _ASIDE = ["state1", "state2"], ["aside1", "aside2"]


@dataclass(frozen=True)
class Form:
    """How rows are to be understood: their columns by role, and what the flag says."""

    keys: tuple[str, ...]
    mark: str
    group: tuple[str, ...]
    """What names a version, but for its content."""
    flag: str | None
    outside: tuple[str, ...]
    """Columns that are no part of the content, flag and end among them."""
    latest: str
    superseded: str
    end: str | None = None
    times: tuple[str, ...] = ()
    """Columns of the content that only say when; two versions that differ in them alone are the same state."""
    tombstone: str | None = None
    """A column that says of a version that its entity is gone."""

    def flags(self, batch: pa.RecordBatch) -> Mask:
        """What each row says of itself; a null says that a version does not hold, and so does a tombstone."""
        if self.flag is None:
            return np.zeros(batch.num_rows, bool)
        holds = np.asarray(self._truths(batch.column(self.flag)))
        return holds & ~np.asarray(self._truths(batch.column(self.tombstone))) if self.tombstone else holds

    def _truths(self, said: pa.Array) -> pa.Array:
        if pa.types.is_boolean(said.type):
            return pc.fill_null(said, False)
        yes, no = (pc.fill_null(pc.equal(said, self._said(truth, said.type)), False) for truth in (True, False))
        unknown = said.filter(pc.invert(pc.or_(pc.or_(yes, no), said.is_null())))
        if len(unknown):
            raise ValueProblem(
                f"A flag says {str(unknown[0])!r}, which is neither {self.latest!r} nor {self.superseded!r}.",
                "Nothing was loaded; the target keeps what it had.",
                "Correct `latest_value` and `superseded_value`, or these rows.",
            )
        return yes

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
    """Of each row two words of each hash: of its key, its group, its content, its state, and what is outside."""
    named: pa.Table
    """The columns of key, group and mark, row by row."""
    marks: pa.Array
    flags: Mask
    ends: pa.Array | None = None

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
    state = [name for name in content if name not in form.times] or list(form.keys)
    aside = [name for name in form.outside if name not in (form.flag, form.end)] or list(form.keys)
    hashed = [list(form.keys), list(form.group), content, state, aside]
    named = list(dict.fromkeys((*form.keys, *form.group, form.mark, *((form.end,) if form.end else ()))))
    parts, kept, flags = [], [], []
    for batch in batches:
        hashes = [hash_rows(batch.select(columns)) for columns in hashed]
        words = [pa.array(one[:, side]) for one in hashes for side in (0, 1)]
        parts.append(pa.table(words, names=[*_KEY, *_GROUP, *_ROW, *_STATE, *_ASIDE]))
        kept.append(pa.Table.from_batches([batch.select(named)]))
        flags.append(form.flags(batch))
    empty = pa.schema([(name, pa.uint64()) for name in (*_KEY, *_GROUP, *_ROW, *_STATE, *_ASIDE)]).empty_table()
    held = pa.concat_tables(kept) if kept else pa.schema([schema.field(name) for name in named]).empty_table()
    return Versions(
        hashes=pa.concat_tables(parts) if parts else empty,
        named=held,
        marks=held[form.mark].combine_chunks(),
        flags=np.concatenate(flags) if flags else np.zeros(0, bool),
        ends=held[form.end].combine_chunks() if form.end else None,
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
    first = _first_of_each(batch)
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
        inside &= np.asarray(pc.greater_equal(timeline.marks, low))
    if high is not None:
        inside &= np.asarray(pc.less_equal(timeline.marks, high))
    inside[theirs] = inside[replaced] = False
    return np.flatnonzero(inside)


def _unlike_aside(batch: Versions, timeline: Versions, matched: Places, theirs: Places) -> Mask:
    """Versions whose content is the same, and what is outside of it, but for flag and end, is not."""
    unlike = np.zeros(len(matched), bool)
    for name in _ASIDE:
        unlike |= batch.column(name)[matched] != timeline.column(name)[theirs]
    return unlike


def _first_of_each(batch: Versions) -> Places:
    """One place for rows that more than once there; of those that differ in their flag, one that holds."""
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
            for name in (*_KEY, *_ROW, *_STATE)
        }
        marks = _joined(batch.marks, timeline.marks, written, stays)
        said = np.concatenate([batch.flags[written], own[stays]])
        table = pa.table({**columns, "mark": marks, "said": said, "place": np.arange(len(said))})
        ends = None
        if batch.ends is not None and timeline.ends is not None:
            ends = _joined(batch.ends, timeline.ends, written, stays)
        return cls(table, ends, batch)

    @property
    def absent(self) -> Mask:
        """Rows of keys that the batch does not have."""
        there = _keys_of(self.batch)
        keys = zip(*(self.table[name].to_pylist() for name in _KEY), strict=True)
        return np.array([key not in there for key in keys], bool)

    def ordered(self, rules: Rules) -> _Ordered:
        # Of two versions with one mark the one that says so holds, else the full row decides.
        order = [*_KEY, "mark", *(() if rules.recompute else ("said",)), *_ROW]
        table = self.table.sort_by([(name, "ascending") for name in order])
        places = table["place"].to_numpy()
        kept = ~self._says_nothing_new(table, places) if rules.collapses else np.ones(len(places), bool)
        table, places_kept = table.filter(pa.array(kept)), places[kept]
        last = ~_like_before(table, _KEY, shifted=True)
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
        like = _like_before(table, [*_KEY, *_STATE])
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


def _like_before(table: pa.Table, names: Sequence[str], *, shifted: bool = False) -> Mask:
    """Whether each row has these words in common with the one before it; `shifted`, with the one after it."""
    words = np.stack([table[name].to_numpy() for name in names], axis=1)
    like = np.zeros(len(words), bool)
    same = (words[1:] == words[:-1]).all(axis=1)
    like[: len(same)] |= same if shifted else False
    if not shifted:
        like[1:] = same
    return like


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
        name: np.concatenate([batch.column(name)[written], timeline.column(name)[stays]]) for name in (*_KEY, *_ROW)
    }
    table = pa.table({**columns, "flag": order.holds})
    if order.ends is not None:
        table = table.append_column("end", order.ends)
    return table.filter(pa.array(order.kept))


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


def differs(expected: pa.Table, found: Versions) -> str:
    """What a timeline that was read again has otherwise than expected; empty when nothing."""
    held = found.hashes.select([*_KEY, *_ROW]).append_column("flag", pa.array(found.flags))
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
        said.setdefault(tuple(row[name] for name in (*_KEY, *_ROW)), []).append((row["flag"], row.get("end")))
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


# Verifying


def in_agreement(
    source: Versions, beyond: Versions, held: Versions, in_scope: Versions
) -> Iterator[tuple[str, str, str]]:
    """What of the source the target lacks, and what it has in the scope besides: (check, what, severity)."""
    missing, extra = _absent(source, held), np.intersect1d(_absent(in_scope, source), _absent(in_scope, beyond))
    if len(missing):
        yield "receipt", f"{counted(len(missing), 'version')} missing in the target ({source.names(missing)})", "error"
    if len(extra):
        yield "receipt", f"{counted(len(extra), 'version')} only in the target ({in_scope.names(extra)})", "error"
    twice = held.rows - len(_first_of_each(held))
    if twice:
        yield "scd_integrity", f"{counted(twice, 'version')} more than once there", "error"


def findings(source: Versions, beyond: Versions, held: Versions, *, recompute: bool) -> Iterator[tuple[str, str, str]]:
    """What the flags of the target do not tell as they should."""
    yield from history(held)
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
        yield (
            "scd_integrity",
            f"{counted(len(closed), 'version')} holding in the source alone ({source.names(closed)})",
            "error",
        )
    if len(still_open):
        what = f"{counted(len(still_open), 'version')} holding in the target alone ({source.names(still_open)})"
        yield "scd_integrity", what, "error"


def made_in_agreement(source: Versions, held: Versions, *, closes_absent: bool) -> Iterator[tuple[str, str, str]]:
    """Whether the version that holds of each key says what the source says now."""
    now = _states(source, np.arange(source.rows))
    holding = _states(held, np.flatnonzero(held.flags))
    both = now.join(holding, _KEY, join_type="full outer", right_suffix="_held")
    here, there = both["place"].is_valid(), both["place_held"].is_valid()
    unlike = pc.or_(*(pc.not_equal(both[name], both[f"{name}_held"]) for name in _STATE))
    missing = both.filter(pc.and_(here, pc.invert(there)))["place"].to_numpy()
    other = both.filter(pc.and_(pc.and_(here, there), pc.fill_null(unlike, False)))["place"].to_numpy()
    left = both.filter(pc.and_(there, pc.invert(here)))["place_held"].to_numpy()
    if len(missing):
        yield "receipt", f"{counted(len(missing), 'key')} without a version holding ({source.names(missing)})", "error"
    if len(other):
        yield (
            "receipt",
            f"{counted(len(other), 'version')} holding, unlike what the source says ({source.names(other)})",
            "error",
        )
    if len(left):
        severity = "error" if closes_absent else "note"
        yield "receipt", f"{counted(len(left), 'key')} holding that left the source ({held.names(left)})", severity


def _states(side: Versions, places: Places) -> pa.Table:
    chosen = side.hashes.select([*_KEY, *_STATE]).take(pa.array(places))
    return chosen.append_column("place", pa.array(places))


def history(held: Versions) -> Iterator[tuple[str, str, str]]:
    """What the flags of a timeline do not tell as they should, whatever the source says."""
    more = _repeated_keys(held, np.flatnonzero(held.flags))
    if len(more):
        yield (
            "scd_integrity",
            f"{counted(len(more), 'key')} with more than one version holding ({held.names(more)})",
            "error",
        )
    stale = np.flatnonzero(held.flags & ~_newest_of_each(held))
    if len(stale):
        what = f"{counted(len(stale), 'version')} holding although newer ones are there ({held.names(stale)})"
        yield "scd_integrity", what, "error"
    late, early = _ends_beside_the_next(held)
    if len(late):
        yield (
            "scd_integrity",
            f"{counted(len(late), 'version')} ending after the next begins ({held.names(late)})",
            "error",
        )
    if len(early):
        yield "gaps", f"{counted(len(early), 'version')} ending before the next begins ({held.names(early)})", "note"


def _ends_beside_the_next(side: Versions) -> tuple[Places, Places]:
    """Versions that do not end where the next one of their key begins: those that overlap it, and those with a gap."""
    nothing = np.zeros(0, np.int64)
    if side.ends is None or not side.rows:
        return nothing, nothing
    table = side.hashes.select(_KEY).append_column("mark", side.marks).append_column("end", side.ends)
    table = table.append_column("place", pa.array(np.arange(side.rows)))
    table = table.sort_by([(name, "ascending") for name in (*_KEY, "mark")])
    followed = _like_before(table, _KEY, shifted=True)[:-1]
    ends, nexts = table["end"].combine_chunks()[:-1], table["mark"].combine_chunks()[1:].cast(side.ends.type)
    places = table["place"].to_numpy()[:-1]
    late = followed & np.asarray(pc.fill_null(pc.greater(ends, nexts), True))
    early = followed & np.asarray(pc.fill_null(pc.less(ends, nexts), False))
    return places[late], places[early]


def _absent(side: Versions, other: Versions) -> Places:
    """Places of versions that the other side does not have."""
    here = _placed(side, np.arange(side.rows))
    there = _placed(other, np.arange(other.rows)).select([*_GROUP, *_ROW])
    return np.sort(here.join(there, [*_GROUP, *_ROW], join_type="left anti")["place"].to_numpy())


def _repeated_keys(side: Versions, places: Places) -> Places:
    chosen = side.hashes.select(_KEY).take(pa.array(places)).append_column("place", pa.array(places))
    keys = chosen.group_by(_KEY).aggregate([("place", "count"), ("place", "min")])
    return np.sort(keys.filter(pc.greater(keys["place_count"], 1))["place_min"].to_numpy())


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
