"""Questions about a whole table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.text import Checksum, Count, Name, Sql, sql


def count_rows(table: TableName) -> Sql:
    return sql("SELECT {count} FROM {table}", count=Count(), table=Name.of(table))


def has_rows(table: TableName, rows: Sql | None = None) -> Sql:
    """1 or 0, of all rows or of those that meet a condition; no row is counted."""
    found = sql("SELECT 1 FROM {table}", table=Name.of(table))
    if rows is not None:
        found = sql("{found} WHERE {rows}", found=found, rows=rows)
    return sql("SELECT CASE WHEN EXISTS ({found}) THEN 1 ELSE 0 END", found=found)


def checksum(table: TableName, columns: Sequence[Column]) -> Sql:
    """What the server itself makes of the content, as text, and the number of rows."""
    return sql(
        "SELECT {checksum}, {count} FROM {table}",
        checksum=Checksum(tuple((Name.of(column.name), column.type) for column in columns)),
        count=Count(),
        table=Name.of(table),
    )


def delete_rows(table: TableName) -> Sql:
    """All of them. Not truncated: that would lock readers out, and is no part of a transaction everywhere."""
    return sql("DELETE FROM {table}", table=Name.of(table))
