"""Tables that a switch makes beside its target: stages, and archives of what was replaced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.model.names import TableName
from tidegate.model.values import Value

STAGE, SWITCHING, REPLACED, ARCHIVE, BY_HAND = "stage", "switching", "replaced", "archive", "by hand"
"""What such a table is for: rows on their way in; a switch that was begun; rows that were switched out and go away, or
are kept; a stage that a person asked for."""
_LONGEST = 63


@dataclass(frozen=True)
class StageRecord:
    """What the ledger remembers of such a table. Rows of others that only look like ours are never touched."""

    name: TableName
    table: str
    """The target table, as the ledger knows it."""
    partition: str
    purpose: str
    run: str
    windows: tuple[tuple[str, int], ...] = ()
    """The windows that its rows belong to, each with the generation of the ledger that it held; 0 for none."""
    is_whole: bool = True
    """It has all rows of the partition, and nothing else was in it."""
    at: str = ""

    @property
    def is_kept(self) -> bool:
        """Return whether its rows may be needed again: an archive, or a switch of which nobody knows what became."""
        return self.purpose in (ARCHIVE, SWITCHING)

    def generation_of(self, window: str) -> int | None:
        return dict(self.windows).get(window)

    def details(self) -> str:
        return json.dumps({"windows": dict(self.windows), "whole": self.is_whole})


def stage_name(table: TableName, suffix: str, windows: Sequence[Value], token: str) -> TableName:
    """Return a name such as `trades_STAGE_20240815_1f3a9c02`: unique, and as long as every server takes."""
    word = "".join(letter if letter.isalnum() else "_" for letter in windows[0].text)[:20] if windows else ""
    ending = f"{suffix}_{word}_{token[:8]}" if word else f"{suffix}_{token[:8]}"
    ending = ending.encode()[:_LONGEST].decode(errors="ignore")
    begin = table.name.encode()[: _LONGEST - len(ending.encode())].decode(errors="ignore")
    return TableName(table.schema, begin + ending)
