"""Choose the function that reads a column of an Arrow type as pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
from pyarrow import types

from tidegate.errors import Unsupported
from tidegate.hashing._byte_strings import read_binaries, read_texts
from tidegate.hashing._decimals import read_decimals
from tidegate.hashing._mixing import Pair, constants, replace_pairs
from tidegate.hashing._values import (
    null_mask,
    read_booleans,
    read_dates,
    read_floats,
    read_nulls,
    read_signed_integers,
    read_times,
    read_timestamps,
    read_unsigned_integers,
)

Reader: TypeAlias = Callable[[pa.Array], Pair]


def _is_text(kind: pa.DataType) -> bool:
    return any(matches(kind) for matches in (types.is_string, types.is_large_string, types.is_string_view))


def _is_binary(kind: pa.DataType) -> bool:
    variable = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(matches(kind) for matches in (*variable, types.is_fixed_size_binary))


READERS: tuple[tuple[Callable[[pa.DataType], bool], Reader], ...] = (
    (types.is_null, read_nulls),
    (types.is_boolean, read_booleans),
    (types.is_signed_integer, read_signed_integers),
    (types.is_unsigned_integer, read_unsigned_integers),
    (types.is_floating, read_floats),
    (types.is_decimal, read_decimals),
    (types.is_date, read_dates),
    (types.is_time, read_times),
    (types.is_timestamp, read_timestamps),
    (_is_text, read_texts),
    (_is_binary, read_binaries),
)


def reader_for(field: pa.Field) -> Reader:
    """Return the reader of the field's type. Raises `Unsupported` for a type that has no hash."""
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    for matches, reader in READERS:
        if matches(kind):
            return reader
    raise Unsupported(
        f"Column {field.name} is {field.type}, which the row hash does not cover.",
        "No receipt was made, and nothing was changed.",
        f"Read {field.name} as text or binary, or leave it out of the table's columns.",
    )


def read_pair(column: pa.Array, reader: Reader) -> Pair:
    """Return one pair per value; nulls have the same pair in every type."""
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    pair = reader(column)
    if column.null_count and not types.is_null(column.type):
        replace_pairs(pair, null_mask(column), constants("null"))
    return pair
