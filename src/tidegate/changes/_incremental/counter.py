"""The base of changes that read by a counter of the server itself, which it raises with every change of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.changes._incremental.change import IncrementalChange
from tidegate.errors import Unsupported
from tidegate.interfaces.change import ChangeColumns
from tidegate.model.columns import Column, TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.values import ValueKind
from tidegate.tables.found import UNTOUCHED, Catalogs


@dataclass(frozen=True)
class CounterChange(IncrementalChange):
    """The change of one table that is read by the server's own counter. Open transactions never hide behind it."""

    cursor_kinds = (ValueKind.INTEGER,)
    counts_commits = True

    @classmethod
    def counter(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> Column:
        """Return the column. Raises Unsupported where the server or the table has none."""
        found = catalogs.source.database.change_counter(source)
        if found is None or not cls.is_counter(found):
            label = catalogs.source.database.label
            raise Unsupported(
                f"{settings.name}: `changes: {cls.name}` needs {cls.needed}, which {source.name} ({label}) has not.",
                UNTOUCHED,
                "Use `changes: hybrid` or `timestamp` with a column of the time of the last change.",
            )
        return found

    needed = ""

    @classmethod
    def is_counter(cls, column: Column) -> bool:
        return True

    @classmethod
    def columns(cls, settings: Any, source: TableSchema, catalogs: Catalogs) -> ChangeColumns:
        column = cls.counter(settings, source, catalogs)
        cursor = Cursor((column,), is_extracted=source.exact_column(column.name) is not None)
        return ChangeColumns(keep_types=cursor.names, cursor=cursor)
