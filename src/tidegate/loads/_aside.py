"""Rows of a window that stay out of the target: as text, for the tables that keep them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.interfaces.load import AsideRow, Batches, LoadTask, proved_columns

if TYPE_CHECKING:
    from tidegate.hashing.differences import Mask


def aside_rows(task: LoadTask, keys: Sequence[str], batches: Batches, selected: Mask) -> Iterator[AsideRow]:
    """Yield the selected rows. A row is told from others by the hash of its content, as receipts take it."""
    from tidegate.hashing.differences import select_rows
    from tidegate.hashing.rows import hash_rows

    names = [column.name for column in task.request.columns]
    for batch in select_rows(proved_columns(task, batches)(), selected, names):
        hashes = hash_rows(batch)
        for row, (high, low) in zip(batch.to_pylist(), hashes.tolist(), strict=True):
            key = json.dumps([_text(row[name]) for name in keys], ensure_ascii=False)
            row_hash = f"{high:016x}{low:016x}"
            record = json.dumps({name: _text(value) for name, value in row.items()}, ensure_ascii=False)
            yield AsideRow(_identity(task.table, row_hash), key, row_hash, record)


def _identity(table: str, row_hash: str) -> str:
    import hashlib

    return hashlib.sha256(f"{table}\n{row_hash}".encode()).hexdigest()


def _text(value: object) -> str | int | bool | None:
    """Return a value as JSON has it without losing a digit; bytes in hexadecimal digits."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)
