"""One batch of versions on its way into a timeline: what the load is told, and what the file says of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.loads._unit import Batches, Unit
from tidegate.model.columns import Column
from tidegate.model.values import Kind

if TYPE_CHECKING:
    from tidegate.rows.versions import Form


@dataclass(frozen=True)
class Made:
    """How versions are made of rows that say how things are now."""

    columns: tuple[Column, ...]
    """Start, end and flag, which the source does not have, as the target has them."""
    mark: str = ""
    """The source's column that says since when a row is so; without one, since it was read."""


@dataclass(frozen=True, kw_only=True)
class VersionLoad(Unit):
    """One batch of versions for a timeline."""

    keys: tuple[str, ...]
    mark: str
    mark_kind: Kind = Kind.TEXT
    version_key: tuple[str, ...] = ()
    wider_keys: tuple[tuple[str, ...], ...] = ()
    """Keys of the source's catalog, less the mark, that hold the business key and more columns."""
    flag: str | None = None
    outside: tuple[str, ...] = ()
    latest: str = "1"
    superseded: str = "0"
    end: str | None = None
    tombstone: str | None = None
    recompute: bool = False
    wins: bool = True
    """Whether it was read later than everything that was loaded."""
    exact: bool = False
    """What the target has besides, between the marks of the file, leaves it: a repair asks for that."""
    made: Made | None = None
    """Versions are made here of a plain source's rows."""
    closes_absent: bool = False
    """Entities that had left the source when the batch was read are closed."""
    there: Batches | None = None
    """The keys that the source had then; without them the file holds all there is."""
    landed: Batches | None = None
    """What names a version, of all that were ever landed; asked for where the target's own would leave."""
    held: int | None = None
    """How many versions the target had when this was planned, where no other load comes between."""
    parts: int = 1
    """In how many transactions it is loaded; the ledger row is in the last."""

    @property
    def form(self) -> Form:
        from tidegate.rows.versions import Form

        validity = tuple(name for name in (self.flag, self.end) if name is not None)
        times = (self.mark, *((self.made.mark,) if self.made is not None and self.made.mark else ()))
        return Form(
            keys=self.keys,
            mark=self.mark,
            group=self.version_key or (*self.keys, self.mark),
            flag=self.flag,
            outside=(*validity, *self.outside),
            latest=self.latest,
            superseded=self.superseded,
            end=self.end,
            times=times if self.made is not None else (),
            tombstone=self.tombstone,
            mark_kind=self.mark_kind,
        )

    @property
    def trusts_flags(self) -> bool:
        """Whether the flags of its rows count, all of them read from the source at one moment."""
        return self.flag is not None and not self.recompute and not self.window.get("is_given")

    @property
    def window(self) -> dict[str, Any]:
        """What the file says of itself: the marks of its rows, and when they were read."""
        told: dict[str, Any] = json.loads(self.entry.newest or "{}")
        return told

    @property
    def read_at(self) -> str:
        """When its rows were read, on the source's clock."""
        return str(self.window.get("read_at", ""))

    @property
    def tells_who_left(self) -> bool:
        """Rows that somebody handed in say nothing of others."""
        is_all = self.made is not None and not self.made.mark
        return self.closes_absent and not self.window.get("is_given") and (is_all or self.there is not None)

    def columns(self, names: Sequence[str]) -> list[Column]:
        by_name = {column.name: column for column in self.request.columns}
        return [by_name[name] for name in names]
