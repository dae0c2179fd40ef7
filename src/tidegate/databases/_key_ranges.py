"""Divide a request into ranges of a key, found by seeks in an index.

Facts that shape this file
 * A secondary index ends with the primary key: in InnoDB always, in SQL Server where the key is clustered. So an index
   on the partition column also finds a range of the primary key inside of one value.
 * Counting rows by OFFSET reads the index up to there, and nothing else: about as much as the count of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column
from tidegate.model.values import Value
from tidegate.sql.ranges import boundary_after, narrowed, ranges


def split_by_key(session: Session, window: Divisible, parts: int) -> list[ReadRequest]:
    """Return a request for each range of a key; only the given one where no index can find such ranges."""
    request = window.request
    column = leading_column(window, lambda found: session.database.value_kind(found) is not None)
    if column is None:
        return [request]
    boundaries = list(_boundaries(session, window, column, parts))
    conditions = ranges(column, boundaries)
    return [replace(request, rows=narrowed(request.rows, condition)) for condition in conditions]


def leading_column(window: Divisible, is_ordered: Callable[[Column], bool]) -> Column | None:
    """Return the column by whose ranges an index finds the rows of a part; None where there is no such index."""
    table = window.table
    if window.request.rows is not None and not window.fixed and not window.ranged:
        return None  # nothing is known of an index that finds these rows
    for index in (table.primary_key, *table.unique_keys, *table.indexes):
        names = (*index, *table.primary_key)
        free = next((name for name in names if name not in window.fixed), None)
        column = table.exact_column(free) if free is not None else None
        if column is not None and is_ordered(column) and _finds(window, names, column.name):
            return column
    return None


def _finds(window: Divisible, names: tuple[str, ...], free: str) -> bool:
    """Return whether an index over these columns leads to the rows of the window, and then to a range of `free`."""
    if window.ranged:
        return free == window.ranged and names[0] in (free, *window.fixed)
    is_pruned = any(name in window.table.partitioned_by for name in window.fixed)
    return not window.fixed or is_pruned or names[0] in window.fixed


def _boundaries(session: Session, window: Divisible, column: Column, parts: int) -> Iterator[Value]:
    kind = session.database.value_kind(column)
    assert kind is not None
    request, low = window.request, None
    for _ in range(parts - 1):
        places = max(window.rows // parts, 1)
        found = session.query(boundary_after(request.table, column, request.rows, low, places))
        if not found:
            return
        try:
            low = Value.of(found[0][0], kind)
        except ValueError:  # a zero date is no boundary
            return
        if "\0" in low.text:  # no literal can hold it
            return
        yield low
