"""Arrow types for the types that columns rest as."""

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


def arrow_type(rests_as: str) -> pa.DataType:
    decimal = _DECIMAL.fullmatch(rests_as)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else _PLAIN[rests_as]


def arrow_schema(columns: Sequence[Column], text_columns: Sequence[str] = ()) -> pa.Schema:
    """Each field says in its metadata which type it came from, so that a file explains itself."""
    return pa.schema([_field(column, as_text=column.name in text_columns) for column in columns])


def _field(column: Column, *, as_text: bool) -> pa.Field:
    rests_as = "text" if as_text else column.rests_as
    described = {"tidegate.type": column.type, "tidegate.rests_as": rests_as}
    return pa.field(column.name, arrow_type(rests_as), nullable=True, metadata=described)
