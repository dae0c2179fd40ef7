"""Assign rows to buckets by the hash of their key, so that equal keys of all sides meet in one bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.differences import Positions
    from tidegate.hashing.rows import Words

ROWS_PER_BUCKET = 250_000
"""How many rows of one side meet in a bucket. Their hashes and the tables to compare them take about 100 MB."""

VERSIONS_PER_BUCKET = 100_000
"""How many versions of one side meet in a bucket. Each has more hashes than a row, and more joins to go through."""

MOST_BUCKETS = 1_000
UNKNOWN_BUCKETS = 16
"""How many buckets there are where nobody counted the rows."""

_ENOUGH_ROWS = 256_000
_ENOUGH_BYTES = 32 * 2**20


def buckets_for(rows: int | None, *, versions: bool = False) -> int:
    """Return how many buckets the rows of one side are divided into; one for a table that fits into one task."""
    if rows is None:
        return UNKNOWN_BUCKETS
    each = VERSIONS_PER_BUCKET if versions else ROWS_PER_BUCKET
    return min(MOST_BUCKETS, max(1, -(-rows // each)))


def in_buckets(rows: Iterable[tuple[pa.Table, Words]], buckets: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows bucket by bucket, each with its bucket. The hash that comes with a row decides.

    Rows are gathered first, so that the blocks of many buckets do not become tiny."""
    import numpy as np

    waiting: list[tuple[pa.Table, Positions]] = []
    count = size = 0
    for table, hashes in rows:
        # The upper word divides versions into transactions: rows of one transaction still fill every bucket.
        waiting.append((table, (hashes[:, 1] % np.uint64(buckets)).astype(np.int64)))
        count, size = count + table.num_rows, size + table.nbytes
        if count >= _ENOUGH_ROWS or size >= _ENOUGH_BYTES:
            yield from _divided(waiting)
            waiting, count, size = [], 0, 0
    yield from _divided(waiting)


def _divided(waiting: list[tuple[pa.Table, Positions]]) -> Iterator[tuple[int, pa.RecordBatch]]:
    import numpy as np
    import pyarrow as pa

    if not waiting:
        return
    numbers = np.concatenate([numbers for _, numbers in waiting])
    table = pa.concat_tables([table for table, _ in waiting])
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = [*np.flatnonzero(is_first).tolist(), len(ordered)]
    if len(starts) > 2:
        table = table.take(pa.array(order))
    for start, end in pairwise(starts):
        part = table.slice(start, end - start).combine_chunks()
        for batch in part.to_batches():
            yield int(ordered[start]), batch
