"""A table of orders that somebody keeps writing to: its source, a lake, a target, and transactions that stay open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pymssql

from kit import mysql_witness, sides
from kit.sides import ask, kind_of
from kit.sqlserver_witness import login
from tidegate import Tidegate
from tidegate.model.plan import Notice
from tidegate.model.report import RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.model.status import VersionsStatus
    from tidegate.runs.listener import Boundary, Listener

CREATE = {
    "postgresql": "CREATE TABLE orders (id bigint PRIMARY KEY, item varchar(40), amount numeric(12,2),"
    " created_at timestamp, updated_at timestamp); CREATE INDEX ON orders (updated_at)",
    "mysql": "CREATE TABLE orders (id bigint PRIMARY KEY, item varchar(40), amount decimal(12,2),"
    " created_at datetime(6), updated_at datetime(6), KEY (updated_at))",
    "sqlserver": "CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, item varchar(40), amount decimal(12,2),"
    " created_at datetime2(6), updated_at datetime2(6)); CREATE INDEX by_time ON orders (updated_at)",
}
ALL_ROWS = "SELECT id, item, amount, created_at, updated_at FROM orders ORDER BY id"
NOW = {
    "postgresql": "now() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')",
    "mysql": "CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', @@global.time_zone)",
    "sqlserver": "SYSDATETIME()",
}
INSERT_NOW = "INSERT INTO orders SELECT %s, 'now', 1, clock.now, clock.now FROM (SELECT {now} AS now) AS clock"
HYBRID = {"kind": "incremental", "timestamp_column": "updated_at", "id_column": "id"}


@dataclass
class Orders:
    """A source with orders, a lake and a target. `settings` are those of the table."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession | None = field(default=None, repr=False)
    """Without a session, threads of this process move the rows."""
    settings: dict[str, Any] = field(default_factory=lambda: dict(HYBRID))

    def open(self) -> Orders:
        sides.do(self.source, CREATE[kind_of(self.source)])
        return self

    # Writing

    def write(self, *ids: int, at: str, item: str = "tea", amount: str = "9.90") -> None:
        """Insert orders, or change those that are there."""
        for number in ids:
            sides.do(self.source, "DELETE FROM orders WHERE id = %s", number)
            sides.do(self.source, "INSERT INTO orders VALUES (%s, %s, %s, %s, %s)", number, item, amount, at, at)

    def insert_now(self, number: int, execute: Callable[..., None] | None = None) -> None:
        """Insert an order with the time of the server; in an open transaction by its function."""
        (execute or self.in_source)(INSERT_NOW.format(now=NOW[kind_of(self.source)]), number)

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        sides.do(self.target, statement, *values)

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., None]]:
        """Open a transaction in the source; yield what executes statements in it. It is committed at the end."""
        connection = connected(self.source)
        try:
            with connection.cursor() as cursor:
                yield lambda statement, *values: cursor.execute(statement, values or None)
            connection.commit()
        finally:
            connection.close()

    # Running

    def configuration(self) -> dict[str, Any]:
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        engine = {} if self.spark is not None else {"engine": "process"}
        return {**places, **engine, "tables": {"orders": self.settings}}

    def tidegate(self, boundary: Boundary | None = None, listener: Listener | None = None) -> Tidegate:
        tidegate = Tidegate(**self.configuration(), spark=self.spark, listener=listener)
        if boundary is not None:
            tidegate.boundary = boundary
        return tidegate

    def run(self, **arguments: Any) -> RunReport:
        return self.tidegate().run(**arguments)

    # Looking

    def rows(self, url: str) -> list[tuple[object, ...]]:
        return ask(url, ALL_ROWS)

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for step in plan.tables[0].steps if not isinstance(step, Notice)]

    def notices(self) -> str:
        return "\n".join(step.text for step in self.tidegate().plan().tables[0].steps if isinstance(step, Notice))

    def status(self) -> VersionsStatus:
        [status] = self.tidegate().status()
        return status  # type: ignore[return-value]

    def assert_equal(self) -> None:
        """Assert that the target has the source's rows, that `verify` says so, and that nothing is to be done."""
        assert self.rows(self.target) == self.rows(self.source)
        assert self.tidegate().verify().outcome == "equal"
        assert self.steps() == []


def connected(url: str) -> Any:
    """Return a plain connection, whose statements are in a transaction of their own."""
    if kind_of(url) == "postgresql":
        return psycopg.connect(url)
    if kind_of(url) == "sqlserver":
        return pymssql.connect(**login(url))
    connection = mysql_witness.opened(url)
    connection.autocommit(False)
    return connection
