"""Compare the rows of a source with the last snapshot of them, by the hash of each row and of its key.

Both sides go into buckets by the hash of the key, so that a bucket at a time fits into memory. A bucket that has no
room there lies in a temporary file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.spill import Spill
from tidegate.errors import ValueProblem
from tidegate.interfaces.lake import KEYS, Lake, LakeTable
from tidegate.interfaces.requests import BatchSize
from tidegate.model.columns import Column
from tidegate.model.feeds import DELETE, INSERT, UPDATE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from tidegate.hashing.differences import Positions
    from tidegate.hashing.rows import Words

_SOURCE, _SNAPSHOT = 0, 1
_KEY, _ROW = ("tidegate_key1", "tidegate_key2"), ("tidegate_row1", "tidegate_row2")
_NUMBER, CODE = "tidegate_number", "tidegate_operation"
_EXAMPLES = 3


@dataclass(frozen=True)
class LastSnapshot:
    """The rows of a table as its windows in the lake have them: the newest window that has a key tells its row."""

    lake: Lake
    table: LakeTable
    entries: tuple[str, ...]
    """The ids of the windows, oldest first. The first one has all rows, the others those that changed."""

    def rows(self, names: Sequence[str], keys: Sequence[str], batch: BatchSize) -> Iterator[tuple[pa.Table, Words]]:
        """Yield key, hash and number of each row. Of several with one key, the greatest number counts."""
        for place, entry in enumerate(self.entries):
            if place:
                # A key that changed is gone, unless a row of the same window has it.
                for changed in self.lake.read(self.table, entry, batch, role=KEYS):
                    yield _hashed(changed, None, keys, 2 * place)
            for rows in self.lake.read(self.table, entry, batch):
                yield _hashed(rows, names, keys, 2 * place + 1)


@dataclass(frozen=True)
class Comparison:
    """One comparison of a source with its last snapshot."""

    table: str
    """The table's name, for messages."""
    names: tuple[str, ...]
    """The columns that tell a change, in their order."""
    keys: tuple[Column, ...]
    batch: BatchSize
    buckets: int

    @property
    def key_names(self) -> list[str]:
        return [column.name for column in self.keys]

    def changes(self, source: Iterable[pa.RecordBatch], last: LastSnapshot) -> Iterator[pa.Table]:
        """Yield the keys that are new, changed and gone, with what happened to each as the column `CODE`."""
        keys = self.key_names
        with Spill(in_memory=self.buckets == 1) as spill:
            for bucket, block in in_buckets((_hashed(rows, self.names, keys, 0) for rows in source), self.buckets):
                spill.add(bucket, _SOURCE, block)
            for bucket, block in in_buckets(last.rows(self.names, keys, self.batch), self.buckets):
                spill.add(bucket, _SNAPSHOT, block)
            for bucket in spill.buckets():
                sides = spill.channels(bucket)
                yield from self._of_bucket(sides.get(_SOURCE, []), sides.get(_SNAPSHOT, []))

    def _of_bucket(self, source: list[pa.RecordBatch], snapshot: list[pa.RecordBatch]) -> Iterator[pa.Table]:
        import numpy as np

        now, before = _Side.of(source), _Side.of(snapshot).newest()
        self._refuse_duplicates(now)
        place = before.find(now)
        known = place >= 0
        is_same = np.zeros(len(place), bool)
        is_same[known] = (now.rows[known] == before.rows[place[known]]).all(axis=1)
        is_gone = np.ones(len(before.keys), bool)
        is_gone[place[known]] = False
        for side, chosen, code in ((now, ~known, INSERT), (now, known & ~is_same, UPDATE), (before, is_gone, DELETE)):
            if chosen.any():
                yield side.taken(chosen, self.key_names, code)

    def _refuse_duplicates(self, side: _Side) -> None:
        several = side.repeated()
        if not several:
            return
        rows = side.table.take(several[:_EXAMPLES]).select(self.key_names).to_pylist()
        examples = "; ".join(", ".join(map(str, row.values())) for row in rows)
        raise ValueProblem(
            f"{self.table}: several rows have the key {examples} ({', '.join(self.key_names)}).",
            "Nothing was published; the target keeps what it had.",
            "Name columns as `keys` that tell every row from all others.",
        )


@dataclass(frozen=True)
class _Side:
    """The rows of one side in one bucket: their keys, and the hashes of key and row. Sorted by the hash of the key."""

    table: pa.Table
    keys: Words
    rows: Words

    @classmethod
    def of(cls, blocks: Sequence[pa.RecordBatch]) -> _Side:
        import numpy as np
        import pyarrow as pa

        if not blocks:
            nothing = np.empty((0, 2), np.uint64)
            return cls(pa.table({}), nothing, nothing)
        table = pa.Table.from_batches(blocks)
        keys, rows = (np.stack([table[name].to_numpy() for name in names], axis=1) for names in (_KEY, _ROW))
        order = np.lexsort((table[_NUMBER].to_numpy(), keys[:, 1], keys[:, 0]))
        return cls(table.take(pa.array(order)), keys[order], rows[order])

    def newest(self) -> _Side:
        """Return the row of each key that has the greatest number, without keys that are gone."""
        import numpy as np
        import pyarrow as pa

        if not len(self.keys):
            return self
        is_last = np.ones(len(self.keys), bool)
        is_last[:-1] = (self.keys[1:] != self.keys[:-1]).any(axis=1)
        is_last &= self.table[_NUMBER].to_numpy() % 2 == 1
        return _Side(self.table.filter(pa.array(is_last)), self.keys[is_last], self.rows[is_last])

    def repeated(self) -> list[int]:
        """Return the places of rows whose key the row before them has."""
        import numpy as np

        found: list[int] = (np.flatnonzero((self.keys[1:] == self.keys[:-1]).all(axis=1)) + 1).tolist()
        return found

    def find(self, other: _Side) -> Positions:
        """Return where the keys of another side are in this one, and -1 where they are not. No side repeats a key."""
        import numpy as np

        mine = len(self.keys)
        keys = np.concatenate([self.keys, other.keys])
        order = np.lexsort((np.arange(len(keys)), keys[:, 1], keys[:, 0]))
        in_order = keys[order]
        is_pair = np.flatnonzero((in_order[1:] == in_order[:-1]).all(axis=1))
        place = np.full(len(other.keys), -1)
        place[order[is_pair + 1] - mine] = order[is_pair]
        return place

    def taken(self, chosen: npt.NDArray[np.bool_], names: Sequence[str], code: int) -> pa.Table:
        import pyarrow as pa

        table = self.table.filter(pa.array(chosen)).select(list(names))
        return table.append_column(CODE, pa.repeat(pa.scalar(code, pa.int16()), table.num_rows))


def _hashed(
    rows: pa.RecordBatch, names: Sequence[str] | None, keys: Sequence[str], number: int
) -> tuple[pa.Table, Words]:
    """Return the keys of rows with the hashes of key and row. Without names, the hash of the row is nothing."""
    import numpy as np
    import pyarrow as pa

    from tidegate.hashing.rows import hash_rows

    key_rows = rows.select(list(keys))
    of_key = hash_rows(key_rows)
    of_row = np.zeros_like(of_key) if names is None else hash_rows(rows.select(list(names)))
    table = pa.Table.from_batches([key_rows])
    for column_names, hashes in ((_KEY, of_key), (_ROW, of_row)):
        for place, name in enumerate(column_names):
            table = table.append_column(name, pa.array(hashes[:, place]))
    return table.append_column(_NUMBER, pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows)), of_key
