"""What a Parquet lake still knows of the past of a table.

| layout | known                                                                                           |
| ------ | ----------------------------------------------------------------------------------------------- |
| log    | every state: windows are only added                                                              |
| whole  | every state whose file is there: each run writes a file of its own, `retain: {lake: N}` removes old ones |
| values | states in which no value had other rows than now: a value that comes again replaces its file     |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.errors import LakeError
from tidegate.model.lake_versions import LakeVersion
from tidegate.model.state import LakeEntry

_FIRST = "new in the source"
"""Why a value was extracted for the first time. Any other reason means that a file was replaced, or may have been."""


@dataclass(frozen=True)
class PastEntry:
    """An entry that is there, with what it says of itself."""

    window: str
    entry: LakeEntry
    facts: Mapping[str, Any]

    @property
    def at(self) -> str:
        return in_utc(self.facts["read_at"])


def versions_of(entries: Sequence[PastEntry], *, by_window: bool) -> list[LakeVersion]:
    """Return a state for each entry, oldest first. `by_window`: a window names the state that it made."""
    return [
        LakeVersion(
            past.window if by_window else _id(past),
            past.at,
            "append",
            past.window,
            past.facts["run"],
            past.entry.rows,
            past.facts["why"],
        )
        for past in entries
    ]


def values_at(place: str, entries: Sequence[PastEntry], version: str) -> dict[str, LakeEntry]:
    """Return the entries of a table by values, as they were. Raises LakeError where a file was replaced since."""
    ids = [_id(past) for past in entries]
    last = ids.index(version)
    replaced = [past.window for past in entries[last + 1 :] if not past.facts["why"].startswith(_FIRST)]
    if replaced:
        shown = ", ".join(replaced[:3]) + (", ..." if len(replaced) > 3 else "")
        raise LakeError(
            f"The lake {place} no longer has what {shown} held at that time: the rows came again since.",
            "Nothing was read.",
            "Ask for a later time. `lake: iceberg:...` and `lake: delta:...` keep every state.",
        )
    return {past.window: past.entry for past in entries[: last + 1]}


def whole_at(entries: Sequence[PastEntry], version: str) -> dict[str, LakeEntry]:
    """Return the entry of a whole table that made a state."""
    return {past.window: past.entry for past in entries if _id(past) == version}


def _id(past: PastEntry) -> str:
    return past.entry.id.rpartition("/")[2].removesuffix(".parquet")


def in_utc(moment: str) -> str:
    """Return the time of a source's clock with its zone, which is always UTC."""
    found = datetime.fromisoformat(moment)
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()
