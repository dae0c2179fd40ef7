"""The timelines of keys: which versions follow from rows with a cursor value, and from versions that are there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing.differences import Mask
from tidegate.hashing.rows import hash_rows

READ = "tidegate read"
"""Tells rows that were read now (1) from versions that are there (0). Holds a blank, so that it meets no column."""


@dataclass(frozen=True)
class Timeline:
    """The columns of versions by their role."""

    keys: tuple[str, ...]
    content: tuple[str, ...]
    """The columns in which a change makes a version: not the cursor, which tells when."""
    cursor: str
    start: str
    end: str
    flag: str

    def as_versions(self, rows: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
        """Return rows of the source as open versions that start at their cursor value."""
        starts = rows.column(self.cursor).cast(schema.field(self.start).type)
        ends, flags = pa.nulls(rows.num_rows, schema.field(self.end).type), pa.repeat(True, rows.num_rows)
        columns = [*(rows.column(name) for name in schema.names[:-3]), starts, ends, flags]
        return _marked(pa.Table.from_arrays(columns, schema=schema), 1)

    def there(self, rows: pa.RecordBatch, gone: Mask, moment: pa.Scalar | None) -> pa.Table:
        """Return versions of the table. Those of keys that are gone end now, where they are open."""
        table = pa.Table.from_batches([rows])
        if gone.any() and moment is not None:
            ends, starts = table[self.end], table[self.start]
            closing = pc.max_element_wise(pc.cast(moment, ends.type), starts)
            ends = pc.if_else(pc.and_(pa.array(gone), pc.is_null(ends)), closing, ends)
            table = table.set_column(table.schema.get_field_index(self.end), table.schema.field(self.end), ends)
        return _marked(table, 0)

    def resolved(self, rows: pa.Table) -> pa.Table:
        """Return the versions of some keys, given all rows of these keys: what was read now wins over what is there."""
        rows = self._in_order(rows)
        rows = rows.filter(pa.array(~self._repeats_start(rows)))
        follows = self._follows(rows)
        first = np.flatnonzero(~follows)
        last = np.append(first[1:], len(follows)) - 1
        versions, closed = rows.take(pa.array(first)), rows[self.end].take(pa.array(last))
        ends = pc.min_element_wise(closed, self._next_starts(versions), skip_nulls=True)
        for name, values in ((self.end, ends), (self.flag, pc.is_null(ends))):
            place = versions.schema.get_field_index(name)
            versions = versions.set_column(place, versions.schema.field(name), values)
        return versions.drop_columns([READ])

    def _in_order(self, rows: pa.Table) -> pa.Table:
        keys = hash_rows(rows.select(list(self.keys)))
        by = {"key1": keys[:, 0], "key2": keys[:, 1], "start": rows[self.start], "read": rows[READ]}
        order = pc.sort_indices(
            pa.table({**by, "place": np.arange(rows.num_rows)}),
            sort_keys=[(name, "ascending") for name in (*by, "place")],
        )
        return rows.take(order).combine_chunks()

    def _repeats_start(self, rows: pa.Table) -> Mask:
        """Return which rows have another one of the same key and start behind them, which was read later."""
        repeats = np.zeros(rows.num_rows, bool)
        starts = rows[self.start]
        same = np.asarray(pc.equal(starts.slice(1), starts.slice(0, max(rows.num_rows - 1, 0))))
        repeats[:-1] = _equal_to_previous(hash_rows(rows.select(list(self.keys))))[1:] & same
        return repeats

    def _follows(self, rows: pa.Table) -> Mask:
        """Return which rows say what the one before them says already, without a gap between the two."""
        same = _equal_to_previous(hash_rows(rows.select([*self.keys, *self.content])))
        ends, starts = rows[self.end].slice(0, max(rows.num_rows - 1, 0)), rows[self.start].slice(1)
        gap = np.asarray(pc.fill_null(pc.less(ends, starts), False))
        same[1:] &= ~gap
        return same

    def _next_starts(self, versions: pa.Table) -> pa.ChunkedArray:
        same = _equal_to_previous(hash_rows(versions.select(list(self.keys))))
        after = np.arange(1, versions.num_rows + 1)
        is_followed = np.append(same[1:], False) if len(same) else same
        return versions[self.start].take(pa.array(after, mask=~is_followed))


def _marked(table: pa.Table, read: int) -> pa.Table:
    return table.append_column(READ, pa.repeat(pa.scalar(read, pa.int8()), table.num_rows))


def _equal_to_previous(hashes: np.ndarray) -> Mask:
    equal = np.zeros(len(hashes), bool)
    equal[1:] = (hashes[1:] == hashes[:-1]).all(axis=1)
    return equal
