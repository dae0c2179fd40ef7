"""Where every value of a table stands, for people: what `status`, `explain` and the HTML report show."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ValueStatus:
    """One value. Rows are None where they were not counted, 0 where there are none."""

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
    """What the next run does with it, in the plan's words."""


@dataclass(frozen=True)
class WholeStatus(ValueStatus):
    """A table that is compared as a whole. Hashes are empty where nobody read the content."""

    source_hash: str = ""
    target_hash: str = ""
    contained: bool = False
    """Every row of the source is in the target, which holds more by rule."""


@dataclass(frozen=True)
class BatchStatus:
    """One file of versions: which marks it holds, both ends included, and whether the target has them."""

    batch: str
    state: str
    """proven, pending (in the lake alone) or broken (its file cannot be used)."""
    after: str = ""
    upto: str = ""
    rows: int | None = None
    """None where the lake no longer has the file."""
    generation: int = 0
    loaded_at: str = ""


@dataclass(frozen=True)
class TableStatus:
    """One table. `state` is in step, pending, differs, empty or failed."""

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
        loaded = [value.value for value in self.values if value.generation and value.target_rows]
        return loaded[-1] if loaded else ""


@dataclass(frozen=True)
class VersionsStatus(TableStatus):
    """A table of versions: its only value is all of them."""

    reaches: str = ""
    """The mark up to which the target has them all; empty when it has none."""
    newest: str = ""
    """The greatest mark of the source."""
    is_whole: bool = False
    """It is read by no mark: the whole source is compared."""
    batches: tuple[BatchStatus, ...] = field(default=(), repr=False)
