"""Conversion of Arrow to COPY's binary format: a column at a time, without a Python object per value.

Facts that shape this file
 * The format is described in `decoding.py`. The server reads the bytes as the column's type and does not check more. So
   a column is written in binary only if its type is known to be the type of the values.
 * All fixed-length values between two texts, with the lengths before them, form one piece of the same length in every
   row. Arrow joins pieces and texts row by row. A null has a length and no bytes, so a column with nulls is written as
   a text is.
 * The server strips zeros from both ends of a numeric's digits, so all numbers of a column can have equally many.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases._pieces import Mask, Numbers
from tidegate.databases.postgresql.decoding import (
    BASE,
    DAY,
    DIGITS,
    EPOCH_DAYS,
    IS_TEXT,
    NEGATIVE,
    SIGNATURE,
    YEARS_OF_FOUR_DIGITS,
)
from tidegate.databases.postgresql.failures import NotWritable, nul_character
from tidegate.errors import ValueProblem
from tidegate.model.columns import Column

HEADER = SIGNATURE + bytes(8)
END = b"\xff\xff"

Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]
Writer: TypeAlias = Callable[[pa.Array], Bytes | None]
"""Returns the bytes of every value as a row of a matrix; those of a null are ignored. Returns None for a year outside
of 1 to 9999: the server would refuse it as text, but accepts any number."""

_INTEGERS = {"int16": 2, "int32": 4, "int64": 8}
_NULL = -1


def writers(columns: Sequence[Column], schema: pa.Schema) -> list[Writer | None] | None:
    """Return a writer for each column, None for texts and bytes. Return None if a column must be written as csv."""
    found: list[Writer | None] = []
    for column, field in zip(columns, schema, strict=True):
        if _is_plain(column, field.type):
            found.append(None)
        elif (writer := _writer(column, field.type)) is not None:
            found.append(writer)
        else:
            return None
    return found


def _is_plain(column: Column, kind: pa.DataType) -> bool:
    """Return whether the server takes the bytes unchanged. `type` decides: `logical_type` is `string` for any column
    that was requested as text."""
    if pa.types.is_string(kind):
        return IS_TEXT.fullmatch(column.type) is not None
    return pa.types.is_binary(kind) and column.logical_type.family == "binary"


def _writer(column: Column, kind: pa.DataType) -> Writer | None:
    family = column.logical_type.family
    if family in _INTEGERS and pa.types.is_signed_integer(kind) and kind.bit_width // 8 <= _INTEGERS[family]:
        return _numbers(f">i{_INTEGERS[family]}")
    if family == "decimal" and pa.types.is_decimal128(kind) and column.type != "money":
        return _decimals
    return {
        ("float32", pa.float32()): _numbers(">f4"),
        ("float64", pa.float64()): _numbers(">f8"),
        ("bool", pa.bool_()): _booleans,
        ("date", pa.date32()): _since_2000(">i4", 1),
        ("time", pa.time64("us")): _numbers(">i8"),
        ("timestamp", pa.timestamp("us")): _since_2000(">i8", DAY),
        ("instant", pa.timestamp("us", "UTC")): _since_2000(">i8", DAY),
    }.get((family, kind))


def encoded(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, writers: Sequence[Writer | None]
) -> Iterator[memoryview]:
    """Yield the whole stream, block by block. Raises NotWritable."""
    yield memoryview(HEADER)
    for batch in batches:
        if batch.schema.types != schema.types:
            raise ValueProblem("Batches of one load have different types.", "Nothing was written from them.")
        if batch.num_rows:
            yield memoryview(_encoded(batch, writers))
    yield memoryview(END)


def _encoded(batch: pa.RecordBatch, writers: Sequence[Writer | None]) -> pa.Buffer:
    rows = _Rows(batch.num_rows)
    rows.add(_repeated(struct.pack(">h", batch.num_columns), batch.num_rows))
    for name, array, writer in zip(batch.schema.names, batch.columns, writers, strict=True):
        if writer is None:
            _add_texts(rows, array, name)
        else:
            values = writer(array)
            if values is None:
                raise NotWritable(name, "a year before 1 or after 9999")
            _add_values(rows, array, values)
    return rows.joined()


class _Rows:
    """The pieces of every row. Fixed-length pieces are collected until a piece of varying length comes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._gathered: list[Bytes] = []
        self._pieces: list[pa.Array] = []

    def add(self, fixed: Bytes) -> None:
        self._gathered.append(fixed)

    def add_varying(self, lengths: Numbers, is_null: Mask | None, values: pa.Array) -> None:
        written = lengths if is_null is None else np.where(is_null, _NULL, lengths)
        self.add(_as_bytes(written.astype(">i4")))
        self._close()
        self._pieces.append(values)

    def joined(self) -> pa.Buffer:
        self._close()
        whole = pc.binary_join_element_wise(*self._pieces, pa.scalar(b"")) if len(self._pieces) > 1 else self._pieces[0]
        offsets = np.frombuffer(whole.buffers()[1], np.int32)[whole.offset : whole.offset + self._count + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        return whole.buffers()[2].slice(first, last - first)

    def _close(self) -> None:
        if self._gathered:
            self._pieces.append(_of_one_length(np.concatenate(self._gathered, axis=1)))
            self._gathered = []


def _add_values(rows: _Rows, array: pa.Array, values: Bytes) -> None:
    width = values.shape[1]
    if not array.null_count:
        rows.add(_repeated(struct.pack(">i", width), len(array)))
        rows.add(values)
        return
    is_null = np.asarray(array.is_null())
    lengths = np.where(is_null, 0, width)
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    content = pa.py_buffer(np.ascontiguousarray(values[~is_null]))
    not_null = pa.Array.from_buffers(pa.binary(), len(array), [None, pa.py_buffer(offsets), content])
    rows.add_varying(lengths, is_null, not_null)


def _add_texts(rows: _Rows, array: pa.Array, name: str) -> None:
    is_null = np.asarray(array.is_null()) if array.null_count else None
    texts = array.cast(pa.binary())
    if is_null is not None:
        texts = texts.fill_null(b"")
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    content = texts.buffers()[2]
    is_text = pa.types.is_string(array.type) and content is not None
    if is_text and b"\0" in memoryview(content)[int(offsets[0]) : int(offsets[-1])].tobytes():
        raise nul_character(name)
    rows.add_varying(np.diff(offsets).astype(np.int64), is_null, texts)


def _of_one_length(matrix: Bytes) -> pa.Array:
    matrix = np.ascontiguousarray(matrix)  # numpy joins narrow columns column by column
    count, width = matrix.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(matrix)])


def _repeated(value: bytes, count: int) -> Bytes:
    return np.broadcast_to(np.frombuffer(value, np.uint8), (count, len(value)))


def _as_bytes(numbers: npt.NDArray[Any]) -> Bytes:
    rows: Bytes = np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), -1)
    return rows


# Writers


def _stored(array: pa.Array, code: str) -> npt.NDArray[Any]:
    size = np.dtype(code).itemsize
    return np.frombuffer(array.buffers()[1], code, len(array), array.offset * size)


def _numbers(code: str) -> Writer:
    return lambda array: _as_bytes(_stored(array, f"{code[1]}{array.type.bit_width // 8}").astype(code))


def _since_2000(code: str, day: int) -> Writer:
    """Return a writer of dates and timestamps; `day` is the number of units in a day."""
    first, last = (bound * day for bound in YEARS_OF_FOUR_DIGITS)

    def write(array: pa.Array) -> Bytes | None:
        found = _stored(array, code[1:]).astype(np.int64)
        is_outside = (found < first) | (found >= last + day)
        if is_outside.any() and (is_outside & np.asarray(array.is_valid())).any():
            return None
        return _as_bytes((found - EPOCH_DAYS * day).astype(code))

    return write


def _booleans(array: pa.Array) -> Bytes:
    return _as_bytes(_stored(array.cast(pa.uint8()), "u1"))


def _decimals(array: pa.Array) -> Bytes:
    kind = array.type
    words = np.frombuffer(array.buffers()[1], np.uint64, 2 * len(array), array.offset * 16).reshape(-1, 2)
    is_negative = (words[:, 1] >> np.uint64(63)) != 0
    lower = np.where(is_negative, ~words[:, 0] + np.uint64(1), words[:, 0])
    upper = np.where(is_negative, ~words[:, 1] + (words[:, 0] == 0), words[:, 1])
    before, behind = -(-(kind.precision - kind.scale) // DIGITS), -(-kind.scale // DIGITS)
    digits = _digits(lower, upper, before + behind, behind * DIGITS - kind.scale)
    numeric = np.empty((len(array), 4 + before + behind), ">i2")
    numeric[:, 0], numeric[:, 1], numeric[:, 3] = before + behind, before - 1, kind.scale
    numeric[:, 2] = np.where(is_negative, NEGATIVE, 0)
    for place, digit in enumerate(reversed(digits)):
        numeric[:, 4 + place] = digit
    return _as_bytes(numeric)


def _digits(lower: Words, upper: Words, count: int, spare: int) -> list[Words]:
    """Return the digits to the base 10,000, lowest first. The lowest ends with `spare` decimal zeros."""
    halves = [lower & _LOWER_HALF, lower >> _HALF, upper & _LOWER_HALF, upper >> _HALF]
    found: list[Words] = []
    if spare:
        halves, rest = _divided(halves, BASE // 10**spare)
        found.append(rest * np.uint64(10**spare))
    while len(found) < count:
        halves, rest = _divided(halves, BASE * BASE)
        found += [rest % np.uint64(BASE), rest // np.uint64(BASE)]
    return found[:count]


_HALF = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)


def _divided(halves: list[Words], by: int) -> tuple[list[Words], Words]:
    """Divide numbers in half-words, lowest first. Return the quotients without leading zeros, and the remainders."""
    divisor = np.uint64(by)
    quotients: list[Words] = []
    rest = np.zeros(len(halves[0]), np.uint64)
    for half in reversed(halves):
        if not quotients and len(halves) > 1 and half is not halves[0] and not half.any():
            continue
        value = (rest << _HALF) | half
        quotient = value // divisor
        rest = value - quotient * divisor
        quotients.append(quotient)
    return quotients[::-1], rest
