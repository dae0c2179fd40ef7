"""What `retain: {lake: N}` takes out of the lake of a table whose entries are a log or copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tidegate.model.plan import DAILY, Remove, Request, Step
from tidegate.model.values import Value


class LakeRetention(Protocol):
    """The setting that says how many of the newest entries the lake keeps; None for all."""

    @property
    def lake(self) -> int | None: ...


def removals_beyond(
    kept: int | None, request: Request, known: Iterable[Value], removable: Collection[Value]
) -> list[Step]:
    """Return removals of lake entries. The newest `kept` of the known windows stay, and so do all that are not
    removable. Only a daily run removes."""
    if kept is None or request != DAILY:
        return []
    why = f"beyond `retain: lake: {kept}`"
    return [Remove(window, "lake", why) for window in sorted(known)[:-kept] if window in removable]
