"""One Parquet file: how it is written, and what its footer says."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.storage.door import Storage

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FOOTER_KEY = b"tidegate"
FORMAT = 2
"""Format 1 kept a token as the two texts `newest` and `window`."""
_ROW_GROUP_ROWS = 256 * 1024
_ROW_GROUP_BYTES = 64 * 1024 * 1024
_DIGITS_OF_AN_INTEGER = 18
_PLAIN_COMPRESSION = "snappy"
_PLAIN_ENCODINGS = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}


class FileWriter:
    """Writes batches into one Parquet file, in row groups of a sensible size.

    `plain` files have only what every reader of Parquet knows, also those inside of database servers: Snappy, and
    dictionaries or plain values."""

    def __init__(
        self, storage: Storage, path: str, schema: pa.Schema, *, plain: bool = False, compression: str = "zstd"
    ) -> None:
        self.path, self._storage, self._schema, self._plain = path, storage, schema, plain
        self._compression = _PLAIN_COMPRESSION if plain else compression
        self._pending: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._output: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        self._pending.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP_ROWS or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            repetitive = _repetitive(self._pending[0]) if self._pending else []
            self._output = self._storage.output(self.path)
            self._writer = pq.ParquetWriter(
                self._output,
                self._schema,
                compression=self._compression,
                compression_level=1 if self._compression == "zstd" else None,
                store_decimal_as_integer=True,
                write_page_checksum=True,
                use_dictionary=repetitive or False,
                column_encoding=None if self._plain else _by_differences(self._schema, repetitive) or None,
            )
        if self._rows:
            table = pa.Table.from_batches(self._pending, self._schema)
            self._writer.write_table(table, row_group_size=_ROW_GROUP_ROWS)
        self._pending, self._rows, self._bytes = [], 0, 0

    def close(self, footer: dict[str, Any]) -> int:
        """Write the footer, make the file durable and return its size in bytes."""
        self._flush()
        assert self._writer is not None and self._output is not None
        self._writer.add_key_value_metadata({FOOTER_KEY.decode(): json.dumps({"format": FORMAT, **footer})})
        self._writer.close()
        self._output.close()
        return self._storage.flush(self.path)

    def abandon(self) -> None:
        """Close without a footer and delete the file."""
        for opened in (self._writer, self._output):
            if opened is not None:
                with contextlib.suppress(Exception):
                    opened.close()
        self._storage.discard(self.path)


def _repetitive(batch: pa.RecordBatch) -> list[str]:
    """Return the columns that a dictionary makes smaller. For others it costs more time than all the other encoding."""
    import pyarrow.compute as pc

    few = max(batch.num_rows // 5, 1)
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return [name for name, column in columns if _is_one(name) and pc.count_distinct(column).as_py() <= few]


def _by_differences(schema: pa.Schema, repetitive: list[str]) -> dict[str, str]:
    """Return the numbers, days and timestamps, which are written as differences from the row before: a third of the
    bytes in half the time, since they mostly grow."""
    import pyarrow.types as types

    return {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if (types.is_integer(field.type) or types.is_temporal(field.type) or _is_stored_as_integer(field.type))
        and _is_one(field.name)
        and field.name not in repetitive
    }


def _is_stored_as_integer(kind: pa.DataType) -> bool:
    """Return whether a type is a decimal that fits into 64 bits."""
    import pyarrow.types as types

    return bool(types.is_decimal(kind) and kind.precision <= _DIGITS_OF_AN_INTEGER)


def _is_one(name: str) -> bool:
    """Return whether pyarrow takes the name for one column: with a dot it would be a path into a struct."""
    return "." not in name


def is_plain(storage: Storage, path: str) -> bool:
    """Return whether a file has only encodings of `plain` files."""
    import pyarrow.parquet as pq

    with storage.input(path) as file:
        metadata = pq.read_metadata(file)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    return all(
        chunk.compression.lower() == _PLAIN_COMPRESSION and _PLAIN_ENCODINGS.issuperset(chunk.encodings)
        for chunk in chunks
    )


def merge_files(storage: Storage, files: Sequence[str], path: str) -> tuple[int, int]:
    """Write the rows of several files into one, and return how many rows and bytes it has. Names and ids of columns
    stay; a column that some files lack is null there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas = []
    for file in files:
        with storage.input(file) as opened:
            schemas.append(_with_ids_alone(pq.read_schema(opened)))
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    writer = FileWriter(storage, path, schema)
    rows = 0
    try:
        for file in files:
            with storage.input(file) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as parquet:
                for batch in parquet.iter_batches(_ROW_GROUP_ROWS // 4):
                    writer.write(_completed(batch, schema))
                    rows += batch.num_rows
        return rows, writer.close({"rows": rows})
    except BaseException:
        writer.abandon()
        raise


def _with_ids_alone(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the ids of its fields, and without what else one file says of them."""
    import pyarrow as pa

    ids = [(field.metadata or {}).get(b"PARQUET:field_id") for field in schema]
    return pa.schema(
        [
            field.remove_metadata() if number is None else field.with_metadata({b"PARQUET:field_id": number})
            for field, number in zip(schema, ids, strict=True)
        ]
    )


def _completed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    there = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in there else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def read_footer(storage: Storage, path: str) -> dict[str, Any]:
    """Return the facts of a file. Raises OSError or ValueError for a file that is not whole, or not ours."""
    import pyarrow.parquet as pq

    with storage.input(path) as file:
        metadata = pq.read_metadata(file)
    stored = (metadata.metadata or {}).get(FOOTER_KEY)
    if stored is None:
        raise ValueError("its footer has no facts of Tidegate's")
    facts: dict[str, Any] = json.loads(stored)
    require_known_format(facts)
    if facts["rows"] != metadata.num_rows:
        raise ValueError(f"it holds {metadata.num_rows} rows, its facts say {facts['rows']}")
    return facts


def require_known_format(facts: dict[str, Any]) -> None:
    """Raise ValueError for facts that a newer version wrote."""
    if facts["format"] > FORMAT:
        raise ValueError(f"a newer version of Tidegate wrote it (format {facts['format']})")
