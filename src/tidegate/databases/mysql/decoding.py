"""From blocks of rows off the wire to Arrow, a whole column at once and without a Python object per value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases.mysql.wire import Block
from tidegate.errors import NotNative
from tidegate.rows.pieces import Numbers, gathered

_NULL = 0xFB
_LENGTHS = ((0xFC, 2), (0xFD, 3), (0xFE, 8))
_SOME_DAY = "1970-01-01 "


def decode(block: Block, schema: pa.Schema) -> pa.RecordBatch:
    """Raises NotNative with the column that holds what its type has no room for."""
    arrays = [_typed(texts, field) for texts, field in zip(_columns(block, len(schema)), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(block: Block, count: int) -> Iterator[pa.Array]:
    """Each column as bytes. Of every row its values are found in turn, of all rows at once."""
    data = np.frombuffer(block[0], np.uint8)
    at: Numbers = np.array(block[1], np.int64)
    for _ in range(count):
        first = data[at]
        is_null = first == _NULL
        begins, lengths = at + 1, first.astype(np.int64)
        lengths[is_null] = 0
        for mark, size in _LENGTHS:
            marked = np.flatnonzero(first == mark)
            if len(marked):
                places = at[marked, None] + 1 + np.arange(size)
                lengths[marked] = (data[places].astype(np.int64) << (8 * np.arange(size))).sum(axis=1)
                begins[marked] += size
        yield gathered(block[0], begins, lengths, is_null if is_null.any() else None)
        at = begins + lengths


def _typed(texts: pa.Array, field: pa.Field) -> pa.Array:
    kind = field.type
    try:
        if pa.types.is_binary(kind):
            return texts
        texts = texts.cast(pa.string())
        if pa.types.is_timestamp(kind):
            # As numbers, since these texts are of UTC and say no zone.
            return texts.cast(pa.timestamp("us")).view(pa.int64()).view(kind)
        if pa.types.is_time(kind):
            moments = pc.binary_join_element_wise(pa.scalar(_SOME_DAY), texts, pa.scalar(""))
            return moments.cast(pa.timestamp("us")).cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        raise NotNative(field.name) from None
