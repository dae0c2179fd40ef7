"""The key by which a load finds rows again."""

from __future__ import annotations

from typing import Any

from tidegate.model.columns import TableSchema
from tidegate.tables.found import named_column


def key_of(settings: Any, source: TableSchema, setting: str) -> tuple[str, ...]:
    """Return the key as the source spells it: configured, the primary key, or a unique key without nulls."""
    chosen = getattr(settings, setting)
    if chosen:
        return tuple(named_column(settings, source, name, setting).name for name in chosen)
    required = {column.name for column in source.columns if not column.nullable}
    candidates = [key for key in (source.primary_key, *sorted(source.unique_keys, key=len)) if key]
    return next((key for key in candidates if key == source.primary_key or set(key) <= required), ())


def may_change_places(target: TableSchema, key: tuple[str, ...], copied: set[str]) -> bool:
    """Return whether something else than the key is unique in the target, which has nothing of its own to lose."""
    others = [unique for unique in (target.primary_key, *target.unique_keys) if not set(unique) <= set(key)]
    return bool(others) and all(column.name in copied or column.generated for column in target.columns)
