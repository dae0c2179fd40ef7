"""Conversion of rows in the wire protocol to Arrow: a column at a time, without a Python object per value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases._pieces import Numbers, gather_values
from tidegate.databases.mysql.wire import Block
from tidegate.errors import NotNative

_NULL = 0xFB
_LENGTHS = ((0xFC, 2), (0xFD, 3), (0xFE, 8))
_ANY_DAY = "1970-01-01 "


def decode(block: Block, schema: pa.Schema) -> pa.RecordBatch:
    """Return a block as a batch. Raises NotNative with the column if a value does not fit its Arrow type."""
    arrays = [typed(texts, field) for texts, field in zip(_columns(block, len(schema)), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(block: Block, count: int) -> Iterator[pa.Array]:
    """Yield each column as bytes. The position of the next value is computed for all rows at once."""
    data = np.frombuffer(block[0], np.uint8)
    at: Numbers = np.array(block[1], np.int64)
    for _ in range(count):
        first = data[at]
        is_null = first == _NULL
        begins, lengths = at + 1, first.astype(np.int64)
        lengths[is_null] = 0
        for prefix, size in _LENGTHS:
            long = np.flatnonzero(first == prefix)
            if len(long):
                places = at[long, None] + 1 + np.arange(size)
                lengths[long] = (data[places].astype(np.int64) << (8 * np.arange(size))).sum(axis=1)
                begins[long] += size
        yield gather_values(block[0], begins, lengths, is_null if is_null.any() else None)
        at = begins + lengths


def typed(texts: pa.Array, field: pa.Field) -> pa.Array:
    """Return texts of the server, as bytes, in the Arrow type of a field. Raises NotNative with its name."""
    kind = field.type
    try:
        if pa.types.is_binary(kind):
            return texts
        texts = texts.cast(pa.string())
        if pa.types.is_timestamp(kind):
            # Cast without a zone: the texts are in UTC and do not name it.
            return texts.cast(pa.timestamp("us")).view(pa.int64()).view(kind)
        if pa.types.is_time(kind):
            timestamps = pc.binary_join_element_wise(pa.scalar(_ANY_DAY), texts, pa.scalar(""))
            return timestamps.cast(pa.timestamp("us")).cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        raise NotNative(field.name) from None
