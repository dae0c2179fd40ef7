"""Replace a whole table: all rows leave and all rows arrive in one transaction, for tables without a key too.

Rows are deleted, never truncated: readers see the old rows until the commit and the new ones after it, and indexes,
grants and references stay. The table is read back before the commit, as a multiset: equal rows count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.interfaces.load import Incoming, Load, Loaded, ReceiptOf, Requirements
from tidegate.interfaces.session import Session
from tidegate.loads._replace import replace_rows
from tidegate.model.columns import TableSchema
from tidegate.settings import Settings
from tidegate.tables.found import Catalogs, FoundTable


class ReplaceSettings(Settings):
    """How all rows of a table are replaced."""

    rebuild_indexes: bool = False
    """Plain indexes are set aside while the rows are loaded, and built once afterwards: faster for large tables with
    several indexes. Readers wait until the load is committed."""


@dataclass(frozen=True)
class Replace(Load):
    """The load of one table that is replaced as a whole."""

    name = "replace"
    Settings = ReplaceSettings
    updates_rows = False

    keys: tuple[str, ...]
    all_rows: bool = False
    """The change would bring only rows that changed: it is asked for all rows."""
    rebuilds_indexes: bool = False

    @classmethod
    def target_capabilities(cls, settings: Any) -> Mapping[str, str]:
        return {"transactional_ddl": "`rebuild_indexes: true`"} if settings.rebuild_indexes else {}

    @classmethod
    def requirements(
        cls, settings: Any, source: TableSchema, change: ChangeColumns, catalogs: Catalogs
    ) -> Requirements:
        return Requirements(source)

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, required: Requirements, change: ChangeColumns, catalogs: Catalogs
    ) -> tuple[Load, FoundTable]:
        return cls(table.source.primary_key, change.cursor is not None, settings.rebuild_indexes), table

    @property
    def check(self) -> str:
        return "content"

    @property
    def needs(self) -> LoadNeeds:
        return LoadNeeds(keys=self.keys, all_rows=self.all_rows)

    @property
    def replaces_rows(self) -> bool:
        return True

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        [loaded] = replace_rows(session, [incoming], receipt_of, rebuilds_indexes=self.rebuilds_indexes)
        return loaded
