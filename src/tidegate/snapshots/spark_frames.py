"""Spark frames: hashed by Spark's tasks, and archives that Spark's tasks read.

Facts that shape this file
 * A row with one binary column is the cheapest way for Arrow batches through `toLocalIterator`, which brings one
   partition at a time: a partition must fit the driver's memory.
 * A frame that is computed twice may give other rows. Saving reads it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.model.snapshots import Archive
from tidegate.snapshots.archive import ArchiveStore
from tidegate.snapshots.frames import Frame, HashedBatch, Hashing
from tidegate.snapshots.layout import binary

if TYPE_CHECKING:
    import pyarrow as pa

KEY = "tidegate_key_hash"
Work: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]"


class SparkFrame(Frame):
    """A DataFrame of Spark, classic or Connect."""

    kind = "spark"

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._frame, self.schema = frame, to_arrow_schema(frame.schema)

    def batches(self, hashing: Hashing) -> Iterator[HashedBatch]:
        sent = self._frame.mapInArrow(partial(_hash_and_pack, hashing=hashing), "packed binary")
        for row in sent.toLocalIterator():
            yield _unpack(row["packed"], self.schema)

    def split(self, hashing: Hashing, new: pa.Array, changed: pa.Array) -> tuple[Any, Any, Any]:
        from pyspark.sql.types import BinaryType, StructField, StructType

        schema = StructType([*self._frame.schema.fields, StructField(KEY, BinaryType())])
        keyed = self._frame.mapInArrow(partial(_with_key, hashing=hashing), schema)
        added, altered = (self._keys(keys) for keys in (new, changed))
        return (
            keyed.join(added, KEY, "left_semi").drop(KEY),
            keyed.join(altered, KEY, "left_semi").drop(KEY),
            keyed.join(added.unionByName(altered), KEY, "left_anti").drop(KEY),
        )

    def from_arrow(self, table: pa.Table) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        session = self._frame.sparkSession
        return session.createDataFrame(table.to_pylist(), from_arrow_schema(table.schema))

    def _keys(self, keys: pa.Array) -> Any:
        rows = [(bytearray(key),) for key in keys.to_pylist()]
        return self._frame.sparkSession.createDataFrame(rows, f"{KEY} binary")


def load_archive(store: ArchiveStore, archive: Archive, columns: Sequence[str] | None, spark: Any) -> Any:
    """Return an archive as a Spark frame. Each task reads row groups of its own from the archive."""
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    session = spark or SparkSession.getActiveSession()
    if session is None:
        from tidegate.errors import ConfigError

        raise ConfigError(
            "There is no Spark session to load the snapshot into.", "Nothing was read.", "Pass one as `spark`."
        )
    with store.open(archive) as file:
        names = list(columns) if columns is not None else file.schema_arrow.names
        schema = from_arrow_schema(_for_spark(file.schema_arrow.empty_table().select(names)).schema)
        groups = file.num_row_groups
    read = partial(_read_groups, store=store, archive=archive, columns=names)
    return session.range(0, groups, 1, max(groups, 1)).mapInArrow(read, schema)


def _hash_and_pack(batches: Iterator[pa.RecordBatch], hashing: Hashing) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            hashed = hashing.of(batch)
            arrays = [*batch.columns, binary(hashed.keys), binary(hashed.hashes)]
            rows = pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, "key_hash", "row_hash"])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as stream:
                stream.write_batch(rows)
            packed = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([packed], ["packed"])


def _unpack(packed: bytes | bytearray, schema: pa.Schema) -> HashedBatch:
    import numpy as np
    import pyarrow as pa

    [batch] = list(pa.ipc.open_stream(pa.py_buffer(bytes(packed))))
    *columns, keys, hashes = batch.columns
    rows = pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
    digests = [np.frombuffer(b"".join(each.to_pylist()), np.uint8).reshape(-1, 32) for each in (keys, hashes)]
    return HashedBatch(rows, digests[0], digests[1])


def _with_key(batches: Iterator[pa.RecordBatch], hashing: Hashing) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from tidegate.hashing.sha256 import hash_rows

    for batch in batches:
        arrays = [*batch.columns, binary(hash_rows(batch, hashing.business_key))]
        yield pa.RecordBatch.from_arrays(arrays, [*batch.schema.names, KEY])


def _read_groups(
    numbers: Iterator[pa.RecordBatch], store: ArchiveStore, archive: Archive, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            with store.open(archive) as file:
                yield from _for_spark(file.read_row_group(number, columns=list(columns))).to_batches()


def _for_spark(table: pa.Table) -> pa.Table:
    """Return the rows in types that Spark has: microseconds, signed numbers, no dictionaries."""
    import pyarrow as pa
    from pyarrow import types

    columns = []
    for column in table.columns:
        kind = column.type
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif types.is_timestamp(kind) and kind.unit != "us":
            column = column.cast(pa.timestamp("us", kind.tz))
        elif types.is_unsigned_integer(kind):
            column = column.cast(pa.decimal128(20, 0) if kind.bit_width == 64 else pa.int64())
        elif types.is_null(kind):
            column = column.cast(pa.string())
        columns.append(column)
    return pa.table(dict(zip(table.column_names, columns, strict=True)))
