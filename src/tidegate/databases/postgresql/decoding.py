"""From COPY's binary format to Arrow, a whole column at once and without a Python object per value.

Facts that shape this file
 * A stream is a header, rows, and a row of -1 columns. A row is the number of its columns (int16), then for each its
   length (int32, -1 for a null) and its bytes. All numbers are big-endian.
 * COPY TO sends one message per row, and the header with the first: so it is known where a row begins, and the length
   before each value leads to the next one, of all rows at once.
 * A numeric is four int16 (how many digits, the exponent of the first, sign, scale) and digits to the base 10,000,
   without zeros at either end. The sign of what is no number has its upper bit set.
 * Moments count from 2000-01-01, days in int32, microseconds in int64; infinity is the largest and the least of them.
 * What has no entry here is read as csv.
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

from tidegate.errors import NotNative, ValueProblem
from tidegate.model.columns import Column
from tidegate.rows.pieces import Mask, Numbers, gathered, validity

Words: TypeAlias = npt.NDArray[np.uint64]
Block: TypeAlias = tuple[bytearray, list[int]]
"""Bytes of whole messages, and where each of them ends."""

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER_BYTES = 19
_END = b"\xff\xff"
# Behind the last row: a number that is not there, since its value is null, may be read all the same.
_PADDING = bytes(24)

_INTEGERS = {"int16": ">i2", "int32": ">i4", "int64": ">i8"}
IS_TEXT = re.compile(r"text|json|(character|character varying)(\(\d+\))?")
# Their text by a cast is the one that csv has; of truths, addresses and padded texts it is another.
_CAST_TO_TEXT = ("uuid", "number", "decimal", "date", "time", "timestamp", "instant", "json")

_SECOND = 1_000_000
DAY = 86_400 * _SECOND
EPOCH_DAYS = 10_957  # from 1970 to 2000
YEARS_OF_FOUR_DIGITS = (-719_162, 2_932_896)  # days from 1970 to 0001-01-01 and to 9999-12-31

NEGATIVE = 0x4000
BASE = 10_000
DIGITS = 4  # to the base ten, that one of these stands for
_TOGETHER = 4  # as many of these lie in a word of 64 bits, a quarter each
_DIGITS_OF_A_WORD = 18  # to the base ten


@dataclass(frozen=True)
class Values:
    """One column of a block: its bytes among those of the rows."""

    data: bytearray
    begins: Numbers
    lengths: Numbers
    is_null: Mask | None

    def numbers(self, code: str, behind: Numbers | int = 0) -> Numbers:
        """What stands at the beginning of each value, or so many bytes behind it, read as numbers."""
        found: Numbers = _at_every_byte(self.data, code)[self.begins + behind].astype(np.int64)
        return found

    def array(self, kind: pa.DataType, content: npt.NDArray[Any]) -> pa.Array:
        return pa.Array.from_buffers(kind, len(self.begins), [validity(self.is_null), pa.py_buffer(content)])

    def there(self, mask: Mask) -> Mask:
        """Only of values that are not null."""
        return mask if self.is_null is None else mask & ~self.is_null


Reader: TypeAlias = Callable[[Values, pa.DataType], pa.Array | None]
"""None when a value is met that the type has no room for."""


@dataclass(frozen=True)
class Form:
    """How a column crosses the wire."""

    read: Reader
    as_text: bool = False
    """The server is asked for its text."""


def forms(columns: Sequence[Column], schema: pa.Schema) -> list[Form] | None:
    """One for each column; None when one of them has no binary form that is known here."""
    found = [_form(column, field.type) for column, field in zip(columns, schema, strict=True)]
    known = [form for form in found if form is not None]
    return known if len(known) == len(found) else None


def _form(column: Column, kind: pa.DataType) -> Form | None:
    held = column.holds.family
    if pa.types.is_string(kind):
        return _form_of_text(column)
    if held in _INTEGERS and pa.types.is_signed_integer(kind):
        return Form(_integers(_INTEGERS[held]))
    if held == "decimal" and pa.types.is_decimal(kind):
        return Form(_decimals) if column.type != "money" else None
    if (held == "timestamp" and kind == pa.timestamp("us")) or (
        held == "instant" and kind == pa.timestamp("us", "UTC")
    ):
        return Form(_moments)
    return {
        ("float32", pa.float32()): Form(_floats(">f4")),
        ("float64", pa.float64()): Form(_floats(">f8")),
        ("bool", pa.bool_()): Form(_truths),
        ("date", pa.date32()): Form(_dates),
        ("time", pa.time64("us")): Form(_times),
        ("binary", pa.binary()): Form(_bytes),
    }.get((held, kind))


def _form_of_text(column: Column) -> Form | None:
    """By its type as well as by what it holds: a column of any type holds text when it is asked for as text."""
    held = column.holds
    if held.family == "char" and column.stands_for is not None and column.stands_for.family == "trimmed":
        return Form(_texts, as_text=True)  # which drops the padding
    if IS_TEXT.fullmatch(column.type) or held.family == "enum":
        return Form(_texts)
    if held.family in _CAST_TO_TEXT and column.type != "money":
        return Form(_texts, as_text=True)
    return None


def decoded(blocks: Iterable[Block], schema: pa.Schema, forms: Sequence[Form]) -> Iterator[pa.RecordBatch]:
    """Raises NotNative with the column that holds what its type has no room for."""
    is_first = True
    for data, ends in blocks:
        stops = np.array(ends, np.int64)
        begins = np.concatenate(([_header_of(data) if is_first else 0], stops[:-1]))
        # A header may come by itself, and the end does: a row of no columns, which no row is.
        rows = stops - begins > len(_END)
        data += _PADDING
        if rows.any():
            yield _batch(data, begins[rows], stops[rows], schema, forms)
        is_first = False


def _header_of(data: bytearray) -> int:
    """Its length."""
    if len(data) < _HEADER_BYTES or not data.startswith(SIGNATURE):
        raise _not_understood()
    extension: int = struct.unpack_from(">i", data, _HEADER_BYTES - 4)[0]
    return _HEADER_BYTES + extension


def _batch(data: bytearray, begins: Numbers, ends: Numbers, schema: pa.Schema, forms: Sequence[Form]) -> pa.RecordBatch:
    if (_at_every_byte(data, ">i2")[begins] != len(forms)).any():
        raise _not_understood()
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
        raise _not_understood()
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _at_every_byte(data: bytearray, code: str) -> npt.NDArray[Any]:
    """The number that begins at each byte, whether or not one does."""
    numbers: npt.NDArray[Any] = np.ndarray((len(data) - 8,), np.dtype(code), data, strides=(1,))
    return numbers


def _not_understood() -> ValueProblem:
    return ValueProblem(
        "The rows that COPY sent could not be understood.",
        "Nothing was written from them.",
        "Run again; report this if it repeats.",
    )


# Readers


def _integers(code: str) -> Reader:
    def read(values: Values, kind: pa.DataType) -> pa.Array | None:
        found, width = values.numbers(code), kind.bit_width // 8
        bounds = np.iinfo(f"i{width}")
        if width < np.dtype(code).itemsize and values.there((found < bounds.min) | (found > bounds.max)).any():
            return None
        return values.array(kind, found.astype(f"i{width}"))

    return read


def _floats(code: str) -> Reader:
    return lambda values, kind: values.array(kind, _at_every_byte(values.data, code)[values.begins].astype(code[1:]))


def _truths(values: Values, kind: pa.DataType) -> pa.Array:
    return values.array(kind, np.packbits(values.numbers("u1") != 0, bitorder="little"))


def _dates(values: Values, kind: pa.DataType) -> pa.Array | None:
    days = values.numbers(">i4") + EPOCH_DAYS
    first, last = YEARS_OF_FOUR_DIGITS
    if values.there((days < first) | (days > last)).any():
        return None
    return values.array(kind, days.astype(np.int32))


def _times(values: Values, kind: pa.DataType) -> pa.Array | None:
    found = values.numbers(">i8")
    return None if values.there(found >= DAY).any() else values.array(kind, found)


def _moments(values: Values, kind: pa.DataType) -> pa.Array | None:
    found = values.numbers(">i8")
    first, last = ((day - EPOCH_DAYS) * DAY for day in YEARS_OF_FOUR_DIGITS)
    if values.there((found < first) | (found >= last + DAY)).any():
        return None
    return values.array(kind, found + EPOCH_DAYS * DAY)


def _bytes(values: Values, kind: pa.DataType) -> pa.Array:
    return gathered(values.data, values.begins, values.lengths, values.is_null)


def _texts(values: Values, kind: pa.DataType) -> pa.Array | None:
    """A database without an encoding holds and sends bytes that are no text."""
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
    """How many units of the last place, as lower and upper words. None when a digit stands outside of the type."""
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
    """The digits at this place and the three below it, of every number, as one; 0 for those that it does not have."""
    first = np.clip(exponents - place, -_TOGETHER, digits)
    found = values.numbers(">i8", 8 + 2 * first).view(np.uint64)
    found &= _QUARTERS[_TOGETHER + np.minimum(first, 0)]
    found &= _UPPER_QUARTERS[np.maximum(first + _TOGETHER - digits, 0)]
    pairs = (found >> np.uint64(16) & _EVERY_OTHER_QUARTER) * np.uint64(BASE) + (found & _EVERY_OTHER_QUARTER)
    word: Words = (pairs >> _HALF) * np.uint64(BASE**2) + (pairs & _LOWER_HALF)
    return word


def _times_plus(lower: Words, upper: Words, factor: int, summand: Words) -> tuple[Words, Words]:
    """number * factor + summand in words of 64 bits, by halves: numpy keeps no carry."""
    factor_low, factor_high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    low, high = lower & _LOWER_HALF, lower >> _HALF
    first, second, third = low * factor_low, low * factor_high, high * factor_low
    middle = (first >> _HALF) + (second & _LOWER_HALF) + (third & _LOWER_HALF)
    product = (first & _LOWER_HALF) | (middle << _HALF)
    carried = high * factor_high + (second >> _HALF) + (third >> _HALF) + (middle >> _HALF)
    result = product + summand
    return result, upper * np.uint64(factor) + carried + (result < product)
