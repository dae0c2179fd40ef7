"""Questions about a whole table."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.text import Checksum, Count, Name, Sql, sql


def count_rows(table: TableName) -> Sql:
    return sql("SELECT {count} FROM {table}", count=Count(), table=Name.of(table))


def has_rows(table: TableName) -> Sql:
    """1 or 0; no row is counted."""
    return sql("SELECT CASE WHEN EXISTS (SELECT 1 FROM {table}) THEN 1 ELSE 0 END", table=Name.of(table))


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
