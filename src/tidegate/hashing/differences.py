"""Find the rows that differ between two sides, by key.

Rows are compared by hash alone, so no collation of a database matters and rows need no memory. A side is read once, as
two hashes per row: the hash of its key and the hash of all its columns. The rows that must be written are then selected
in a second read of the lake's file, by their position in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.hashing.rows import Words, hash_rows, sum_hashes
from tidegate.model.names import key_example
from tidegate.model.receipt import Receipt

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]
"""Row numbers, counted from 0 in the order in which the rows were read."""

EXAMPLES = 3
"""How many keys a message shows at most."""

_NO_HASHES: Words = np.zeros((0, 2), np.uint64)


@dataclass(frozen=True)
class Content:
    """The rows of one side as hashes, in the order in which they were read."""

    key_hashes: Words
    row_hashes: Words
    """The hash of all columns of each row."""
    key_values: pa.Table
    """The values of the key columns, row by row."""
    receipt: Receipt

    @property
    def rows(self) -> int:
        return len(self.key_hashes)

    def null_key_examples(self) -> list[str]:
        """Return examples of rows with a null in their key; empty when there is none."""
        has_null = np.zeros(self.rows, bool)
        for column in self.key_values.columns:
            has_null |= np.asarray(column.is_null())
        return self.key_examples(np.flatnonzero(has_null))

    def key_examples(self, positions: Positions) -> list[str]:
        """Return the keys of the first few of these rows, for messages."""
        examples = self.key_values.take(pa.array(positions[:EXAMPLES], pa.int64())).to_pylist()
        return [key_example(row) for row in examples]


@dataclass(frozen=True)
class Difference:
    """The changes that turn the old side into the new one."""

    inserted: Mask
    """Rows of the new side whose key the old side does not have."""
    changed: Mask
    """Rows of the new side whose key both sides have, with other values."""
    removed: pa.Table
    """Keys that only the old side has."""
    removed_receipt: Receipt
    """The receipt of the rows that only the old side has."""
    duplicates: tuple[Positions, Positions]
    """Rows of the new and of the old side whose key occurs again in the same side. With any, the rest is undefined."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return how many rows are inserted, changed and removed."""
        return int(self.inserted.sum()), int(self.changed.sum()), int(self.removed.num_rows)


def hash_content(batches: Iterable[pa.RecordBatch], schema: pa.Schema, keys: Sequence[str]) -> Content:
    """Read all rows of a side as hashes. `schema` is the schema of the key columns, for a side without rows."""
    key_hashes, row_hashes, key_values, total = [_NO_HASHES], [_NO_HASHES], [], 0
    for batch in batches:
        key_hashes.append(hash_rows(batch.select(list(keys))))
        row_hashes.append(hash_rows(batch))
        key_values.append(pa.Table.from_batches([batch.select(list(keys))]))
        total += sum_hashes(row_hashes[-1])
    all_key_values = pa.concat_tables(key_values or [schema.empty_table()])
    all_keys = np.concatenate(key_hashes)
    receipt = Receipt.of_sum(len(all_keys), total)
    return Content(all_keys, np.concatenate(row_hashes), all_key_values, receipt)


def compare_content(new: Content, old: Content) -> Difference:
    """Compare two sides by key: keys only in the new one, keys in both with other values, keys only in the old one."""
    order, equals_next = sort_equal_together(np.concatenate([new.key_hashes, old.key_hashes]))
    first, second = order[:-1][equals_next], order[1:][equals_next]
    first_is_new, second_is_new = first < new.rows, second < new.rows
    is_pair = first_is_new & ~second_is_new
    new_positions, old_positions = first[is_pair], second[is_pair] - new.rows
    inserted, changed, is_removed = np.ones(new.rows, bool), np.zeros(new.rows, bool), np.ones(old.rows, bool)
    inserted[new_positions] = is_removed[old_positions] = False
    changed[new_positions] = (new.row_hashes[new_positions] != old.row_hashes[old_positions]).any(axis=1)
    removed_hashes = old.row_hashes[is_removed]
    return Difference(
        inserted=inserted,
        changed=changed,
        removed=old.key_values.take(pa.array(np.flatnonzero(is_removed))),
        removed_receipt=Receipt.of_sum(len(removed_hashes), sum_hashes(removed_hashes)),
        duplicates=(np.unique(first[second_is_new]), np.unique(first[~first_is_new] - new.rows)),
    )


def sort_equal_together(hashes: Words) -> tuple[Positions, Mask]:
    """Return an order in which equal hashes are neighbours, and which of them equal the next one in that order.

    Equal hashes keep the order of their positions. The mask has no entry for the last hash. A hash may have any number
    of words."""
    order = np.argsort(hashes[:, 0], kind="stable")
    for is_second_try in (False, True):
        ordered = hashes[order]
        equal_words = ordered[1:] == ordered[:-1]
        equals_next: Mask = equal_words.all(axis=1)
        if is_second_try or not (equal_words[:, 0] & ~equals_next).any():
            break
        order = np.lexsort(hashes.T[::-1])  # two different hashes have the same first word by chance
    return order, equals_next


def first_positions(hashes: Words) -> Positions:
    """Return the position of the first occurrence of every distinct hash, ascending."""
    order, equals_next = sort_equal_together(hashes)
    is_first = np.ones(len(order), bool)
    is_first[1:] = ~equals_next
    return np.sort(order[is_first])


def select_rows(batches: Iterable[pa.RecordBatch], selected: Mask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the selected rows, in these columns. `selected` covers the rows of all batches."""
    start = 0
    for batch in batches:
        mask = selected[start : start + batch.num_rows]
        start += batch.num_rows
        if mask.any():
            yield batch.select(list(columns)).filter(pa.array(mask))
