"""Find the keys of a table in its catalog: columns that identify a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.model.columns import TableSchema


@dataclass(frozen=True)
class Key:
    """Columns that are unique together and never null, and the second-best key."""

    columns: tuple[str, ...]
    is_primary: bool
    runner_up: Key | None = None

    def __str__(self) -> str:
        return ", ".join(self.columns)

    @property
    def origin(self) -> str:
        return "the primary key" if self.is_primary else "a unique key"

    @property
    def preference(self) -> tuple[str, ...]:
        return (f"chosen over {self.runner_up}, also {self.runner_up.origin}",) if self.runner_up else ()


def keys_of(schema: TableSchema) -> list[Key]:
    """Return the primary key, then the unique keys, the shortest first."""
    # Catalogs list keys in different orders, so the order is made by the columns.
    place = {column.name: number for number, column in enumerate(schema.columns)}
    never_null = {column.name for column in schema.columns if not column.nullable}
    unique = {key for key in schema.unique_keys if key and set(key) <= never_null} - {schema.primary_key}
    ordered = sorted(unique, key=lambda key: (len(key), [place[name] for name in key]))
    primary = [Key(schema.primary_key, True)] if schema.primary_key else []
    return primary + [Key(key, False) for key in ordered]


def best_key(schema: TableSchema) -> Key | None:
    """Return the primary key, else a unique key of columns that are never null. A primary key has no runner-up."""
    keys = keys_of(schema)
    if not keys or keys[0].is_primary:
        return keys[0] if keys else None
    return replace(keys[0], runner_up=keys[1] if len(keys) > 1 else None)


def nullable_key(schema: TableSchema) -> tuple[str, ...]:
    """Return the reason why a unique key with a nullable column is not used; empty when there is none."""
    nullable = {column.name for column in schema.columns if column.nullable}
    for key in sorted(schema.unique_keys):
        if found := [name for name in key if name in nullable]:
            return (f"the unique key {', '.join(key)} is not used: {found[0]} is nullable",)
    return ()
