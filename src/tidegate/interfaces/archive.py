"""What a database offers that can hold the snapshot archive: its tables, functions and statements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.snapshots import Archive
from tidegate.sql.text import Sql


@dataclass(frozen=True)
class Migration:
    """Statements that bring a group of tables, functions or procedures to one version. Versions ascend by 1."""

    version: int
    about: str
    statements: tuple[Sql, ...]


class ArchiveSql(ABC):
    """The statements of a snapshot archive. Tables and functions have the names that users type."""

    archives: ClassVar[TableName]
    chunks: ClassVar[TableName]
    archive_columns: ClassVar[tuple[Column, ...]]
    """The columns of `archives` that are written in bulk: id, date, filter and the Parquet file, in this order."""
    chunk_columns: ClassVar[tuple[Column, ...]]
    """The columns of `chunks`: id, number, bytes and their SHA-256, in this order."""

    @abstractmethod
    def migrations(self) -> Sequence[Migration]:
        """Return how the archive is installed, version by version."""

    @abstractmethod
    def next_id(self) -> Sql:
        """Return a query for an unused archive id."""

    @abstractmethod
    def describe(self, archive: Archive, default_retention: str) -> Sql:
        """Return the UPDATE that completes a row of `archives`. `default_retention` is the date that a default gave."""

    @abstractmethod
    def find(
        self, *, archive_id: int | None = None, table: str = "", customer_filter: str | None = None, batch_id: str = ""
    ) -> Sql:
        """Return a query for archives, the newest first, in the columns that `read_row` takes."""

    @abstractmethod
    def read_row(self, row: tuple[object, ...]) -> Archive:
        """Return the archive of a row of `find`."""

    @abstractmethod
    def with_id(self, archive_id: int, chunk: int | None = None) -> Sql:
        """Return the condition of the rows of one archive, or of one of its chunks."""

    @abstractmethod
    def statistics(self, customer_filter: str | None, days_back: int) -> Sql:
        """Return a query for filter, archives, rows, bytes, bytes in memory, mean ratio, oldest and newest date."""

    @abstractmethod
    def expired(self, keep_days: int, *, dry_run: bool) -> Sql:
        """Return the query that lists archives beyond their retention, and removes them unless `dry_run`.

        Its rows are id, date, filter and bytes."""

    @abstractmethod
    def validate(self, archive_id: int | None) -> Sql:
        """Return a query for id and problem of every archive; the problem is null if all bytes are as written."""
