"""What a table looks like: its columns, keys and indexes, and how each column rests in the lake."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.model.names import TableName
from tidegate.model.types import UNKNOWN, Type


@dataclass(frozen=True)
class Column:
    """One column of one table.

    `type` is spelled as its database spells it, `holds` says the same in words of no database, and `rests_as` is
    the type in the lake (`model/types.py`).
    """

    name: str
    type: str
    rests_as: str
    nullable: bool = True
    generated: bool = False
    identity: bool = False
    has_default: bool = False
    in_target: str = ""
    """How another database of the same kind would declare it, where `type` names something local."""
    holds: Type = UNKNOWN
    database: str = ""
    """The kind of database that it is a column of."""
    collation: str = ""
    """Where its database has several and this column is of text."""
    has_more: bool = False
    """A comment, a check or the like, which saying the column anew would lose."""
    unreadable: str = ""
    """Why its values cannot be had as they are."""
    stands_for: Type | None = None
    """Of a target's column: what the source's holds, and so what is to be read back from it."""

    @property
    def declared(self) -> str:
        return self.in_target or self.type

    def reading(self, source: Column) -> Column:
        """This column of a target, read as what came from the source's."""
        return replace(self, rests_as=source.rests_as, stands_for=source.holds)


@dataclass(frozen=True)
class Shape:
    """A table as its catalog describes it."""

    name: TableName
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    row_estimate: int = 0
    triggers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    """The tables that its foreign keys name."""
    referenced_by: tuple[str, ...] = ()
    cascades_to: tuple[str, ...] = ()
    """Those among them whose rows a deletion here would delete or change."""
    partitioned_by: str = ""
    """How the server itself partitions it; empty when it does not."""
    transactional: bool = True
    """False where a rollback would leave its rows as they are."""
    reads_consistently: bool = True
    """False where a read may see rows of several moments, and must be checked."""
    readable: bool = True
    """False when the login may see the table but not its rows."""
    remarks: tuple[str, ...] = ()
    """What a person should know before rows are loaded into it."""
    cautions: tuple[str, ...] = ()
    """What a person should know before rows are read from it."""
    unseen: tuple[str, ...] = ()
    """What could be so, which this login may not see, and matters to whoever reads it."""

    def exactly(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def column(self, name: str) -> Column | None:
        """The column of exactly this name, else the only one that differs in case alone, else None."""
        alike = [column for column in self.columns if column.name.lower() == name.lower()]
        return self.exactly(name) or (alike[0] if len(alike) == 1 else None)

    def indexed(self, column: str) -> bool:
        """Whether an index (or the primary key) starts with this column."""
        return any(index[:1] == (column,) for index in (self.primary_key, *self.indexes))


def fingerprint(columns: Sequence[Column]) -> str:
    """Changes when a column is added, removed, renamed or rests differently; not when they are reordered."""
    return fingerprint_of({column.name: column.rests_as for column in columns})


def fingerprint_of(storage_types: Mapping[str, str]) -> str:
    """The fingerprint of columns that are known by their names and their types in the lake."""
    described = "\n".join(sorted(f"{name!r} {storage_type}" for name, storage_type in storage_types.items()))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
