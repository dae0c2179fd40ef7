"""The status of a table and of its values, as `status`, `explain` and the HTML report show it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ValueStatus:
    """The status of one value. Rows are None where they were not counted, 0 where there are none."""

    value: str
    state: str
    """proven, adopted, pending, missing, differs, removed, forgotten or out of scope."""
    source_rows: int | None = None
    lake_rows: int | None = None
    target_rows: int | None = None
    lake_hash: str = ""
    ledger_hash: str = ""
    generation: int = 0
    loaded_at: str = ""
    next: tuple[str, ...] = ()
    """The steps of the next run for this value, in the words of `plan`."""


@dataclass(frozen=True)
class WholeStatus(ValueStatus):
    """The status of a table that is compared as a whole. Hashes are empty where the content was not read."""

    source_hash: str = ""
    target_hash: str = ""
    contained: bool = False
    """Every row of the source is in the target, which may have more rows because of a setting."""


@dataclass(frozen=True)
class BatchStatus:
    """One lake file of versions: its cursor values from `after` to `upto`, both included, and whether it is loaded."""

    batch: str
    state: str
    """proven, pending (only in the lake) or broken (its file cannot be used)."""
    after: str = ""
    upto: str = ""
    rows: int | None = None
    """None where the lake no longer has the file."""
    generation: int = 0
    loaded_at: str = ""
    watermark: str = ""
    """How far the table is synced by it. Less than `upto` where an open transaction held it back."""
    gaps: int = 0
    """How many gaps it left open."""


@dataclass(frozen=True)
class TableStatus:
    """The status of one table. `state` is in sync, pending, differs, empty or failed."""

    table: str
    kind: str
    partition_column: str
    state: str
    scope: str = ""
    values: tuple[ValueStatus, ...] = field(default=(), repr=False)
    pending: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def newest_loaded(self) -> str:
        """Return the newest value that is loaded; empty when none is."""
        loaded = [value.value for value in self.values if value.generation and value.target_rows]
        return loaded[-1] if loaded else ""


@dataclass(frozen=True)
class VersionsStatus(TableStatus):
    """The status of a table that is read by a cursor. Its only value stands for the whole table."""

    watermark: str = ""
    """The cursor value up to which the target has all versions; empty when nothing is loaded."""
    newest: str = ""
    """The greatest cursor value of the source."""
    is_whole: bool = False
    """The table has no cursor: the whole source is compared."""
    batches: tuple[BatchStatus, ...] = field(default=(), repr=False)
    unit: str = "version"
    """What the table holds, for people: `version`, or `row` where windows bring rows that changed."""
    held_by: tuple[str, ...] = ()
    """Open transactions that may still bring rows below the newest cursor value."""
    gaps: tuple[str, ...] = ()
    """Cursor values that are read again when a transaction has ended that is open for too long."""
    watermark_set: str = ""
    """Who set the watermark, and why, where no run followed yet."""
