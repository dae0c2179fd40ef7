"""Convert columns between bytes and hexadecimal digits, a whole column at once."""

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
    """Return the bytes of hexadecimal texts: two bytes for `00ff`. The first `prefix` characters are skipped."""
    digits = pc.utf8_slice_codeunits(array, prefix) if prefix else array
    return _convert_bytes(digits, pa.binary(), _digits_to_bytes, lambda offsets: offsets // 2)


def hex_from_bytes(array: pa.Array, prefix: str = "", suffix: str = "") -> pa.Array:
    """Return the bytes as hexadecimal digits, such as `00ff`, between a prefix and a suffix."""
    digits = _convert_bytes(array.cast(pa.binary()), pa.string(), _bytes_to_digits, lambda offsets: offsets * 2)
    return pc.binary_join_element_wise(pa.scalar(prefix), digits, pa.scalar(suffix), pa.scalar(""))


def _digits_to_bytes(data: Bytes) -> Bytes:
    nibbles = _NIBBLE[data].reshape(-1, 2)
    joined: Bytes = np.bitwise_or(np.left_shift(nibbles[:, 0], np.uint8(4)), nibbles[:, 1])
    return joined


def _bytes_to_digits(data: Bytes) -> Bytes:
    pairs: Bytes = _HEX_PAIR[data].reshape(-1)
    return pairs


def _convert_bytes(
    array: pa.Array,
    to: pa.DataType,
    convert: Callable[[Bytes], Bytes],
    scale: Callable[[Offsets], Offsets],
) -> pa.Array:
    """Return a string or binary array with all bytes passed through `convert` and all offsets through `scale`."""
    array = pa.concat_arrays([array])  # a slice still has the bytes outside of it
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    data = convert(data[offsets[0] : offsets[-1]])
    new_offsets = scale(offsets - offsets[0]).astype(np.int32)
    nulls = pa.array(np.asarray(pc.is_null(array))) if array.null_count else None
    buffers = [None, pa.py_buffer(new_offsets), pa.py_buffer(np.ascontiguousarray(data))]
    converted = pa.Array.from_buffers(to, len(array), buffers)
    return converted if nulls is None else pc.if_else(nulls, pa.scalar(None, to), converted)
