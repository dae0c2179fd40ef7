"""The snapshot table: its columns, its DDL, and its rows as Arrow batches."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.config.snapshots import DOCUMENTED_TABLE, SnapshotSettings
from tidegate.errors import ConfigError, Unsupported, ValueProblem
from tidegate.interfaces import Database
from tidegate.interfaces.archive import Migration
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName, pluralize
from tidegate.model.types import Type
from tidegate.sql.snapshots import create_index
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.sha256 import Digests
    from tidegate.snapshots.frames import HashedBatch

REGISTER = "snapshots"
"""The own table that has a row per snapshot."""
KEY_HASH, ROW_HASH = "key_hash", "row_hash"
PARTITIONS = 16
"""Over so many partitions the filters are spread, where the table is partitioned."""
_UUID_BYTES = 16
_EXAMPLES = 3
_TEXT = Type("string", 255)


def portable(name: str, logical_type: Type, *, nullable: bool = True) -> Column:
    """Return a column in words of no database."""
    return Column(name, str(logical_type), logical_type.storage_type, nullable=nullable, logical_type=logical_type)


_BEFORE = (
    portable("record_uuid", Type("uuid"), nullable=False),
    portable(ROW_HASH, Type("string", 64), nullable=False),
)
_AFTER = (
    portable("snapshot_date", Type("timestamp", 6), nullable=False),
    portable("customer_filter", _TEXT, nullable=False),
    portable("batch_id", Type("uuid")),
    portable("parquet_archive_id", Type("int64")),
    # Not in the documented table: the hash of the business key, which finds a row whatever the collation of texts is.
    portable(KEY_HASH, Type("binary", 32)),
)
OWN_COLUMNS = tuple(column.name for column in (*_BEFORE, *_AFTER))


def table_columns(settings: SnapshotSettings) -> tuple[Column, ...]:
    """Return the columns of the snapshot table. Raises ConfigError for a name that the table has already."""
    own = {name.lower() for name in OWN_COLUMNS}
    taken = [name for name in (*settings.business_key, *settings.attributes) if name.lower() in own]
    if taken:
        raise ConfigError(
            f"The snapshot table has columns of its own under the names {', '.join(taken)}.",
            "Nothing was read or written.",
            "Rename these columns of the frame, or choose others as business key and attributes.",
        )
    keys = [portable(name, _TEXT, nullable=False) for name in settings.business_key]
    attributes = [portable(name, _TEXT) for name in settings.attributes if name not in settings.business_key]
    return (*_BEFORE, *keys, *attributes, *_AFTER)


def create_statements(database: Database, table: TableName, settings: SnapshotSettings) -> list[Sql]:
    """Return the DDL of the snapshot table and its indexes. Raises Unsupported for names that the database refuses."""
    columns = table_columns(settings)
    refused = database.invalid_names([column.name for column in columns])
    if refused:
        reasons = "; ".join(f"{name!r} is {reason}" for name, reason in refused.items())
        raise Unsupported(
            f"{database.label} cannot create {table}: {reasons}.", "Nothing was written.", "Rename these columns."
        )
    declared = [database.declare(column) for column in columns]
    if not settings.partition_by_filter:
        return [*database.create_table(table, declared, ("record_uuid",), ""), *index_statements(table)]
    create = database.create_table(table, declared, ("record_uuid", "customer_filter"), "")
    return [*database.in_partitions(table, create, "customer_filter", PARTITIONS), *index_statements(table)]


def procedure_migrations(database: Database, table: TableName) -> tuple[Migration, ...]:
    """Return the procedures of the table. Those of the documented table have the documented names."""
    suffix = "" if table.name == DOCUMENTED_TABLE else f"_{table.name}"
    return database.snapshot_procedures(table, database.own_table(REGISTER), suffix)


def index_statements(table: TableName) -> list[Sql]:
    """Return the DDL of the indexes: one for the join by key, one for the snapshots of a filter."""
    name = table.name[:40]
    return [
        create_index(f"ix_{name}_key", table, ("batch_id", KEY_HASH)),
        create_index(f"ix_{name}_date", table, ("customer_filter", "snapshot_date")),
    ]


def missing_columns(settings: SnapshotSettings, schema: TableSchema) -> list[Column]:
    """Return the columns that an existing table lacks, as it may have been created by somebody else."""
    return [column for column in table_columns(settings) if schema.column(column.name) is None]


@dataclass(frozen=True)
class SnapshotFacts:
    """What all rows of one snapshot have in common."""

    customer_filter: str
    batch_id: str
    snapshot_date: str

    @property
    def salt(self) -> bytes:
        """Return what makes the record ids of this snapshot differ from those of any other."""
        return hashlib.sha256(f"{self.batch_id} {self.customer_filter}".encode()).digest()[:_UUID_BYTES]


def table_rows(
    hashed: HashedBatch, facts: SnapshotFacts, settings: SnapshotSettings, columns: Sequence[Column]
) -> pa.RecordBatch:
    """Return the rows of the snapshot table for a batch of a frame, in these columns of the table."""
    import pyarrow as pa

    count = hashed.rows.num_rows
    arrays: Mapping[str, pa.Array] = {
        "record_uuid": record_uuids(hashed.keys, facts.salt),
        ROW_HASH: hexadecimal(hashed.hashes),
        "snapshot_date": _repeated(_moment(facts.snapshot_date), pa.timestamp("us"), count),
        "customer_filter": _repeated(facts.customer_filter, pa.string(), count),
        "batch_id": _repeated(facts.batch_id, pa.string(), count),
        "parquet_archive_id": pa.nulls(count, pa.int64()),
        KEY_HASH: binary(hashed.keys),
    }
    names = [column.name for column in columns]
    found = [arrays[name] if name in arrays else as_text(hashed.rows, name) for name in names]
    return pa.RecordBatch.from_arrays(found, names)


def require_keys(rows: pa.RecordBatch | pa.Table, business_key: Sequence[str]) -> None:
    """Raise ValueProblem for rows without a value in the business key."""
    nulls = {name: rows.column(name).null_count for name in business_key if rows.column(name).null_count}
    if nulls:
        found = ", ".join(f"{name} ({pluralize(count, 'row')})" for name, count in nulls.items())
        raise ValueProblem(
            f"The business key has no value in {found}.",
            "Nothing was written.",
            "Fill in the key, or leave these rows out.",
        )


def duplicate_keys(key_values: pa.Table, keys: pa.Array) -> ValueProblem | None:
    """Return the error for rows with the same business key, with examples; None if all keys are different."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.count_distinct(keys).as_py() == len(keys):
        return None
    counted = pc.value_counts(keys)
    several = counted.filter(pc.greater(counted.field("counts"), 1))
    positions = [pc.index(keys, value).as_py() for value in several.field("values")[:_EXAMPLES]]
    examples = [", ".join(map(str, row.values())) for row in key_values.take(pa.array(positions)).to_pylist()]
    return ValueProblem(
        f"{pluralize(len(several), 'business key')} occur in several rows, such as {'; '.join(examples)}.",
        "Nothing was written.",
        "Leave the repeated rows out, or add a column to the business key.",
    )


def record_uuids(keys: Digests, salt: bytes) -> pa.Array:
    """Return a UUID for each key, version 8: always the same for one key of one snapshot."""
    import numpy as np
    import pyarrow as pa

    numbers = keys[:, :_UUID_BYTES] ^ np.frombuffer(salt, np.uint8)
    numbers[:, 6] = (numbers[:, 6] & 0x0F) | 0x80
    numbers[:, 8] = (numbers[:, 8] & 0x3F) | 0x80
    digits = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], np.uint8)[numbers].reshape(-1, 32)
    text = np.full((len(keys), 36), ord("-"), np.uint8)
    for start, end, at in ((0, 8, 0), (8, 12, 9), (12, 16, 14), (16, 20, 19), (20, 32, 24)):
        text[:, at : at + end - start] = digits[:, start:end]
    offsets = np.arange(0, (len(keys) + 1) * 36, 36, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(keys), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def hexadecimal(digests: Digests) -> pa.Array:
    from tidegate.hashing.hexadecimal import hex_from_bytes

    return hex_from_bytes(binary(digests))


def binary(digests: Digests) -> pa.Array:
    from tidegate.hashing.sha256 import as_binary

    return as_binary(digests)


def as_text(rows: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of the frame as texts for people; nulls if the frame does not have the column."""
    import pyarrow as pa
    from pyarrow import types

    if name not in rows.schema.names:
        return pa.nulls(rows.num_rows, pa.string())
    column = rows.column(name)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        if types.is_binary(column.type) or types.is_large_binary(column.type):
            return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _repeated(value: object, kind: pa.DataType, count: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, kind), count)


def _moment(text: str) -> object:
    from datetime import datetime

    return datetime.fromisoformat(text)
