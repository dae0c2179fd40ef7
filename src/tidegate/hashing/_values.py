"""Read nulls, booleans, integers, floats, dates and times as pairs. The specification is in `rows.py`, "Values".

A reader also reads the undefined bytes under nulls; `_readers.read_pair` replaces their pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from tidegate.hashing._mixing import Mask, Pair, Words, constants, replace_pairs, tag

_NANOSECONDS = {"s": np.uint64(10**9), "ms": np.uint64(10**6), "us": np.uint64(10**3), "ns": np.uint64(1)}


def null_mask(column: pa.Array) -> Mask:
    """Return which values are null. The column must have at least one null."""
    start, end = column.offset, column.offset + len(column)
    bitmap = np.frombuffer(column.buffers()[0], np.uint8)[start // 8 : -(-end // 8)]
    is_valid: Mask = np.unpackbits(bitmap, bitorder="little")[start % 8 :][: len(column)].view(np.bool_)
    return ~is_valid


def read_nulls(column: pa.Array) -> Pair:
    lane0, lane1 = constants("null")
    return np.full(len(column), lane0), np.full(len(column), lane1)


def read_booleans(column: pa.Array) -> Pair:
    return tag("bool", _buffer_values(column.cast(pa.uint8()), "u").astype(np.uint64))


def read_signed_integers(column: pa.Array) -> Pair:
    return tag("int", _signed_words(column))


def read_unsigned_integers(column: pa.Array) -> Pair:
    words = _buffer_values(column, "u").astype(np.uint64)
    pair = tag("int", words)
    # In two's complement these would be negative numbers.
    beyond_signed = words >= np.uint64(2**63)
    replace_pairs(pair, beyond_signed, tag("uint", words[beyond_signed]))
    return pair


def read_floats(column: pa.Array) -> Pair:
    # A signalling NaN raises the processor's flag when it is widened; it is a NaN like any other.
    with np.errstate(invalid="ignore"):
        doubles = _buffer_values(column, "f").astype(np.float64)
    doubles[np.isnan(doubles)] = np.nan
    return tag("float", doubles.view(np.uint64))


def read_dates(column: pa.Array) -> Pair:
    days = _buffer_values(column, "i").astype(np.int64)
    if types.is_date64(column.type):
        days //= 86_400_000
    return tag("date", days.view(np.uint64))


def read_times(column: pa.Array) -> Pair:
    return tag("time", _signed_words(column) * _NANOSECONDS[column.type.unit])


def read_timestamps(column: pa.Array) -> Pair:
    name = "timestamp" if column.type.tz is None else "instant"
    return tag(name, _signed_words(column) * _NANOSECONDS[column.type.unit])


def _buffer_values(column: pa.Array, kind: str) -> npt.NDArray[np.generic]:
    """Return the numbers of the data buffer, without a copy, read as `kind`: i, u or f."""
    size = column.type.bit_width // 8
    return np.frombuffer(column.buffers()[1], f"{kind}{size}", len(column), column.offset * size)


def _signed_words(column: pa.Array) -> Words:
    return _buffer_values(column, "i").astype(np.int64).view(np.uint64)
