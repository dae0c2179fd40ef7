"""What a change feed offers: what moved and what was deleted, told by the database itself.

A feed is one file in the folder of its database (`databases/<database>/feeds/<kind>.py`), which `Database.feed`
returns. `changes: cdc` and its relatives read a feed in one of two modes. `keys`: the feed tells which keys changed,
and their rows are read again. `images`: the values come from the feed itself.

A run goes in this order: read up to a fixed position, extract into the lake, load with the position in the ledger's
transaction, confirm to the server. So a run that is killed between any two steps loses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import Unsupported
from tidegate.interfaces.requests import BatchSize
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FeedTable:
    """One table as a feed reads it. It travels to tasks."""

    name: TableName
    """The table in the source, as the catalog spells it."""
    columns: tuple[Column, ...]
    """The columns that are copied."""
    keys: tuple[Column, ...]
    """What names a row."""
    text_columns: tuple[str, ...] = ()
    """Columns that come as canonical text."""
    batch: BatchSize = field(default_factory=BatchSize)
    images: bool = False
    """The values of all columns are asked for, not only those of the key."""
    truncates: bool = False
    """A truncate comes as a change of its own, without a key. Otherwise the whole table is read after it."""

    @property
    def told(self) -> tuple[Column, ...]:
        """Return the columns that a change comes with."""
        return self.columns if self.images else self.keys


@dataclass(frozen=True)
class FeedState:
    """What the server says of a feed and a table, before anything is read. Cheap."""

    now: Position
    """The newest position: this run reads up to here."""
    first: Position
    """Where a table begins that is read for the first time: taken before its snapshot, and still readable."""
    changes: int | None
    """How many changes of the table there are after the position that was asked for; None where that is not known."""
    lost: str = ""
    """Why nothing can be read from that position: the log was removed, the feed was switched off and on."""
    truncated: bool = False
    """The table was emptied at once after the position: it must be read as a whole."""
    untold: str = ""
    """Why rows came or went that the log does not tell, such as those of a partition that was detached: the table must
    be read as a whole."""
    notices: tuple[str, ...] = ()
    """What people should know: who removes the log, and when."""
    warnings: tuple[str, ...] = ()
    """The same, where somebody has to act: the log is about to be removed, or fills the server's disk."""


@dataclass(frozen=True)
class Problem:
    """Something that is missing on the server, and the statements that mend it."""

    text: str
    statements: tuple[str, ...] = ()
    severity: str = "error"
    """`error`: the feed cannot be read. `warning`: it can, and somebody should know."""


@dataclass(frozen=True)
class FeedHealth:
    """What `tidegate doctor` says of a feed and a table."""

    feed: str
    """Which feed it is, for people: `slot tidegate_shop`."""
    alive: bool
    facts: Mapping[str, str]
    """For people, by name: lag in bytes and in time, what the feed costs the server."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class TableFeed:
    """The change feed of one table, and how far the table has read it."""

    feed: Feed
    table: FeedTable
    position: Position | None = None
    """Where reading goes on; None where the table was never read, or not inspected."""
    state: FeedState | None = None
    """Where the feed is; None where it cannot be read."""
    read_at: str = ""
    """When the feed was read last, on the source's clock."""


class Feed(ABC):
    """One log of one database, as a project reads it. It holds no connection, so that tasks carry it."""

    label: ClassVar[str]
    """What people call it: `logical decoding`."""
    has_images: ClassVar[bool] = True
    """The log has the values of rows, so that `mode: images` is possible."""
    has_commit_times: ClassVar[bool] = True
    reads_snapshot: ClassVar[bool] = False
    """`read` takes a snapshot of the source, on which rows are then read again by their key."""
    bypassed_by: ClassVar[str] = ""
    """What changes rows without the feed noticing, for people. Then runs compare slices of the table, in turn."""
    keeps_place: ClassVar[bool] = False
    """The server keeps where reading goes on, as a slot does: `FeedState.first` is there. `confirm` moves it."""

    @property
    @abstractmethod
    def id(self) -> str:
        """Return a text that tells this log from every other of the database: tables with one id are confirmed
        together."""

    @abstractmethod
    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        """Return what keeps the feed from being read: rights, settings, a table that is not part of it. Reads only."""

    @abstractmethod
    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        """Return where the feed is. `after` is what was loaded last, None for a table that is new; `snapshot` is the
        answer of `snapshot_query` where the rows of a first load were read at it."""

    def snapshot_query(self) -> Sql | None:
        """Return a scalar query that names the snapshot of its transaction: a first load asks it in the transaction
        that reads the rows. `read` then leaves out what the snapshot has. None where the feed cannot tell: then changes
        that the snapshot has come again."""
        return None

    @abstractmethod
    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        """Yield the changes of the table after one position and up to another, in the order of the log.

        A batch has the columns of `hashing.changes.change_schema`. The update of a key is a delete of the old and an
        insert of the new. Changes of transactions that were rolled back, or that the snapshot has, are left out. Memory
        is bounded, however large a transaction is. Raises FeedLost where the log has a hole, and for a truncate. What
        the generator returns is given to `wait_for`."""

    def wait_for(self, session: Session, seen: object) -> None:
        """Wait until a query of this session sees all that `read` told. Called before rows are read again by their key.
        Raises Transient when that takes too long."""
        return

    def told_after(
        self, session: Session, table: FeedTable, after: Position, keys: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        """Yield those of these keys, `MOST_KEYS` at most, of which the log has a change after a position. For feeds
        that some changes pass by (`bypassed_by`)."""
        raise Unsupported(f"{self.label} tells every change.")

    @abstractmethod
    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """Tell the server what it may remove: what is loaded of each table of this feed. Never called before that is in
        the target. Does nothing where a server removes its log by itself."""

    @abstractmethod
    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        """Return what `tidegate doctor` says."""

    # Commands: the only statements that change the source

    def create(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        """Return the statements that make the feed for these tables, without those that are done already."""
        raise Unsupported(f"{self.label} needs nothing to be created.", "Nothing was changed.")

    def drop(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        """Return the statements that remove what `create` made."""
        raise Unsupported(f"{self.label} has nothing that could be dropped.", "Nothing was changed.")
