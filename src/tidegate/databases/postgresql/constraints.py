"""Foreign keys and triggers of PostgreSQL, and how a transaction does without them.

Facts that shape this file
 * Only a deferrable constraint can wait for the end of a transaction. ALTER CONSTRAINT makes one deferrable and belongs
   to the transaction: a rollback, or a crash, leaves it as it was. It needs the owner of the table.
 * SET CONSTRAINTS ALL IMMEDIATE checks what was deferred, and raises what a commit would raise.
 * ALTER TABLE is refused while checks of the table are pending: they come first.
 * A trigger is enabled for ordinary sessions (O), for replicas (R) or always (A): it is enabled again as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, raw, sql

if TYPE_CHECKING:
    from tidegate.databases.postgresql.session import PostgresqlSession

_ACTIONS = {"c": "cascade", "n": "null", "d": "default"}
_ENABLED = {"O": "ENABLE TRIGGER", "A": "ENABLE ALWAYS TRIGGER", "R": "ENABLE REPLICA TRIGGER"}

FOREIGN_KEYS = """
SELECT CAST(o.conname AS text), CAST(n.nspname AS text), CAST(c.relname AS text), CAST(pn.nspname AS text),
       CAST(p.relname AS text), o.condeferrable, o.convalidated, CAST(o.confdeltype AS text),
       CAST(o.confupdtype AS text), pg_has_role(c.relowner, 'USAGE'), k.place, CAST(a.attname AS text),
       CAST(pa.attname AS text)
FROM pg_constraint AS o
JOIN pg_class AS c ON c.oid = o.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS p ON p.oid = o.confrelid JOIN pg_namespace AS pn ON pn.oid = p.relnamespace
CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY AS k(ours, theirs, place)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.ours
JOIN pg_attribute AS pa ON pa.attrelid = p.oid AND pa.attnum = k.theirs
WHERE o.contype = 'f' AND o.conparentid = 0
  AND ((n.nspname, c.relname) IN ({names}) OR (pn.nspname, p.relname) IN ({names}))
ORDER BY 2, 3, 1, k.place
"""


def foreign_keys(names: Sequence[TableName]) -> Sql:
    return sql(FOREIGN_KEYS.strip(), names=[_pair(name) for name in names])


def _pair(name: TableName) -> Sql:
    return sql("({schema}, {name})", schema=Literal(name.schema), name=Literal(name.name))


def as_foreign_keys(rows: Iterable[Sequence[Any]]) -> list[ForeignKey]:
    found: dict[tuple[str, ...], list[Sequence[Any]]] = {}
    for row in rows:
        found.setdefault((str(row[1]), str(row[2]), str(row[0])), []).append(row)
    return [_foreign_key(parts) for parts in found.values()]


def _foreign_key(parts: Sequence[Sequence[Any]]) -> ForeignKey:
    name, schema, table, parent_schema, parent, deferrable, validated, deleted, updated, owned, *_ = parts[0]
    return ForeignKey(
        name=name,
        table=TableName(schema, table),
        columns=tuple(part[11] for part in parts),
        parent=TableName(parent_schema, parent),
        parent_columns=tuple(part[12] for part in parts),
        is_deferrable=bool(deferrable),
        is_validated=bool(validated),
        may_alter=bool(owned),
        on_delete=_ACTIONS.get(deleted, ""),
        on_update=_ACTIONS.get(updated, ""),
    )


@contextmanager
def set_aside(
    session: PostgresqlSession, keys: Sequence[ForeignKey], without_triggers: Sequence[TableName]
) -> Iterator[None]:
    """Let foreign keys wait, and triggers rest, until the block ends. Joins the open transaction."""
    fixed = [key for key in keys if not key.is_deferrable and key.may_alter]
    triggers = [trigger for table in without_triggers for trigger in _triggers(session, table)]
    for table, name, _ in triggers:
        session.execute(_trigger("DISABLE TRIGGER", table, name))
    for key in fixed:
        session.execute(_constraint(key, "DEFERRABLE"))
    if keys:
        session.execute(sql("SET CONSTRAINTS ALL DEFERRED"))
    yield
    if keys or triggers:
        session.execute(sql("SET CONSTRAINTS ALL IMMEDIATE"))
    for key in fixed:
        session.execute(_constraint(key, "NOT DEFERRABLE"))
    for table, name, enabled in triggers:
        session.execute(_trigger(_ENABLED[enabled], table, name))


def _triggers(session: PostgresqlSession, table: TableName) -> list[tuple[TableName, str, str]]:
    found = session.query(
        sql(
            "SELECT CAST(t.tgname AS text), CAST(t.tgenabled AS text) FROM pg_trigger AS t\n"
            "JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
            "WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND (n.nspname, c.relname) IN ({name}) ORDER BY 1",
            name=_pair(table),
        )
    )
    return [(table, str(name), str(enabled)) for name, enabled in found]


def _trigger(action: str, table: TableName, name: str) -> Sql:
    return sql("ALTER TABLE {table} {action} {name}", table=Name.of(table), action=raw(action), name=Name.of(name))


def _constraint(key: ForeignKey, timing: str) -> Sql:
    return sql(
        "ALTER TABLE {table} ALTER CONSTRAINT {name} {timing}",
        table=Name.of(key.table),
        name=Name.of(key.name),
        timing=raw(timing),
    )
