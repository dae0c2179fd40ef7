"""Bytes as hexadecimal digits and back, a whole column at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]

_NIBBLE = np.zeros(256, dtype=np.uint8)
_NIBBLE[list(b"0123456789abcdef")] = range(16)
_HEX_PAIR = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], dtype=np.uint8)


def bytes_from_hex(array: pa.Array, prefix: int = 0) -> pa.Array:
    """From `00ff` to the two bytes that it stands for, after as many characters of a prefix."""
    digits = pc.utf8_slice_codeunits(array, prefix) if prefix else array
    return _mapped_bytes(digits, pa.binary(), _pairs_to_bytes, lambda offsets: offsets // 2)


def hex_from_bytes(array: pa.Array, prefix: str = "", suffix: str = "") -> pa.Array:
    """From bytes to `00ff` between a prefix and a suffix."""
    digits = _mapped_bytes(array.cast(pa.binary()), pa.string(), _bytes_to_pairs, lambda offsets: offsets * 2)
    return pc.binary_join_element_wise(pa.scalar(prefix), digits, pa.scalar(suffix), pa.scalar(""))


def _pairs_to_bytes(data: Bytes) -> Bytes:
    nibbles = _NIBBLE[data].reshape(-1, 2)
    joined: Bytes = np.bitwise_or(np.left_shift(nibbles[:, 0], np.uint8(4)), nibbles[:, 1])
    return joined


def _bytes_to_pairs(data: Bytes) -> Bytes:
    pairs: Bytes = _HEX_PAIR[data].reshape(-1)
    return pairs


def _mapped_bytes(
    array: pa.Array,
    to: pa.DataType,
    convert: Callable[[Bytes], Bytes],
    move: Callable[[Offsets], Offsets],
) -> pa.Array:
    """A new string or binary array whose bytes are `convert`ed as a whole and whose offsets are `move`d."""
    array = pa.concat_arrays([array])  # a slice would share its neighbours' bytes
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    data = convert(data[offsets[0] : offsets[-1]])
    moved = move(offsets - offsets[0]).astype(np.int32)
    nulls = pa.array(np.asarray(pc.is_null(array))) if array.null_count else None
    plain = pa.Array.from_buffers(to, len(array), [None, pa.py_buffer(moved), pa.py_buffer(np.ascontiguousarray(data))])
    return plain if nulls is None else pc.if_else(nulls, pa.scalar(None, to), plain)
