"""What a table looks like: its columns, keys and indexes, and how each column rests in the lake."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tidegate.model.names import TableName


@dataclass(frozen=True)
class Column:
    """One column of one table.

    `type` is spelled as its database spells it. `rests_as` is the type in the lake: int16, int32, int64,
    bool, float32, float64, decimal(p,s), date, time, timestamp, timestamptz, binary, string, or `text`: the
    canonical text of a value that Arrow cannot hold exactly.
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

    @property
    def declared(self) -> str:
        return self.in_target or self.type


@dataclass(frozen=True)
class Shape:
    """A table as its catalog describes it."""

    name: TableName
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    row_estimate: int = 0
    triggers: tuple[str, ...] = ()
    referenced_by: tuple[str, ...] = ()

    def exactly(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def column(self, name: str) -> Column | None:
        """The column of exactly this name, else the only one that differs in case alone, else None."""
        alike = [column for column in self.columns if column.name.lower() == name.lower()]
        return self.exactly(name) or (alike[0] if len(alike) == 1 else None)

    def indexed(self, column: str) -> bool:
        """Whether an index (or the primary key) starts with this column."""
        return any(index[:1] == (column,) for index in (self.primary_key, *self.indexes))


def fingerprint(columns: tuple[Column, ...]) -> str:
    """Changes when a column is added, removed, renamed or rests differently; not when they are reordered."""
    described = "\n".join(sorted(f"{column.name!r} {column.rests_as}" for column in columns))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
