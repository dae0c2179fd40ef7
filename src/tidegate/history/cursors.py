"""Convert cursor values, and the values that sort as cursors do."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from tidegate.errors import ValueProblem
from tidegate.model.values import Value, ValueKind


def parse_read_at(read_at: str) -> pa.Scalar:
    """Return the time of a read, an ISO text on the source's clock, as a timestamp in UTC without a zone."""
    return pa.scalar(datetime.fromisoformat(read_at).replace(tzinfo=None), pa.timestamp("us"))


def parse_cursor(text: str, type_: pa.DataType) -> pa.Scalar:
    """Return a cursor value that was stored as text, such as `2024-08-15 10:00:00`, in the type of its column."""
    if pa.types.is_binary(type_):  # a rowversion of SQL Server: a number in eight bytes, stored as its digits
        return pa.scalar(int(text).to_bytes(8, "big"), type_)
    if pa.types.is_timestamp(type_):
        return pa.scalar(text).cast(pa.timestamp("us")).cast(type_)
    return pa.scalar(text).cast(type_)


def parse_sort_value(text: str | None, type_: pa.DataType, kind: ValueKind) -> pa.Scalar | None:
    """Return the value to compare with `Versions.sort_values` for one cursor value; None for None."""
    if text is None:
        return None
    return pa.scalar(Value.of(text, kind).sort_key) if pa.types.is_string(type_) else parse_cursor(text, type_)


def sort_values(cursor_values: pa.Array, kind: ValueKind) -> pa.Array:
    """Return values that sort as the cursors do: the cursors themselves, or sortable texts where they are texts."""
    if not pa.types.is_string(cursor_values.type) or kind is ValueKind.TEXT:
        return cursor_values
    texts = (text for text in cursor_values.unique().to_pylist() if text is not None)
    try:
        sortable = {text: Value.of(text, kind).sort_key for text in texts}
    except ValueError as problem:
        raise ValueProblem(
            f"The cursor value of a version cannot be ordered: {problem}.",
            "Nothing was loaded; the target keeps what it had.",
            "Correct these rows, or name another `cursor_column`.",
        ) from None
    return pa.array([sortable.get(text) for text in cursor_values.to_pylist()], pa.string())
