"""Conversion between the csv of COPY and Arrow, without a Python object per value.

Facts that shape this file
 * COPY TO sends one message per row, so a block of messages is a block of whole rows.
 * A null is an empty field without quotes, an empty string is `""`. pyarrow can tell them apart.
 * pyarrow drops a byte-order mark at the start of its input. So a header line goes first, and a value that begins with
   a byte-order mark keeps it.
 * Before version 18, COPY FROM ends at a row that begins with `\\.` without quotes. pyarrow quotes every string, so
   no value is taken for the end of data, not even a value with a line that is `\\.` alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from tidegate.databases.postgresql.decoding import Block
from tidegate.databases.postgresql.failures import nul_character
from tidegate.errors import NotNative, ValueProblem
from tidegate.hashing.hexadecimal import bytes_from_hex, hex_from_bytes
from tidegate.model.columns import Column

_BAD_COLUMN = re.compile(r"In CSV column #(\d+)")


def decoded(blocks: Iterable[Block], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches in these blocks. Raises NotNative with the column if a value does not fit its Arrow type."""
    decoder = Decoder(schema)
    for block, ends in blocks:
        yield decoder.decode(bytes(block), len(ends))


class Decoder:
    """Converts blocks of csv rows to batches of one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        # Generated labels, since the names of a table's columns may need quoting in csv.
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
                "COPY sent an incomplete row.",
                "Nothing was written from it.",
                "Run again; report this if it repeats.",
            )
        content = self._header + block
        read = pa_csv.ReadOptions(use_threads=False, block_size=len(content) + 1)
        try:
            table = pa_csv.read_csv(io.BytesIO(content), read, self._parse, self._convert)
        except pa.ArrowInvalid as problem:
            raise self._error(problem) from None
        if table.num_rows != rows:
            raise ValueProblem(
                f"COPY sent {rows} rows, but {table.num_rows} were parsed.", "Nothing was written from them."
            )
        arrays = [_from_csv(table.column(i), field.type) for i, field in enumerate(self.schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _error(self, problem: pa.ArrowInvalid) -> ValueProblem:
        bad = _BAD_COLUMN.search(str(problem))
        if bad is None:
            return ValueProblem("The rows that COPY sent could not be parsed.", "Nothing was written from them.")
        return NotNative(self.schema.field(int(bad[1])).name)


def encoded(batches: Iterable[pa.RecordBatch], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield csv for COPY FROM, block by block. Raises NotWritable."""
    # A bool goes into a numeric column as 0 or 1; pyarrow would write `true`.
    as_numbers = [position for position, column in enumerate(columns) if column.logical_type.is_integer]
    for batch in batches:
        block = encode(batch, as_numbers)
        if b"\0" in block:
            raise nul_character(_column_with_nul(batch))
        yield block


def encode(batch: pa.RecordBatch, as_numbers: Sequence[int] = ()) -> bytes:
    """Return a batch as csv. Bools in the columns at the positions `as_numbers` become 0 and 1."""
    arrays = [_to_csv(column) for column in batch.columns]
    for position in as_numbers:
        if pa.types.is_boolean(arrays[position].type):
            arrays[position] = arrays[position].cast(pa.int16())
    labels = [f"c{position}" for position in range(len(arrays))]
    out = io.BytesIO()
    pa_csv.write_csv(pa.RecordBatch.from_arrays(arrays, labels), out, pa_csv.WriteOptions(include_header=False))
    return out.getvalue()


def _column_with_nul(batch: pa.RecordBatch) -> str:
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_string(array.type) and pc.any(pc.match_substring(array, "\0")).as_py():
            return str(name)
    raise ValueProblem("A row holds U+0000.", "Nothing was written from it.")


def _csv_type(arrow: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_binary(arrow) else arrow


def _from_csv(column: pa.ChunkedArray, arrow: pa.DataType) -> pa.Array:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return bytes_from_hex(array, prefix=2) if pa.types.is_binary(arrow) else array


def _to_csv(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    is_binary = pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)
    return hex_from_bytes(array, "\\x") if is_binary else array
