"""Find the rows of a lake entry that differ from the target, in buckets of the key's hash.

Both sides are read once, at the same time, as hashes. They wait in a temporary file, and one bucket at a time is
compared. What is kept of all rows is two bits of knowledge per row of the entry: is it inserted, is it changed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.buckets.assign import buckets_for, in_buckets
from tidegate.buckets.exchange import Block, Channels, Exchange
from tidegate.buckets.spill import Spill
from tidegate.interfaces.load import Batches
from tidegate.interfaces.worker import Progress, SessionCache, Worker
from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Content, Mask
    from tidegate.hashing.rows import Words

_NEW, _OLD, _REMOVED = 0, 1, 2
_KEY, _ROW, _POSITION = ("key1", "key2"), ("row1", "row2"), "position"
_EXAMPLES = 3


@dataclass
class RowDifference:
    """The changes that turn the target into the lake entry."""

    inserted: Mask
    """Rows of the entry whose key the target does not have."""
    changed: Mask
    """Rows of the entry whose key both have, with other values."""
    removed: Spill
    """Keys that only the target has."""
    new: Receipt = Receipt.EMPTY
    """The receipt of the entry's rows."""
    old: Receipt = Receipt.EMPTY
    """The receipt of the target's rows before the load."""
    coming_receipt: Receipt = Receipt.EMPTY
    """The receipt of the entry's rows that are inserted or changed."""
    removed_receipt: Receipt = Receipt.EMPTY
    """The receipt of the target's rows that the entry does not have."""
    without_key: list[list[str]] = field(default_factory=lambda: [[], []])
    """Examples of rows with a null in their key, of the entry and of the target."""
    duplicates: list[list[str]] = field(default_factory=lambda: [[], []])
    """Examples of keys that occur twice, likewise. With any, the rest is undefined."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return how many rows are inserted, changed and removed."""
        return int(self.inserted.sum()), int(self.changed.sum()), self.removed_receipt.rows

    def removed_keys(self) -> Iterator[pa.RecordBatch]:
        return self.removed.blocks(_REMOVED)


def difference_of(
    new: Batches, old: Batches, schema: pa.Schema, keys: Sequence[str], rows: int, most_rows: int
) -> RowDifference:
    """Return how `new`, which has `rows` rows, differs from `old`. `schema` is that of the key columns."""
    import numpy as np

    removed = Spill()
    found = RowDifference(np.zeros(rows, bool), np.zeros(rows, bool), removed)
    exchange = _Comparison(new, old, schema, tuple(keys), buckets_for(most_rows), found)
    try:
        with closing(SessionCache()) as sessions:
            exchange.run(Worker("load", Progress(), sessions))
    except BaseException:
        removed.close()
        raise
    return found


@dataclass(frozen=True)
class _Side:
    """Reads one side as hashes, with the values of the key and, of the entry, the position of each row."""

    channel: int
    batches: Batches
    keys: tuple[str, ...]

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, Receipt]:
        counted = _Counted()
        for bucket, block in in_buckets(counted.hashed(self.batches(), self.keys), buckets):
            yield bucket, self.channel, block
        return Receipt.of_sum(counted.rows, counted.total)


@dataclass
class _Counted:
    """Rows that pass by: how many, and what their hashes add up to."""

    rows: int = 0
    total: int = 0

    def hashed(self, batches: Iterable[pa.RecordBatch], keys: tuple[str, ...]) -> Iterator[tuple[pa.Table, Words]]:
        import numpy as np
        import pyarrow as pa

        from tidegate.hashing.rows import hash_rows, sum_hashes

        for batch in batches:
            named = batch.select(list(keys))
            key_hashes, row_hashes = hash_rows(named), hash_rows(batch)
            words = {
                name: pa.array(hashes[:, word])
                for names, hashes in ((_KEY, key_hashes), (_ROW, row_hashes))
                for word, name in enumerate(names)
            }
            positions = pa.array(np.arange(self.rows, self.rows + batch.num_rows))
            self.rows, self.total = self.rows + batch.num_rows, self.total + sum_hashes(row_hashes)
            # Keys get names of their own: a column of the table may be called `position`.
            values = {f"value {number}": column for number, column in enumerate(named.columns)}
            yield pa.table({**words, _POSITION: positions, **values}), key_hashes


@dataclass(frozen=True)
class _Comparison(Exchange):
    """Compares both sides inside of this process, and writes down what it finds."""

    new: Batches
    old: Batches
    schema: pa.Schema
    keys: tuple[str, ...]
    buckets: int
    found: RowDifference

    @property
    def readers(self) -> list[_Side]:
        return [_Side(_NEW, self.new, self.keys), _Side(_OLD, self.old, self.keys)]

    def compare(self, rows: Channels) -> None:
        from tidegate.hashing.differences import compare_content

        found = self.found
        (new, positions), (old, _) = (self._content(rows.get(channel, ())) for channel in (_NEW, _OLD))
        difference = compare_content(new, old)
        for side, (content, twice) in enumerate(zip((new, old), difference.duplicates, strict=True)):
            _add_examples(found.without_key[side], content.null_key_examples())
            _add_examples(found.duplicates[side], content.key_examples(twice))
        if difference.duplicates[0].size or difference.duplicates[1].size:
            return
        found.inserted[positions[difference.inserted]] = True
        found.changed[positions[difference.changed]] = True
        found.coming_receipt += _receipt(new, difference.inserted | difference.changed)
        found.removed_receipt += difference.removed_receipt
        for batch in difference.removed.to_batches():
            found.removed.add(0, _REMOVED, batch)

    def _content(self, blocks: Sequence[pa.RecordBatch]) -> tuple[Content, Words]:
        import numpy as np
        import pyarrow as pa

        from tidegate.hashing.differences import Content
        from tidegate.hashing.rows import sum_hashes

        if not blocks:
            none: Words = np.zeros((0, 2), np.uint64)
            return Content(none, none, self.schema.empty_table(), Receipt.EMPTY), np.zeros(0, np.int64)
        table = pa.Table.from_batches(blocks)
        keys, rows = (np.stack([table[name].to_numpy() for name in names], axis=1) for names in (_KEY, _ROW))
        values = table.select(table.column_names[5:]).rename_columns(list(self.keys))
        return Content(keys, rows, values, Receipt.of_sum(len(rows), sum_hashes(rows))), table[_POSITION].to_numpy()

    def combine(self, notes: Sequence[Receipt], compared: Sequence[None]) -> None:
        self.found.new, self.found.old = notes


def _receipt(content: Content, selected: Mask) -> Receipt:
    from tidegate.hashing.rows import sum_hashes

    hashes = content.row_hashes[selected]
    return Receipt.of_sum(len(hashes), sum_hashes(hashes))


def _add_examples(known: list[str], found: Sequence[str]) -> None:
    known.extend(found[: _EXAMPLES - len(known)])


def kept_rows(batches: Batches, selected: Mask, names: Sequence[str], kept: Spill) -> Batches:
    """Keep the selected rows in a file, so that the whole entry is not read each time they are needed."""
    from tidegate.hashing.differences import select_rows

    for batch in select_rows(batches(), selected, names):
        kept.add(0, _NEW, batch)
    return lambda: kept.blocks(_NEW)
