"""Columns that only the target has: why rows that are replaced can lose their values, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column

REMEDY = (
    "Give the target a primary key of columns that are copied, drop the column in the target, or load into another"
    " table with `target_table`."
)


def reason_without_key(columns: Sequence[Column]) -> str:
    """Return the beginning of a sentence that ends with "them again"."""
    names = ", ".join(column.name for column in columns)
    return f"rows that are replaced have values in {names}, which only the target has, and no key of the target finds"
