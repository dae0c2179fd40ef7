"""A shape, and what the types of its columns allow: asked by every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.model.columns import Column, Shape
from tidegate.model.values import Kind
from tidegate.ops.detection import telling_names as names

KindOf: TypeAlias = Callable[[Column], Kind | None]

MOST_STATIC_ROWS = 100_000


@dataclass(frozen=True)
class Look:
    """A shape, and what the types of its columns allow."""

    shape: Shape
    kind_of: KindOf

    def may_partition(self, column: Column) -> bool:
        """A column that is unique by itself has one row per value: that is a calendar, not a partitioned table."""
        return self._has_values(column) and not self.alone_unique(column)

    def alone_unique(self, column: Column) -> bool:
        return (column.name,) in (self.shape.primary_key, *self.shape.unique_keys)

    def _has_values(self, column: Column) -> bool:
        match self.kind_of(column):
            case Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP:
                return True
            case Kind.DECIMAL:
                return column.rests_as.endswith(",0)")
            case Kind.TEXT:
                return column.rests_as == "string"
        return False

    def is_moment(self, column: Column) -> bool:
        return self.kind_of(column) in (Kind.DATE, Kind.TIMESTAMP)

    def tells_of_loads(self, column: Column) -> bool:
        """Whether its greatest value can be relied on to move: that of a text or of a random id cannot."""
        if names.is_called(column, names.ROW_VERSIONS):
            return column.rests_as == "binary" and column.type in ("rowversion", "timestamp")
        return self.kind_of(column) in (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)

    @property
    def is_small(self) -> bool:
        """Small tables are often never analysed, so no estimate means small; nobody partitions a small one."""
        rows = self.shape.row_estimate
        return 0 < rows <= MOST_STATIC_ROWS or (rows <= 0 and not self.shape.partitioned_by)

    @property
    def size(self) -> str:
        rows = self.shape.row_estimate
        return f"estimated {rows:,} rows" if rows > 0 else "no row estimate (empty, or never analysed)"

    @property
    def native(self) -> list[str]:
        by = self.shape.partitioned_by
        return [f"the server partitions it by {by}"] if by else []


def may_be_flag(column: Column) -> bool:
    return column.rests_as in ("bool", "int16", "int32", "int64", "decimal(1,0)", "string", "text")
