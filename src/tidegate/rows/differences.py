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

from tidegate.model.receipt import Receipt
from tidegate.rows.hashing import Words, hash_rows, sum_of

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]

EXAMPLES = 3


@dataclass(frozen=True)
class Content:
    """The rows of one side, in the order in which they were read."""

    key: Words
    """The hash of each row's key."""
    row: Words
    """The hash of all of it."""
    keys: pa.Table
    """The values of the key columns, row by row."""
    receipt: Receipt

    @property
    def rows(self) -> int:
        return len(self.key)

    def without_key(self) -> list[str]:
        """Examples of rows with a null in their key; empty when there is none."""
        empty = np.zeros(self.rows, bool)
        for column in self.keys.columns:
            empty |= np.asarray(column.is_null())
        return self.named(np.flatnonzero(empty))

    def named(self, places: Places) -> list[str]:
        """The keys at some of these places, for people."""
        some = self.keys.take(pa.array(places[:EXAMPLES], pa.int64())).to_pylist()
        return [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in some]


@dataclass(frozen=True)
class Difference:
    """How one side becomes the other: rows of the new one by their place, and keys of the old one."""

    fresh: Mask
    changed: Mask
    gone: pa.Table
    besides: Receipt
    """Of what only the old side has."""
    twice: tuple[Places, Places]
    """Rows of each side whose key the side has more than once: what differs is not told then."""

    @property
    def counts(self) -> tuple[int, int, int]:
        return int(self.fresh.sum()), int(self.changed.sum()), int(self.gone.num_rows)


def content_of(batches: Iterable[pa.RecordBatch], schema: pa.Schema, keys: Sequence[str]) -> Content:
    """`schema` is that of the key columns, for a side without rows."""
    key, row, kept, total = [_NONE], [_NONE], [schema.empty_table()], 0
    for batch in batches:
        key.append(hash_rows(batch.select(list(keys))))
        row.append(hash_rows(batch))
        kept.append(pa.Table.from_batches([batch.select(list(keys))]))
        total += sum_of(row[-1])
    own = kept[1:] or kept
    all_keys = np.concatenate(key)
    return Content(all_keys, np.concatenate(row), pa.concat_tables(own), Receipt.of_sum(len(all_keys), total))


def difference(new: Content, old: Content) -> Difference:
    """By key: what only the new one has, what both have and differs, and what only the old one has."""
    order, same = neighbours(np.concatenate([new.key, old.key]))
    one, next_one = order[:-1][same], order[1:][same]
    begins, ends = one < new.rows, next_one < new.rows
    here, there = one[begins & ~ends], next_one[begins & ~ends] - new.rows
    fresh, changed, gone = np.ones(new.rows, bool), np.zeros(new.rows, bool), np.ones(old.rows, bool)
    fresh[here] = gone[there] = False
    changed[here] = (new.row[here] != old.row[there]).any(axis=1)
    left = old.row[gone]
    return Difference(
        fresh=fresh,
        changed=changed,
        gone=old.keys.take(pa.array(np.flatnonzero(gone))),
        besides=Receipt.of_sum(len(left), sum_of(left)),
        twice=(np.unique(one[ends]), np.unique(one[~begins] - new.rows)),
    )


_NONE: Words = np.zeros((0, 2), np.uint64)


def neighbours(hashes: Words) -> tuple[Places, Mask]:
    """The places of hashes in an order in which like ones stand side by side, the earlier first; and which of them, but
    for the last, are like the one after them. A hash may have any number of words."""
    order = np.argsort(hashes[:, 0], kind="stable")
    for again in (False, True):
        ordered = hashes[order]
        alike = ordered[1:] == ordered[:-1]
        same: Mask = alike.all(axis=1)
        if again or not (alike[:, 0] & ~same).any():
            break
        order = np.lexsort(hashes.T[::-1])  # a word is the same by chance
    return order, same


def first_places(hashes: Words) -> Places:
    """Of hashes that are there more than once the first, of all others their own."""
    order, same = neighbours(hashes)
    begins = np.ones(len(order), bool)
    begins[1:] = ~same
    return np.sort(order[begins])


def picked(batches: Iterable[pa.RecordBatch], chosen: Mask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The chosen rows, in these columns."""
    place = 0
    for batch in batches:
        some = chosen[place : place + batch.num_rows]
        place += batch.num_rows
        if some.any():
            yield batch.select(list(columns)).filter(pa.array(some))
