"""What a database has to offer, and what the engine asks of it. A lake, a change strategy, a load and a check
are found by name in their folders in the same way (`plugins.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import Unsupported
from tidegate.model.columns import Column, Shape
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.values import Kind
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa


class Feature(Enum):
    """An ability that is asked for before work starts."""

    EXPORTED_SNAPSHOT = "one snapshot shared by several connections"
    STREAM_IN_TRANSACTION = "bulk loading inside the transaction that writes the ledger row"
    TRANSACTIONAL_DDL = "DDL that a transaction can undo"


@dataclass(frozen=True)
class BatchSize:
    """The bound of one Arrow batch: whichever is reached first."""

    rows: int = 10_000
    bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class ReadRequest:
    """Rows of one table: `columns` in this order, those of `text_columns` as canonical text, where `rows` holds."""

    table: TableName
    columns: tuple[Column, ...]
    rows: Sql | None = None
    text_columns: tuple[str, ...] = ()
    batch: BatchSize = BatchSize()

    def only(self, names: Sequence[str]) -> ReadRequest:
        """The same rows in these columns and this order; all columns when nothing is named."""
        by_name = {column.name: column for column in self.columns}
        return replace(self, columns=tuple(by_name[name] for name in names if name in by_name) or self.columns)

    def with_text(self, names: Sequence[str]) -> ReadRequest:
        """The same rows with these columns as text, besides those that are already."""
        return replace(self, text_columns=tuple(dict.fromkeys((*self.text_columns, *names))))


class Database(ABC):
    """One server and login. Holds no connection, so that Spark tasks can carry it."""

    kind: ClassVar[str]
    label: ClassVar[str]
    default_schema: ClassVar[str]
    features: ClassVar[frozenset[Feature]]

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        """An open session. Raises Unreachable. `purpose` is what the server's own monitoring shows."""

    @abstractmethod
    def create_table(self, name: TableName, like: Shape, columns: Sequence[Column], index_on: str) -> list[Sql]:
        """The DDL of a target table: these columns, the key of `like`, and an index on the partition column."""

    @abstractmethod
    def add_column(self, table: TableName, column: Column) -> Sql: ...

    @abstractmethod
    def widen_column(self, table: TableName, column: Column) -> Sql: ...

    @abstractmethod
    def fits(self, source: Column, target: Column) -> str:
        """`same`, `wider` (every value fits), `widen` (after DDL), or the reason why it does not fit."""

    @abstractmethod
    def text_of(self, statement: Sql) -> str:
        """The statement as the server gets it."""

    def require(self, feature: Feature, *, for_: str, instead: str) -> None:
        """Refuse before work starts when this database lacks the feature."""
        if feature not in self.features:
            raise Unsupported(f"{self.label} has no {feature.value}, which {for_} needs.", remedy=instead)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.connection.display}>"


class Session(ABC):
    """One open connection. Closing it rolls back what was not committed."""

    @abstractmethod
    def query(self, statement: Sql) -> list[tuple[object, ...]]: ...

    @abstractmethod
    def query_of_user(self, statement: Sql) -> list[tuple[object, ...]]:
        """A query that a user wrote: names without a schema mean what they mean to this login."""

    @abstractmethod
    def execute(self, statement: Sql) -> int:
        """Run it; the number of rows that it changed."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Commits at the end, rolls back on any error. Raises OutcomeUnknown when the commit got no answer."""

    @abstractmethod
    def close(self) -> None: ...

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """False once the connection was lost or closed."""

    # The catalog

    @abstractmethod
    def identity(self) -> str:
        """Tells this database from every other, also from a copy of it restored elsewhere."""

    @abstractmethod
    def shapes(self, names: Sequence[TableName]) -> dict[TableName, Shape]:
        """The tables among `names` that exist and may be seen, in one round trip. Case is settled leniently."""

    @abstractmethod
    def tables(self) -> list[TableName]:
        """Every table of the user's schemas."""

    @abstractmethod
    def partition_kind(self, column: Column) -> Kind | None:
        """How values of this column are ordered; None when it cannot be a partition column."""

    @abstractmethod
    def now(self) -> str:
        """The server's clock, in UTC, as ISO text."""

    # Rows

    @abstractmethod
    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Raises NotNative when a value does not fit the type that its column rests as."""

    @abstractmethod
    def write(self, table: TableName, batches: Iterator[pa.RecordBatch]) -> int:
        """Bulk-load into the columns that the batches name; the number of rows. Joins an open transaction."""

    # Snapshots and locks

    @abstractmethod
    def export_snapshot(self) -> str:
        """Opens a read-only transaction and names its snapshot; valid until this session closes."""

    @abstractmethod
    def use_snapshot(self, snapshot: str) -> None:
        """Opens a read-only transaction on another session's snapshot."""

    @abstractmethod
    def try_lock(self, name: str) -> bool:
        """A lock that lives as long as this session."""

    @abstractmethod
    def lock_in_transaction(self, name: str) -> None:
        """Waits for a lock that lives as long as the open transaction."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
