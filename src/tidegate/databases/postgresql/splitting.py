"""Divide a request into ranges of ctid: the place of a row, as block and number.

Facts that shape this file
 * Since version 14 a range of ctid reads these blocks alone (TID range scan). So a table is divided without an index,
   whatever its keys and collations are.
 * In one snapshot a row has one ctid. All tasks of a window read the same snapshot.
 * Partitions and children have blocks of their own, and the same numbers occur in each. A range takes them from all.
 * A view has no ctid, and a foreign table or another storage engine gives it another meaning.
 * TABLESAMPLE SYSTEM reads a share of the blocks, and all rows of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.names import TableName
from tidegate.sql.ranges import narrowed
from tidegate.sql.text import Literal, Name, Sql, raw, sql

SAMPLED_BLOCKS = 400
"""With rows of the window. Shares then differ by a twentieth."""
_MOST_BLOCKS_TO_SAMPLE = 10_000
_BUCKETS = 50_000


@dataclass(frozen=True)
class Storage:
    """The heaps of a table, of its partitions and children."""

    blocks: int
    rows: int
    """As the statistics know them; 0 where they know nothing."""


def split_by_place(session: Session, window: Divisible, parts: int) -> list[ReadRequest]:
    """Return a request for each range of blocks; only the given one where the table is no heap, or very small."""
    request = window.request
    storage = _storage(session.query(heaps(request.table)))
    if storage is None or storage.blocks < parts:
        return [request]
    width = -(-storage.blocks // _BUCKETS)
    percent = _share_to_sample(storage, window)
    found: Sequence[Any] = session.query(rows_by_place(request.table, request.rows, width, percent))
    boundaries = [bucket * width for bucket in boundaries_of([(int(place), int(rows)) for place, rows in found], parts)]
    return [replace(request, rows=narrowed(request.rows, condition)) for condition in place_ranges(boundaries)]


def _storage(found: Sequence[Any]) -> Storage | None:
    heaps_found = [(blocks, rows) for kind, engine, blocks, rows in found if kind != "p" and engine == "heap"]
    if any(kind != "p" and engine != "heap" for kind, engine, _, _ in found) or not heaps_found:
        return None
    return Storage(sum(int(blocks) for blocks, _ in heaps_found), sum(max(int(rows), 0) for _, rows in heaps_found))


def _share_to_sample(storage: Storage, window: Divisible) -> float | None:
    """Return the percentage of blocks that shows where the rows are; None where reading the window itself is cheaper.

    Rows of a window that is a small share of its table may lie anywhere in it."""
    share = 1.0 if window.request.rows is None or not storage.rows else min(window.rows / storage.rows, 1.0)
    sampled = SAMPLED_BLOCKS / max(share, 1e-9)
    if sampled >= storage.blocks or sampled > _MOST_BLOCKS_TO_SAMPLE:
        return None
    return max(100 * sampled / storage.blocks, 1e-6)


def boundaries_of(found: Sequence[tuple[int, int]], parts: int) -> list[int]:
    """Return the places at which a next part begins, from the number of rows at each place, in order."""
    total = sum(rows for _, rows in found)
    boundaries: list[int] = []
    sums = accumulate(rows for _, rows in found)
    for (place, _), before in zip(found, (0, *sums), strict=False):
        if before * parts >= total * (len(boundaries) + 1) and len(boundaries) < parts - 1:
            boundaries.append(place)
    return boundaries


def place_ranges(boundaries: Sequence[int]) -> Iterator[Sql]:
    """Yield the conditions of the ranges between these blocks; the first and the last have no end."""
    for low, high in pairwise([None, *boundaries, None]):
        above = None if low is None else sql("ctid >= {low}", low=_first_of(low))
        below = None if high is None else sql("ctid < {high}", high=_first_of(high))
        if above is not None and below is not None:
            yield sql("{above} AND {below}", above=above, below=below)
        else:
            yield above or below or sql("true")


def _first_of(block: int) -> Literal:
    return Literal(f"({block},0)", "tid")


def heaps(table: TableName) -> Sql:
    """Return a query for the kind, storage engine, blocks and rows of a table and of all below it."""
    return sql(
        "WITH RECURSIVE found(id) AS (\n"
        "  SELECT c.oid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace\n"
        "  WHERE n.nspname = {schema} AND c.relname = {name}\n"
        "  UNION\n"
        "  SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN found ON i.inhparent = found.id\n"
        ")\n"
        "SELECT CAST(c.relkind AS text), coalesce(CAST(a.amname AS text), ''),\n"
        "  pg_relation_size(c.oid) / CAST(current_setting('block_size') AS bigint), CAST(c.reltuples AS bigint)\n"
        "FROM found JOIN pg_catalog.pg_class AS c ON c.oid = found.id\n"
        "LEFT JOIN pg_catalog.pg_am AS a ON a.oid = c.relam",
        schema=Literal(table.schema),
        name=Literal(table.name),
    )


def rows_by_place(table: TableName, rows: Sql | None, width: int, percent: float | None) -> Sql:
    """Return a query for how many rows of a window are in each run of so many blocks, of all or of a sample."""
    share = Literal(f"{percent or 0:.6f}", "real")
    sampled = raw("") if percent is None else sql(" TABLESAMPLE SYSTEM ({share}) REPEATABLE (1)", share=share)
    return sql(
        "SELECT CAST((CAST(CAST(ctid AS text) AS point))[0] AS bigint) / {width} AS place, count(*)\n"
        "FROM {table}{sampled} WHERE {rows} GROUP BY 1 ORDER BY 1",
        width=Literal(width),
        table=Name.of(table),
        sampled=sampled,
        rows=rows or raw("true"),
    )
