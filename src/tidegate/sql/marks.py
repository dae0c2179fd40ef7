"""Questions about rows by their mark."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.text import AsText, Count, Exactly, Literal, Name, Sql, raw, sql


def between(mark: Column, low: Value | None, high: Value | None, also: Sql | None = None) -> Sql:
    """Rows of these marks, both ends included; without a low end all, and those of which `also` holds."""
    name = Name.of(mark.name)
    above = raw("1 = 1") if low is None else sql("{mark} >= {low}", mark=name, low=Literal(low.text, mark.type))
    if also is not None and low is not None:
        above = sql("({above} OR {also})", above=above, also=also)
    if high is None:
        return sql("{mark} IS NOT NULL AND {above}", mark=name, above=above)
    return sql("{above} AND {mark} <= {high}", above=above, mark=name, high=Literal(high.text, mark.type))


def is_latest(flag: Column, latest: str) -> Sql:
    return sql("{flag} = {latest}", flag=Name.of(flag.name), latest=Literal(latest, flag.type))


def count_several_current(table: TableName, key: Sequence[Column], flag: Column, latest: str) -> Sql:
    """How many values of a key have several rows that hold."""
    return sql(
        "SELECT {count} FROM (SELECT {rows} AS several FROM {table} WHERE {current} GROUP BY {each}"
        " HAVING {rows} > 1) AS found",
        count=Count(),
        rows=Count(),
        table=Name.of(table),
        current=is_latest(flag, latest),
        each=[Exactly(Name.of(column.name), column.type) for column in key],
    )


def newest(table: TableName, mark: Column, clock: Value | None, low: Value | None, *, indexed: bool) -> Sql:
    """The greatest mark, the greatest that is not in the future (nulls where there is none), and how many rows there
    are from `low` on.

    An index tells each by itself at once; without one the table is read a single time."""
    name, of_table = Name.of(mark.name), Name.of(table)
    is_past = raw("1 = 1") if clock is None else _is_past(mark, clock)
    coming = between(mark, low, None)
    if indexed:
        return sql(
            "SELECT (SELECT {newest} FROM {table}), (SELECT {newest} FROM {table} WHERE {is_past}),"
            " (SELECT {count} FROM {table} WHERE {coming})",
            newest=AsText(sql("max({mark})", mark=name), mark.type),
            count=Count(),
            table=of_table,
            is_past=is_past,
            coming=coming,
        )
    settled = sql("max(CASE WHEN {is_past} THEN {mark} END)", is_past=is_past, mark=name)
    return sql(
        "SELECT {newest}, {settled}, {count} FROM {table}",
        newest=AsText(sql("max({mark})", mark=name), mark.type),
        settled=AsText(settled, mark.type),
        count=Count(coming),
        table=of_table,
    )


def _is_past(mark: Column, clock: Value) -> Sql:
    return sql("{mark} <= {clock}", mark=Name.of(mark.name), clock=Literal(clock.text, mark.type))


def tail(table: TableName, mark: Column, low: Value | None) -> Sql:
    """How many rows there are from a mark on, and the greatest of their marks."""
    return sql(
        "SELECT {count}, {newest} FROM {table} WHERE {rows}",
        count=Count(),
        newest=AsText(sql("max({mark})", mark=Name.of(mark.name)), mark.type),
        table=Name.of(table),
        rows=between(mark, low, None),
    )


def count_between(table: TableName, rows: Sql) -> Sql:
    return sql("SELECT {count} FROM {table} WHERE {rows}", count=Count(), table=Name.of(table), rows=rows)


def count_older(table: TableName, mark: Column, floor: Value, less: Sql | None) -> Sql:
    """All rows, and those before a mark; `less` says which of these do not count."""
    older = sql("{mark} < {floor}", mark=Name.of(mark.name), floor=Literal(floor.text, mark.type))
    if less is not None:
        # A flag that is null does not say that its version holds.
        older = sql("{older} AND CASE WHEN {less} THEN 0 ELSE 1 END = 1", older=older, less=less)
    return sql("SELECT {all}, {older} FROM {table}", all=Count(), older=Count(older), table=Name.of(table))


def older_and_latest(mark: Column, floor: Value, flag: Column, latest: str) -> Sql:
    """Rows before a mark that hold."""
    return sql(
        "{mark} < {floor} AND {latest}",
        mark=Name.of(mark.name),
        floor=Literal(floor.text, mark.type),
        latest=is_latest(flag, latest),
    )


def beyond(mark: Column, low: Value) -> Sql:
    return sql("{mark} > {low}", mark=Name.of(mark.name), low=Literal(low.text, mark.type))
