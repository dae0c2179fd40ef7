"""Which rows differ, by their keys: told by hashes alone, so that no collation has a say and rows need no room.

A side is read once, as two hashes per row: of its key and of all of it. Rows that must move are then picked out of a
second reading of the lake's file, by their place in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.model.receipt import Receipt
from tidegate.rows.hashing import hash_rows, sum_of

Mask = npt.NDArray[np.bool_]

EXAMPLES = 3
_KEY = ["key1", "key2"]


@dataclass(frozen=True)
class Content:
    """The rows of one side, in the order in which they were read."""

    hashes: pa.Table
    """`key1`, `key2`, `row1`, `row2` and `place` of each row."""
    keys: pa.Table
    """The values of the key columns, row by row."""
    receipt: Receipt

    @property
    def rows(self) -> int:
        return int(self.hashes.num_rows)

    def without_key(self) -> list[str]:
        """Examples of rows with a null in their key; empty when there is none."""
        empty = np.zeros(self.rows, bool)
        for column in self.keys.columns:
            empty |= np.asarray(column.is_null())
        return self.named(np.flatnonzero(empty))

    def repeated(self) -> list[str]:
        """Examples of keys that more than one row has."""
        counted = self.hashes.group_by(_KEY).aggregate([("place", "count"), ("place", "min")])
        more = counted.filter(pc.greater(counted["place_count"], 1))
        return self.named(np.sort(more["place_min"].to_numpy()))

    def named(self, places: npt.NDArray[np.int64]) -> list[str]:
        """The keys at some of these places, for people."""
        some = self.keys.take(pa.array(places[:EXAMPLES], pa.int64())).to_pylist()
        return [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in some]


@dataclass(frozen=True)
class Difference:
    """How one side becomes the other: rows of the new one by their place, and keys of the old one."""

    fresh: Mask
    changed: Mask
    gone: pa.Table

    @property
    def counts(self) -> tuple[int, int, int]:
        return int(self.fresh.sum()), int(self.changed.sum()), int(self.gone.num_rows)


def content_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, keys: Sequence[str]) -> Content:
    """`schema` is that of the key columns, for a side without rows."""
    parts, kept, total, place = [], [], 0, 0
    for batch in batches:
        key, row = hash_rows(batch.select(list(keys))), hash_rows(batch)
        places = np.arange(place, place + batch.num_rows)
        columns = [key[:, 0], key[:, 1], row[:, 0], row[:, 1], places]
        parts.append(pa.table([pa.array(column) for column in columns], names=[*_KEY, "row1", "row2", "place"]))
        kept.append(pa.Table.from_batches([batch.select(list(keys))]))
        total += sum_of(row)
        place += batch.num_rows
    none = pa.schema([*((name, pa.uint64()) for name in (*_KEY, "row1", "row2")), ("place", pa.int64())])
    hashes = pa.concat_tables(parts) if parts else none.empty_table()
    held = pa.concat_tables(kept) if kept else schema.empty_table()
    return Content(hashes, held, Receipt.of_sum(place, total))


def difference(new: Content, old: Content) -> Difference:
    """By key: what only the new side has, what both have and differs, and what only the old side has."""
    both = new.hashes.join(old.hashes, _KEY, join_type="full outer", right_suffix="_old")
    here, there = both["place"].is_valid(), both["place_old"].is_valid()
    unlike = pc.or_(pc.not_equal(both["row1"], both["row1_old"]), pc.not_equal(both["row2"], both["row2_old"]))
    fresh = both.filter(pc.and_(here, pc.invert(there)))["place"]
    changed = both.filter(pc.and_(pc.and_(here, there), pc.fill_null(unlike, False)))["place"]
    gone = both.filter(pc.and_(there, pc.invert(here)))["place_old"]
    return Difference(_mask(new, fresh), _mask(new, changed), old.keys.take(gone))


def _mask(content: Content, places: pa.ChunkedArray) -> Mask:
    mask = np.zeros(content.rows, bool)
    mask[places.to_numpy()] = True
    return mask


def picked(batches: Iterable[pa.RecordBatch], chosen: Mask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The chosen rows, in these columns."""
    place = 0
    for batch in batches:
        some = chosen[place : place + batch.num_rows]
        place += batch.num_rows
        if some.any():
            yield batch.select(list(columns)).filter(pa.array(some))
