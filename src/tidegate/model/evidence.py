"""What the three witnesses (source, lake, target) say they hold of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.model.scope import Scope
from tidegate.model.values import Value


@dataclass(frozen=True)
class SourceValue:
    """A value that the source holds. `rows` is None where it was not counted (outside of the look-back)."""

    rows: int | None = None
    newest: str | None = None
    """The greatest value of the restatement column, as text."""


@dataclass(frozen=True)
class LakeFile:
    """A file of the lake, known by its footer; where the ledger already knows it, by its stamp alone."""

    path: str
    stamp: str
    """Size and modification time: equal stamps mean that the footer need not be read again."""
    rows: int = 0
    hash: str = ""
    text_columns: tuple[str, ...] = ()
    newest: str | None = None
    columns: tuple[str, ...] = ()
    """The columns in the order in which they were read: hashes depend on it."""
    columns_id: str = ""
    unproven: bool = False
    read_at: str = ""
    """On the source's clock."""
    window: str = ""
    """Which marks it holds, as JSON, where it was read by a mark."""
    broken: str = ""
    """Why the file cannot be used; empty when it can."""


@dataclass(frozen=True)
class LedgerEntry:
    """The newest word of the ledger on one value."""

    generation: int
    kind: str
    """loaded, adopted, removed or forgotten."""
    rows: int
    hash: str
    text_columns: tuple[str, ...] = ()
    newest: str | None = None
    columns: tuple[str, ...] = ()
    columns_id: str = ""
    stamp: str = ""
    run: str = ""
    at: str = ""

    @property
    def stands(self) -> bool:
        """Whether the target should hold this value now."""
        return self.kind in ("loaded", "adopted")


@dataclass(frozen=True)
class PartitionEvidence:
    """All that planning a partition table needs. `target` has None for a value present but not counted."""

    source: Mapping[Value, SourceValue]
    lake: Mapping[Value, LakeFile]
    target: Mapping[Value, int | None]
    ledger: Mapping[Value, LedgerEntry]
    scope: Scope | None = None
    is_ours: bool = True
    """Whether this very target was loaded by us before: a shared lake may know the table from another one."""
    nulls: int = 0
    """How many rows of the source have no partition value, or no mark."""
    excluded: int = 0
    """How many values of the source the setting `values` leaves out."""
    ready: frozenset[Value] | None = None
    """The values that `ready_query` called complete; None when there is no such query."""
    columns_id: str = ""
    target_lacks: tuple[str, ...] = ()
    """Columns that travel and that the existing target table does not have."""
    target_state: str | None = None
    """Of a table that is compared as a whole: what the target's content adds up to; None when it was not read."""
