"""Conversion of COPY's binary format to Arrow: a column at a time, without a Python object per value.

Facts that shape this file
 * A stream is a header, rows, and a row of -1 columns. A row is the number of its columns (int16), then for each column
   its length (int32, -1 for null) and its bytes. All numbers are big-endian.
 * COPY TO sends one message per row, and the header with the first. So the start of every row is known, and the length
   of each value leads to the next value, for all rows at once.
 * A numeric is four int16 (number of digits, exponent of the first, sign, scale) and digits to the base 10,000, without
   zeros at either end. The sign of NaN and infinity has its upper bit set.
 * Dates and timestamps count from 2000-01-01, days in int32, microseconds in int64. The largest and the smallest number
   are infinity and -infinity.
 * A type without an entry here is read as csv.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.databases._pieces import Mask, Numbers, gather_values, validity_bitmap
from tidegate.errors import NotNative, ValueProblem
from tidegate.model.columns import Column

Words: TypeAlias = npt.NDArray[np.uint64]
Block: TypeAlias = tuple[bytearray, list[int]]
"""The bytes of whole messages, and the end of each message."""

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER_BYTES = 19
_END = b"\xff\xff"
# After the last row: the position of a null is read as a number, too, and must exist.
_PADDING = bytes(24)

_INTEGERS = {"int16": ">i2", "int32": ">i4", "int64": ">i8"}
IS_TEXT = re.compile(r"text|json|(character|character varying)(\(\d+\))?")
# For these a cast to text gives the text that csv has; for bools, addresses and padded texts it does not.
_CAST_TO_TEXT = ("uuid", "number", "decimal", "date", "time", "timestamp", "instant", "json")

_SECOND = 1_000_000
DAY = 86_400 * _SECOND
EPOCH_DAYS = 10_957  # from 1970 to 2000
YEARS_OF_FOUR_DIGITS = (-719_162, 2_932_896)  # days from 1970 to 0001-01-01 and to 9999-12-31

NEGATIVE = 0x4000
BASE = 10_000
DIGITS = 4  # decimal digits in a digit to the base 10,000
_TOGETHER = 4  # digits to the base 10,000 in a word of 64 bits, a quarter each
_DIGITS_OF_A_WORD = 18  # decimal digits that a word of 64 bits can hold


@dataclass(frozen=True)
class Values:
    """One column of a block: where its values lie among the bytes of the rows."""

    data: bytearray
    begins: Numbers
    lengths: Numbers
    is_null: Mask | None

    def numbers(self, code: str, behind: Numbers | int = 0) -> Numbers:
        """Return the number that starts each value, or that lies `behind` bytes after its start."""
        found: Numbers = _at_every_byte(self.data, code)[self.begins + behind].astype(np.int64)
        return found

    def array(self, kind: pa.DataType, content: npt.NDArray[Any]) -> pa.Array:
        return pa.Array.from_buffers(kind, len(self.begins), [validity_bitmap(self.is_null), pa.py_buffer(content)])

    def not_null(self, mask: Mask) -> Mask:
        """Return the mask, False for nulls."""
        return mask if self.is_null is None else mask & ~self.is_null


Reader: TypeAlias = Callable[[Values, pa.DataType], pa.Array | None]
"""Returns the column as an Arrow array, or None if a value does not fit the Arrow type."""


@dataclass(frozen=True)
class Form:
    """How a column is transferred and read."""

    read: Reader
    as_text: bool = False
    """The query casts the column to text."""


def forms(columns: Sequence[Column], schema: pa.Schema) -> list[Form] | None:
    """Return a form for each column, or None if a column has no known binary form: then csv is used."""
    found = [_form(column, field.type) for column, field in zip(columns, schema, strict=True)]
    known = [form for form in found if form is not None]
    return known if len(known) == len(found) else None


def _form(column: Column, kind: pa.DataType) -> Form | None:
    family = column.logical_type.family
    if pa.types.is_string(kind):
        return _form_of_text(column)
    if family in _INTEGERS and pa.types.is_signed_integer(kind):
        return Form(_integers(_INTEGERS[family]))
    if family == "decimal" and pa.types.is_decimal(kind):
        return Form(_decimals) if column.type != "money" else None
    if (family == "timestamp" and kind == pa.timestamp("us")) or (
        family == "instant" and kind == pa.timestamp("us", "UTC")
    ):
        return Form(_timestamps)
    return {
        ("float32", pa.float32()): Form(_floats(">f4")),
        ("float64", pa.float64()): Form(_floats(">f8")),
        ("bool", pa.bool_()): Form(_booleans),
        ("date", pa.date32()): Form(_dates),
        ("time", pa.time64("us")): Form(_times),
        ("binary", pa.binary()): Form(_bytes),
    }.get((family, kind))


def _form_of_text(column: Column) -> Form | None:
    """Decides by the type, too: a column of any type has the logical type `string` when it is requested as text."""
    logical_type = column.logical_type
    if logical_type.family == "char" and column.read_as is not None and column.read_as.family == "trimmed":
        return Form(_texts, as_text=True)  # the cast drops the padding
    if IS_TEXT.fullmatch(column.type) or logical_type.family == "enum":
        return Form(_texts)
    if logical_type.family in _CAST_TO_TEXT and column.type != "money":
        return Form(_texts, as_text=True)
    return None


def decoded(blocks: Iterable[Block], schema: pa.Schema, forms: Sequence[Form]) -> Iterator[pa.RecordBatch]:
    """Yield the batches in these blocks. Raises NotNative with the column if a value does not fit its Arrow type."""
    is_first = True
    for data, ends in blocks:
        stops = np.array(ends, np.int64)
        begins = np.concatenate(([_header_length(data) if is_first else 0], stops[:-1]))
        # The header may be a message of its own, and the end marker always is: both are shorter than any row.
        rows = stops - begins > len(_END)
        data += _PADDING
        if rows.any():
            yield _batch(data, begins[rows], stops[rows], schema, forms)
        is_first = False


def _header_length(data: bytearray) -> int:
    if len(data) < _HEADER_BYTES or not data.startswith(SIGNATURE):
        raise _not_parsed()
    extension: int = struct.unpack_from(">i", data, _HEADER_BYTES - 4)[0]
    return _HEADER_BYTES + extension


def _batch(data: bytearray, begins: Numbers, ends: Numbers, schema: pa.Schema, forms: Sequence[Form]) -> pa.RecordBatch:
    if (_at_every_byte(data, ">i2")[begins] != len(forms)).any():
        raise _not_parsed()
    at, arrays = begins + 2, []
    for field, form in zip(schema, forms, strict=True):
        lengths = _at_every_byte(data, ">i4")[at].astype(np.int64)
        is_null = lengths < 0 if (lengths < 0).any() else None
        if is_null is not None:
            lengths[is_null] = 0
        values = Values(data, at + 4, lengths, is_null)
        array = form.read(values, field.type)
        if array is None:
            raise NotNative(field.name)
        arrays.append(array)
        at = values.begins + lengths
    if (at != ends).any():
        raise _not_parsed()
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _at_every_byte(data: bytearray, code: str) -> npt.NDArray[Any]:
    """Return the number that would start at each byte of the data."""
    numbers: npt.NDArray[Any] = np.ndarray((len(data) - 8,), np.dtype(code), data, strides=(1,))
    return numbers


def _not_parsed() -> ValueProblem:
    return ValueProblem(
        "The rows that COPY sent could not be parsed.",
        "Nothing was written from them.",
        "Run again; report this if it repeats.",
    )


# Readers


def _integers(code: str) -> Reader:
    def read(values: Values, kind: pa.DataType) -> pa.Array | None:
        found, width = values.numbers(code), kind.bit_width // 8
        bounds = np.iinfo(f"i{width}")
        if width < np.dtype(code).itemsize and values.not_null((found < bounds.min) | (found > bounds.max)).any():
            return None
        return values.array(kind, found.astype(f"i{width}"))

    return read


def _floats(code: str) -> Reader:
    return lambda values, kind: values.array(kind, _at_every_byte(values.data, code)[values.begins].astype(code[1:]))


def _booleans(values: Values, kind: pa.DataType) -> pa.Array:
    return values.array(kind, np.packbits(values.numbers("u1") != 0, bitorder="little"))


def _dates(values: Values, kind: pa.DataType) -> pa.Array | None:
    days = values.numbers(">i4") + EPOCH_DAYS
    first, last = YEARS_OF_FOUR_DIGITS
    if values.not_null((days < first) | (days > last)).any():
        return None
    return values.array(kind, days.astype(np.int32))


def _times(values: Values, kind: pa.DataType) -> pa.Array | None:
    found = values.numbers(">i8")
    return None if values.not_null(found >= DAY).any() else values.array(kind, found)


def _timestamps(values: Values, kind: pa.DataType) -> pa.Array | None:
    found = values.numbers(">i8")
    first, last = ((day - EPOCH_DAYS) * DAY for day in YEARS_OF_FOUR_DIGITS)
    if values.not_null((found < first) | (found >= last + DAY)).any():
        return None
    return values.array(kind, found + EPOCH_DAYS * DAY)


def _bytes(values: Values, kind: pa.DataType) -> pa.Array:
    return gather_values(values.data, values.begins, values.lengths, values.is_null)


def _texts(values: Values, kind: pa.DataType) -> pa.Array | None:
    """Return None for bytes that are no UTF-8: a database in SQL_ASCII stores and sends any bytes."""
    texts = _bytes(values, kind).view(kind)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return texts


def _decimals(values: Values, kind: pa.DataType) -> pa.Array | None:
    head = values.numbers(">i8")
    if values.is_null is not None:
        head[values.is_null] = 0
    digits, exponents, signs = head >> 48, head << 16 >> 48, head >> 16 & 0xFFFF
    if int(signs.max(initial=0)) > NEGATIVE:
        return None  # NaN or infinity
    exponents[digits == 0] = -1
    magnitudes = _magnitudes(values, digits, exponents, kind)
    if magnitudes is None:
        return None
    lower, upper = magnitudes
    is_negative = signs == NEGATIVE
    if is_negative.any():
        lower, upper = (
            np.where(is_negative, ~lower + np.uint64(1), lower),
            np.where(is_negative, ~upper + (lower == 0), upper),
        )
    content = np.empty((len(digits), 2), np.uint64)
    content[:, 0], content[:, 1] = lower, upper
    return values.array(kind, content)


def _magnitudes(values: Values, digits: Numbers, exponents: Numbers, kind: pa.DataType) -> tuple[Words, Words] | None:
    """Return the unscaled numbers as lower and upper words; None if a number has more digits than the type."""
    before, behind = -(-(kind.precision - kind.scale) // DIGITS), -(-kind.scale // DIGITS)
    highest = int(exponents.max(initial=-1))
    if highest >= before or int((exponents - digits).min(initial=-1)) < -behind - 1:
        return None
    if highest == before - 1:
        first_digits = values.numbers(">i2", 8)[(exponents == highest) & (digits > 0)]
        if (first_digits >= 10 ** (kind.precision - kind.scale - DIGITS * highest)).any():
            return None
    words = max(-(-(highest + behind + 1) // _TOGETHER), 1)
    lower, upper = np.zeros(len(digits), np.uint64), np.zeros(len(digits), np.uint64)
    for nth in range(words - 1, -1, -1):
        word, room = _word(values, digits, exponents, _TOGETHER * (nth + 1) - 1 - behind), BASE**_TOGETHER
        if nth == 0 and kind.scale % DIGITS:
            spare = 10 ** (behind * DIGITS - kind.scale)
            whole = word // np.uint64(spare)
            if (whole * np.uint64(spare) != word).any():
                return None
            word, room = whole, room // spare
        if nth == words - 1:
            lower = word
        elif kind.precision <= _DIGITS_OF_A_WORD:
            lower = lower * np.uint64(room) + word
        else:
            lower, upper = _times_plus(lower, upper, room, word)
    return lower, upper


_HALF = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)
_QUARTERS = np.array([2 ** (16 * count) - 1 for count in range(_TOGETHER + 1)], np.uint64)
_UPPER_QUARTERS = _QUARTERS[_TOGETHER] - _QUARTERS
_EVERY_OTHER_QUARTER = np.uint64(0x0000FFFF0000FFFF)


def _word(values: Values, digits: Numbers, exponents: Numbers, place: int) -> Words:
    """Return four digits to the base 10,000, from this place down, as one number; 0 for digits that a number lacks."""
    first = np.clip(exponents - place, -_TOGETHER, digits)
    found = values.numbers(">i8", 8 + 2 * first).view(np.uint64)
    found &= _QUARTERS[_TOGETHER + np.minimum(first, 0)]
    found &= _UPPER_QUARTERS[np.maximum(first + _TOGETHER - digits, 0)]
    pairs = (found >> np.uint64(16) & _EVERY_OTHER_QUARTER) * np.uint64(BASE) + (found & _EVERY_OTHER_QUARTER)
    word: Words = (pairs >> _HALF) * np.uint64(BASE**2) + (pairs & _LOWER_HALF)
    return word


def _times_plus(lower: Words, upper: Words, factor: int, summand: Words) -> tuple[Words, Words]:
    """Return number * factor + summand in words of 64 bits, computed by halves, since numpy has no carry."""
    factor_low, factor_high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    low, high = lower & _LOWER_HALF, lower >> _HALF
    first, second, third = low * factor_low, low * factor_high, high * factor_low
    middle = (first >> _HALF) + (second & _LOWER_HALF) + (third & _LOWER_HALF)
    product = (first & _LOWER_HALF) | (middle << _HALF)
    carried = high * factor_high + (second >> _HALF) + (third >> _HALF) + (middle >> _HALF)
    result = product + summand
    return result, upper * np.uint64(factor) + carried + (result < product)
