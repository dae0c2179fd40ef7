"""Conditions and queries for ranges of a column that together hold every row once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.text import AsText, Literal, Name, Nth, Sql, sql


def ranges(column: Column, boundaries: Sequence[Value]) -> Iterator[Sql]:
    """Yield the conditions of one range more than there are boundaries. Nulls are in the first range.

    Neighbours compare with the same literal, one by `<` and the other by `>=`. So every value is on one side, whatever
    the collation says. The boundaries must ascend in the order of the server."""
    for low, high in pairwise([None, *boundaries, None]):
        yield in_range(column, low, high)


def in_range(column: Column, low: Value | None, high: Value | None) -> Sql:
    """Return the condition `low <= column < high`. None means no bound; nulls come before every bound."""
    name = Name.of(column.name)
    above = None if low is None else sql("{name} >= {low}", name=name, low=Literal(low.text, column.type))
    if high is None:
        return above or sql("1 = 1")
    below = sql("{name} < {high}", name=name, high=Literal(high.text, column.type))
    if above is not None:
        return sql("{above} AND {below}", above=above, below=below)
    return sql("({below} OR {name} IS NULL)", below=below, name=name) if column.nullable else below


def narrowed(rows: Sql | None, also: Sql) -> Sql:
    """Return the condition for those of the rows that meet another condition, too."""
    return also if rows is None else sql("({rows}) AND {also}", rows=rows, also=also)


def boundary_after(table: TableName, column: Column, rows: Sql | None, low: Value | None, places: int) -> Sql:
    """Return a query for the value that stands so many places after `low` in the order of the column, as text.

    Without `low`, the order begins with the smallest value. The answer is always greater than `low`, in the comparison
    of the server; there is none where the values end before."""
    name = Name.of(column.name)
    if low is None:
        beyond, before = sql("{name} IS NOT NULL", name=name), places
    else:
        beyond, before = sql("{name} > {low}", name=name, low=Literal(low.text, column.type)), places - 1
    query = sql(
        "SELECT {text} FROM {table} WHERE {rows} ORDER BY {name}",
        text=AsText(name, column.type),
        table=Name.of(table),
        rows=narrowed(rows, beyond),
        name=name,
    )
    return sql("{nth}", nth=Nth(query, max(before, 0)))
