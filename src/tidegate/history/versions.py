"""Read the versions of entities as hashes, so that two sides of a history can be compared.

* A version is identified by its version key: the business key and the cursor, or a key of its own.
* Rows with the same version key are the same version if their content is equal. Flag, end and ignored columns are not
  part of the content.
* The state of a version is its content without the columns that only contain a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.hashing.differences import EXAMPLES, Mask, Positions, first_positions
from tidegate.hashing.rows import hash_rows, sum_hashes
from tidegate.history.columns import Scd2Columns
from tidegate.history.cursors import sort_values
from tidegate.model.receipt import Receipt

# The names of the columns of `Versions.hashes`: a hash has two words.
KEY = ["key1", "key2"]
VERSION_KEY = ["version_key1", "version_key2"]
CONTENT = ["content1", "content2"]
STATE = ["state1", "state2"]
IGNORED = ["ignored1", "ignored2"]
HASH_COLUMNS = [*KEY, *VERSION_KEY, *CONTENT, *STATE, *IGNORED]


@dataclass(frozen=True)
class Versions:
    """The versions of one side as hashes, in the order in which the rows were read."""

    hashes: pa.Table
    """For each row two words of each hash: key, version key, content, state, ignored columns without flag and end."""
    key_values: pa.Table
    """The values of the key, version key, cursor and end columns, row by row."""
    cursor_values: pa.Array
    sort_values: pa.Array
    """Values that sort as the cursors do: the cursor values themselves, or sortable texts where they are texts."""
    is_current: Mask
    """Rows whose flag marks them as current."""
    is_tombstone: Mask
    ends: pa.Array | None = None
    """Where each version ends; null while it is open. None when the table has no end column."""

    @property
    def rows(self) -> int:
        return int(self.hashes.num_rows)

    @property
    def receipt(self) -> Receipt:
        """Return the receipt of the content: ignored columns do not count."""
        return Receipt.of_sum(self.rows, sum_hashes(self.words(CONTENT)))

    def words(self, names: Sequence[str]) -> npt.NDArray[np.uint64]:
        """Return these columns of `hashes`, such as `KEY`, as an array of (rows, words)."""
        return np.stack([self.column(name) for name in names], axis=1)

    def column(self, name: str) -> npt.NDArray[np.uint64]:
        """Return one column of `hashes`, such as `key1`."""
        words: npt.NDArray[np.uint64] = self.hashes[name].to_numpy()
        return words

    def may_be_current(self, *, recompute_flags: bool) -> Mask:
        """Return the rows that are current if they are the newest of their key.

        These are the rows that are marked as current or, with `recompute_flags`, all rows without an end. A tombstone
        is never current."""
        if not recompute_flags:
            return self.is_current & ~self.is_tombstone
        return ~self.is_tombstone if self.ends is None else ~self.is_tombstone & np.asarray(self.ends.is_null())

    def filter(self, selected: Mask) -> Versions:
        """Return the selected rows."""
        mask = pa.array(selected)
        return Versions(
            hashes=self.hashes.filter(mask),
            key_values=self.key_values.filter(mask),
            cursor_values=self.cursor_values.filter(mask),
            sort_values=self.sort_values.filter(mask),
            is_current=self.is_current[selected],
            is_tombstone=self.is_tombstone[selected],
            ends=None if self.ends is None else self.ends.filter(mask),
        )

    def null_examples(self, columns: Sequence[str]) -> list[str]:
        """Return examples of rows with a null in one of these columns; empty when there is none."""
        has_null = np.zeros(self.rows, bool)
        for name in columns:
            has_null |= np.asarray(self.key_values[name].is_null())
        return self.examples(np.flatnonzero(has_null))

    def describe(self, positions: Positions, columns: Sequence[str] | None = None) -> str:
        """Return the first few of these versions as text for messages: all of `key_values`, or these columns."""
        more = "; ..." if len(positions) > EXAMPLES else ""
        return "; ".join(self.examples(positions, columns)) + more

    def examples(self, positions: Positions, columns: Sequence[str] | None = None) -> list[str]:
        """Return the first few of these versions as text: all of `key_values`, or these columns."""
        values = self.key_values if columns is None else self.key_values.select(list(columns))
        examples = values.take(pa.array(positions[:EXAMPLES], pa.int64())).to_pylist()
        return [", ".join("NULL" if value is None else str(value) for value in row.values()) for row in examples]


def hash_versions(batches: Iterable[pa.RecordBatch], schema: pa.Schema, columns: Scd2Columns) -> Versions:
    """Read all rows of a side as hashes. `schema` is the schema of all columns, for a side without rows."""
    content = [name for name in schema.names if name not in columns.ignored]
    state = [name for name in content if name not in columns.time_columns] or list(columns.keys)
    ignored = [name for name in columns.ignored if name not in (columns.flag, columns.end)] or list(columns.keys)
    hashed = [tuple(names) for names in (columns.keys, columns.version_key, content, state, ignored)]
    kept = kept_columns(columns)
    hash_tables, kept_tables, current_flags, tombstones = [], [], [], []
    for batch in batches:
        # Often some of these are the same columns: without time columns, the state is all of the content.
        hashes = {names: hash_rows(batch.select(names)) for names in set(hashed)}
        words = [pa.array(hashes[names][:, word]) for names in hashed for word in (0, 1)]
        hash_tables.append(pa.table(words, names=HASH_COLUMNS))
        kept_tables.append(pa.Table.from_batches([batch.select(kept)]))
        current_flags.append(columns.current_flags(batch))
        tombstones.append(columns.tombstones(batch))
    no_hashes = pa.schema([(name, pa.uint64()) for name in HASH_COLUMNS]).empty_table()
    no_values = pa.schema([schema.field(name) for name in kept]).empty_table()
    key_values = pa.concat_tables(kept_tables) if kept_tables else no_values
    cursor_values = key_values[columns.cursor].combine_chunks()
    return Versions(
        hashes=pa.concat_tables(hash_tables) if hash_tables else no_hashes,
        key_values=key_values,
        cursor_values=cursor_values,
        sort_values=sort_values(cursor_values, columns.cursor_kind),
        is_current=np.concatenate(current_flags) if current_flags else np.zeros(0, bool),
        is_tombstone=np.concatenate(tombstones) if tombstones else np.zeros(0, bool),
        ends=key_values[columns.end].combine_chunks() if columns.end else None,
    )


def kept_columns(columns: Scd2Columns) -> list[str]:
    """Return the columns whose values are kept beside the hashes."""
    end = (columns.end,) if columns.end else ()
    return list(dict.fromkeys((*columns.keys, *columns.version_key, columns.cursor, *end)))


# Tables of hashes, for joins


def table_with_positions(versions: Versions, names: Sequence[str], positions: Positions) -> pa.Table:
    """Return these columns of the hashes of some rows, with the row's position in the column `position`."""
    selected = versions.hashes.select(list(names)).take(pa.array(positions))
    return selected.append_column("position", pa.array(positions))


def distinct_versions(versions: Versions) -> Positions:
    """Return the position of one row per distinct version. Of repeated rows with different flags, a current one."""
    current_first = np.argsort(~versions.is_current, kind="stable")
    first = first_positions(versions.words([*CONTENT, *VERSION_KEY])[current_first])
    return np.sort(current_first[first])


def equals_previous(table: pa.Table, names: Sequence[str]) -> Mask:
    """Return which rows have the same values in these columns as the row before them."""
    equal = np.zeros(table.num_rows, bool)
    equal[1:] = _equal_neighbours(table, names)
    return equal


def equals_next(table: pa.Table, names: Sequence[str]) -> Mask:
    """Return which rows have the same values in these columns as the row after them."""
    equal = np.zeros(table.num_rows, bool)
    equal[:-1] = _equal_neighbours(table, names)
    return equal


def _equal_neighbours(table: pa.Table, names: Sequence[str]) -> Mask:
    words = np.stack([table[name].to_numpy() for name in names], axis=1)
    equal: Mask = (words[1:] == words[:-1]).all(axis=1)
    return equal
