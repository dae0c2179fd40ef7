"""Sequence: rows are read by a number that grows with every insert, such as an identity column.

A number is drawn before its transaction commits, so a smaller one may appear after a greater one. Transactions that
write to the table hold the watermark back; numbers that are missing when they have ended never come.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.changes._incremental.change import NUMBERS, IncrementalChange
from tidegate.changes._incremental.settings import IncrementalSettings
from tidegate.settings import Text


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
