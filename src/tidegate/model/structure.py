"""What a table has besides columns and rows: indexes, defaults, comments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Index:
    """One index or unique constraint, without the primary key."""

    name: str
    columns: tuple[str, ...]
    """Its columns; empty where it is over expressions, a part of the rows, or of a method of its own."""
    is_unique: bool = False
    definition: str = ""
    """What follows `CREATE [UNIQUE] INDEX name ON table`, in words of its database."""


@dataclass(frozen=True)
class Structure:
    """What the catalog knows of one table."""

    indexes: tuple[Index, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Expressions by column, in words of the database. Counters are not among them."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Comments by column; that of the table has no column."""
