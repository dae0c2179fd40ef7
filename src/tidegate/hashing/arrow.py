"""Translate storage types, such as `decimal(18,2)`, into Arrow types."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from tidegate.model.columns import Column

_PLAIN: dict[str, pa.DataType] = {
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
    "string": pa.string(),
    "text": pa.string(),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def arrow_type(storage_type: str) -> pa.DataType:
    """Return the Arrow type of a storage type, such as `int32` or `decimal(18,2)`."""
    decimal = _DECIMAL.fullmatch(storage_type)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _PLAIN[storage_type]


def arrow_schema(columns: Sequence[Column], text_columns: Sequence[str] = ()) -> pa.Schema:
    """Return the Arrow schema of these columns; those in `text_columns` are strings.

    The metadata of each field has the column's type in the database, so that a file explains itself."""
    return pa.schema([_field(column, as_text=column.name in text_columns) for column in columns])


def _field(column: Column, *, as_text: bool) -> pa.Field:
    storage_type = "text" if as_text else column.storage_type
    metadata = {"tidegate.type": column.type, "tidegate.storage_type": storage_type}
    return pa.field(column.name, arrow_type(storage_type), nullable=True, metadata=metadata)
