"""Compute the SHA-256 of a row, version 1: the hash that snapshots keep and that users read.

This text is the whole specification. The hash is SHA-256 over: the SHA-256 of the columns' names, the fixed part of the
row, and its tail. Columns are taken in the order of their names, so a frame may bring them in any order.

Names. The names, each as its length in UTF-8 bytes (8 bytes), then those bytes; all numbers are little-endian.

Cells. The fixed part has 8 bytes for each cell (its word), then 1 byte for each cell (its tag).

    null                    tag 0, word 0, in a column of any type
    bool                    tag 1, 0 or 1
    whole numbers           tag 2, 64 bits in two's complement, whatever the width of the column;
                            also floats without a fraction below 2^63, except -0.0
    from 2^63 upwards       tag 3, 64 bits
    other floats            tag 4, the bits of an IEEE 754 double; one NaN
    decimals                tag 5, with a tail: the number * 10^38 as 32 bytes in two's complement, so 1.5 equals 1.50
    dates                   tag 6, days since 1970-01-01
    times                   tag 7, nanoseconds since midnight
    timestamps, no zone     tag 8, nanoseconds since 1970-01-01 modulo 2^64
    timestamps, any zone    tag 9, the same in UTC
    texts                   tag 10, with a tail: UTF-8
    binaries                tag 11, with a tail
    durations               tag 12, nanoseconds
    lists, structs, maps    tag 13, with a tail

The word of a cell with a tail is the length of the tail in bytes. The tail of the row has the tails of its cells, one
after the other. The lengths come first, so two different rows never give the same bytes: not ("12", "3") and
("1", "23"), not null and an empty text, not 1 and "1".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.hashing._row_bytes import Cells, cells_of

HASH_VERSION = 1
DIGEST = 32
# The fixed part of a block stays in the second-level cache.
BLOCK_BYTES = 1 << 20
LARGEST_BLOCK = 16_384

Digests = npt.NDArray[np.uint8]


def hash_rows(rows: pa.RecordBatch | pa.Table, columns: Sequence[str] | None = None) -> Digests:
    """Return the SHA-256 of every row over these columns, or over all columns, as (rows, 32)."""
    names = sorted(rows.schema.names if columns is None else columns)
    chosen, prefix = rows.select(names), _names_digest(names)
    digests = bytearray()
    for block in _blocks(chosen):
        digests += _hash_block([cells_of(column) for column in block.columns], block.num_rows, prefix)
    return np.frombuffer(bytes(digests), np.uint8).reshape(-1, DIGEST)


def as_binary(digests: Digests) -> pa.Array:
    """Return digests as binaries, for a column of 32 bytes."""
    offsets = np.arange(0, (len(digests) + 1) * DIGEST, DIGEST, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(digests))]
    return pa.Array.from_buffers(pa.binary(), len(digests), buffers)


def content_hash(total: npt.NDArray[np.uint64]) -> str:
    """Return the hash of many rows as text, from the sum of their digests. The order of the rows does not matter."""
    return hashlib.sha256(total.astype("<u8").tobytes()).hexdigest()


def sum_digests(digests: Digests) -> npt.NDArray[np.uint64]:
    """Return the sum of digests as four words, each modulo 2^64."""
    total: npt.NDArray[np.uint64] = (
        np.ascontiguousarray(digests).view("<u8").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
    )
    return total


def _names_digest(names: Sequence[str]) -> bytes:
    encoded = [name.encode() for name in names]
    return hashlib.sha256(b"".join(len(name).to_bytes(8, "little") + name for name in encoded)).digest()


def _blocks(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    size = max(256, min(LARGEST_BLOCK, BLOCK_BYTES // (9 * max(rows.num_columns, 1))))
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    yield from table.to_batches(max_chunksize=size)


def _hash_block(columns: Sequence[Cells], rows: int, prefix: bytes) -> bytes:
    count = len(columns)
    fixed = np.empty((rows, 9 * count), np.uint8)
    # The words of a block as columns, then turned into rows at once: numpy copies it by blocks of the cache.
    words = np.empty((rows, count), "<u8")
    for number, cells in enumerate(columns):
        words[:, number] = cells.words
        fixed[:, 8 * count + number] = cells.tags
    fixed[:, : 8 * count] = words.view(np.uint8).reshape(rows, 8 * count)
    start, view, width = hashlib.sha256(prefix), fixed.reshape(-1).data, 9 * count
    tails = _tails([cells.tail for cells in columns if cells.tail is not None])
    digests = []
    for row in range(rows):
        state = start.copy()
        state.update(view[row * width : (row + 1) * width])
        if tails is not None:
            state.update(tails[row])
        digests.append(state.digest())
    return b"".join(digests)


def _tails(tails: Sequence[pa.Array]) -> list[bytes] | None:
    if not tails:
        return None
    empty = pa.scalar(b"", pa.large_binary())
    joined = pc.binary_join_element_wise(*tails, empty, null_handling="replace", null_replacement="")
    found: list[bytes] = joined.to_pylist()
    return found
