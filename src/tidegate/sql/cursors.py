"""Conditions and queries by a cursor column."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.text import AsText, Count, ExactColumn, Literal, Name, Sql, raw, sql


def between(cursor: Column, low: Value | None, high: Value | None, also: Sql | None = None) -> Sql:
    """Return the condition `low <= cursor <= high`. None means no bound; rows that meet `also` have no lower bound."""
    name = Name.of(cursor.name)
    above = raw("1 = 1") if low is None else sql("{cursor} >= {low}", cursor=name, low=Literal(low.text, cursor.type))
    if also is not None and low is not None:
        above = sql("({above} OR {also})", above=above, also=also)
    if high is None:
        return sql("{cursor} IS NOT NULL AND {above}", cursor=name, above=above)
    return sql("{above} AND {cursor} <= {high}", above=above, cursor=name, high=Literal(high.text, cursor.type))


def is_current(flag: Column, current_value: str) -> Sql:
    """Return the condition that a version is the current one."""
    return sql("{flag} = {value}", flag=Name.of(flag.name), value=Literal(current_value, flag.type))


def count_keys_with_several_current(table: TableName, key: Sequence[Column], flag: Column, current_value: str) -> Sql:
    """Return a query for the number of keys that have more than one current version."""
    return sql(
        "SELECT {count} FROM (SELECT {rows} AS several FROM {table} WHERE {current} GROUP BY {each}"
        " HAVING {rows} > 1) AS found",
        count=Count(),
        rows=Count(),
        table=Name.of(table),
        current=is_current(flag, current_value),
        each=[ExactColumn(Name.of(column.name), column.type) for column in key],
    )


def greatest_cursors(table: TableName, cursor: Column, clock: Value | None, low: Value | None, *, indexed: bool) -> Sql:
    """Return a query for three values: the greatest cursor, the greatest cursor up to `clock`, the count from `low` on.

    The first two are null in an empty table. With an index each is a subquery of its own, which the index answers at
    once. Without an index the table is read a single time."""
    name, table_name = Name.of(cursor.name), Name.of(table)
    is_past = raw("1 = 1") if clock is None else _is_past(cursor, clock)
    coming = between(cursor, low, None)
    if indexed:
        return sql(
            "SELECT (SELECT {newest} FROM {table}), (SELECT {newest} FROM {table} WHERE {is_past}),"
            " (SELECT {count} FROM {table} WHERE {coming})",
            newest=AsText(sql("max({cursor})", cursor=name), cursor.type),
            count=Count(),
            table=table_name,
            is_past=is_past,
            coming=coming,
        )
    past = sql("max(CASE WHEN {is_past} THEN {cursor} END)", is_past=is_past, cursor=name)
    return sql(
        "SELECT {newest}, {past}, {count} FROM {table}",
        newest=AsText(sql("max({cursor})", cursor=name), cursor.type),
        past=AsText(past, cursor.type),
        count=Count(coming),
        table=table_name,
    )


def _is_past(cursor: Column, clock: Value) -> Sql:
    return sql("{cursor} <= {clock}", cursor=Name.of(cursor.name), clock=Literal(clock.text, cursor.type))


def count_and_greatest(table: TableName, cursor: Column, low: Value | None) -> Sql:
    """Return a query for the number of rows from `low` on, and the greatest of their cursors."""
    return sql(
        "SELECT {count}, {newest} FROM {table} WHERE {rows}",
        count=Count(),
        newest=AsText(sql("max({cursor})", cursor=Name.of(cursor.name)), cursor.type),
        table=Name.of(table),
        rows=between(cursor, low, None),
    )


def count_where(table: TableName, rows: Sql) -> Sql:
    """Return a query for the number of rows that meet a condition."""
    return sql("SELECT {count} FROM {table} WHERE {rows}", count=Count(), table=Name.of(table), rows=rows)


def count_older(table: TableName, cursor: Column, floor: Value, except_for: Sql | None) -> Sql:
    """Return a query for the number of all rows, and of those before `floor` that do not meet `except_for`."""
    older = sql("{cursor} < {floor}", cursor=Name.of(cursor.name), floor=Literal(floor.text, cursor.type))
    if except_for is not None:
        # CASE, since NOT of a null flag is null: such a version is not current and must be counted.
        older = sql("{older} AND CASE WHEN {except_for} THEN 0 ELSE 1 END = 1", older=older, except_for=except_for)
    return sql("SELECT {all}, {older} FROM {table}", all=Count(), older=Count(older), table=Name.of(table))


def is_older_and(cursor: Column, floor: Value, also: Sql) -> Sql:
    """Return the condition for rows before `floor` that meet another condition."""
    return sql(
        "{cursor} < {floor} AND {also}",
        cursor=Name.of(cursor.name),
        floor=Literal(floor.text, cursor.type),
        also=also,
    )


def is_greater(cursor: Column, low: Value) -> Sql:
    """Return the condition `cursor > low`."""
    return sql("{cursor} > {low}", cursor=Name.of(cursor.name), low=Literal(low.text, cursor.type))


def is_after_pair(first: Column, second: Column, low: Value, low_second: Value, *, inclusive: bool) -> Sql:
    """Return the condition that a pair of columns lies after a pair of values, or with `inclusive` at it."""
    also = between(second, low_second, None) if inclusive else is_greater(second, low_second)
    return sql(
        "({greater} OR ({first} = {low} AND {also}))",
        greater=is_greater(first, low),
        first=Name.of(first.name),
        low=Literal(low.text, first.type),
        also=also,
    )


def is_missing(cursor: Column) -> Sql:
    """Return the condition that a row has no cursor value."""
    return sql("{cursor} IS NULL", cursor=Name.of(cursor.name))
