"""Foreign keys of SQL Server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Sql, sql

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
