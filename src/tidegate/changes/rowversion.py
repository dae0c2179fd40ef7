"""Row version: rows are read by SQL Server's `rowversion` column, which the server raises with every change.

The bound is MIN_ACTIVE_ROWVERSION(): no open transaction can commit a smaller value.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._incremental.counter import CounterChange
from tidegate.changes._incremental.settings import IncrementalSettings
from tidegate.model.columns import Column


class RowVersionSettings(IncrementalSettings):
    """A table that is read by its column of type `rowversion`, which is found by itself."""


@dataclass(frozen=True)
class RowVersionChange(CounterChange):
    """The change of one table that is read by its row versions."""

    name = "rowversion"
    Settings = RowVersionSettings
    source_capabilities = ("row_versions",)
    needed = "a column of type rowversion"

    @classmethod
    def is_counter(cls, column: Column) -> bool:
        return column.type != "xid"
