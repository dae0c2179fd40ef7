"""What loads of partition values share: what they ask of the table, and how they are proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.load import ExchangedRows, Load, Requirements
from tidegate.model.columns import Column, TableSchema
from tidegate.model.plan import Load as LoadStep
from tidegate.model.plan import Notice
from tidegate.model.state import TableState
from tidegate.tables.found import Catalogs, FoundTable


@dataclass(frozen=True)
class PartitionValuesLoad(Load):
    """A load of partition values, each as a whole."""

    updates_rows = False

    settings: Any
    keys: tuple[str, ...]
    column: Column
    loads_nulls: bool = False
    """Rows without a value are a window of their own."""
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
    ) -> tuple[Self, FoundTable]:
        assert change.by is not None
        existing = table.target or table.source
        across = tuple(
            key for key in (existing.primary_key, *existing.unique_keys) if key and change.by.name not in key
        )
        column = next((one for one in table.target_columns if one.name == change.by.name), change.by)
        # A change of a plug-in need not have `values`.
        loads_nulls = getattr(getattr(settings, "values", None), "nulls", "") == "load"
        load = cls(settings, settings.keys or table.source.primary_key, column, loads_nulls, across)
        if not across:
            return load, table
        text = (
            f"its key ({', '.join(across[0])}) does not contain {change.by.name}: values that exchange rows are loaded"
        )
        return load, replace(table, notices=(*table.notices, Notice(f"{text} together, in one transaction")))

    @property
    def proves_by_hash(self) -> bool:
        return bool(self.settings.proof == "hash")

    @property
    def check(self) -> str:
        return "receipt" if self.proves_by_hash else "row_count"

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
    def exchanges_rows(self) -> ExchangedRows | None:
        found = ExchangedRows(self.column, self.keys_across_values, self.loads_nulls)
        return found if self.keys_across_values else None
