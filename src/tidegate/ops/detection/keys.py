"""Keys: what names a row, as far as the catalog vouches for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.model.columns import Shape


@dataclass(frozen=True)
class Key:
    """Columns that are unique together and never null, and the key that they were chosen before."""

    columns: tuple[str, ...]
    is_primary: bool
    runner_up: Key | None = None

    def __str__(self) -> str:
        return ", ".join(self.columns)

    @property
    def origin(self) -> str:
        return "the primary key" if self.is_primary else "a unique key"

    @property
    def before(self) -> tuple[str, ...]:
        return (f"chosen before {self.runner_up}, {self.runner_up.origin} as well",) if self.runner_up else ()


def keys_of(shape: Shape) -> list[Key]:
    """The primary key, then the unique keys, the shortest first. The order of a catalog is not that of another."""
    place = {column.name: number for number, column in enumerate(shape.columns)}
    never_null = {column.name for column in shape.columns if not column.nullable}
    unique = {key for key in shape.unique_keys if key and set(key) <= never_null} - {shape.primary_key}
    ordered = sorted(unique, key=lambda key: (len(key), [place[name] for name in key]))
    primary = [Key(shape.primary_key, True)] if shape.primary_key else []
    return primary + [Key(key, False) for key in ordered]


def best_key(shape: Shape) -> Key | None:
    """The primary key, else a unique key of columns that are never null. A primary key has no runner-up."""
    keys = keys_of(shape)
    if not keys or keys[0].is_primary:
        return keys[0] if keys else None
    return replace(keys[0], runner_up=keys[1] if len(keys) > 1 else None)


def nullable_key(shape: Shape) -> tuple[str, ...]:
    """Says why a unique key that is there names no row, when there is no better one."""
    nullable = {column.name for column in shape.columns if column.nullable}
    for key in sorted(shape.unique_keys):
        if found := [name for name in key if name in nullable]:
            return (f"the unique key {', '.join(key)} is not used: {found[0]} is nullable",)
    return ()
