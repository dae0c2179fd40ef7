"""Conditions and queries by the cursor of an incremental table, which may be made of several columns.

Conditions name the columns one by one instead of calling COALESCE or GREATEST, so that an index on a column can be
used; servers also disagree on what GREATEST of a null is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.cursors import Cursor
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.text import AsText, Count, CursorValue, First, Literal, Name, Part, Sql, raw, sql

TRUE = raw("1 = 1")


def is_missing(cursor: Cursor) -> Sql:
    """Return the condition for rows without a cursor value."""
    return _all([sql("{column} IS NULL", column=Name.of(column.name)) for column in cursor.columns])


def from_value(cursor: Cursor, low: Value) -> Sql:
    """Return the condition `cursor >= low`."""
    if cursor.combined == "greatest":
        return _any([_compared(column, ">=", low) for column in cursor.columns])
    return _first_that_is(cursor, ">=", low)


def later_than(cursor: Cursor, low: Value) -> Sql:
    """Return the condition `cursor > low`."""
    if cursor.combined == "greatest":
        return _any([_compared(column, ">", low) for column in cursor.columns])
    return _first_that_is(cursor, ">", low)


def up_to(cursor: Cursor, high: Value) -> Sql:
    """Return the condition `cursor <= high`."""
    if len(cursor.columns) == 1 or cursor.combined == "coalesce":
        return _first_that_is(cursor, "<=", high)
    none_greater = [
        sql(
            "({column} IS NULL OR {small})",
            column=Name.of(column.name),
            small=_compared(column, "<=", high),
        )
        for column in cursor.columns
    ]
    return _all([*none_greater, _has_value(cursor)])


def between(cursor: Cursor, low: Value | None, high: Value | None, *, with_missing: bool = False) -> Sql:
    """Return the condition `low <= cursor <= high`, None meaning no bound; `with_missing` adds rows without a cursor
    value."""
    parts = [from_value(cursor, low)] if low is not None else []
    parts += [up_to(cursor, high)] if high is not None else []
    inside = _all(parts or [_has_value(cursor)])
    return sql("({inside} OR ({missing}))", inside=inside, missing=is_missing(cursor)) if with_missing else inside


def bounds(table: TableName, cursor: Cursor, clock: Value | None, low: Value | None, seen: Sql | None) -> Sql:
    """Return ONE query for the bounds of a table and for the transactions that are open at that moment.

    It gives the greatest value of each cursor column, the greatest up to `clock` of each, the number of rows from `low`
    on, and the answer of the scalar query `seen`."""
    past = TRUE if clock is None else up_to(cursor, clock)
    coming = between(cursor, low, None)
    transactions: Part = raw("NULL") if seen is None else sql("({seen})", seen=seen)
    if len(cursor.columns) == 1:
        # Each in a subquery of its own, which an index answers at once.
        [column] = cursor.columns
        return sql(
            "SELECT (SELECT {newest} FROM {table}), (SELECT {newest} FROM {table} WHERE {past}),"
            " (SELECT {count} FROM {table} WHERE {coming}), {transactions}",
            newest=_greatest(column, TRUE),
            table=Name.of(table),
            past=past,
            count=Count(),
            coming=coming,
            transactions=transactions,
        )
    return sql(
        "SELECT {newest}, {newest_past}, {count}, {transactions} FROM {table}",
        newest=[_greatest(column, _counts(cursor, column)) for column in cursor.columns],
        newest_past=[_greatest(column, _all([_counts(cursor, column), past])) for column in cursor.columns],
        count=Count(coming),
        transactions=transactions,
        table=Name.of(table),
    )


def count_missing(table: TableName, cursor: Cursor) -> Sql:
    """Return a query for the number of rows without a cursor value."""
    return sql("SELECT {count} FROM {table} WHERE {rows}", count=Count(), table=Name.of(table), rows=is_missing(cursor))


def examples_of_missing(table: TableName, cursor: Cursor, shown: Sequence[Column], limit: int) -> Sql:
    """Return a query for what names a few rows without a cursor value."""
    query = sql(
        "SELECT {shown} FROM {table} WHERE {rows} ORDER BY {first}",
        shown=[AsText(Name.of(column.name), column.type) for column in shown],
        table=Name.of(table),
        rows=is_missing(cursor),
        first=Name.of(shown[0].name),
    )
    return sql("{query}", query=First(query, limit))


def first_missing_number(table: TableName, column: Column, start: Value) -> Sql:
    """Return a query for the first number, from `start` on, after which a number is missing; null where none is.

    `start` counts as there, also when no row has it any more."""
    return sql(
        "SELECT {first} FROM (SELECT number, LEAD(number) OVER (ORDER BY number) AS next_number"
        " FROM (SELECT {column} AS number FROM {table} WHERE {rows} UNION SELECT {start}) AS numbers"
        ") AS numbered WHERE next_number > number + 1",
        first=AsText(sql("MIN(number)"), column.type),
        column=Name.of(column.name),
        table=Name.of(table),
        rows=_compared(column, ">=", start),
        start=Literal(start.text, column.type),
    )


def _greatest(column: Column, counts: Sql) -> AsText:
    value = _value(column)
    if counts is TRUE:
        return AsText(sql("max({column})", column=value), column.type)
    return AsText(sql("max(CASE WHEN {counts} THEN {column} END)", counts=counts, column=value), column.type)


def _value(column: Column) -> CursorValue:
    return CursorValue(Name.of(column.name), column.type)


def _counts(cursor: Cursor, column: Column) -> Sql:
    """Return the condition for rows whose cursor is the value of this column, where that depends on the others."""
    before = cursor.columns[: cursor.columns.index(column)]
    if cursor.combined == "greatest" or not before:
        return TRUE
    return _all([sql("{column} IS NULL", column=Name.of(other.name)) for other in before])


def _first_that_is(cursor: Cursor, operator: str, value: Value) -> Sql:
    first, *others = cursor.columns
    condition = _compared(first, operator, value)
    for position, column in enumerate(others, 1):
        unknown = [sql("{column} IS NULL", column=Name.of(other.name)) for other in cursor.columns[:position]]
        condition = sql(
            "{condition} OR ({unknown} AND {compared})",
            condition=condition,
            unknown=_all(unknown),
            compared=_compared(column, operator, value),
        )
    return sql("({condition})", condition=condition) if others else condition


def _compared(column: Column, operator: str, value: Value) -> Sql:
    return sql(
        "{column} {operator} {value}",
        column=_value(column),
        operator=raw(operator),
        value=Literal(value.text, column.type),
    )


def _has_value(cursor: Cursor) -> Sql:
    return _any([sql("{column} IS NOT NULL", column=Name.of(column.name)) for column in cursor.columns])


def _all(conditions: Sequence[Sql]) -> Sql:
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = sql("{joined} AND {condition}", joined=joined, condition=condition)
    return joined


def _any(conditions: Sequence[Sql]) -> Sql:
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = sql("{joined} OR {condition}", joined=joined, condition=condition)
    return joined if len(conditions) == 1 else sql("({joined})", joined=joined)
