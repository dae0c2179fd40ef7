"""How rows rest in a table format: in types that every reader of the format knows, and back again without loss.

| column                                        | rests as                                             |
| --------------------------------------------- | ---------------------------------------------------- |
| a time of day                                 | text, `07:30:00.000000`: Spark opens no Iceberg table with times |
| a column that one window had to read as text  | a column beside it, `amount__text`                   |
| everything else                               | itself                                               |

Each field of a file carries the name and type that it had in the source, so a file is read back by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

NAME = b"tidegate.name"
_STORAGE_TYPE = b"tidegate.storage_type"
_FIELD_ID = b"PARQUET:field_id"
_MICROSECONDS = (3_600_000_000, 60_000_000, 1_000_000)


def resting_type(field: pa.Field) -> pa.DataType:
    """Return the type in which a column rests."""
    import pyarrow as pa

    return pa.string() if pa.types.is_time(field.type) else field.type


def resting_field(field: pa.Field, name: str, number: int | None = None) -> pa.Field:
    """Return the field of a file for a column: under this name, and with this field id where the format has them."""
    import pyarrow as pa

    metadata = {key: value for key, value in (field.metadata or {}).items() if key != _FIELD_ID}
    metadata[NAME] = field.name.encode()
    if number is not None:
        metadata[_FIELD_ID] = str(number).encode()
    return pa.field(name, resting_type(field), nullable=True, metadata=metadata)


def as_resting(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows as a file with this schema holds them. The columns have the same order."""
    import pyarrow as pa

    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


def original_name(field: pa.Field) -> str:
    """Return the name that the column of a file has in the source."""
    metadata: dict[bytes, bytes] = field.metadata or {}
    return metadata[NAME].decode() if NAME in metadata else str(field.name)


def as_extracted(batch: pa.RecordBatch, fields: pa.Schema) -> pa.RecordBatch:
    """Return the rows as they were extracted. `fields` are those of the file, with their metadata."""
    import pyarrow as pa

    columns, restored = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        field = fields.field(name)
        if _rests_as_text(field):
            column = times_of_texts(column)
        columns.append(column)
        kept = {key: value for key, value in (field.metadata or {}).items() if key not in (NAME, _FIELD_ID)}
        restored.append(pa.field(original_name(field), column.type, nullable=True, metadata=kept or None))
    return pa.record_batch(columns, schema=pa.schema(restored))


def _rests_as_text(field: pa.Field) -> bool:
    import pyarrow as pa

    return (field.metadata or {}).get(_STORAGE_TYPE) == b"time" and pa.types.is_string(field.type)


def times_of_texts(texts: pa.Array) -> pa.Array:
    """Return the times of texts such as `07:30:00.000000`. Arrow has no such cast."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def number(begin: int, end: int) -> pa.Array:
        return pc.utf8_slice_codeunits(texts, begin, end).cast(pa.int64())

    total = number(9, 15)
    for place, factor in enumerate(_MICROSECONDS):
        total = pc.add(total, pc.multiply(number(place * 3, place * 3 + 2), factor))
    return total.cast(pa.time64("us"))
