"""Compute the hash of a row, version 1, and the receipts that are summed from it.

The hash detects accidents (a lost row, a truncated text, a shifted clock), not forgeries: it has no secret key. This
text is the whole specification, so that the hash can be implemented in another language. Words are unsigned, 64 bits
wide and wrap around; `^` is exclusive or, `>>` shifts zeros in; bytes become words in little-endian order. A pair is
two words, lane 0 and lane 1.

Mixing. Each lane has a permutation of words: x ^= x >> a; x *= m; x ^= x >> b; x *= n; x ^= x >> c

    lane 0    a 33   m ff51afd7ed558ccd   b 33   n c4ceb9fe1a85ec53   c 33   (the finaliser of MurmurHash3)
    lane 1    a 30   m bf58476d1ce4e5b9   b 27   n 94d049bb133111eb   c 31   (splitmix64)

A state is a pair. It absorbs another pair lane by lane: state = permutation(state ^ pair).

Names. K(name) is the pair of words in the 16-byte BLAKE2b digest of the ASCII text `tidegate/1/<name>`.
A pair tagged with a name is pair ^ K(name); one word x tagged with a name is (x, x) ^ K(name). The two lanes of
K(name) differ by a different amount for every name. So an int never has the pair of a date or of a null.

Values. The pair of a value depends on its meaning, not on how Arrow stores it.

    null                   K(null), in a column of any type
    integers               in 64-bit two's complement, tagged `int`; from 2^63 upwards tagged `uint`
    bool                   0 or 1, tagged `bool`
    floats                 the bits of the number as an IEEE 754 double, tagged `float`.
                           Every NaN is 7ff8000000000000; 0.0 and -0.0 are two values
    dates                  days since 1970-01-01, tagged `date`
    times                  nanoseconds since midnight, tagged `time`
    timestamps, no zone    nanoseconds since 1970-01-01 modulo 2^64, tagged `timestamp`;
                           in microseconds, two with the same pair are 73,000 years apart
    timestamps, any zone   the same in UTC, tagged `instant`
    decimals u / 10^s      (u * 10^-s mod 2^59-1, u * 10^-s mod 2^58-1), tagged `decimal`. 10^-s is the
                           modular inverse, so 1.50 equals 1.500; at one scale, two numbers of up to 34 digits
                           never have the same pair
    strings                their UTF-8 bytes, a byte string tagged `text`
    binaries               a byte string tagged `binary`
    dictionaries           the value that the index refers to

Byte strings of n bytes. Up to 1,024: the state starts as n tagged with the name, permuted; it absorbs the bytes
word by word, each word in both lanes, the last filled up with zeros; the state is the value's pair. Longer:
the pair of words in the 16-byte BLAKE2b digest of the bytes, tagged with the name.

Rows. The state starts as the number of columns tagged `row` and absorbs the values from left to right; column
names are not hashed. Then lane0 += lane1, lane1 += lane0, and each lane is permuted. The hash is
lane0 * 2^64 + lane1.

Receipts. The number of rows, and the sum of their hashes modulo 2^128.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from tidegate.hashing._mixing import HASH_VERSION, Pair, Words, absorb, permute, tag
from tidegate.hashing._readers import Reader, read_pair, reader_for
from tidegate.model.receipt import Receipt

__all__ = ["HASH_VERSION", "ReceiptBuilder", "Words", "hash_rows", "receipt_of", "refuse_unsupported", "sum_hashes"]

# One lane of a block is at most 128 KiB: the arrays of an operation stay in the second-level cache.
BLOCK_ROWS = 16_384

# Smaller batches are buffered: numpy's calls for one batch cost as much as its work on a thousand rows.
ENOUGH_ROWS = 8_192
ENOUGH_BYTES = 16 * 2**20


def hash_rows(rows: pa.RecordBatch | pa.Table) -> Words:
    """Return the hash of every row as (rows, 2): upper and lower 64 bits. Raises as `refuse_unsupported` does."""
    readers = [reader_for(field) for field in rows.schema]
    hashes: Words = np.empty((rows.num_rows, 2), np.uint64, order="F")
    start = 0
    for block in _split_into_blocks(rows):
        end = start + block.num_rows
        _hash_block(block, readers, (hashes[start:end, 0], hashes[start:end, 1]))
        start = end
    return hashes


def receipt_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> Receipt:
    """Return the receipt of all rows of all batches."""
    builder = ReceiptBuilder()
    for batch in batches:
        builder.add(batch)
    return builder.receipt()


def refuse_unsupported(schema: pa.Schema) -> None:
    """Raise `Unsupported` for a column that has no hash: list, struct, map, duration, extension type."""
    for field in schema:
        reader_for(field)


class ReceiptBuilder:
    """Computes the receipt of a stream of batches. Buffers small batches, up to `ENOUGH_BYTES`."""

    def __init__(self) -> None:
        self._rows = self._total = 0
        self._schema: pa.Schema | None = None
        self._buffered: list[pa.RecordBatch] = []
        self._buffered_rows = self._buffered_bytes = 0

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Add rows to the receipt. Raises as `refuse_unsupported` does, before a row of this batch is counted."""
        if rows.schema != self._schema:
            refuse_unsupported(rows.schema)
            self._hash_buffered()
            self._schema = rows.schema
        for batch in _to_batches(rows):
            self._buffered.append(batch)
            self._buffered_rows += batch.num_rows
            self._buffered_bytes += _size_in_bytes(batch)
            if self._buffered_rows >= ENOUGH_ROWS or self._buffered_bytes >= ENOUGH_BYTES:
                self._hash_buffered()

    def receipt(self) -> Receipt:
        """Return the receipt of all rows added so far; more may follow."""
        self._hash_buffered()
        return Receipt.of_sum(self._rows, self._total, HASH_VERSION)

    def _hash_buffered(self) -> None:
        for batch in _combine(self._buffered):
            self._rows += batch.num_rows
            self._total += sum_hashes(hash_rows(batch))
        self._buffered.clear()
        self._buffered_rows = self._buffered_bytes = 0


def sum_hashes(hashes: Words) -> int:
    """Return a number that equals the sum of the hashes modulo 2^128, for fewer than 2^32 rows.

    The lower words are summed as halves, so that no carry is lost. The upper words may wrap around."""
    upper, lower = hashes[:, 0], hashes[:, 1]
    low_halves = int((lower & np.uint64(2**32 - 1)).sum())
    high_halves = int((lower >> np.uint64(32)).sum())
    return (int(upper.sum()) << 64) + (high_halves << 32) + low_halves


def _hash_block(block: pa.RecordBatch, readers: list[Reader], state: Pair) -> None:
    """Write the hash of every row into `state`."""
    lane0, lane1 = state
    lane0[:], lane1[:] = tag("row", np.array([block.num_columns], np.uint64))
    for column, reader in zip(block.columns, readers, strict=True):
        absorb(state, read_pair(column, reader))
    lane0 += lane1
    lane1 += lane0
    permute(state)


def _to_batches(rows: pa.RecordBatch | pa.Table) -> list[pa.RecordBatch]:
    return rows.to_batches() if isinstance(rows, pa.Table) else [rows]


def _size_in_bytes(batch: pa.RecordBatch) -> int:
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:
        # pyarrow below 24 cannot measure views. Their whole buffers are at least as large.
        return int(batch.get_total_buffer_size())


def _combine(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the same rows in few batches: one, unless its offsets would overflow."""
    if len(batches) < 2:
        return list(batches)
    return _to_batches(pa.Table.from_batches(batches).combine_chunks())


def _split_into_blocks(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield slices of nearly equal size, none of them empty or above `BLOCK_ROWS`."""
    for batch in _to_batches(rows):
        count = -(-batch.num_rows // BLOCK_ROWS)
        for i in range(count):
            start, end = batch.num_rows * i // count, batch.num_rows * (i + 1) // count
            yield batch.slice(start, end - start)
