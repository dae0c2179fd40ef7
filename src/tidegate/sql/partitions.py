"""Questions about the values of a partition column."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.staged import with_partner
from tidegate.sql.text import Among, AsText, Count, Exactly, Literal, Name, Sql, raw, sql


def of_value(column: Column, value: Value) -> Sql:
    """The rows of one value. The literal takes the column's own type, so that an index is used."""
    return sql("{rows}", rows=_among(column, [value]))


def _among(column: Column, values: Sequence[Value]) -> Among:
    return Among(Name.of(column.name), tuple(Literal(value.text, column.type) for value in values))


def counts(table: TableName, column: Column, values: Sequence[Value], newest: Column | None) -> Sql:
    """Rows of each value, and the greatest value of the restatement column where one is named."""
    return sql(
        "SELECT {value}, {count}, {greatest}\nFROM {table} WHERE {rows} GROUP BY {each}",
        value=AsText(Name.of(column.name), column.type),
        count=Count(),
        each=Exactly(Name.of(column.name), column.type),
        table=Name.of(table),
        greatest=raw("NULL") if newest is None else _greatest(newest),
        rows=_among(column, values),
    )


def count_nulls(table: TableName, column: Column) -> Sql:
    return sql(
        "SELECT {count} FROM {table} WHERE {column} IS NULL",
        count=Count(),
        table=Name.of(table),
        column=Name.of(column.name),
    )


def delete_value(table: TableName, column: Column, value: Value) -> Sql:
    return sql("DELETE FROM {table} WHERE {rows}", table=Name.of(table), rows=of_value(column, value))


def values_with_keys(table: TableName, column: Column, stage: TableName, keys: Sequence[Column]) -> Sql:
    """The values whose rows have a key that is in the stage."""
    return sql(
        "SELECT {value} FROM {table} WHERE {rows} GROUP BY {each}",
        value=AsText(Name.of(column.name), column.type),
        table=Name.of(table),
        rows=with_partner(stage, keys),
        each=Exactly(Name.of(column.name), column.type),
    )


def newest_of_value(table: TableName, column: Column, value: Value, newest: Column) -> Sql:
    return sql(
        "SELECT {newest} FROM {table} WHERE {rows}",
        newest=_greatest(newest),
        table=Name.of(table),
        rows=of_value(column, value),
    )


def _greatest(column: Column) -> AsText:
    return AsText(sql("max({column})", column=Name.of(column.name)), column.type)
