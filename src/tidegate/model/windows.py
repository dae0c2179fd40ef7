"""Windows that stand for all of a table, where rows are not divided."""

from __future__ import annotations

from tidegate.model.values import Value, ValueKind

WHOLE_TABLE = Value.of("all rows", ValueKind.TEXT)
"""The only window of a table that is compared as a whole."""
ALL_VERSIONS = Value.of("all versions", ValueKind.TEXT)
"""What is verified, adopted and repaired as one, where rows are read by a cursor."""

_WHOLE = frozenset({WHOLE_TABLE.text, ALL_VERSIONS.text})


def is_whole(window: str) -> bool:
    """Return whether this text stands for all of a table."""
    return window in _WHOLE
