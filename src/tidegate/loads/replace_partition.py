"""Replace partition values: the rows of a value leave and arrive in one transaction, with the ledger row.

Several values are replaced in one transaction where rows went from one of them to another and a key of the target does
not contain the partition column: each value alone would meet rows that the other still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.database import Session
from tidegate.interfaces.load import Incoming, Load, Loaded, ReceiptOf, Requirements
from tidegate.loads._replace import replace_rows
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.state import TableState
from tidegate.settings import Columns, Settings
from tidegate.tables.found import Catalogs, FoundTable


class ReplacePartitionSettings(Settings):
    """How partition values are replaced and proved."""

    proof: Literal["hash", "count"] = "hash"
    """How equality is proved: `hash` of every row, or `count`."""
    keys: Columns | None = None
    """Columns that name a row in findings; the primary key when it is left out."""


@dataclass(frozen=True)
class ReplacePartition(Load):
    """The load of one partition table."""

    name = "replace_partition"
    Settings = ReplacePartitionSettings
    updates_rows = False

    proof: str
    keys: tuple[str, ...]
    column: Column
    keys_across_values: tuple[tuple[str, ...], ...] = ()
    """Keys of the target without the partition column, such as `(id)`: a row of another value may have the same one."""

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        return Requirements(source)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        assert change.by is not None
        existing = table.target or table.source
        across = tuple(
            key for key in (existing.primary_key, *existing.unique_keys) if key and change.by.name not in key
        )
        column = next((one for one in table.target_columns if one.name == change.by.name), change.by)
        load = cls(settings.proof, settings.keys or table.source.primary_key, column, across)
        if not across:
            return load, table
        text = (
            f"its key ({', '.join(across[0])}) does not contain {change.by.name}: values that exchange rows are loaded"
        )
        return load, replace(table, notices=(*table.notices, Notice(f"{text} together, in one transaction")))

    @property
    def check(self) -> str:
        return "row_count" if self.proof == "count" else "receipt"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys)

    @property
    def replaces_rows(self) -> bool:
        return True

    def is_serial(self, loads: Sequence[LoadStep], state: TableState) -> bool:
        """Two loads at once would wait for rows that the other deletes, where rows can go from value to value."""
        return bool(self.keys_across_values) and any(step.value in state.target for step in loads)

    @property
    def exchanges_rows(self) -> tuple[Column, tuple[tuple[str, ...], ...]] | None:
        """Return the column by which windows are told apart, and the keys under which rows may go from one window to
        another; None where that cannot happen."""
        return (self.column, self.keys_across_values) if self.keys_across_values else None

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        [loaded] = self.apply_together(session, [incoming], receipt_of)
        return loaded

    def apply_together(self, session: Session, incoming: Sequence[Incoming], receipt_of: ReceiptOf) -> list[Loaded]:
        return replace_rows(session, incoming, receipt_of, by_hash=self.proof == "hash")
