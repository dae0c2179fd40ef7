"""Versions of rows that say how things are now: since when they are so, open at the end, and holding."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from tidegate.model.values import Kind, Value


def validity(batch: pa.RecordBatch, schema: pa.Schema, mark: str, read_at: str) -> pa.RecordBatch:
    """The same rows with start, end and flag, which are the fields of `schema` in this order."""
    start, end, flag = schema
    since = batch.column(mark).cast(start.type) if mark else _repeated(moment(read_at), start, batch.num_rows)
    columns = [*batch.columns, since, pa.nulls(batch.num_rows, end.type), _repeated(pa.scalar(1), flag, batch.num_rows)]
    return pa.record_batch(columns, schema=pa.schema([*batch.schema, start, end, flag]))


def moment(read_at: str) -> pa.Scalar:
    """A time on the source's clock, as columns of ours have it: in UTC and without saying so."""
    return pa.scalar(datetime.fromisoformat(read_at).replace(tzinfo=None), pa.timestamp("us"))


def mark_of(text: str, type_: pa.DataType) -> pa.Scalar:
    """A mark as a value of its column."""
    if pa.types.is_binary(type_):  # a row version, which the server counts in eight bytes
        return pa.scalar(int(text).to_bytes(8, "big"), type_)
    if pa.types.is_timestamp(type_):
        return pa.scalar(text).cast(pa.timestamp("us")).cast(type_)
    return pa.scalar(text).cast(type_)


def place_of(text: str | None, type_: pa.DataType, kind: Kind) -> pa.Scalar | None:
    """What a mark of this column is ordered by; None when there is no mark."""
    if text is None:
        return None
    return pa.scalar(Value.of(text, kind).in_order) if pa.types.is_string(type_) else mark_of(text, type_)


def _repeated(value: pa.Scalar, field: pa.Field, count: int) -> pa.Array:
    return pa.repeat(value.cast(field.type), count)
