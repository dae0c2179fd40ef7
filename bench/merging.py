"""Changed rows into large tables, with proof, beside COPY and INSERT ... ON CONFLICT written by hand; and duplicates
and gaps in streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.cases import Case, Daily, Reach
from bench.contenders import Tool
from bench.tables import TRADES, Column, TableSchema
from bench.world import SOURCE, World

_UPDATED = Column(
    "updated_at",
    ("timestamp(6) NOT NULL", "timestamp '2024-01-01' + i % 80000 * interval '1 second'"),
    ("datetime(6) NOT NULL", "timestampadd(SECOND, i % 80000, timestamp'2024-01-01 00:00:00')"),
)
ORDERS = TableSchema("orders", (*TRADES.columns, _UPDATED), index="updated_at")
CHANGED = 100_000
BY_HAND = "COPY and ON CONFLICT"
TOOLS = (
    Tool("tidegate, merge", "tidegate_tool.py", frozenset({"merge"}), is_warm=True),
    Tool(BY_HAND, "plain.py", frozenset({"merge"}), is_warm=True),
    Tool("tidegate, streams", "streams_tool.py", frozenset({"streams"})),
)


@dataclass(frozen=True)
class Merge(Daily):
    """So many rows of a table change in place between two runs. The session is there before."""

    kind: str = "incremental"
    changed: int = CHANGED
    work = "merge"

    @property
    def _shape(self) -> TableSchema:
        return ORDERS

    def begin(self, world: World, number: int) -> None:
        table, side = self._tables(world)[0], world.sides[self.database]
        every, day = self.rows // self.changed, f"timestamp '2024-08-01' + interval '{number} days'"
        change = f"SET amount = amount + 1, updated_at = {day} + id % 80000 * interval '1 second'"
        side.execute(SOURCE, [f"UPDATE {table} {change} WHERE id % {every} = {number % every}"])
        side.settle(SOURCE, table)

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        """The server counts all rows, and adds up hashes of those that ever changed: comparing the cells of twenty
        million rows takes longer than all contenders."""
        side = world.sides[self.database]
        expected, found = (_answer(side.url(name), job["table"]) for name in (SOURCE, self._target(tool)))
        return "" if expected == found else f"{found} instead of {expected}"


def _answer(url: str, table: str) -> list[tuple[Any, ...]]:
    total = f"sum(hashtextextended(ROW({', '.join(ORDERS.names)})::text, 0)::numeric)"
    asked = f"SELECT (SELECT count(*) FROM {table}), count(*), {total} FROM {table} WHERE updated_at > '2024-07-31'"
    with psycopg.connect(url) as connection:
        return connection.execute(asked).fetchall()


@dataclass(frozen=True)
class Streams(Case):
    """Duplicates and gaps in a frame of so many rows, one in a thousand of them doubled or missing."""

    rows: int = 0
    what: str = "duplicates"
    work = "streams"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        return {"work": self.work, "rows": self.rows, "what": self.what}


def quick() -> Iterator[Case]:
    yield _merge("merge-1m", 200_000, 4_000)
    for what in ("duplicates", "gaps"):
        yield Streams(f"{what}-20m", f"{what.capitalize()} in 200,000 rows", rows=200_000, what=what)


def long() -> Iterator[Case]:
    for name, rows in (("merge-1m", 1_000_000), ("merge-5m", 5_000_000), ("merge-20m", 20_000_000)):
        yield _merge(name, rows, CHANGED)
    for what in ("duplicates", "gaps"):
        for name, rows in (("1m", 1_000_000), ("20m", 20_000_000)):
            yield Streams(f"{what}-{name}", f"{what.capitalize()} in {rows:,} rows", rows=rows, what=what, rounds=2)


def _merge(name: str, rows: int, changed: int) -> Merge:
    reaches = (Reach("tidegate, merge", 1.4, beside=BY_HAND),)
    title = f"{changed:,} changed rows merged into {rows:,}, with proof"
    return Merge(name, title, rows=rows, changed=changed, reaches=reaches)
