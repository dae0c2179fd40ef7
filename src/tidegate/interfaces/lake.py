"""What a lake offers: committed windows of tables, written part by part inside tasks and published all at once.

Only the lake knows paths, footers, renames and snapshot ids. Everybody else holds a `LakeEntry` and its opaque id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tidegate.interfaces.database import BatchSize
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import Token

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Layout(Enum):
    """How the entries of a table relate to one another."""

    VALUES = "values"
    """One entry per window: committing a window again replaces its entry."""
    WHOLE = "whole"
    """Every entry is the whole table; the newest one counts."""
    LOG = "log"
    """Entries are appended; all of them together make the table."""


@dataclass(frozen=True)
class LakeTable:
    """One synced table in a lake."""

    name: TableName
    layout: Layout
    column: str
    """What entries are filed under: the partition column, `static` or `scd`."""


@dataclass(frozen=True)
class EntryFacts:
    """What is written with the rows of an entry, so that the lake explains itself."""

    window: str
    rows: int
    hash: str
    columns: tuple[str, ...]
    columns_id: str
    storage_types: tuple[str, ...]
    """The type in the lake of each of `columns`."""
    text_columns: tuple[str, ...]
    token: Token
    run: str
    why: str
    read_at: str
    scope: str
    """The declared scope as JSON: a lost ledger is restored from it."""
    unproven: bool = False


ROWS, KEYS = "rows", "keys"


@dataclass(frozen=True)
class Part:
    """What one writer wrote. It travels from a task to the driver, which commits it."""

    id: str
    role: str
    """`rows`, or `keys` for the keys of all rows that the source had at that time."""
    rows: int
    bytes: int


@dataclass(frozen=True)
class Entries:
    """What a lake holds of a table."""

    by_window: Mapping[str, LakeEntry] = field(default_factory=dict)
    """By the window's text. Of a whole table only the newest entry."""
    superseded: tuple[str, ...] = ()
    """Ids of older entries of a whole table, oldest first."""
    scope: Scope | None = None
    """The newest scope that an opened entry carries; None where no entry had to be opened."""


class PartWriter(ABC):
    """Writes the batches of one part. Nobody sees them before the part is committed."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def close(self, facts: EntryFacts) -> Part:
        """Make the part durable."""

    @abstractmethod
    def abandon(self) -> None:
        """Delete what was written."""


class Lake(ABC):
    """Committed windows of tables, at one place. Holds no connection, so that Spark tasks can carry it."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def at(cls, path: Path) -> Lake:
        """Return the lake at this place. Nothing is opened yet."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the lake is, for people. No secrets."""

    # In the driver, without a JVM

    @abstractmethod
    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        """Return what is committed. An entry that `known` has under the same etag is not opened, so that the cost of a
        steady state does not grow with the history."""

    @abstractmethod
    def commit(
        self, table: LakeTable, window: str, parts: Sequence[Part], replaces: str = ""
    ) -> tuple[LakeEntry, bool]:
        """Publish all parts at once. `replaces` is the etag that planning saw under this window.

        Return the entry that is there now, and False where somebody committed a newer one since planning; that one
        stays. Repeating a commit changes nothing."""

    @abstractmethod
    def drop(self, table: LakeTable, window: str) -> None:
        """Remove the entry of a window. Does nothing when there is none."""

    @abstractmethod
    def drop_superseded(self, table: LakeTable, ids: Sequence[str]) -> None:
        """Remove older entries of a whole table."""

    @abstractmethod
    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        """Keep a copy of the scope that a target declared: it restores a lost ledger."""

    @abstractmethod
    def saved_scope(self, table: LakeTable, target: str) -> Scope | None: ...

    @abstractmethod
    def begin(self, run: str) -> None:
        """Make room for the parts of a run. Raises LakeError early when the lake cannot be written."""

    @abstractmethod
    def end(self, run: str) -> None:
        """Delete the parts of a run that were not committed."""

    @abstractmethod
    def leftovers(self, older_than_seconds: float) -> list[str]:
        """Return the ids of runs that ended without `end`."""

    @abstractmethod
    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        """Return the committed rows as a Spark DataFrame."""

    # Inside a task

    @abstractmethod
    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        """Return a writer for one part. `name` tells attempts of one task apart."""

    @abstractmethod
    def entry(self, table: LakeTable, entry_id: str) -> LakeEntry:
        """Open one entry and return what it says of itself; `broken` says why it cannot be used."""

    @abstractmethod
    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of an entry in batches within both bounds. Raises LakeError."""

    @abstractmethod
    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        """Return these columns of every entry of a log, oldest first."""
