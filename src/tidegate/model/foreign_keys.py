"""Foreign keys of a database, as its catalog has them."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.model.names import TableName


@dataclass(frozen=True)
class ForeignKey:
    """One foreign key: `columns` of `table` refer to `parent_columns` of `parent`."""

    name: str
    table: TableName
    columns: tuple[str, ...]
    parent: TableName
    parent_columns: tuple[str, ...]
    is_deferrable: bool = False
    """The server can check it at the end of a transaction."""
    is_validated: bool = True
    """The server knows that every row meets it."""
    may_alter: bool = True
    """Whether this login may alter the table."""
    on_delete: str = ""
    """`cascade`, `null`, `default`; empty where rows that are referred to cannot leave."""
    on_update: str = ""

    @property
    def refers_to_itself(self) -> bool:
        return self.table == self.parent
