"""Foreign keys of MySQL, and how a transaction does without them.

Facts that shape this file
 * InnoDB checks every row by itself, at once: no constraint can wait. `foreign_key_checks = 0` of a session leaves the
   checks out, and the rows of that time are never checked later. So a query looks for rows without a parent, before the
   commit.
 * With `foreign_key_checks = 0` ON DELETE CASCADE does nothing either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.errors import BrokenReference
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName, pluralize
from tidegate.sql.foreign_keys import count_orphans
from tidegate.sql.text import Literal, Sql, sql

if TYPE_CHECKING:
    from tidegate.databases.mysql.session import MysqlSession

_FOREIGN_KEYS = """
SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME,
       r.DELETE_RULE, r.UPDATE_RULE, k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME
FROM information_schema.KEY_COLUMN_USAGE AS k
JOIN information_schema.REFERENTIAL_CONSTRAINTS AS r
  ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND ((k.TABLE_SCHEMA, k.TABLE_NAME) IN ({names})
   OR (k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME) IN ({names}))
ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION
"""
_NONE = ("RESTRICT", "NO ACTION")


def foreign_keys(names: Sequence[TableName]) -> Sql:
    pairs = [sql("({schema}, {name})", schema=Literal(name.schema), name=Literal(name.name)) for name in names]
    return sql(_FOREIGN_KEYS.strip(), names=pairs)


def as_foreign_keys(rows: Iterable[Sequence[Any]]) -> list[ForeignKey]:
    found: dict[tuple[str, ...], list[list[str]]] = {}
    for row in rows:
        texts = [str(cell) for cell in row]
        found.setdefault((texts[1], texts[2], texts[0]), []).append(texts)
    return [
        ForeignKey(
            name=parts[0][0],
            table=TableName(parts[0][1], parts[0][2]),
            columns=tuple(part[7] for part in parts),
            parent=TableName(parts[0][3], parts[0][4]),
            parent_columns=tuple(part[8] for part in parts),
            on_delete=_action(parts[0][5]),
            on_update=_action(parts[0][6]),
        )
        for parts in found.values()
    ]


def _action(rule: str) -> str:
    return "" if rule in _NONE else rule.removeprefix("SET ").lower()


@contextmanager
def set_aside(session: MysqlSession, keys: Sequence[ForeignKey]) -> Iterator[None]:
    """Leave the checks of foreign keys out until the block ends, then look for rows without a parent. Joins the open
    transaction."""
    session.execute(sql("SET SESSION foreign_key_checks = 0"))
    try:
        yield
        for key in keys:
            _require_no_orphans(session, key)
    finally:
        if session.is_open:
            session.execute(sql("SET SESSION foreign_key_checks = 1"))


def _require_no_orphans(session: MysqlSession, key: ForeignKey) -> None:
    rows = int(str(session.query(count_orphans(key))[0][0]))
    if rows:
        raise BrokenReference(
            f"{key.table}: {pluralize(rows, 'row')} ({', '.join(key.columns)}) refer to no row of {key.parent}"
            f" ({key.name}).",
            "The transaction was rolled back.",
            "Load the rows that these rows refer to as well: keep both tables in one project.",
        )
