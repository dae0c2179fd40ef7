"""The schema of a table, with questions about the types of its columns that every kind asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.model.columns import Column, TableSchema
from tidegate.model.values import ValueKind
from tidegate.ops.detection import column_names as names

KindOf: TypeAlias = Callable[[Column], ValueKind | None]

MOST_STATIC_ROWS = 100_000
MOST_TINY_ROWS = 10_000


@dataclass(frozen=True)
class TypedSchema:
    """The schema of a table, and how its database orders the values of a column."""

    schema: TableSchema
    kind_of: KindOf
    without: frozenset[str] = frozenset()
    """Columns that do not divide the table: some of its rows have no value there."""
    server_sets: frozenset[str] = frozenset()
    """Columns that the server sets at every change of a row."""

    def can_partition(self, column: Column) -> bool:
        """Return whether a column can partition the table. A unique column has one row per value, as in a calendar."""
        return self._has_values(column) and not self.is_unique_alone(column)

    def is_unique_alone(self, column: Column) -> bool:
        """Return whether the column is a primary or unique key by itself."""
        return (column.name,) in (self.schema.primary_key, *self.schema.unique_keys)

    def _has_values(self, column: Column) -> bool:
        if column.name in self.without:
            return False
        match self.kind_of(column):
            case ValueKind.INTEGER | ValueKind.DATE | ValueKind.TIMESTAMP:
                return True
            case ValueKind.DECIMAL:
                return column.storage_type.endswith(",0)")
            case ValueKind.TEXT:
                return column.storage_type == "string"
        return False

    def is_time(self, column: Column) -> bool:
        return column.name not in self.without and self.kind_of(column) in (ValueKind.DATE, ValueKind.TIMESTAMP)

    def grows_with_loads(self, column: Column) -> bool:
        """Return whether the greatest value grows with every load. That of a text or of a random id need not."""
        if names.is_called(column, names.ROW_VERSIONS):
            return column.storage_type == "binary" and column.type in ("rowversion", "timestamp")
        return self.kind_of(column) in (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DATE, ValueKind.TIMESTAMP)

    @property
    def is_small(self) -> bool:
        """Return whether the table has few rows."""
        # Small tables are often never analysed, so no estimate means small, unless the server partitions the table.
        rows = self.schema.row_estimate
        return 0 < rows <= MOST_STATIC_ROWS or (rows <= 0 and not self.schema.partitioned_by)

    @property
    def is_tiny(self) -> bool:
        """Return whether the table is known to have so few rows that dividing them gains nothing."""
        return 0 < self.schema.row_estimate <= MOST_TINY_ROWS and not self.schema.partitioned_by

    @property
    def size(self) -> str:
        rows = self.schema.row_estimate
        return f"estimated {rows:,} rows" if rows > 0 else "no row estimate (empty, or never analysed)"

    @property
    def native(self) -> list[str]:
        """Return how the server itself partitions the table; empty when it does not."""
        by = self.schema.partitioned_by
        return [f"the server partitions it by {by}"] if by else []


def can_be_flag(column: Column) -> bool:
    return column.storage_type in ("bool", "int16", "int32", "int64", "decimal(1,0)", "string", "text")
