"""Indexes that are set aside while a table is loaded: dropped, and created again as the catalog spells them."""

from __future__ import annotations

from tidegate.interfaces import Session
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, raw, sql


def set_aside(session: Session, table: TableName) -> list[Sql]:
    """Drop the plain indexes of a table; return how they are created again. Joins the open transaction."""
    found = session.query(_plain(table))
    for schema, name, _ in found:
        session.execute(sql("DROP INDEX {index}", index=Name.of(TableName(str(schema), str(name)))))
    return [raw(str(definition)) for _, _, definition in found]


def _plain(table: TableName) -> Sql:
    """Return a query for indexes whose definition is all that they are: no constraint, no tablespace of its own,
    no comment, no statistics target. None of a table that this login does not own, or that is a partition."""
    return sql(
        "SELECT n.nspname, c.relname, pg_get_indexdef(c.oid)\n"
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace\n"
        "JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace s ON s.oid = t.relnamespace\n"
        "WHERE s.nspname = {schema} AND t.relname = {table} AND t.relkind = 'r' AND NOT t.relispartition\n"
        "  AND pg_has_role(t.relowner, 'USAGE') AND has_schema_privilege(s.oid, 'CREATE')\n"
        "  AND i.indisvalid AND NOT (i.indisunique OR i.indisprimary OR i.indisclustered OR i.indisreplident)\n"
        "  AND c.reltablespace = 0 AND obj_description(c.oid, 'pg_class') IS NULL\n"
        "  AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = c.oid)\n"
        "  AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attstattarget > 0)\n"
        "ORDER BY c.oid",
        schema=Literal(table.schema),
        table=Literal(table.name),
    )
