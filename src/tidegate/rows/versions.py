"""Versions of entities, as hashes: what two sides of a timeline are compared by.

A version stands in a group: that of its business key and its mark, or where a version has a key of its own, of that.
Two rows of one group are the same version when their content is equal; the flag, the end and what else is kept outside
of the content does not count. The state of a version is its content without the columns that only say when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import ValueProblem
from tidegate.model.receipt import Receipt
from tidegate.model.values import Kind, Value
from tidegate.rows.differences import EXAMPLES, Mask, first_places
from tidegate.rows.hashing import hash_rows, sum_of

Places = npt.NDArray[np.int64]

KEY, GROUP, ROW = ["key1", "key2"], ["group1", "group2"], ["row1", "row2"]
STATE, ASIDE = ["state1", "state2"], ["aside1", "aside2"]


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
    mark_kind: Kind = Kind.TEXT
    """How marks are ordered that are read as text."""

    def flags(self, batch: pa.RecordBatch) -> Mask:
        """What each row says of itself; a null says that a version does not hold."""
        if self.flag is None:
            return np.zeros(batch.num_rows, bool)
        return np.asarray(self._truths(batch.column(self.flag)))

    def tombstones(self, batch: pa.RecordBatch) -> Mask:
        """Rows that say that their entity is gone."""
        if self.tombstone is None:
            return np.zeros(batch.num_rows, bool)
        said = batch.column(self.tombstone)
        # The words are those of a text; a number beside a flag in words says 1.
        words = self if pa.types.is_string(said.type) else replace(self, latest="1", superseded="0")
        return np.asarray(words._truths(said))

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
    order: pa.Array
    """What the marks are ordered by: themselves, or where they are texts, others that sort as they are meant."""
    flags: Mask
    tombstones: Mask
    ends: pa.Array | None = None

    def may_hold(self, *, recompute: bool) -> Mask:
        """Rows that hold if they are the newest of their key: what says so, or all that did not end; no tombstone."""
        if not recompute:
            return self.flags & ~self.tombstones
        return ~self.tombstones if self.ends is None else ~self.tombstones & np.asarray(self.ends.is_null())

    @property
    def rows(self) -> int:
        return int(self.hashes.num_rows)

    def column(self, name: str) -> npt.NDArray[np.uint64]:
        values: npt.NDArray[np.uint64] = self.hashes[name].to_numpy()
        return values

    def where(self, chosen: Mask) -> Versions:
        """Some of these rows."""
        mask = pa.array(chosen)
        return Versions(
            hashes=self.hashes.filter(mask),
            named=self.named.filter(mask),
            marks=self.marks.filter(mask),
            order=self.order.filter(mask),
            flags=self.flags[chosen],
            tombstones=self.tombstones[chosen],
            ends=None if self.ends is None else self.ends.filter(mask),
        )

    def without(self, columns: Sequence[str]) -> list[str]:
        """Examples of rows with a null in one of these columns; empty when there is none."""
        empty = np.zeros(self.rows, bool)
        for name in columns:
            empty |= np.asarray(self.named[name].is_null())
        return self._examples(np.flatnonzero(empty))

    def names(self, places: Places, columns: Sequence[str] | None = None) -> str:
        """Some of these versions, for people: all that names them, or these columns."""
        more = "; ..." if len(places) > EXAMPLES else ""
        return "; ".join(self._examples(places, columns)) + more

    def _examples(self, places: Places, columns: Sequence[str] | None = None) -> list[str]:
        named = self.named if columns is None else self.named.select(list(columns))
        some = named.take(pa.array(places[:EXAMPLES], pa.int64())).to_pylist()
        return [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in some]

    @property
    def receipt(self) -> Receipt:
        """Of the content, without what is outside of it."""
        return Receipt.of_sum(self.rows, sum_of(np.stack([self.column(name) for name in ROW], axis=1)))


def versions_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: Form) -> Versions:
    """`schema` is that of all columns, for a side without rows."""
    content = [name for name in schema.names if name not in form.outside]
    state = [name for name in content if name not in form.times] or list(form.keys)
    aside = [name for name in form.outside if name not in (form.flag, form.end)] or list(form.keys)
    hashed = [tuple(columns) for columns in (form.keys, form.group, content, state, aside)]
    named = list(dict.fromkeys((*form.keys, *form.group, form.mark, *((form.end,) if form.end else ()))))
    parts, kept, flags, tombstones = [], [], [], []
    for batch in batches:
        # Often some of them are the same columns: where no column only says when, a state is all of the content.
        hashes = {columns: hash_rows(batch.select(columns)) for columns in set(hashed)}
        words = [pa.array(hashes[columns][:, side]) for columns in hashed for side in (0, 1)]
        parts.append(pa.table(words, names=[*KEY, *GROUP, *ROW, *STATE, *ASIDE]))
        kept.append(pa.Table.from_batches([batch.select(named)]))
        flags.append(form.flags(batch))
        tombstones.append(form.tombstones(batch))
    empty = pa.schema([(name, pa.uint64()) for name in (*KEY, *GROUP, *ROW, *STATE, *ASIDE)]).empty_table()
    held = pa.concat_tables(kept) if kept else pa.schema([schema.field(name) for name in named]).empty_table()
    return Versions(
        hashes=pa.concat_tables(parts) if parts else empty,
        named=held,
        marks=held[form.mark].combine_chunks(),
        order=in_order(held[form.mark].combine_chunks(), form.mark_kind),
        flags=np.concatenate(flags) if flags else np.zeros(0, bool),
        tombstones=np.concatenate(tombstones) if tombstones else np.zeros(0, bool),
        ends=held[form.end].combine_chunks() if form.end else None,
    )


def in_order(marks: pa.Array, kind: Kind) -> pa.Array:
    if not pa.types.is_string(marks.type) or kind is Kind.TEXT:
        return marks
    try:
        texts = {text: Value.of(text, kind).in_order for text in marks.unique().to_pylist() if text is not None}
    except ValueError as problem:
        raise ValueProblem(
            f"A version has a mark without a place in their order: {problem}.",
            "Nothing was loaded; the target keeps what it had.",
            "Correct these rows, or name another `mark_column`.",
        ) from None
    return pa.array([texts.get(text) for text in marks.to_pylist()], pa.string())


# What both sides of a comparison need


def first_of_each(batch: Versions) -> Places:
    """One place for rows that more than once there; of those that differ in their flag, one that holds."""
    holding_first = np.argsort(~batch.flags, kind="stable")
    each = first_places(words_of(batch, [*ROW, *GROUP])[holding_first])
    return np.sort(holding_first[each])


def placed(side: Versions, places: Places) -> pa.Table:
    chosen = side.hashes.select([*GROUP, *ROW]).take(pa.array(places))
    return chosen.append_column("place", pa.array(places))


def like_before(table: pa.Table, names: Sequence[str], *, shifted: bool = False) -> Mask:
    """Whether each row has these words in common with the one before it; `shifted`, with the one after it."""
    words = np.stack([table[name].to_numpy() for name in names], axis=1)
    like = np.zeros(len(words), bool)
    same = (words[1:] == words[:-1]).all(axis=1)
    like[: len(same)] |= same if shifted else False
    if not shifted:
        like[1:] = same
    return like


def keys_of(side: Versions, chosen: Mask | None = None) -> pa.Array:
    """The keys of all rows, or of those that are chosen, as sixteen bytes each."""
    words = words_of(side, KEY)
    return _as_bytes(words if chosen is None else words[chosen])


def groups_of(side: Versions) -> pa.Array:
    """The groups of all rows, likewise."""
    return _as_bytes(words_of(side, GROUP))


def words_of(side: Versions, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    return np.stack([side.column(name) for name in names], axis=1)


def keys_in(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> pa.Array:
    """The same of rows that are no versions: only these columns of them are asked for."""
    parts = [_as_bytes(hash_rows(batch.select(list(keys)))) for batch in batches]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary(16))


def among(keys: pa.Array, others: pa.Array) -> Mask:
    """Which of these keys are among the others."""
    found: Mask = np.asarray(pc.is_in(keys, value_set=others))
    return found


def was_lost(groups: pa.Array, landed: pa.Array, there: pa.Array) -> Mask:
    """Which groups the source had once, and has no longer."""
    return among(groups, landed) & ~among(groups, there)


def taken_back(side: Versions, there: pa.Array) -> Mask:
    """Which versions hold here although the source, where their entity still is, no longer has them: of these it has
    not lost the history, it tells another one."""
    return side.flags & among(keys_of(side), there)


def groups_landed(batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: Form) -> pa.Array | None:
    """The groups of rows that were landed, of which these are the columns that name one. None where a column rests in
    another form than it is read in: then nobody can tell."""
    kinds = [schema.field(name).type for name in form.group]
    parts = []
    for batch in batches:
        if batch.schema.types != kinds:
            return None
        parts.append(_as_bytes(hash_rows(batch)))
    return pa.concat_arrays(parts) if parts else pa.array([], pa.binary(16))


def _as_bytes(words: npt.NDArray[np.uint64]) -> pa.Array:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(words).tobytes())]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(words), buffers)
