"""Conditions for rows with one of many keys, where nothing can be staged: a source is only read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from tidegate.model.columns import Column
from tidegate.sql.text import IsOneOf, Literal, Name, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEYS = 1_000
"""How many keys one query asks for."""


def has_key(keys: Sequence[Column], rows: pa.RecordBatch) -> Sql:
    """Return the condition that the key of a row is among these. Without a null in any of them."""
    columns = [_literals(key, rows.column(number).to_pylist()) for number, key in enumerate(keys)]
    if len(keys) == 1:
        return sql("{found}", found=IsOneOf(Name.of(keys[0].name), tuple(columns[0])))
    conditions = [
        _all([sql("{same}", same=IsOneOf(Name.of(key.name), (value,))) for key, value in zip(keys, row, strict=True)])
        for row in zip(*columns, strict=True)
    ]
    # A balanced tree of OR: servers refuse thousands of levels.
    while len(conditions) > 1:
        pairs = [conditions[at : at + 2] for at in range(0, len(conditions), 2)]
        conditions = [
            sql("({left} OR {right})", left=pair[0], right=pair[1]) if len(pair) == 2 else pair[0] for pair in pairs
        ]
    return conditions[0]


def _all(conditions: Sequence[Sql]) -> Sql:
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = sql("{joined} AND {condition}", joined=joined, condition=condition)
    return sql("({joined})", joined=joined)


def _literals(key: Column, values: Sequence[object]) -> list[Literal]:
    return [Literal(_text(value), key.type) for value in values]


def _text(value: object) -> str | int:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)
