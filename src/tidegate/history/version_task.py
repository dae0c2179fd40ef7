"""One window of versions on its way into a timeline: what the load is told, and what the lake entry says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tidegate.interfaces.load import Batches, LoadTask
from tidegate.model.columns import Column
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import ValueKind

if TYPE_CHECKING:
    from tidegate.history.columns import Scd2Columns


@dataclass(frozen=True)
class GeneratedColumns:
    """The columns that history is generated with, from a source that only has the current state."""

    columns: tuple[Column, ...]
    """Start, end and flag, as the target has them. The source does not have them."""
    cursor: str = ""
    """The source's column that tells since when a row is so; without one, since it was read."""


@dataclass(frozen=True, kw_only=True)
class VersionTask(LoadTask):
    """One window of versions for a timeline."""

    keys: tuple[str, ...]
    cursor: str
    cursor_kind: ValueKind = ValueKind.TEXT
    version_key: tuple[str, ...] = ()
    wider_keys: tuple[tuple[str, ...], ...] = ()
    """Keys of the source's catalog, less the cursor, that hold the business key and more columns."""
    flag: str | None = None
    ignored: tuple[str, ...] = ()
    """Columns that are no part of a version's content."""
    current_value: str = "1"
    superseded_value: str = "0"
    end: str | None = None
    tombstone: str | None = None
    recompute: bool = False
    is_newest: bool = True
    """It was read later than everything that was loaded."""
    exact: bool = False
    """What the target has besides, between the cursors of the file, leaves it: a repair asks for that."""
    generated: GeneratedColumns | None = None
    """History is generated from a plain source's rows."""
    closes_absent: bool = False
    """Entities that had left the source when the batch was read are closed."""
    source_keys: Batches | None = None
    """The keys that the source had then; without them the lake entry holds all there is."""
    extracted: Batches | None = None
    """What names a version, of all that were ever extracted; asked for where the target's own would leave."""
    target_rows: int | None = None
    """How many versions the target had when this was planned, where no other load comes between."""
    parts: int = 1
    """In how many transactions it is loaded; the ledger row is in the last."""

    @property
    def scd2_columns(self) -> Scd2Columns:
        from tidegate.history.columns import Scd2Columns

        validity = tuple(name for name in (self.flag, self.end) if name is not None)
        times = (
            self.cursor,
            *((self.generated.cursor,) if self.generated is not None and self.generated.cursor else ()),
        )
        return Scd2Columns(
            keys=self.keys,
            cursor=self.cursor,
            version_key=self.version_key or (*self.keys, self.cursor),
            flag=self.flag,
            ignored=(*validity, *self.ignored),
            current_value=self.current_value,
            superseded_value=self.superseded_value,
            end=self.end,
            time_columns=times if self.generated is not None else (),
            tombstone=self.tombstone,
            cursor_kind=self.cursor_kind,
        )

    @property
    def trusts_flags(self) -> bool:
        """Return whether the flags of its rows count: all of them were read from the source at one moment."""
        return self.flag is not None and not self.recompute and not self.cursor_range.is_given

    @property
    def cursor_range(self) -> CursorWindow:
        """Return what the lake entry says of itself: its range of the cursor, and when its rows were read."""
        return self.entry.token if isinstance(self.entry.token, CursorWindow) else CursorWindow()

    @property
    def read_at(self) -> str:
        """Return when its rows were read, on the source's clock."""
        return self.cursor_range.read_at

    @property
    def tells_who_left(self) -> bool:
        """Return whether keys that are missing have left. Rows that a program passed in say nothing about others."""
        is_all = self.generated is not None and not self.generated.cursor
        return self.closes_absent and not self.cursor_range.is_given and (is_all or self.source_keys is not None)

    @property
    def compares_all(self) -> bool:
        """Return whether the lake entry holds every entity of the source, so that all others have left."""
        return self.tells_who_left and self.source_keys is None


@runtime_checkable
class VersionLoad(Protocol):
    """A load of versions, as far as the check of versions needs it."""

    template: VersionTask
    cursor: str | None
    orders_target: bool
    """Whether the target's column of the cursor can be compared with cursor values: a row version arrives as bytes."""

    @property
    def extracted_names(self) -> list[str]: ...
