"""Xmin: rows are read by PostgreSQL's system column `xmin`, the transaction that wrote them. No column is needed.

The bound is the oldest open transaction. Ids are compared with their epoch, so that they may start anew. Deletes leave
no trace, and after a restore all rows are read again.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._incremental.counter import CounterChange
from tidegate.changes._incremental.settings import IncrementalSettings
from tidegate.model.columns import Column


class XminSettings(IncrementalSettings):
    """A table that is read by the transactions that wrote its rows."""


@dataclass(frozen=True)
class XminChange(CounterChange):
    """The change of one table that is read by the transactions that wrote its rows."""

    name = "xmin"
    Settings = XminSettings
    loads = ("merge", "append", "replace")
    needed = "the system column xmin of PostgreSQL"

    @classmethod
    def is_counter(cls, column: Column) -> bool:
        return column.type == "xid"
