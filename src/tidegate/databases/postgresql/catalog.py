"""Queries of PostgreSQL's catalog, and table schemas from their answers.

Facts that shape this file
 * The type `name` sorts and folds by the collation "C", whatever the database's collation is: É stays É.
 * A domain can be based on a domain. Only the base type at the bottom has length and precision.
 * Only types of pg_catalog are known by their name: a user's schema may have a `date` of its own. A text type with a
   nondeterministic collation is not known either: two different texts can be equal there.
 * A hash, GIN or BRIN index cannot find the next greater value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tidegate.databases.postgresql.types import KIND, logical_type
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName, resolve_names
from tidegate.model.types import Type
from tidegate.sql.text import Literal, Sql, sql

COLUMNS = """
SELECT n.nspname, c.relname, greatest(c.reltuples, 0)::bigint,
       has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'),
       coalesce(pg_get_partkeydef(c.oid), ''),
       coalesce((SELECT min(i.inhparent::regclass::text) FROM pg_inherits i WHERE i.inhrelid = c.oid), ''), a.attname,
       format_type(a.atttypid, a.atttypmod),
       format_type(b.oid, b.typmod),
       CASE WHEN b.typnamespace = 'pg_catalog'::regnamespace AND coalesce(k.collisdeterministic, true)
            THEN b.typname ELSE '' END,
       NOT (a.attnotnull OR t.typnotnull), a.attgenerated <> '', a.attidentity <> '', a.atthasdef, b.typtype = 'e',
       coalesce(nullif(k.collname, 'default'), ''), has_column_privilege(c.oid, a.attnum, 'SELECT')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_collation k ON k.oid = a.attcollation
JOIN LATERAL (
    WITH RECURSIVE below(oid, typmod) AS (
        SELECT a.atttypid, a.atttypmod
        UNION ALL
        SELECT d.typbasetype, d.typtypmod FROM below JOIN pg_type d ON d.oid = below.oid AND d.typtype = 'd'
    )
    SELECT s.oid, below.typmod, s.typname, s.typnamespace, s.typtype
    FROM below JOIN pg_type s ON s.oid = below.oid AND s.typtype <> 'd'
) AS b ON true
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
ORDER BY n.nspname, c.relname, a.attnum
"""

KEYS = """
SELECT n.nspname, c.relname, i.indisprimary, i.indisunique AND 0 <> ALL (i.indkey),
       array(SELECT a.attname FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY AS k(num, place)
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num ORDER BY k.place)
FROM pg_index i
JOIN pg_class c ON c.oid = i.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class x ON x.oid = i.indexrelid
JOIN pg_am m ON m.oid = x.relam AND m.amname = 'btree'
WHERE i.indisvalid AND i.indpred IS NULL AND i.indkey[0] <> 0
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
ORDER BY i.indexrelid
"""

GUARDS = """
SELECT n.nspname, c.relname, 'triggers', t.tgname
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
UNION ALL
SELECT n.nspname, c.relname, k.way, k.other
FROM pg_constraint o
CROSS JOIN LATERAL (VALUES ('referenced_by', o.confrelid, o.conrelid::regclass::text),
                           ('cascades_to', CASE WHEN o.confdeltype IN ('c', 'n', 'd') THEN o.confrelid END,
                            o.conrelid::regclass::text),
                           ('references', o.conrelid, o.confrelid::regclass::text)) AS k(way, this, other)
JOIN pg_class c ON c.oid = k.this JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE o.contype = 'f' AND o.conparentid = 0
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
UNION ALL
SELECT n.nspname, c.relname, 'row_security', ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND row_security_active(c.oid)
  AND (lower(n.nspname), lower(c.relname)) IN (
    SELECT lower(s COLLATE "C"), lower(r COLLATE "C") FROM unnest(%s::text[], %s::text[]) AS u(s, r))
"""

ROW_SECURITY = (
    "policies of the table (row-level security) hold for this login: rows that they hide are not in {}. A login with"
    " BYPASSRLS, or the owner, sees every row"
)

TABLES = """
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'tidegate') AND n.nspname NOT LIKE 'pg\\_%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""

NOT_LISTED = """
SELECT n.nspname, c.relname,
       CASE WHEN NOT (has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT'))
            THEN 'this login may not read it'
            WHEN NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
                             AND NOT a.attisdropped) THEN 'it has no columns'
            WHEN c.relkind = 'v' THEN 'a view' WHEN c.relkind = 'm' THEN 'a materialized view'
            ELSE 'a foreign table' END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'tidegate') AND n.nspname NOT LIKE 'pg\\_%'
  AND NOT (c.relkind IN ('r', 'p') AND has_schema_privilege(n.oid, 'USAGE')
           AND has_any_column_privilege(c.oid, 'SELECT')
           AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
ORDER BY 1, 2
"""

IDENTITY = """
SELECT system_identifier::text || '/' || oid::text
FROM pg_control_system(), pg_database
WHERE datname = current_database()
"""

# Triggers for each updated row, before it is written, without a condition: those whose function assigns NEW.column, and
# those of the extension moddatetime, which gets the column as its argument.
_SET_BY_TRIGGERS = r"""
SELECT CAST(a.attname AS text)
FROM pg_trigger AS t
JOIN pg_proc AS p ON p.oid = t.tgfoid
JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND t.tgtype & 19 = 19 AND t.tgqual IS NULL
  AND t.tgattr = CAST('' AS int2vector) AND n.nspname = {schema} AND c.relname = {name}
  AND CASE p.proname WHEN 'moddatetime' THEN encode(t.tgargs, 'escape') = a.attname || '\000'
      ELSE a.attname ~ '^\w+$' AND p.prosrc ~* ('\mnew\s*\.\s*"?' || a.attname || '"?\s*:?=') END
"""


def columns_set_by_triggers(table: TableName) -> Sql:
    return sql(_SET_BY_TRIGGERS.strip(), schema=Literal(table.schema), name=Literal(table.name))


def table_schemas(
    names: Sequence[TableName], columns: Iterable[Any], keys: Iterable[Any], guards: Iterable[Any]
) -> dict[TableName, TableSchema]:
    """Return the schema of each name that exists, in exactly this case or as the only one that differs in case."""
    found: dict[TableName, dict[str, Any]] = {}
    for schema, table, estimate, readable, partitioned_by, parent, *column in columns:
        entry = found.setdefault(TableName(schema, table), {"columns": [], "keys": [], "guards": {}})
        entry |= {"row_estimate": estimate, "readable": readable, "partitioned_by": partitioned_by, "parent": parent}
        entry["columns"].append(_column(*column))
    for schema, table, *key in keys:
        if TableName(schema, table) in found:
            found[TableName(schema, table)]["keys"].append(key)
    for schema, table, kind, name in guards:
        if TableName(schema, table) in found:
            found[TableName(schema, table)]["guards"].setdefault(kind, []).append(name)
    schemas = {name: _schema(name, entry) for name, entry in found.items()}
    return {name: schemas[real] for name, real in resolve_names(names, schemas).items()}


def _schema(name: TableName, entry: dict[str, Any]) -> TableSchema:
    keys = [(is_primary, is_unique, tuple(indexed)) for is_primary, is_unique, indexed in entry["keys"]]
    guards = {kind: tuple(found) for kind, found in entry["guards"].items()}
    return TableSchema(
        name=name,
        columns=tuple(entry["columns"]),
        primary_key=next((indexed for is_primary, _, indexed in keys if is_primary), ()),
        unique_keys=tuple(indexed for is_primary, is_unique, indexed in keys if is_unique and not is_primary),
        indexes=tuple(indexed for *_, indexed in keys),
        row_estimate=entry["row_estimate"],
        triggers=guards.get("triggers", ()),
        references=guards.get("references", ()),
        referenced_by=guards.get("referenced_by", ()),
        cascades_to=guards.get("cascades_to", ()),
        partitioned_by=entry["partitioned_by"],
        parent=entry["parent"],
        readable=entry["readable"],
        source_warnings=(ROW_SECURITY.format("the copy, nor in its proof"),) if "row_security" in guards else (),
        target_notes=(ROW_SECURITY.format("any comparison"),) if "row_security" in guards else (),
    )


def _column(
    name: str,
    declared: str,
    base: str,
    type_name: str,
    nullable: bool,
    generated: bool,
    identity: bool,
    default: bool,
    enum: bool,
    collation: str,
    readable: bool,
) -> Column:
    type_ = Type("enum", spelling=base) if enum else logical_type(type_name, base)
    return Column(
        name=name,
        type=declared,
        storage_type=type_.storage_type,
        nullable=nullable,
        generated=generated,
        identity=identity,
        has_default=default or identity,
        # A domain exists in one database only: elsewhere its base type takes the same values.
        portable_type="" if base == declared else base,
        logical_type=type_,
        database=KIND,
        collation=collation,
        unreadable="" if readable else "this login may not read it",
    )


def scanned(plan: Any) -> Iterator[str]:
    """Yield the tables, and their aliases, of every sequential scan in a plan of EXPLAIN (FORMAT JSON)."""
    if isinstance(plan, list):
        for part in plan:
            yield from scanned(part)
    elif isinstance(plan, dict):
        if "Seq Scan" in str(plan.get("Node Type")):
            yield from (str(plan[name]) for name in ("Relation Name", "Alias") if name in plan)
        yield from scanned([plan.get("Plan"), plan.get("Plans")])
