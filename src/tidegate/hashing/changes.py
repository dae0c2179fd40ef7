"""The columns of changes that a change feed told, as Arrow types."""

from __future__ import annotations

import pyarrow as pa

from tidegate.hashing.arrow import arrow_schema
from tidegate.interfaces.feed import FeedTable
from tidegate.model.feeds import OPERATION, POSITION, TIME


def change_schema(table: FeedTable) -> pa.Schema:
    """Return the schema of changes: operation, position and commit time, then the key, or all columns with images.

    Values of a deleted row may be null, besides its key."""
    about = [
        pa.field(OPERATION, pa.int16(), nullable=False),
        pa.field(POSITION, pa.string(), nullable=False),
        pa.field(TIME, pa.timestamp("us", "UTC")),
    ]
    values = arrow_schema(table.told, table.text_columns)
    return pa.schema([*about, *(pa.field(field.name, field.type) for field in values)])
