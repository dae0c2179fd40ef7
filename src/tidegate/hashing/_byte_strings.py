"""Read strings and binaries as pairs. The specification is in `rows.py`, section "Byte strings".

The first words of all values are mixed at once, then the second words, and so on. They are gathered from a copy of
the part of the buffer that the values use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from tidegate.hashing._mixing import Bytes, Numbers, Pair, Words, absorb, permute, replace_pairs, tag
from tidegate.hashing._values import null_mask

# Up to here word by word is faster than BLAKE2b, which costs a Python call per value. It works on a copy of
# the bytes, which this bounds: 16 MiB a block.
LONGEST_SHORT_BYTES = 1024


class Extents(NamedTuple):
    """Start and length of each value in its buffer. A null has length 0, whatever its offsets are."""

    starts: Numbers
    lengths: Numbers
    buffer: Bytes

    def content(self) -> Bytes:
        """Return the part of the buffer that contains all values: starts ascend."""
        return self.buffer[self.starts[0] : self.starts[-1] + self.lengths[-1]]


def read_texts(column: pa.Array) -> Pair:
    if types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return _read_byte_strings(column, "text")


def read_binaries(column: pa.Array) -> Pair:
    if types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    return _read_byte_strings(column, "binary")


def _read_byte_strings(column: pa.Array, name: str) -> Pair:
    extents = _extents(column)
    is_long = extents.lengths > LONGEST_SHORT_BYTES
    # Nulls may hide more bytes than all values together; then the values are packed before they are copied.
    if not is_long.any() and extents.content().size <= len(column) * LONGEST_SHORT_BYTES:
        return _hash_short_values(extents, name)
    pair = (np.empty(len(column), np.uint64), np.empty(len(column), np.uint64))
    short, long = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    replace_pairs(pair, long, _hash_long_values(extents, long, name))
    if short.size:
        replace_pairs(pair, short, _hash_short_values(_extents(column.take(pa.array(short))), name))
    return pair


def _extents(column: pa.Array) -> Extents:
    *_, offset_buffer, content = column.buffers()
    count, first = len(column) + 1, column.offset
    if types.is_fixed_size_binary(column.type):
        offsets = np.arange(first, first + count) * column.type.byte_width
    else:
        is_large = types.is_large_string(column.type) or types.is_large_binary(column.type)
        size = 8 if is_large else 4
        offsets = np.frombuffer(offset_buffer, f"i{size}", count, first * size).astype(np.int64)
    lengths = np.diff(offsets)
    if column.null_count:
        lengths[null_mask(column)] = 0
    return Extents(offsets[:-1], lengths, np.frombuffer(content or b"", np.uint8))


def _hash_long_values(extents: Extents, rows: npt.NDArray[np.intp], name: str) -> Pair:
    view = extents.buffer.data
    starts, lengths = extents.starts[rows].tolist(), extents.lengths[rows].tolist()
    digests = b"".join(
        hashlib.blake2b(view[start : start + length], digest_size=16).digest()
        for start, length in zip(starts, lengths, strict=True)
    )
    words = np.frombuffer(digests, np.uint64)
    return tag(name, words[0::2], words[1::2])


def _hash_short_values(extents: Extents, name: str) -> Pair:
    word_counts = (extents.lengths + 7) >> 3
    # The values that still have words are then a prefix. A stable sort of 16 bits is a radix sort: linear.
    longest_first = np.argsort((LONGEST_SHORT_BYTES - word_counts).astype(np.uint16), kind="stable")
    starts, lengths = extents.starts[longest_first], extents.lengths[longest_first]
    lane0, lane1 = (states[lengths] for states in _states_by_length(name))
    for words in _words_by_position(Extents(starts - extents.starts[0], lengths, extents.content())):
        absorb((lane0[: words.size], lane1[: words.size]), (words, words))
    pair = (np.empty_like(lane0), np.empty_like(lane1))
    replace_pairs(pair, longest_first, (lane0, lane1))
    return pair


@lru_cache
def _states_by_length(name: str) -> Pair:
    states = tag(name, np.arange(LONGEST_SHORT_BYTES + 1, dtype=np.uint64))
    permute(states)
    return states


def _words_by_position(longest_first: Extents) -> Iterator[Words]:
    """Yield the first word of all values that have one, then the second of those that have two, and so on."""
    starts, lengths, content = longest_first
    aligned, index = _copy_to_words(content), starts >> 3
    right = ((starts & 7) << 3).astype(np.uint64)
    left = np.uint64(63) - right
    last_masks = _last_word_masks(lengths)
    current = aligned[index]
    remaining = _values_per_position(lengths)
    for position, (count, longer) in enumerate(pairwise(remaining), start=1):
        following = aligned[index[:count] + position]
        words = current[:count] >> right[:count]
        # In two steps, since no word can be shifted by 64: where `right` is 0, all of `following` must go.
        words |= following << np.uint64(1) << left[:count]
        words[longer:] &= last_masks[longer:count]
        yield words
        current = following


def _values_per_position(lengths: Numbers) -> list[int]:
    """Return how many values have a first word, a second, ...; the last entry is 0."""
    ended: list[int] = np.bincount((lengths + 7) >> 3).cumsum().tolist()
    return [lengths.size - count for count in ended]


def _copy_to_words(content: Bytes) -> Words:
    """Return a copy in whole words. Zeros follow it, since the word after the last is read, too."""
    words = np.zeros(content.size // 8 + 2, np.uint64)
    words.view(np.uint8)[: content.size] = content
    return words


def _last_word_masks(lengths: Numbers) -> Words:
    """Return masks that keep the bytes of each value's last word that belong to the value."""
    missing_bytes = -lengths & 7
    masks: Words = np.uint64(2**64 - 1) >> (missing_bytes << 3).astype(np.uint64)
    return masks
