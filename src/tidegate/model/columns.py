"""The schema of a table: its columns, keys and indexes, and the type of each column in the lake."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.model.names import TableName
from tidegate.model.types import UNKNOWN, Type


@dataclass(frozen=True)
class Column:
    """One column of one table.

    `type` is written in the words of its database, `logical_type` is the same type in words of no database, and
    `storage_type` is the type in the lake (`model/types.py`).
    """

    name: str
    type: str
    storage_type: str
    nullable: bool = True
    generated: bool = False
    identity: bool = False
    has_default: bool = False
    portable_type: str = ""
    """The type to declare in another database of the same kind, where `type` exists in one database only (a domain)."""
    logical_type: Type = UNKNOWN
    database: str = ""
    """The kind of database that the column belongs to: `postgresql`, `mysql`, `sqlserver`."""
    collation: str = ""
    """The collation of a text column; empty for other columns and for the default collation."""
    has_extra_attributes: bool = False
    """The column has a comment or an ON UPDATE clause, which declaring the column again would lose."""
    unreadable: str = ""
    """Why the values cannot be read as they are (masked, encrypted); empty when they can."""
    type_is_chosen: bool = False
    """The configuration chose the type: a value that it cannot hold is an error, and is never read as text."""
    read_as: Type | None = None
    """For a column of a target: the logical type of the source's column. Values are read back as this type."""

    @property
    def declared_type(self) -> str:
        """Return the type with which another database of the same kind declares this column."""
        return self.portable_type or self.type

    def read_like(self, source: Column) -> Column:
        """Return this column of a target, to be read back as the type of the source's column."""
        return replace(self, storage_type=source.storage_type, read_as=source.logical_type)


@dataclass(frozen=True)
class TableSchema:
    """A table as its catalog describes it."""

    name: TableName
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    row_estimate: int = 0
    triggers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    """The tables that the foreign keys of this table point to."""
    referenced_by: tuple[str, ...] = ()
    cascades_to: tuple[str, ...] = ()
    """The tables among `referenced_by` whose rows a DELETE in this table would delete or change."""
    partitioned_by: str = ""
    """How the server partitions the table; empty if it does not."""
    parent: str = ""
    """The table whose partition this is, or from which it inherits (PostgreSQL); empty if there is none."""
    transactional: bool = True
    """False if a rollback does not undo changes of this table (MyISAM, external tables)."""
    reads_consistently: bool = True
    """False if one read can see rows of several moments. The rows are then counted before and after."""
    readable: bool = True
    """False if the login sees the table but may not read its rows."""
    target_notes: tuple[str, ...] = ()
    """What people should know before they load rows into the table."""
    source_warnings: tuple[str, ...] = ()
    """Facts that can make what is read from the table incomplete. Shown as warnings."""
    source_notes: tuple[str, ...] = ()
    """What this login cannot rule out about what it reads, such as a policy that it may not see. Shown as notes."""

    def exact_column(self, name: str) -> Column | None:
        """Return the column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def column(self, name: str) -> Column | None:
        """Return the column of exactly this name, or the only one that differs in case alone, or None."""
        same_but_case = [column for column in self.columns if column.name.lower() == name.lower()]
        return self.exact_column(name) or (same_but_case[0] if len(same_but_case) == 1 else None)

    def has_index_on(self, column: str) -> bool:
        """Return whether an index or the primary key starts with this column."""
        return any(index[:1] == (column,) for index in (self.primary_key, *self.indexes))


def fingerprint(columns: Sequence[Column]) -> str:
    """Return a hash of the columns' names and types in the lake. The order of the columns does not matter."""
    return fingerprint_of({column.name: column.storage_type for column in columns})


def fingerprint_of(storage_types: Mapping[str, str]) -> str:
    """Return the fingerprint of columns, given as names and their types in the lake."""
    described = "\n".join(sorted(f"{name!r} {storage_type}" for name, storage_type in storage_types.items()))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
