"""Conditions and queries by the values of a partition column."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Value
from tidegate.sql.staged import key_is_staged
from tidegate.sql.text import AsText, Count, ExactColumn, IsOneOf, Literal, Name, Sql, raw, sql


def has_value(column: Column, value: Value) -> Sql:
    """Return the condition for the rows of one value. The literal has the column's type, so that an index is used."""
    return _has_one_of(column, [value])


def other_rows(column: Column, values: Sequence[Value]) -> Sql:
    """Return the condition for the rows of all other values, null too."""
    name, known = Name.of(column.name), [value for value in values if not value.is_null]
    if len(known) == len(values):
        return sql("{column} IS NULL OR NOT ({rows})", column=name, rows=_is_one_of(column, known))
    if not known:
        return sql("{column} IS NOT NULL", column=name)
    return sql("{column} IS NOT NULL AND NOT ({rows})", column=name, rows=_is_one_of(column, known))


def _has_one_of(column: Column, values: Sequence[Value]) -> Sql:
    name, known = Name.of(column.name), [value for value in values if not value.is_null]
    if len(known) == len(values):
        return sql("{rows}", rows=_is_one_of(column, known))
    if not known:
        return sql("{column} IS NULL", column=name)
    return sql("({column} IS NULL OR {rows})", column=name, rows=_is_one_of(column, known))


def _is_one_of(column: Column, values: Sequence[Value]) -> IsOneOf:
    return IsOneOf(Name.of(column.name), tuple(Literal(value.text, column.type) for value in values))


def count_by_value(table: TableName, column: Column, values: Sequence[Value], newest: Column | None) -> Sql:
    """Return a query for each value, its rows, and the greatest value of the column `newest`; null without one."""
    return sql(
        "SELECT {value}, {count}, {greatest}\nFROM {table} WHERE {rows} GROUP BY {each}",
        value=AsText(Name.of(column.name), column.type),
        count=Count(),
        each=ExactColumn(Name.of(column.name), column.type),
        table=Name.of(table),
        greatest=raw("NULL") if newest is None else _greatest(newest),
        rows=_has_one_of(column, values),
    )


def count_nulls(table: TableName, column: Column) -> Sql:
    return sql(
        "SELECT {count} FROM {table} WHERE {column} IS NULL",
        count=Count(),
        table=Name.of(table),
        column=Name.of(column.name),
    )


def delete_value(table: TableName, column: Column, value: Value) -> Sql:
    return sql("DELETE FROM {table} WHERE {rows}", table=Name.of(table), rows=has_value(column, value))


def values_with_keys(table: TableName, column: Column, stage: TableName, keys: Sequence[Column]) -> Sql:
    """Return a query for the partition values that have a row whose key is in the stage."""
    return sql(
        "SELECT {value} FROM {table} WHERE {rows} GROUP BY {each}",
        value=AsText(Name.of(column.name), column.type),
        table=Name.of(table),
        rows=key_is_staged(stage, keys),
        each=ExactColumn(Name.of(column.name), column.type),
    )


def greatest_of_value(table: TableName, column: Column, value: Value, newest: Column) -> Sql:
    return sql(
        "SELECT {newest} FROM {table} WHERE {rows}",
        newest=_greatest(newest),
        table=Name.of(table),
        rows=has_value(column, value),
    )


def _greatest(column: Column) -> AsText:
    return AsText(sql("max({column})", column=Name.of(column.name)), column.type)
