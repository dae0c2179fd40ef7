"""Between COPY's csv and Arrow, without a Python object per value.

Facts that shape this file
 * COPY TO sends one message per row, so a block of messages is a block of whole rows.
 * A null is an empty field without quotes, an empty string one with quotes; pyarrow can tell them apart.
 * pyarrow drops a byte-order mark at the start of what it parses: a header line goes first, so that a value which
   begins with one keeps it.
 * Before version 18, COPY FROM ends at a row that begins with `\\.` without quotes. pyarrow quotes every string, so
   no value can be taken for the end of data, also not one with a line that holds `\\.` alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from tidegate.errors import NotNative, ValueProblem
from tidegate.interfaces import BatchSize

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]

_BAD_COLUMN = re.compile(r"In CSV column #(\d+)")
_NIBBLE = np.zeros(256, dtype=np.uint8)
_NIBBLE[list(b"0123456789abcdef")] = range(16)
_HEX_PAIR = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], dtype=np.uint8)


def blocks(messages: Iterable[bytes | bytearray | memoryview], size: BatchSize) -> Iterator[tuple[bytes, int]]:
    """Rows joined into blocks, with their number; a block ends when either bound is reached."""
    block, rows = bytearray(), 0
    for message in messages:
        block += message
        rows += 1
        if rows >= size.rows or len(block) >= size.bytes:
            yield bytes(block), rows
            block, rows = bytearray(), 0
    if rows:
        yield bytes(block), rows


class Decoder:
    """From blocks of csv rows to batches of one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        # Names of our own, since a table may have columns whose names csv would have to quote.
        labels = [f"c{position}" for position in range(len(schema))]
        self._header = (",".join(labels) + "\n").encode()
        types = {label: _csv_type(field.type) for label, field in zip(labels, schema, strict=True)}
        self._convert = pa_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        )
        self._parse = pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)

    def decode(self, block: bytes, rows: int) -> pa.RecordBatch:
        if not block.endswith(b"\n"):
            raise ValueProblem(
                "COPY sent half a row.",
                "Nothing was written from it.",
                "Run again; report this if it repeats.",
            )
        content = self._header + block
        read = pa_csv.ReadOptions(use_threads=False, block_size=len(content) + 1)
        try:
            table = pa_csv.read_csv(io.BytesIO(content), read, self._parse, self._convert)
        except pa.ArrowInvalid as problem:
            raise self._explained(problem) from None
        if table.num_rows != rows:
            raise ValueProblem(
                f"COPY sent {rows} rows, {table.num_rows} were understood.", "Nothing was written from them."
            )
        arrays = [_from_csv(table.column(i), field.type) for i, field in enumerate(self.schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _explained(self, problem: pa.ArrowInvalid) -> ValueProblem:
        bad = _BAD_COLUMN.search(str(problem))
        if bad is None:
            return ValueProblem("The rows that COPY sent could not be understood.", "Nothing was written from them.")
        return NotNative(self.schema.field(int(bad[1])).name)


def encode(batch: pa.RecordBatch) -> bytes:
    """csv for COPY FROM."""
    arrays = [_to_csv(column) for column in batch.columns]
    labels = [f"c{position}" for position in range(len(arrays))]
    out = io.BytesIO()
    pa_csv.write_csv(pa.RecordBatch.from_arrays(arrays, labels), out, pa_csv.WriteOptions(include_header=False))
    return out.getvalue()


def _csv_type(arrow: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_binary(arrow) else arrow


def _from_csv(column: pa.ChunkedArray, arrow: pa.DataType) -> pa.Array:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return bytes_from_hex(array) if pa.types.is_binary(arrow) else array


def _to_csv(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return hex_from_bytes(array) if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type) else array


def bytes_from_hex(array: pa.Array) -> pa.Array:
    r"""From `\x00ff` to the two bytes that it stands for."""
    digits = pc.utf8_slice_codeunits(array, 2)
    return _mapped_bytes(digits, pa.binary(), _pairs_to_bytes, lambda offsets: offsets // 2)


def hex_from_bytes(array: pa.Array) -> pa.Array:
    r"""From bytes to `\x00ff`."""
    digits = _mapped_bytes(array.cast(pa.binary()), pa.string(), _bytes_to_pairs, lambda offsets: offsets * 2)
    return pc.binary_join_element_wise(pa.scalar("\\x"), digits, pa.scalar(""))


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
