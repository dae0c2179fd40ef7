"""A MariaDB server that writes a binary log, and tables that a feed reads, on every database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kit.copies import database_at
from kit.mariadb import MariaDb
from kit.sides import opened
from tidegate.interfaces.feed import Feed, FeedState, FeedTable
from tidegate.model.feeds import Position
from tidegate.model.names import TableName

WITH_LOG = (
    "--log-bin=binlog",
    "--server-id=7",
    "--binlog-format=ROW",
    "--binlog-row-metadata=FULL",
    "--sync-binlog=0",
)


@contextmanager
def logging_server(*options: str) -> Iterator[MariaDb]:
    with MariaDb(*WITH_LOG, *options) as server:
        yield server


class Followed:
    """One database whose tables are read by a feed; `witness` writes with a plain driver."""

    def __init__(self, url: str, kind: str = "cdc") -> None:
        self.database = database_at(url)
        self.session = self.database.connect("test")
        feed = self.database.feed(kind, "tidegate_test")
        assert feed is not None
        self.feed: Feed = feed
        self.witness: Any = opened(url)

    def create(self, *tables: str) -> None:
        """Make what the feed needs for these tables."""
        names = [TableName(self.database.default_schema, table) for table in tables]
        for statement in self.feed.create(self.session, names):
            self.session.execute(statement)

    def close(self) -> None:
        self.session.close()
        self.witness.close()

    def table(self, name: str, *, images: bool = True, text: Sequence[str] = ()) -> FeedTable:
        where = TableName(self.database.default_schema, name)
        schema = self.session.table_schemas([where])[where]
        keys = tuple(column for column in schema.columns if column.name in schema.primary_key)
        return FeedTable(schema.name, schema.columns, keys, tuple(text), images=images)

    def state(self, table: FeedTable, after: Position | None = None) -> FeedState:
        return self.feed.state(self.session, table, after, "")

    def changes(self, table: FeedTable, after: Position, upto: Position) -> list[dict[str, Any]]:
        return [row for batch in self.feed.read(self.session, table, after, upto, "") for row in batch.to_pylist()]
