"""The state of a table: what source, lake, target and ledger hold of it, as found by inspecting them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidegate.model.receipt import Receipt
from tidegate.model.scope import Scope, ScopeCopies
from tidegate.model.tokens import Token
from tidegate.model.values import Value

_DROPPED = "dropped "
"""Before the type of a column in a ledger entry: a run found that it had left the source. When a column of this name
comes back it is another one, and what was extracted before does not have it."""


@dataclass(frozen=True)
class SourceValue:
    """A value that the source holds. `rows` is None where it was not counted (outside of the look-back)."""

    rows: int | None = None
    newest: str | None = None
    """What tells a change: the greatest value of the restatement column, or what the content adds up to."""


@dataclass(frozen=True)
class LakeEntry:
    """One committed window in the lake."""

    id: str
    """How the lake finds it again. Only the lake knows what it means."""
    etag: str
    """Changes when the entry is written again: what the ledger knows by its etag need not be opened."""
    rows: int = 0
    hash: str = ""
    text_columns: tuple[str, ...] = ()
    """The columns that were read as canonical text: hashes compare only what was read alike."""
    columns: tuple[str, ...] = ()
    """The columns in the order in which they were read: hashes depend on it."""
    columns_id: str = ""
    storage_types: tuple[str, ...] = ()
    """The type in the lake of each of `columns`; empty where the entry does not tell."""
    token: Token | None = None
    unproven: bool = False
    """Its rows came from the target, and the ledger's receipt does not vouch for them."""
    read_at: str = ""
    """When its rows were read, on the source's clock."""
    has_keys: bool = False
    """The keys of all rows that the source had at that time are kept beside it."""
    broken: str = ""
    """Why the entry cannot be used; empty when it can."""


RESTORED = "restored"
"""The kind of a window that a person brought back to an earlier state. Its table waits for `run --resume`."""


@dataclass(frozen=True)
class LedgerEntry:
    """The newest ledger row of one window."""

    generation: int
    kind: str
    """loaded, adopted, restored, removed or forgotten."""
    rows: int
    hash: str
    text_columns: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    columns_id: str = ""
    storage_types: tuple[str, ...] = ()
    """The type in the lake of each of `columns`; empty in entries that were written without them."""
    token: Token | None = None
    target_rows: int | None = None
    """How many rows the whole target table held after this load, where the load knows."""
    target_hash: str = ""
    """The hash of those rows, where the load read them all."""
    etag: str = ""
    """Of the lake entry that was loaded."""
    run: str = ""
    at: str = ""

    @property
    def is_active(self) -> bool:
        """Return whether the target should hold this window now."""
        return self.kind in ("loaded", "adopted", RESTORED)

    @property
    def target_receipt(self) -> Receipt | None:
        """Return the receipt of the whole target table after this load; None where the load did not read it."""
        return (
            Receipt(self.target_rows, self.target_hash) if self.target_rows is not None and self.target_hash else None
        )


def types_when_extracted(known: LakeEntry | LedgerEntry) -> dict[str, str]:
    """Return the columns of an entry, each with its type in the lake; none where the types are not known."""
    return {
        name: storage_type.removeprefix(_DROPPED)
        for name, storage_type in zip(known.columns, known.storage_types, strict=False)
    }


@dataclass(frozen=True)
class TableState:
    """All that planning a partition table needs. `target` has None for a value present but not counted."""

    source: Mapping[Value, SourceValue]
    lake: Mapping[Value, LakeEntry]
    target: Mapping[Value, int | None]
    ledger: Mapping[Value, LedgerEntry]
    scope: Scope | None = None
    scope_copies: ScopeCopies = field(default_factory=ScopeCopies)
    """The scope as ledger and lake have it: a run writes again the copy that is lost."""
    is_ours: bool = True
    """Whether this very target was loaded by us before: a shared lake may know the table from another one."""
    nulls: int = 0
    """How many rows of the source have no partition value, or no cursor."""
    excluded: int = 0
    """How many values of the source the setting `values` leaves out."""
    ready: frozenset[Value] | None = None
    """The values that `ready_query` called complete; None when there is no such query."""
    columns_id: str = ""
    storage_types: Mapping[str, str] = field(default_factory=dict)
    """The columns that are copied now, each with its type in the lake."""
    target_lacks: tuple[str, ...] = ()
    """Columns that travel and that the existing target table does not have."""
    target_receipt: Receipt | None = None
    """Of a table that is compared as a whole: what the target's content adds up to; None when it was not read."""
    unread: bool = False
    """Of a table that is compared as a whole: its rows are too many to be read while planning."""
    mark: str = ""
    """Of a table that is compared as a whole: the answer to `pre_check`; empty where nothing was asked or told."""
    is_trusted: bool = False
    """Of a table that is compared as a whole: its rows were not read, since the answer to `pre_check` is as it was."""
    aside: frozenset[str] = frozenset()
    """Hashes of rows of the source that loads kept out of the target, as `AsideRow` has them."""
    superseded: tuple[str, ...] = ()
    """Of a table that is compared as a whole: ids of its older lake entries, oldest first."""
    to_note: Mapping[str, object] = field(default_factory=dict)
    """What the next run is to know, by topic: a run that does not fail writes it into the notes of the target."""

    @property
    def has_whole_log(self) -> bool:
        """Return whether every window that was loaded is still in the lake. Otherwise the lake cannot tell what was
        extracted once: `retain` removed entries, or they were lost."""
        usable = {window for window, entry in self.lake.items() if not entry.broken}
        return all(window in usable for window, entry in self.ledger.items() if entry.kind == "loaded")

    def has_other_columns(self, known: LakeEntry | LedgerEntry) -> bool:
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
