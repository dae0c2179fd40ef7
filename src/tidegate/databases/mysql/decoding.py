"""From blocks of rows off the wire to Arrow, a whole column at once and without a Python object per value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.databases.mysql.wire import Block
from tidegate.errors import NotNative

_NULL = 0xFB
_LENGTHS = ((0xFC, 2), (0xFD, 3), (0xFE, 8))
_SOME_DAY = "1970-01-01 "

Numbers = npt.NDArray[np.int64]


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
        yield _gathered(data, begins, lengths, is_null)
        at = begins + lengths


def _gathered(
    data: npt.NDArray[np.uint8], begins: Numbers, lengths: Numbers, is_null: npt.NDArray[np.bool_]
) -> pa.Array:
    """The pieces of `data` one after the other."""
    offsets = np.zeros(len(begins) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data[places])]
    found = pa.Array.from_buffers(pa.binary(), len(begins), buffers)
    return pc.if_else(pa.array(is_null), None, found) if is_null.any() else found


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
