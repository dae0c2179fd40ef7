"""What a lake offers: committed windows of tables, written part by part inside tasks and published all at once.

Only the lake knows paths, footers, renames and snapshot ids. Everybody else holds a `LakeEntry` and its opaque id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tidegate.errors import Unsupported
from tidegate.interfaces.open_table import OpenTable
from tidegate.interfaces.requests import BatchSize
from tidegate.interfaces.stored_files import ObjectStore, StoredFile
from tidegate.model.lake_versions import LakeCleaning, LakeHealth, LakeVersion
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
    partition: str = "identity"
    """How a new table of a format with partition specs is divided by the column: `identity`, `days`, `none`, ..."""


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
    """The committed entries by the text of their window. Of a whole table only the newest entry."""
    superseded: tuple[str, ...] = ()
    """Ids of older entries of a whole table, oldest first."""
    scope: Scope | None = None
    """The newest scope that an opened entry carries; None where no entry had to be opened."""


@dataclass(frozen=True)
class KeptTable:
    """A table of the lake that a load keeps as its target, as it is now."""

    version: str = ""
    """The id of this state in the format, such as a snapshot id; empty if the table does not exist."""
    files: tuple[str, ...] = ()
    rows: int = 0
    loads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the newest commit of each window says of itself."""
    text_columns: tuple[str, ...] = ()
    """Columns that some window brought as text."""


class PartWriter(ABC):
    """Writes the batches of one part. Nobody sees them before the part is committed."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def close(self, facts: EntryFacts) -> Part:
        """Make the part durable. The facts are those of its own rows: other parts may belong to the same window."""

    @abstractmethod
    def abandon(self) -> None:
        """Delete what was written."""


class Lake(ABC):
    """Committed windows of tables, at one place. Holds no connection, so that Spark tasks can carry it."""

    kind: ClassVar[str]
    has_table_properties: ClassVar[bool] = False
    """Whether a table that was `opened` keeps properties."""
    has_partition_specs: ClassVar[bool] = False
    """Whether a table may be partitioned by something else than the values of its column."""
    keeps_targets: ClassVar[bool] = False
    """Whether a load may keep a table here as its target: `target: lake`."""

    @classmethod
    @abstractmethod
    def at(cls, path: Path) -> Lake:
        """Return the lake in this folder. Nothing is opened yet."""

    @classmethod
    def at_bucket(cls, url: str, store: Mapping[str, str]) -> Lake:
        """Return the lake at this address of an object store. Nothing is opened yet."""
        raise Unsupported(
            f"A lake of the format `{cls.kind}` cannot be kept in object storage ({url}).",
            "Nothing was opened.",
            "Name a local folder as `path`.",
        )

    def compressed(self, codec: str) -> Lake:
        """Return the lake that compresses new files by `zstd`, `snappy`, `gzip` or `none`."""
        raise Unsupported(
            f"A lake of the format `{self.kind}` has no choice of compression.",
            "Nothing was opened.",
            "Use `format: parquet`, or leave out `compression`.",
        )

    def arranged(self, layout: str, incremental_path: str) -> Lake:
        """Return the lake with its entries in the places of another layout. `organized` is the layout of every lake."""
        if layout == "organized":
            return self
        raise Unsupported(
            f"A lake of the format `{self.kind}` has no layout `{layout}`.",
            "Nothing was opened.",
            "Use `format: parquet`, or leave out `layout`.",
        )

    def cataloged(self, settings: Mapping[str, str]) -> Lake:
        """Return the lake with its tables named by a catalog elsewhere. Without settings, by its own. Nothing is opened
        yet."""
        if not settings:
            return self
        raise Unsupported(
            f"A lake of the format `{self.kind}` has no catalog.",
            "Nothing was opened.",
            "Use `format: iceberg`, or leave out `catalog`.",
        )

    @property
    def store(self) -> ObjectStore | None:
        """Return the place of the lake in object storage, where a server can load files; None for a folder."""
        return None

    def for_servers(self) -> Lake:
        """Return the lake with files that database servers can load: in encodings that every reader knows."""
        return self

    def stored_files(self, table: LakeTable, entry_id: str) -> list[StoredFile]:
        """Return the files with exactly the rows of an entry, where a server can load them; none otherwise."""
        return []

    def notes(self) -> tuple[str, ...]:
        """Return what people should know about the place before a run."""
        return ()

    @property
    def spark_reads(self) -> bool:
        """Return whether `dataframe` lets Spark open the files by itself, which is fastest."""
        return True

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the lake is, for people. No secrets."""

    def location(self, entry_id: str) -> str:
        """Return where people find an entry: a file or a folder."""
        return f"{self.place}/{entry_id}"

    # In the driver, without a JVM

    @abstractmethod
    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        """Return what is committed. An entry that `known` has under the same etag is not opened, so that the cost of a
        steady state does not grow with the history."""

    @abstractmethod
    def commit(
        self,
        table: LakeTable,
        window: str,
        parts: Sequence[Part],
        replaces: str = "",
        facts: EntryFacts | None = None,
    ) -> tuple[LakeEntry, bool]:
        """Publish all parts at once. `replaces` is the etag that planning saw under this window.

        A window has one part of rows or several, and at most one of keys. Several tasks wrote them, each a part of
        its own: the entry has the rows of all of them, in this order, or it is not there. `facts` is what the entry
        says of itself. Without it, its only part of rows was closed with these facts; the parts of several were closed
        with facts of their own rows.

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

    def dataframe_at(self, spark: SparkSession, table: LakeTable, version: str | None, after: str | None) -> DataFrame:
        """Return the rows of a state in the history, else of the current one; with `after`, those that came since."""
        raise self.without_history()

    def changes_between(self, spark: SparkSession, table: LakeTable, after: str, version: str) -> DataFrame:
        """Return the rows that came and those that left between two states, told apart by the column `_change`."""
        raise self.without_history()

    def history(self, table: LakeTable) -> list[LakeVersion]:
        """Return the states of a table, oldest first."""
        raise self.without_history()

    def health(self, table: LakeTable) -> LakeHealth:
        """Return the state of the files of a table."""
        raise self.without_history()

    def clean(self, table: LakeTable, before: datetime, dry_run: bool) -> LakeCleaning:
        """Forget states of a table that are older, and delete files that nobody needs. Every entry stays readable."""
        raise self.without_history()

    def small(self, table: LakeTable) -> list[tuple[str, ...]]:
        """Return groups of small files of a table, each of which may become one file for readers."""
        raise self.without_history()

    def merge(self, table: LakeTable, run: str, name: str, files: Sequence[str]) -> Part:
        """Write the rows of these files into one. Inside a task."""
        raise self.without_history()

    def commit_merged(self, table: LakeTable, run: str, merged: Mapping[str, Sequence[str]]) -> None:
        """Put written files into the place of those whose rows they have. Raises LakeError where one of these left."""
        raise self.without_history()

    def entries_at(self, table: LakeTable, version: str) -> Mapping[str, LakeEntry]:
        """Return the entries that the table had at a state in its history, by window."""
        raise self.without_history()

    def kept(self, table: LakeTable) -> KeptTable:
        """Return a table that a load keeps as its target."""
        raise self.without_history()

    def kept_rows(self, file: str, schema: pa.Schema, batch: BatchSize) -> Iterator[pa.RecordBatch]:
        """Return the rows of one file of a kept table, in the columns of a schema."""
        raise self.without_history()

    def commit_kept(
        self, table: LakeTable, seen: str, parts: Sequence[Part], removed: Sequence[str], facts: Mapping[str, Any]
    ) -> bool:
        """Put parts into the place of files, at once. Return False where the table is no longer as it was seen; then
        nothing changed. `facts` are found again in `KeptTable.loads`, under their `window`."""
        raise self.without_history()

    def opened(self, name: TableName) -> OpenTable:
        """Return one table by its name, whoever made it."""
        raise self.without_history()

    def read_text(self, path: str) -> str:
        """Return a small text that is kept beside the tables; empty when there is none."""
        raise self._without_texts()

    def write_text(self, path: str, text: str) -> None:
        """Replace a small text that is kept beside the tables, at once."""
        raise self._without_texts()

    def _without_texts(self) -> Unsupported:
        return Unsupported(f"A lake of the format `{self.kind}` keeps no texts.", "Nothing was read or written.", "")

    def without_history(self) -> Unsupported:
        return Unsupported(
            f"A lake of the format `{self.kind}` keeps no history of its tables.",
            "Nothing was read.",
            "`lake: iceberg:...` and `lake: delta:...` keep one.",
        )

    def prepared(self, table: LakeTable, schema: pa.Schema) -> Lake:
        """Return the lake as tasks carry it that write rows of these columns. A table format makes the table here, so
        that its tasks need no catalog."""
        return self

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
