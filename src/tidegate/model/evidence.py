"""What the three witnesses (source, lake, target) say they hold of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.values import Value

_DROPPED = "dropped "
"""Before the type of a column in a ledger entry: a run found that it had left the source. When a column of this name
comes back it is another one, and what was extracted before does not have it."""


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
    storage_types: tuple[str, ...] = ()
    """The type in the lake of each of `columns`; empty where the footer does not tell."""
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
    storage_types: tuple[str, ...] = ()
    """The type in the lake of each of `columns`; empty in entries that were written without them."""
    stamp: str = ""
    run: str = ""
    at: str = ""

    @property
    def stands(self) -> bool:
        """Whether the target should hold this value now."""
        return self.kind in ("loaded", "adopted")


def types_when_extracted(known: LakeFile | LedgerEntry) -> dict[str, str]:
    """Return the columns of an entry, each with its type in the lake; none where the types are not known."""
    return {
        name: storage_type.removeprefix(_DROPPED)
        for name, storage_type in zip(known.columns, known.storage_types, strict=False)
    }


@dataclass(frozen=True)
class PartitionEvidence:
    """All that planning a partition table needs. `target` has None for a value present but not counted."""

    source: Mapping[Value, SourceValue]
    lake: Mapping[Value, LakeFile]
    target: Mapping[Value, int | None]
    ledger: Mapping[Value, LedgerEntry]
    scope: Scope | None = None
    scope_copies: ScopeCopies = field(default_factory=ScopeCopies)
    """The scope as ledger and lake have it: a run writes again the copy that is lost."""
    is_ours: bool = True
    """Whether this very target was loaded by us before: a shared lake may know the table from another one."""
    nulls: int = 0
    """How many rows of the source have no partition value, or no mark."""
    excluded: int = 0
    """How many values of the source the setting `values` leaves out."""
    ready: frozenset[Value] | None = None
    """The values that `ready_query` called complete; None when there is no such query."""
    columns_id: str = ""
    storage_types: Mapping[str, str] = field(default_factory=dict)
    """The columns that are copied now, each with its type in the lake."""
    target_lacks: tuple[str, ...] = ()
    """Columns that travel and that the existing target table does not have."""
    target_state: str | None = None
    """Of a table that is compared as a whole: what the target's content adds up to; None when it was not read."""

    def has_other_columns(self, known: LakeFile | LedgerEntry) -> bool:
        """Return whether an entry lacks a column that is copied now, or has it in another type.

        A column that only the entry has left the source: what was extracted of it is still right."""
        if not known.storage_types or not self.storage_types:
            return known.columns_id != self.columns_id
        held = dict(zip(known.columns, known.storage_types, strict=True))
        return any(held.get(name) != storage_type for name, storage_type in self.storage_types.items())

    def without_dropped(self, entry: LedgerEntry) -> LedgerEntry:
        """Return the entry with those columns marked that have left the source; the same entry when none has."""
        types = zip(entry.columns, entry.storage_types, strict=False)
        marked = tuple(
            storage_type if name in self.storage_types or storage_type.startswith(_DROPPED) else _DROPPED + storage_type
            for name, storage_type in types
        )
        return replace(entry, storage_types=marked)
