"""Turn the cells of a column into tags, words and bytes. The specification is in `sha256.py`, section "Cells"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]

NULL, BOOL, WHOLE, UNSIGNED, FLOAT, DECIMAL, DATE, TIME, TIMESTAMP, INSTANT, TEXT, BINARY, DURATION, NESTED = range(14)

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# Every decimal of 128 bits fits: 38 digits on each side of the point.
_WIDEST_DECIMAL = pa.decimal256(76, 38)


class Cells(NamedTuple):
    """The cells of a column. `tail` has the bytes of texts and other values without a fixed size, else None."""

    tags: Bytes
    words: Words
    tail: pa.Array | None


def cells_of(column: pa.Array) -> Cells:
    """Return the cells of a column of any type that Arrow and Parquet have."""
    column = _plain(column)
    cells = _valid_cells(column)
    if column.null_count:
        nulls = np.asarray(pc.is_null(column))
        cells.tags[nulls] = NULL
        cells.words[nulls] = 0
    return cells


def _plain(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _valid_cells(column: pa.Array) -> Cells:
    """Return the cells. Those of nulls have any content; `cells_of` replaces it. The tail of a null is empty."""
    kind = column.type
    if types.is_null(kind):
        return _fixed(NULL, np.zeros(len(column), np.uint64))
    if types.is_boolean(kind):
        return _fixed(BOOL, _numbers(column, pa.uint8(), 0).astype(np.uint64))
    if types.is_unsigned_integer(kind):
        return _unsigned(_numbers(column, pa.uint64(), 0))
    if types.is_signed_integer(kind):
        return _fixed(WHOLE, _numbers(column, pa.int64(), 0).view(np.uint64))
    if types.is_floating(kind):
        return _floats(column)
    if types.is_decimal(kind):
        return _decimals(column)
    if types.is_date(kind):
        return _fixed(DATE, _numbers(column.cast(pa.date32()), pa.int32(), 0).astype(np.int64).view(np.uint64))
    if types.is_time(kind):
        size = pa.int32() if types.is_time32(kind) else pa.int64()
        return _fixed(TIME, _scaled(column, size))
    if types.is_timestamp(kind):
        return _fixed(TIMESTAMP if kind.tz is None else INSTANT, _scaled(column, pa.int64()))
    if types.is_duration(kind):
        return _fixed(DURATION, _scaled(column, pa.int64()))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _with_tail(TEXT, column.cast(pa.large_string()).cast(pa.large_binary()))
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return _with_tail(BINARY, column.cast(pa.large_binary()))
    if types.is_fixed_size_binary(kind):
        return _with_tail(BINARY, column.cast(pa.binary()).cast(pa.large_binary()))
    encoded = [None if value is None else _nested(value) for value in column.to_pylist()]
    return _with_tail(NESTED, pa.array(encoded, pa.large_binary()))


def _fixed(tag: int, words: Words) -> Cells:
    return Cells(np.full(len(words), tag, np.uint8), words, None)


def _numbers(column: pa.Array, kind: pa.DataType, empty: int) -> npt.NDArray[np.generic]:
    """Return a writable copy of the values as numbers of this type, with `empty` for nulls."""
    size = kind.bit_width
    if column.type.bit_width == size and not types.is_boolean(column.type):
        column = column.view(kind)
    else:
        column = column.cast(kind)
    filled = column.fill_null(empty) if column.null_count else column
    return np.array(filled, copy=True)


def _scaled(column: pa.Array, kind: pa.DataType) -> Words:
    """Return nanoseconds, modulo 2^64."""
    units = _numbers(column, kind, 0).astype(np.int64)
    words: Words = units.view(np.uint64) * np.uint64(_NANOSECONDS[column.type.unit])
    return words


def _unsigned(numbers: npt.NDArray[np.generic]) -> Cells:
    words = numbers.astype(np.uint64)
    cells = _fixed(WHOLE, words)
    cells.tags[words >= np.uint64(2**63)] = UNSIGNED
    return cells


def _floats(column: pa.Array) -> Cells:
    """A float without a fraction has the cell of the whole number: pandas turns 5 into 5.0 where a null joins it."""
    with np.errstate(invalid="ignore"):
        numbers = _numbers(column.cast(pa.float64()), pa.float64(), 0).astype(np.float64)
        numbers[np.isnan(numbers)] = np.nan
        is_whole = (np.abs(numbers) < 2.0**63) & (np.floor(numbers) == numbers)
        is_whole &= ~((numbers == 0) & np.signbit(numbers))
        words = np.where(is_whole, np.where(is_whole, numbers, 0).astype(np.int64).view(np.uint64), 0)
    words = np.where(is_whole, words, numbers.view(np.uint64))
    return Cells(np.where(is_whole, np.uint8(WHOLE), np.uint8(FLOAT)), words.astype(np.uint64), None)


def _decimals(column: pa.Array) -> Cells:
    try:
        wide = column.cast(_WIDEST_DECIMAL)
    except pa.ArrowInvalid:  # more digits than 38 on one side of the point
        values = [None if value is None else str(value.normalize()).encode() for value in column.to_pylist()]
        return _with_tail(DECIMAL, pa.array(values, pa.large_binary()))
    data = pa.concat_arrays([wide]).buffers()[1]
    plain = pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(wide), [None, data])
    tail = plain.cast(pa.binary()).cast(pa.large_binary())
    if column.null_count:
        tail = pc.if_else(pc.is_null(column), pa.scalar(None, pa.large_binary()), tail)
    return _with_tail(DECIMAL, tail)


def _with_tail(tag: int, tail: pa.Array) -> Cells:
    lengths = np.array(pc.binary_length(tail).fill_null(0)).astype(np.uint64)
    return Cells(np.full(len(tail), tag, np.uint8), lengths, tail)


def _nested(value: object) -> bytes:
    """Return the bytes of a list, a struct or a map: each part has its Python type and its length before it."""
    if isinstance(value, Mapping):
        body = b"".join(_nested(part) for pair in value.items() for part in pair)
    elif isinstance(value, list | tuple):
        body = b"".join(map(_nested, value))
    elif isinstance(value, bytes):
        body = value
    else:
        body = str(value).encode()
    name = type(value).__name__.encode()
    return b"%s:%d:" % (name, len(body)) + body
