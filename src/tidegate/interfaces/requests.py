"""What a session reads: rows of one table, in batches of a bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.text import Sql


@dataclass(frozen=True)
class BatchSize:
    """The largest Arrow batch: a batch ends at whichever bound is reached first."""

    rows: int = 10_000
    bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class ReadRequest:
    """Rows of one table: `columns` in this order, `text_columns` as canonical text, where the condition `rows` is true.

    Without `rows`, all rows."""

    table: TableName
    columns: tuple[Column, ...]
    rows: Sql | None = None
    text_columns: tuple[str, ...] = ()
    batch: BatchSize = BatchSize()
    shows_values: bool = False
    """Whether an error about a value shows it, besides the key of its row (`--show-values`)."""

    def only(self, names: Sequence[str]) -> ReadRequest:
        """Return the request with only these columns, in this order. Without names, with all columns."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names if name in by_name) or self.columns)

    def with_text(self, names: Sequence[str]) -> ReadRequest:
        """Return the request with these columns as text, too."""
        return replace(self, text_columns=tuple(dict.fromkeys((*self.text_columns, *names))))
