"""Conversion of Arrow to the text that LOAD DATA and INSERT read, a column at a time.

Facts that shape this file
 * Without an escape character, and with fields in double quotes, only a double quote must be escaped. A null is the
   word NULL without quotes, in both forms.
 * LOAD DATA reads a file in one character set: so bytes are sent as hexadecimal digits.
 * Bools are 1 and 0.
 * Floats have neither NaN nor infinity nor -0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases.mysql import types
from tidegate.errors import ValueProblem
from tidegate.hashing.hexadecimal import hex_from_bytes
from tidegate.model.columns import Column
from tidegate.sql.text import Name, Part, Sql, raw, sql

_NULL = "NULL"
_INSERTED_AT_ONCE = 1 << 20


def lines(batch: pa.RecordBatch) -> bytes:
    """Return a batch as lines for LOAD DATA."""
    _require_storable(batch)
    fields = [_or_null(_field(array)) for array in batch.columns]
    last_field = pc.binary_join_element_wise(fields[-1], pa.scalar("\n"), pa.scalar(""))
    joined = pc.binary_join_element_wise(*fields[:-1], last_field, pa.scalar(","))
    return b"".join(_bytes_of(joined))


def rows(batch: pa.RecordBatch, columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield the text after VALUES, in pieces that a server takes as one statement."""
    _require_storable(batch)
    fields = [_or_null(_literal(array, column)) for array, column in zip(batch.columns, columns, strict=True)]
    fields[0] = pc.binary_join_element_wise(pa.scalar("("), fields[0], pa.scalar(""))
    fields[-1] = pc.binary_join_element_wise(fields[-1], pa.scalar(")"), pa.scalar(""))
    piece: list[bytes] = []
    size = 0
    for row in pc.binary_join_element_wise(*fields, pa.scalar(",")).cast(pa.binary()):
        text = row.as_py()
        if piece and size + len(text) > _INSERTED_AT_ONCE:
            yield b",".join(piece)
            piece, size = [], 0
        piece.append(text)
        size += len(text) + 1
    if piece:
        yield b",".join(piece)


def field_targets(columns: Sequence[Column]) -> tuple[list[Part], list[Part]]:
    """Return the column list and the SET list of LOAD DATA.

    A field goes into its column, or into a variable from which SET computes the column."""
    into: list[Part] = []
    computed: list[Part] = []
    for position, column in enumerate(columns):
        variable = raw(f"@field{position}")
        expression = _computed(column, variable)
        into.append(Name.of(column.name) if expression is None else variable)
        if expression is not None:
            computed.append(sql("{column} = {value}", column=Name.of(column.name), value=expression))
    return into, computed


def _computed(column: Column, variable: Sql) -> Sql | None:
    if column.logical_type.storage_type == "binary":
        return sql("UNHEX({variable})", variable=variable)
    if types.base_type(column.type) == "year":
        return sql("LPAD({variable}, 4, '0')", variable=variable)  # the number 0 would become the year 2000
    if column.logical_type.family == "bits":
        return sql("CAST(CONV({variable}, 2, 10) AS UNSIGNED)", variable=variable)
    return None


def _require_storable(batch: pa.RecordBatch) -> None:
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_floating(array.type):
            numbers = array.drop_null().to_numpy(zero_copy_only=False)
            if not np.isfinite(numbers).all() or (np.signbit(numbers) & (numbers == 0)).any():
                raise ValueProblem(
                    f"{name} holds NaN, infinity or -0, which a FLOAT or DOUBLE of this server cannot store.",
                    "The load was rolled back; the target keeps what it had.",
                    f"Read {name} as text (`columns: {{{name}: text}}`) into a column of text.",
                )


def _field(array: pa.Array) -> pa.Array:
    if _is_binary(array):
        return hex_from_bytes(array)
    texts = _text(array)
    return _quoted(texts, '"') if pa.types.is_string(array.type) else texts


def _literal(array: pa.Array, column: Column) -> pa.Array:
    if _is_binary(array):
        return hex_from_bytes(array, "X'", "'")
    texts = _text(array)
    if column.logical_type.family == "bits":
        return pc.binary_join_element_wise(pa.scalar("b'"), texts, pa.scalar("'"), pa.scalar(""))
    if types.base_type(column.type) == "year":
        return _quoted(pc.utf8_lpad(texts, 4, "0"), "'")
    is_number = pa.types.is_integer(array.type) or pa.types.is_decimal(array.type) or pa.types.is_boolean(array.type)
    return texts if is_number else _quoted(texts, "'")


def _quoted(texts: pa.Array, quote: str) -> pa.Array:
    doubled = pc.replace_substring(texts, quote, quote * 2)
    return pc.binary_join_element_wise(pa.scalar(quote), doubled, pa.scalar(quote), pa.scalar(""))


def _text(array: pa.Array) -> pa.Array:
    if pa.types.is_string(array.type):
        return array
    return _TEXTS.get(array.type.id, lambda found: found)(array).cast(pa.string())


def _without_zone(array: pa.Array) -> pa.Array:
    return array.view(pa.int64()).view(pa.timestamp(array.type.unit))


def _digits(array: pa.Array) -> pa.Array:
    """Return decimals as digits. Arrow writes tiny numbers with an exponent, which a text column would keep."""
    texts = array.cast(pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return pa.array([None if number is None else f"{number:f}" for number in array.to_pylist()], pa.string())


# By Arrow type. Other types are written as Arrow writes them.
_TEXTS: dict[int, Callable[[pa.Array], pa.Array]] = {
    pa.bool_().id: lambda array: array.cast(pa.int8()),
    # With all digits: rounded to nine digits, the greatest FLOAT would be out of range.
    pa.float32().id: lambda array: array.cast(pa.float64()),
    pa.timestamp("us").id: _without_zone,
    pa.decimal128(1).id: _digits,
}


def _or_null(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, _NULL)


def _is_binary(array: pa.Array) -> bool:
    return bool(pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type))


def _bytes_of(texts: pa.Array) -> Iterator[memoryview]:
    """Yield the buffer of an array without an offset: all its texts, one after the other."""
    yield memoryview(texts.buffers()[2] or b"")
