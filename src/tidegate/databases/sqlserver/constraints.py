"""Foreign keys and triggers of SQL Server, and how a transaction does without them.

Facts that shape this file
 * No constraint can wait for the end of a transaction. NOCHECK switches one off; it belongs to the transaction, so a
   rollback or a crash leaves it as it was. It needs ALTER on the table, and locks it against readers (Sch-M).
 * WITH CHECK CHECK switches a constraint on and checks every row: only then is it trusted again (`is_not_trusted`).
   Without WITH CHECK it would be on, and never trusted.
 * A constraint that is switched off does not cascade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, raw, render, sql

if TYPE_CHECKING:
    from tidegate.databases.sqlserver.session import SqlServerSession

_FOREIGN_KEYS = """
SELECT f.name, s.name, t.name, ps.name, p.name, CONVERT(int, f.is_not_trusted), f.delete_referential_action_desc,
       f.update_referential_action_desc, COALESCE(HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(t.name),
       N'OBJECT', N'ALTER'), 0), c.name, pc.name
FROM sys.foreign_keys AS f
JOIN sys.tables AS t ON t.object_id = f.parent_object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.tables AS p ON p.object_id = f.referenced_object_id JOIN sys.schemas AS ps ON ps.schema_id = p.schema_id
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
JOIN sys.columns AS pc ON pc.object_id = k.referenced_object_id AND pc.column_id = k.referenced_column_id
WHERE f.is_disabled = 0 AND ({names})
ORDER BY s.name, t.name, f.name, k.constraint_column_id
"""


def foreign_keys(names: Sequence[TableName]) -> Sql:
    asked: Sql | None = None
    for name in names:
        one = sql(
            "(s.name = {schema} AND t.name = {name}) OR (ps.name = {schema} AND p.name = {name})",
            schema=Literal(name.schema),
            name=Literal(name.name),
        )
        asked = one if asked is None else sql("{asked} OR {one}", asked=asked, one=one)
    return sql(_FOREIGN_KEYS.strip(), names=asked or sql("1 = 0"))


def as_foreign_keys(rows: Iterable[Sequence[Any]]) -> list[ForeignKey]:
    found: dict[tuple[str, ...], list[Sequence[Any]]] = {}
    for row in rows:
        found.setdefault((str(row[1]), str(row[2]), str(row[0])), []).append(row)
    return [
        ForeignKey(
            name=str(parts[0][0]),
            table=TableName(str(parts[0][1]), str(parts[0][2])),
            columns=tuple(str(part[9]) for part in parts),
            parent=TableName(str(parts[0][3]), str(parts[0][4])),
            parent_columns=tuple(str(part[10]) for part in parts),
            is_validated=not parts[0][5],
            may_alter=bool(parts[0][8]),
            on_delete=_action(str(parts[0][6])),
            on_update=_action(str(parts[0][7])),
        )
        for parts in found.values()
    ]


def _action(described: str) -> str:
    return "" if described == "NO_ACTION" else described.removeprefix("SET_").lower()


@contextmanager
def set_aside(
    session: SqlServerSession, keys: Sequence[ForeignKey], without_triggers: Sequence[TableName]
) -> Iterator[None]:
    """Switch foreign keys and triggers off until the block ends. Joins the open transaction.

    A key that is not trusted, or that this login may not alter, is still checked by every statement."""
    triggers = [trigger for table in without_triggers for trigger in _triggers(session, table)]
    movable = [key for key in keys if key.may_alter and key.is_validated]
    for table, name in triggers:
        session.execute(_altered(table, "DISABLE TRIGGER", name))
    for key in movable:
        session.execute(_altered(key.table, "NOCHECK CONSTRAINT", key.name))
    yield
    for key in movable:
        session.execute(_altered(key.table, "WITH CHECK CHECK CONSTRAINT", key.name))
    for table, name in triggers:
        session.execute(_altered(table, "ENABLE TRIGGER", name))


def _triggers(session: SqlServerSession, table: TableName) -> list[tuple[TableName, str]]:
    found = session.query(
        sql(
            "SELECT t.name FROM sys.triggers AS t\n"
            "WHERE t.parent_id = OBJECT_ID({table}) AND t.is_disabled = 0 AND t.is_ms_shipped = 0 ORDER BY t.name",
            table=Literal(render(Name.of(table), DIALECT)),
        )
    )
    return [(table, str(name)) for (name,) in found]


def _altered(table: TableName, action: str, name: str) -> Sql:
    return sql("ALTER TABLE {table} {action} {name}", table=Name.of(table), action=raw(action), name=Name.of(name))
