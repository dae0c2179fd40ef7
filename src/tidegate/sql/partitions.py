"""Questions about the values of a partition column."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.text import Literal, Name, Sql, raw, sql


def of_value(column: Column, value: Value) -> Sql:
    """The rows of one value. The literal takes the column's own type, so that an index is used."""
    return sql("{column} = {value}", column=Name.of(column.name), value=literal_of(column, value))


def literal_of(column: Column, value: Value) -> Literal:
    return Literal(value.text, column.type)


def distinct_by_index(table: TableName, column: Column, limit: int) -> Sql:
    """Every value, one index seek each: no row is read twice and no scan is needed."""
    # The table goes by a name of ours, since its own may be `seek` and its column `value`.
    return sql(
        "WITH RECURSIVE seek(value) AS (\n"
        "  (SELECT held.{column} FROM {table} AS held WHERE held.{column} IS NOT NULL ORDER BY held.{column} LIMIT 1)\n"
        "  UNION ALL\n"
        "  SELECT (SELECT held.{column} FROM {table} AS held WHERE held.{column} > seek.value"
        " ORDER BY held.{column} LIMIT 1)\n"
        "  FROM seek WHERE seek.value IS NOT NULL\n"
        ")\n"
        "SELECT CAST(value AS text) FROM seek WHERE value IS NOT NULL LIMIT {limit}",
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


def distinct_by_scan(table: TableName, column: Column, limit: int) -> Sql:
    """Every value, by reading the table once: for columns without an index."""
    return sql(
        "SELECT CAST(value AS text)\n"
        "FROM (SELECT DISTINCT {column} AS value FROM {table} WHERE {column} IS NOT NULL) AS found LIMIT {limit}",
        column=Name.of(column.name),
        table=Name.of(table),
        limit=Literal(limit),
    )


def counts(table: TableName, column: Column, values: Sequence[Value], newest: str | None) -> Sql:
    """Rows of each value, and the greatest value of the restatement column where one is named."""
    greatest = raw("NULL") if newest is None else sql("CAST(max({newest}) AS text)", newest=Name.of(newest))
    return sql(
        "SELECT CAST({column} AS text), count(*), {greatest}\n"
        "FROM {table} WHERE {column} IN ({values}) GROUP BY {column}",
        column=Name.of(column.name),
        table=Name.of(table),
        greatest=greatest,
        values=[literal_of(column, value) for value in values],
    )


def count_nulls(table: TableName, column: Column) -> Sql:
    return sql(
        "SELECT count(*) FROM {table} WHERE {column} IS NULL",
        table=Name.of(table),
        column=Name.of(column.name),
    )


def delete_value(table: TableName, column: Column, value: Value) -> Sql:
    return sql("DELETE FROM {table} WHERE {rows}", table=Name.of(table), rows=of_value(column, value))


def newest_of_value(table: TableName, column: Column, value: Value, newest: str) -> Sql:
    return sql(
        "SELECT CAST(max({newest}) AS text) FROM {table} WHERE {rows}",
        newest=Name.of(newest),
        table=Name.of(table),
        rows=of_value(column, value),
    )
