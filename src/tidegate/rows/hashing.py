"""The hash of a row, version 1, and the receipts that are summed from it.

It finds accidents (a lost row, a truncated text, a shifted clock), not forgeries: it has no key. What follows
is all that is needed to write it again in another language. Words are unsigned, 64 bits wide and wrap around;
`^` is exclusive or, `>>` shifts zeros in; bytes become words in little-endian order. A pair is two words,
lane 0 and lane 1.

Mixing. Each lane has a permutation of words: x ^= x >> a; x *= m; x ^= x >> b; x *= n; x ^= x >> c

    lane 0    a 33   m ff51afd7ed558ccd   b 33   n c4ceb9fe1a85ec53   c 33   (the finaliser of MurmurHash3)
    lane 1    a 30   m bf58476d1ce4e5b9   b 27   n 94d049bb133111eb   c 31   (splitmix64)

A state is a pair. It absorbs another pair lane by lane: state = permutation(state ^ pair).

Names. K(name) is the pair of words in the 16-byte BLAKE2b digest of the ASCII text `tidegate/1/<name>`.
A pair "under" a name is pair ^ K(name); one word x under a name is (x, x) ^ K(name). The lanes of K differ by
another amount for every name, so no int is ever hashed as a date, and none as a null.

Values. A value becomes a pair by what it means, not by how Arrow stores it.

    null                   K(null), in a column of any type
    integers               in 64-bit two's complement, under `int`; from 2^63 upwards under `uint`
    bool                   0 or 1, under `bool`
    floats                 the bits of the number as an IEEE 754 double, under `float`.
                           Every NaN is 7ff8000000000000; 0.0 and -0.0 are two values
    dates                  days since 1970-01-01, under `date`
    times                  nanoseconds since midnight, under `time`
    timestamps, no zone    nanoseconds since 1970-01-01 modulo 2^64, under `timestamp`;
                           in microseconds, two that meet are 73,000 years apart
    timestamps, any zone   the same in UTC, under `instant`
    decimals u / 10^s      (u * 10^-s mod 2^59-1, u * 10^-s mod 2^58-1), under `decimal`. 10^-s is the
                           modular inverse, so 1.50 equals 1.500; at one scale, numbers of up to 34 digits
                           never meet
    strings                their UTF-8 bytes, a byte string under `text`
    binaries               a byte string under `binary`
    dictionaries           the value that the index stands for

Byte strings of n bytes. Up to 1,024: the state starts as n under the name, permuted; it absorbs the bytes
word by word, each word in both lanes, the last filled up with zeros; the state is the value's pair. Longer:
the pair of words in the 16-byte BLAKE2b digest of the bytes, under the name.

Rows. The state starts as the number of columns under `row` and absorbs the values from left to right; names
of columns play no part. Then lane0 += lane1, lane1 += lane0, and each lane is permuted. The hash is
lane0 * 2^64 + lane1.

Receipts. The number of rows, and the sum of their hashes modulo 2^128.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from tidegate.errors import Unsupported
from tidegate.model.receipt import Receipt

HASH_VERSION = 1

# Up to here word by word is faster than BLAKE2b, which costs a Python call per value. It works on a copy of
# the bytes, which this bounds: 16 MiB a block.
LONGEST_SHORT_BYTES = 1024

# One lane of a block is at most 128 KiB: the arrays of an operation stay in the second-level cache.
BLOCK_ROWS = 16_384

# Smaller batches wait for others: numpy's calls for one batch cost as much as its work on a thousand rows.
ENOUGH_ROWS = 8_192
ENOUGH_BYTES = 16 * 2**20

Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Pair: TypeAlias = tuple[Words, Words]
Reader: TypeAlias = Callable[[pa.Array], Pair]


def hash_rows(rows: pa.RecordBatch | pa.Table) -> Words:
    """The hash of every row as (rows, 2): upper and lower 64 bits. Raises as `refuse_unsupported` does."""
    readers = [_reader_of(field) for field in rows.schema]
    hashes: Words = np.empty((rows.num_rows, 2), np.uint64, order="F")
    start = 0
    for block in _blocks(rows):
        end = start + block.num_rows
        _hash_block(block, readers, (hashes[start:end, 0], hashes[start:end, 1]))
        start = end
    return hashes


def receipt_of(batches: Iterable[pa.RecordBatch | pa.Table]) -> Receipt:
    """The receipt of all rows of all batches."""
    builder = ReceiptBuilder()
    for batch in batches:
        builder.add(batch)
    return builder.receipt()


def refuse_unsupported(schema: pa.Schema) -> None:
    """Raises `Unsupported` for a column that has no hash: list, struct, map, duration, extension type."""
    for field in schema:
        _reader_of(field)


class ReceiptBuilder:
    """Adds batches up to a receipt as they stream by. Holds on to small ones, up to `ENOUGH_BYTES`."""

    def __init__(self) -> None:
        self._rows = self._total = 0
        self._schema: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Raises as `refuse_unsupported` does, before a row of this batch is counted."""
        if rows.schema != self._schema:
            refuse_unsupported(rows.schema)
            self._hash_waiting()
            self._schema = rows.schema
        for batch in _batches(rows):
            self._waiting.append(batch)
            self._waiting_rows += batch.num_rows
            self._waiting_bytes += _size_of(batch)
            if self._waiting_rows >= ENOUGH_ROWS or self._waiting_bytes >= ENOUGH_BYTES:
                self._hash_waiting()

    def receipt(self) -> Receipt:
        """Of everything added so far; more may follow."""
        self._hash_waiting()
        return Receipt.of_sum(self._rows, self._total, HASH_VERSION)

    def _hash_waiting(self) -> None:
        for batch in _joined(self._waiting):
            self._rows += batch.num_rows
            self._total += sum_of(hash_rows(batch))
        self._waiting.clear()
        self._waiting_rows = self._waiting_bytes = 0


def sum_of(hashes: Words) -> int:
    """Exact modulo 2^128, below 2^32 rows: the lower words are summed as halves, so that no carry is lost."""
    upper, lower = hashes[:, 0], hashes[:, 1]
    low_halves = int((lower & np.uint64(2**32 - 1)).sum())
    high_halves = int((lower >> np.uint64(32)).sum())
    return (int(upper.sum()) << 64) + (high_halves << 32) + low_halves


def _batches(rows: pa.RecordBatch | pa.Table) -> list[pa.RecordBatch]:
    return rows.to_batches() if isinstance(rows, pa.Table) else [rows]


def _size_of(batch: pa.RecordBatch) -> int:
    try:
        return int(batch.nbytes)
    except pa.ArrowTypeError:
        # pyarrow below 24 cannot measure views. Their whole buffers are at least as large.
        return int(batch.get_total_buffer_size())


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same rows in few batches: one, unless its offsets would overflow."""
    if len(batches) < 2:
        return list(batches)
    return _batches(pa.Table.from_batches(batches).combine_chunks())


def _blocks(rows: pa.RecordBatch | pa.Table) -> Iterator[pa.RecordBatch]:
    """Slices of nearly equal size, none of them empty or above `BLOCK_ROWS`."""
    for batch in _batches(rows):
        count = -(-batch.num_rows // BLOCK_ROWS)
        for i in range(count):
            start, end = batch.num_rows * i // count, batch.num_rows * (i + 1) // count
            yield batch.slice(start, end - start)


# Mixing: pairs into states, in place.


class Permutation(NamedTuple):
    """x ^= x >> a; x *= m; x ^= x >> b; x *= n; x ^= x >> c"""

    a: np.uint64
    m: np.uint64
    b: np.uint64
    n: np.uint64
    c: np.uint64

    def apply(self, words: Words) -> None:
        words ^= words >> self.a
        words *= self.m
        words ^= words >> self.b
        words *= self.n
        words ^= words >> self.c


PERMUTATIONS = (
    Permutation(*map(np.uint64, (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33))),
    Permutation(*map(np.uint64, (30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31))),
)


def _permute(state: Pair) -> None:
    for lane, permutation in zip(state, PERMUTATIONS, strict=True):
        permutation.apply(lane)


def _absorb(state: Pair, pair: Pair) -> None:
    for lane, words in zip(state, pair, strict=True):
        np.bitwise_xor(lane, words, out=lane)
    _permute(state)


def _hash_block(block: pa.RecordBatch, readers: list[Reader], state: Pair) -> None:
    """Writes the hash of every row into `state`."""
    lane0, lane1 = state
    lane0[:], lane1[:] = _under("row", np.array([block.num_columns], np.uint64))
    for column, reader in zip(block.columns, readers, strict=True):
        _absorb(state, _pair(column, reader))
    lane0 += lane1
    lane1 += lane0
    _permute(state)


@lru_cache
def _constants(name: str) -> tuple[np.uint64, np.uint64]:
    digest = hashlib.blake2b(f"tidegate/{HASH_VERSION}/{name}".encode(), digest_size=16).digest()
    lane0, lane1 = np.frombuffer(digest, np.uint64)
    return lane0, lane1


def _under(name: str, lane0: Words, lane1: Words | None = None) -> Pair:
    """A pair under a name; a single word stands in both lanes."""
    constant0, constant1 = _constants(name)
    return lane0 ^ constant0, (lane0 if lane1 is None else lane1) ^ constant1


def _put(pair: Pair, rows: Mask | npt.NDArray[np.intp], values: Pair | tuple[np.uint64, np.uint64]) -> None:
    """Replaces the pairs of some rows, given as a mask or by number."""
    for lane, words in zip(pair, values, strict=True):
        lane[rows] = words


# Values: one reader per kind of type. A reader also reads the garbage under nulls; `_pair` replaces it.


def _pair(column: pa.Array, reader: Reader) -> Pair:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    pair = reader(column)
    if column.null_count and not types.is_null(column.type):
        _put(pair, _absent(column), _constants("null"))
    return pair


def _absent(column: pa.Array) -> Mask:
    """Which values are null, for a column that has any."""
    start, end = column.offset, column.offset + len(column)
    bitmap = np.frombuffer(column.buffers()[0], np.uint8)[start // 8 : -(-end // 8)]
    is_valid: Mask = np.unpackbits(bitmap, bitorder="little")[start % 8 :][: len(column)].view(np.bool_)
    return ~is_valid


def _stored(column: pa.Array, kind: str) -> npt.NDArray[np.generic]:
    """The numbers as they lie in the buffer, read as `kind`: i, u or f."""
    size = column.type.bit_width // 8
    return np.frombuffer(column.buffers()[1], f"{kind}{size}", len(column), column.offset * size)


def _signed_words(column: pa.Array) -> Words:
    return _stored(column, "i").astype(np.int64).view(np.uint64)


def _nulls(column: pa.Array) -> Pair:
    lane0, lane1 = _constants("null")
    return np.full(len(column), lane0), np.full(len(column), lane1)


def _booleans(column: pa.Array) -> Pair:
    return _under("bool", _stored(column.cast(pa.uint8()), "u").astype(np.uint64))


def _signed_integers(column: pa.Array) -> Pair:
    return _under("int", _signed_words(column))


def _unsigned_integers(column: pa.Array) -> Pair:
    words = _stored(column, "u").astype(np.uint64)
    pair = _under("int", words)
    # In two's complement these would be negative numbers.
    beyond_signed = words >= np.uint64(2**63)
    _put(pair, beyond_signed, _under("uint", words[beyond_signed]))
    return pair


def _floats(column: pa.Array) -> Pair:
    # A signalling NaN raises the processor's flag when it is widened; it is a NaN like any other.
    with np.errstate(invalid="ignore"):
        doubles = _stored(column, "f").astype(np.float64)
    doubles[np.isnan(doubles)] = np.nan
    return _under("float", doubles.view(np.uint64))


def _dates(column: pa.Array) -> Pair:
    days = _stored(column, "i").astype(np.int64)
    if types.is_date64(column.type):
        days //= 86_400_000
    return _under("date", days.view(np.uint64))


NANOSECONDS = {"s": np.uint64(10**9), "ms": np.uint64(10**6), "us": np.uint64(10**3), "ns": np.uint64(1)}


def _times(column: pa.Array) -> Pair:
    return _under("time", _signed_words(column) * NANOSECONDS[column.type.unit])


def _timestamps(column: pa.Array) -> Pair:
    name = "timestamp" if column.type.tz is None else "instant"
    return _under(name, _signed_words(column) * NANOSECONDS[column.type.unit])


# Decimals: a number is cut into limbs of 32 bits, and its residue is the sum of the limbs times their
# weights. The scale is part of the weights, so no zeros have to be stripped. 10 has an inverse modulo 2^k - 1
# unless 4 divides k, and four products of 32 and 30 bits fit into a word: k < 60.

RESIDUE_BITS = (59, 58)


class Weights(NamedTuple):
    """What four limbs are worth modulo 2^bits - 1, as low + high * 2^30."""

    low: list[np.uint64]
    high: list[np.uint64]
    bits: int


@lru_cache
def _weights(unit: int, bits: int) -> Weights:
    weights = [unit * 2 ** (32 * limb) % (2**bits - 1) for limb in range(4)]
    return Weights([np.uint64(w % 2**30) for w in weights], [np.uint64(w >> 30) for w in weights], bits)


def _decimals(column: pa.Array) -> Pair:
    if column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    size = column.type.bit_width // 64
    words = np.frombuffer(column.buffers()[1], np.uint64, len(column) * size, column.offset * size * 8)
    limbs = _limbs(words.reshape(-1, size))
    lane0, lane1 = (_residues(limbs, column.type.scale, bits) for bits in RESIDUE_BITS)
    return _under("decimal", lane0, lane1)


def _limbs(words: Words) -> list[Words]:
    """The lowest first. The sign bit is flipped: that adds a constant, and leaves no negative numbers."""
    limbs = []
    for word in range(words.shape[1]):
        limbs += [words[:, word] & np.uint64(2**32 - 1), words[:, word] >> np.uint64(32)]
    limbs[-1] ^= np.uint64(2**31)
    return limbs


def _residues(limbs: list[Words], scale: int, bits: int) -> Words:
    modulus = 2**bits - 1
    unit = pow(10, -scale, modulus)
    flipped_sign = 2 ** (32 * len(limbs) - 1) * unit
    residues = np.full(len(limbs[0]), -flipped_sign % modulus, np.uint64)
    for first in range(0, len(limbs), 4):
        weights = _weights(unit * 2 ** (32 * first) % modulus, bits)
        residues += _weighed(limbs[first : first + 4], weights)
    residues %= np.uint64(modulus)
    return residues


def _weighed(limbs: list[Words], weights: Weights) -> Words:
    """The sum of the limbs times their weights, folded below 2^(bits + 2) but not reduced."""
    low, high = limbs[0] * weights.low[0], limbs[0] * weights.high[0]
    for limb, low_weight, high_weight in zip(limbs[1:], weights.low[1:], weights.high[1:], strict=True):
        low += limb * low_weight
        high += limb * high_weight
    # 2^bits is worth 1, so what lies above comes in again from below.
    high_bits = weights.bits - 30
    folded: Words = low & np.uint64(2**weights.bits - 1)
    folded += low >> np.uint64(weights.bits)
    folded += (high & np.uint64(2**high_bits - 1)) << np.uint64(30)
    folded += high >> np.uint64(high_bits)
    return folded


# Byte strings: the nth words of all values at once, gathered from a copy of their part of the buffer.


class Extents(NamedTuple):
    """Where the values lie in their buffer. A null has 0 bytes, whatever its offsets say."""

    starts: Numbers
    lengths: Numbers
    buffer: Bytes

    def content(self) -> Bytes:
        """The part of the buffer that holds all values: starts ascend."""
        return self.buffer[self.starts[0] : self.starts[-1] + self.lengths[-1]]


def _texts(column: pa.Array) -> Pair:
    if types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return _byte_strings(column, "text")


def _binaries(column: pa.Array) -> Pair:
    if types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    return _byte_strings(column, "binary")


def _byte_strings(column: pa.Array, name: str) -> Pair:
    extents = _extents(column)
    is_long = extents.lengths > LONGEST_SHORT_BYTES
    # Nulls may hide more bytes than all values together; then the values are packed before they are copied.
    if not is_long.any() and extents.content().size <= len(column) * LONGEST_SHORT_BYTES:
        return _short_pair(extents, name)
    pair = (np.empty(len(column), np.uint64), np.empty(len(column), np.uint64))
    short, long = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    _put(pair, long, _long_pair(extents, long, name))
    if short.size:
        _put(pair, short, _short_pair(_extents(column.take(pa.array(short))), name))
    return pair


def _extents(column: pa.Array) -> Extents:
    *_, places, content = column.buffers()
    count, first = len(column) + 1, column.offset
    if types.is_fixed_size_binary(column.type):
        offsets = np.arange(first, first + count) * column.type.byte_width
    else:
        is_large = types.is_large_string(column.type) or types.is_large_binary(column.type)
        size = 8 if is_large else 4
        offsets = np.frombuffer(places, f"i{size}", count, first * size).astype(np.int64)
    lengths = np.diff(offsets)
    if column.null_count:
        lengths[_absent(column)] = 0
    return Extents(offsets[:-1], lengths, np.frombuffer(content or b"", np.uint8))


def _long_pair(extents: Extents, rows: npt.NDArray[np.intp], name: str) -> Pair:
    view = extents.buffer.data
    starts, lengths = extents.starts[rows].tolist(), extents.lengths[rows].tolist()
    digests = b"".join(
        hashlib.blake2b(view[start : start + length], digest_size=16).digest()
        for start, length in zip(starts, lengths, strict=True)
    )
    words = np.frombuffer(digests, np.uint64)
    return _under(name, words[0::2], words[1::2])


def _short_pair(extents: Extents, name: str) -> Pair:
    word_counts = (extents.lengths + 7) >> 3
    # The values that still have words are then a prefix. A stable sort of 16 bits is a radix sort: linear.
    longest_first = np.argsort((LONGEST_SHORT_BYTES - word_counts).astype(np.uint16), kind="stable")
    starts, lengths = extents.starts[longest_first], extents.lengths[longest_first]
    lane0, lane1 = (states[lengths] for states in _states_by_length(name))
    for words in _words_in_turn(Extents(starts - extents.starts[0], lengths, extents.content())):
        _absorb((lane0[: words.size], lane1[: words.size]), (words, words))
    pair = (np.empty_like(lane0), np.empty_like(lane1))
    _put(pair, longest_first, (lane0, lane1))
    return pair


@lru_cache
def _states_by_length(name: str) -> Pair:
    states = _under(name, np.arange(LONGEST_SHORT_BYTES + 1, dtype=np.uint64))
    _permute(states)
    return states


def _words_in_turn(longest_first: Extents) -> Iterator[Words]:
    """The first word of all values that have one, then the second of those that have two, and so on."""
    starts, lengths, content = longest_first
    aligned, index = _aligned(content), starts >> 3
    right = ((starts & 7) << 3).astype(np.uint64)
    left = np.uint64(63) - right
    last_masks = _last_masks(lengths)
    here = aligned[index]
    remaining = _values_with_words(lengths)
    for nth, (count, going_on) in enumerate(pairwise(remaining), start=1):
        following = aligned[index[:count] + nth]
        words = here[:count] >> right[:count]
        # In two steps, since no word can be shifted by 64: where `right` is 0, all of `following` must go.
        words |= following << np.uint64(1) << left[:count]
        words[going_on:] &= last_masks[going_on:count]
        yield words
        here = following


def _values_with_words(lengths: Numbers) -> list[int]:
    """How many values have a first word, a second, ...; the last entry is 0."""
    ended: list[int] = np.bincount((lengths + 7) >> 3).cumsum().tolist()
    return [lengths.size - count for count in ended]


def _aligned(content: Bytes) -> Words:
    """A copy in whole words with zeros behind it, since the word after the last is looked at."""
    words = np.zeros(content.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: content.size] = content
    return words


def _last_masks(lengths: Numbers) -> Words:
    """Keeps the bytes of a value's last word that belong to it."""
    missing_bytes = -lengths & 7
    masks: Words = np.uint64(2**64 - 1) >> (missing_bytes << 3).astype(np.uint64)
    return masks


def _is_text(kind: pa.DataType) -> bool:
    return any(fits(kind) for fits in (types.is_string, types.is_large_string, types.is_string_view))


def _is_binary(kind: pa.DataType) -> bool:
    variable = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(fits(kind) for fits in (*variable, types.is_fixed_size_binary))


READERS: tuple[tuple[Callable[[pa.DataType], bool], Reader], ...] = (
    (types.is_null, _nulls),
    (types.is_boolean, _booleans),
    (types.is_signed_integer, _signed_integers),
    (types.is_unsigned_integer, _unsigned_integers),
    (types.is_floating, _floats),
    (types.is_decimal, _decimals),
    (types.is_date, _dates),
    (types.is_time, _times),
    (types.is_timestamp, _timestamps),
    (_is_text, _texts),
    (_is_binary, _binaries),
)


def _reader_of(field: pa.Field) -> Reader:
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    for fits, reader in READERS:
        if fits(kind):
            return reader
    raise Unsupported(
        f"Column {field.name} is {field.type}, which the row hash does not cover.",
        "No receipt was made, and nothing was changed.",
        f"Read {field.name} as text or binary, or leave it out of the table's columns.",
    )
