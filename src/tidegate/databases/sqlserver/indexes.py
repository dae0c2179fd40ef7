"""Nonclustered indexes that are disabled while a table is loaded, and rebuilt afterwards.

Facts that shape this file
 * A disabled index is no longer kept up to date; REBUILD enables it. Both join a transaction.
 * Disabling a unique index would let duplicates in, and disabling a clustered one makes the table unreadable.
"""

from __future__ import annotations

from tidegate.interfaces import Session
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, sql


def set_aside(session: Session, table: TableName, object_name: str) -> list[Sql]:
    """Disable the plain indexes of a table; return how they are rebuilt. `object_name` is the quoted name."""
    found = [str(row[0]) for row in session.query(_plain(object_name))]
    for name in found:
        session.execute(_alter(name, table, "DISABLE"))
    return [_alter(name, table, "REBUILD") for name in found]


def _alter(index: str, table: TableName, what: str) -> Sql:
    names = {"index": Name.of(index), "table": Name.of(table)}
    if what == "DISABLE":
        return sql("ALTER INDEX {index} ON {table} DISABLE", **names)
    return sql("ALTER INDEX {index} ON {table} REBUILD", **names)


def _plain(object_name: str) -> Sql:
    return sql(
        "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID({table}) AND type = 2 AND is_unique = 0"
        " AND is_disabled = 0 AND HAS_PERMS_BY_NAME({table}, 'OBJECT', 'ALTER') = 1 ORDER BY index_id",
        table=Literal(object_name),
    )
