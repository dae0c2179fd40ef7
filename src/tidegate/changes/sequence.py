"""Sequence: rows are read by a number that grows with every insert, such as an identity column.

A number is drawn before its transaction commits, so a smaller one may appear after a greater one. Transactions that
write to the table hold the watermark back; numbers that are missing when they have ended never come.

A sequence may give each session a block of numbers (`CACHE 50`). Then a smaller number may come at any later time. The
newest hundred blocks are read again by every run, and the plan says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tidegate.changes._incremental.change import NUMBERS, IncrementalChange
from tidegate.changes._incremental.settings import IncrementalSettings
from tidegate.interfaces.change import ChangeColumns, LoadNeeds
from tidegate.model.plan import Notice
from tidegate.settings import Text
from tidegate.tables.found import Catalogs, FoundTable

BLOCKS = 100
"""How many blocks are read again, where sessions draw numbers in blocks."""


class SequenceSettings(IncrementalSettings):
    """A table that is read by a growing number."""

    sequence_column: Text
    """The column of numbers that grow: `event_id`."""


@dataclass(frozen=True)
class SequenceChange(IncrementalChange):
    """The change of one table that is read by a growing number."""

    name = "sequence"
    Settings = SequenceSettings
    cursor_kinds = NUMBERS
    cursor_setting = "sequence_column"

    @classmethod
    def bind(
        cls, settings: Any, table: FoundTable, columns: ChangeColumns, needs: LoadNeeds, catalogs: Catalogs
    ) -> IncrementalChange:
        change = super().bind(settings, table, columns, needs, catalogs)
        [column, *_] = change.cursor.columns
        question = catalogs.source.database.number_block(table.source.name, column)
        found = catalogs.source.query(question)[0][0] if question is not None else None
        block = int(str(found or 1))
        if block <= 1:
            return change
        change = replace(change, default_look_back=block * BLOCKS)
        text = (
            f"sessions draw numbers of {column.name} in blocks of {block:,}, so a smaller one may come after a greater"
            f" one: the newest {change.look_back:,} are read again (`look_back`)"
        )
        return replace(change, table=replace(change.table, notices=(*change.table.notices, Notice(text))))
