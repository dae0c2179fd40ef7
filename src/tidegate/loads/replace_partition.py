"""Replace partition values: the rows of a value leave and arrive in one transaction, with the ledger row.

Several values are replaced in one transaction where rows went from one of them to another and a key of the target does
not contain the partition column: each value alone would meet rows that the other still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tidegate.interfaces.load import Incoming, Loaded, ReceiptOf
from tidegate.interfaces.session import Session
from tidegate.loads._partition_values import PartitionValuesLoad
from tidegate.loads._replace import replace_rows
from tidegate.settings import Columns, Settings


class ReplacePartitionSettings(Settings):
    """How partition values are replaced and proved."""

    proof: Literal["hash", "count"] = "hash"
    """How equality is proved: `hash` of every row, or `count`."""
    keys: Columns | None = None
    """Columns that name a row in findings; the primary key when it is left out."""


@dataclass(frozen=True)
class ReplacePartition(PartitionValuesLoad):
    """The load of one partition table."""

    name = "replace_partition"
    Settings = ReplacePartitionSettings

    def apply(self, session: Session, incoming: Incoming, receipt_of: ReceiptOf) -> Loaded:
        [loaded] = self.apply_together(session, [incoming], receipt_of)
        return loaded

    def apply_together(self, session: Session, incoming: Sequence[Incoming], receipt_of: ReceiptOf) -> list[Loaded]:
        return replace_rows(session, incoming, receipt_of, by_hash=self.proves_by_hash)
