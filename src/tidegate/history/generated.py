"""Generate versions from the rows of a plain source, which has no history of its own."""

from __future__ import annotations

import pyarrow as pa

from tidegate.history.cursors import parse_read_at


def add_validity_columns(batch: pa.RecordBatch, schema: pa.Schema, cursor: str, read_at: str) -> pa.RecordBatch:
    """Return the rows as current, open versions.

    `schema` has the start, end and flag column, in this order. A version starts at the value of the column `cursor`,
    or, when that is empty, at the time of the read."""
    start, end, flag = schema
    starts = batch.column(cursor).cast(start.type) if cursor else _repeat(parse_read_at(read_at), start, batch.num_rows)
    ends, flags = pa.nulls(batch.num_rows, end.type), _repeat(pa.scalar(1), flag, batch.num_rows)
    return pa.record_batch([*batch.columns, starts, ends, flags], schema=pa.schema([*batch.schema, start, end, flag]))


def _repeat(value: pa.Scalar, field: pa.Field, count: int) -> pa.Array:
    return pa.repeat(value.cast(field.type), count)
