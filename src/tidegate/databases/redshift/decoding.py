"""Rows from the texts that the server sends, as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import NotNative

if TYPE_CHECKING:
    import pyarrow as pa

_TRUE, _FALSE = (b"t", b"true", b"1"), (b"f", b"false", b"0")


def decode(rows: Sequence[Sequence[bytes | None]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as a batch of this schema. Raises NotNative with the name of a column whose value does not fit."""
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    arrays = [_array(list(values), field) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: list[bytes | None], field: pa.Field) -> pa.Array:
    import pyarrow as pa
    import pyarrow.types as types

    kind = field.type
    try:
        if types.is_boolean(kind):
            return pa.array([_truth(value) for value in values], pa.bool_())
        if types.is_binary(kind):
            return pa.array([_bytes(value) for value in values], kind)
        texts: Any = pa.array(values, pa.binary()).cast(pa.string())
        if types.is_string(kind):
            return texts
        if types.is_timestamp(kind) and kind.tz is not None:
            naive = [None if value is None else _in_utc(value) for value in values]
            return pa.array(naive, pa.string()).cast(pa.timestamp("us")).cast(kind)
        if types.is_time(kind):
            moments = [None if value is None else b"1970-01-01 " + value for value in values]
            return pa.array(moments, pa.binary()).cast(pa.string()).cast(pa.timestamp("us")).cast(kind)
        return texts.cast(kind)
    except (pa.ArrowException, ValueError):
        raise NotNative(field.name) from None


def _truth(value: bytes | None) -> bool | None:
    if value is None or value in _TRUE:
        return None if value is None else True
    if value in _FALSE:
        return False
    raise ValueError(value)


def _bytes(value: bytes | None) -> bytes | None:
    """Binary values come as hexadecimal digits."""
    return None if value is None else bytes.fromhex(value.removeprefix(b"\\x").decode())


def _in_utc(value: bytes) -> str:
    """Our sessions are in UTC: the offset is always +00."""
    text = value.decode()
    if not text.endswith("+00"):
        raise ValueError(text)
    return text[: -len("+00")]
