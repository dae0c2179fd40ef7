"""Queries about a whole table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.text import AsText, Checksum, Count, First, Name, Part, Sql, names, raw, sql


def count_rows(table: TableName, rows: Sql | None = None) -> Sql:
    """Return a query for the number of rows, or of those that meet the condition `rows`."""
    query = sql("SELECT {count} FROM {table}", count=Count(), table=Name.of(table))
    return query if rows is None else sql("{query} WHERE {rows}", query=query, rows=rows)


def count_doubled(table: TableName, keys: Sequence[Column], rows: Sql | None = None) -> Sql:
    """Return a query for the number of keys that have several rows, and of these rows."""
    return sql(
        "SELECT {count}, COALESCE(SUM(copies), 0) FROM (SELECT {count} AS copies FROM {table}{where} GROUP BY {keys}"
        " HAVING {count} > 1) AS doubled",
        count=Count(),
        table=Name.of(table),
        where=raw("") if rows is None else sql(" WHERE {rows}", rows=rows),
        keys=names(column.name for column in keys),
    )


def count_and_greatest(table: TableName, column: Column) -> Sql:
    """Return a query for the number of rows, and the greatest value of a column, as text."""
    greatest = sql("MAX({column})", column=Name.of(column.name))
    return sql(
        "SELECT {count}, {greatest} FROM {table}",
        count=Count(),
        greatest=AsText(greatest, column.type),
        table=Name.of(table),
    )


def count_all_and(table: TableName, condition: str) -> Sql:
    """Return a query for the number of rows, and of those that meet a user's condition."""
    # A condition may end with a comment.
    meet = sql("(\n{condition}\n)", condition=raw(condition))
    return sql("SELECT {every}, {some} FROM {table}", every=Count(), some=Count(meet), table=Name.of(table))


def count_invalid(table: TableName, column: Column, valid: Part, condition: str) -> Sql:
    """Return a query for the number of rows for which the expression `valid` is null and the column is not. Of those
    that meet a user's condition, where there is one."""
    return count_rows(table, _is_invalid(column, valid, condition))


def examples_of_invalid(
    key: Sequence[Column], table: TableName, column: Column, valid: Part, condition: str, limit: int
) -> Sql:
    """Return a query for the keys, as text, of a few of the rows that `count_invalid` counts."""
    query = sql(
        "SELECT {shown} FROM {table} WHERE {rows} ORDER BY {key}",
        shown=[AsText(Name.of(each.name), each.type) for each in key],
        table=Name.of(table),
        rows=_is_invalid(column, valid, condition),
        key=names(each.name for each in key),
    )
    return sql("{query}", query=First(query, limit))


def _is_invalid(column: Column, valid: Part, condition: str) -> Sql:
    invalid = sql("{name} IS NOT NULL AND {valid} IS NULL", name=Name.of(column.name), valid=valid)
    if condition:
        invalid = sql("{invalid} AND (\n{condition}\n)", invalid=invalid, condition=raw(condition))
    return invalid


def both(rows: Sql, others: Sql) -> Sql:
    """Return the condition for rows that meet both conditions."""
    return sql("({rows}) AND ({others})", rows=rows, others=others)


def select_rows(table: TableName, columns: Sequence[Column], rows: Sql | None) -> Sql:
    """Return a query for these columns of the rows that meet the condition `rows`, or of all rows."""
    chosen = names(column.name for column in columns)
    found = sql("SELECT {columns} FROM {table}", columns=chosen, table=Name.of(table))
    return found if rows is None else sql("{found} WHERE {rows}", found=found, rows=rows)


def has_rows(table: TableName, rows: Sql | None = None) -> Sql:
    """Return a query for 1 or 0: does a row exist, or a row that meets the condition `rows`? Nothing is counted."""
    found = sql("SELECT 1 FROM {table}", table=Name.of(table))
    if rows is not None:
        found = sql("{found} WHERE {rows}", found=found, rows=rows)
    return sql("SELECT CASE WHEN EXISTS ({found}) THEN 1 ELSE 0 END", found=found)


def rows_exist(place: Sql, rows: Sql | None = None) -> Sql:
    """Return a query for 1 or 0, as `has_rows` does, of what stands in a FROM: one partition of a table."""
    found = sql("SELECT 1 FROM {place}", place=place)
    if rows is not None:
        found = sql("{found} WHERE {rows}", found=found, rows=rows)
    return sql("SELECT CASE WHEN EXISTS ({found}) THEN 1 ELSE 0 END", found=found)


def checksum(table: TableName, columns: Sequence[Column], rows: Sql | None = None) -> Sql:
    """Return a query for the server's own checksum of these columns, as text, and the number of rows.

    Of all rows, or of those that meet the condition `rows`."""
    query = sql(
        "SELECT {checksum}, {count} FROM {table}",
        checksum=Checksum(tuple((Name.of(column.name), column.type) for column in columns)),
        count=Count(),
        table=Name.of(table),
    )
    return query if rows is None else sql("{query} WHERE {rows}", query=query, rows=rows)


def drop_table(table: TableName) -> Sql:
    return sql("DROP TABLE IF EXISTS {table}", table=Name.of(table))


def delete_rows(table: TableName, rows: Sql | None = None) -> Sql:
    """Return a DELETE of the rows that meet the condition `rows`, or of all rows.

    TRUNCATE would lock readers out, and some databases commit it at once."""
    if rows is None:
        return sql("DELETE FROM {table}", table=Name.of(table))
    return sql("DELETE FROM {table} WHERE {rows}", table=Name.of(table), rows=rows)
