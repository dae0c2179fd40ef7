"""Indexes, defaults, comments and types of PostgreSQL, as its catalog spells them.

Facts that shape this file
 * pg_get_indexdef ends with `USING method (...)` and what follows: that part fits any table with these columns.
 * A default that draws from a sequence belongs to the sequence, which a copy does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.model.names import TableName
from tidegate.model.structure import Index, Structure
from tidegate.sql.text import Literal, Sql, sql

_STRUCTURE = """
SELECT CAST(n.nspname AS text), CAST(c.relname AS text), 'index', CAST(x.relname AS text),
       substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*'), i.indisunique,
       CASE WHEN i.indpred IS NULL AND i.indexprs IS NULL AND m.amname = 'btree' THEN
         CAST(array_to_json(array(
           SELECT a.attname FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY AS k(num, place)
           JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.num ORDER BY k.place)) AS text) END
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS x ON x.oid = i.indexrelid JOIN pg_am AS m ON m.oid = x.relam
WHERE i.indisvalid AND NOT i.indisprimary AND (n.nspname, c.relname) IN ({names})
UNION ALL
SELECT CAST(n.nspname AS text), CAST(c.relname AS text), 'default', CAST(a.attname AS text),
       pg_get_expr(d.adbin, d.adrelid), false, NULL
FROM pg_attrdef AS d
JOIN pg_class AS c ON c.oid = d.adrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.adnum AND a.attgenerated = ''
WHERE pg_get_expr(d.adbin, d.adrelid) NOT LIKE 'nextval(%' AND (n.nspname, c.relname) IN ({names})
UNION ALL
SELECT CAST(n.nspname AS text), CAST(c.relname AS text), 'comment', coalesce(CAST(a.attname AS text), ''),
       d.description, false, NULL
FROM pg_description AS d
JOIN pg_class AS c ON c.oid = d.objoid JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.classoid = CAST('pg_class' AS regclass) AND (n.nspname, c.relname) IN ({names})
ORDER BY 1, 2, 3, 4
"""

# The types that are asked for, and those that they are made of: what others need comes first.
_TYPES = """
WITH RECURSIVE needed(type, depth) AS (
  SELECT CASE WHEN own.typcategory = 'A' AND own.typelem <> 0 THEN own.typelem ELSE own.oid END, 0
  FROM (VALUES {names}) AS asked(name) JOIN pg_type AS own ON own.oid = to_regtype(asked.name)
  UNION
  SELECT CASE WHEN b.typcategory = 'A' AND b.typelem <> 0 THEN b.typelem ELSE b.oid END, needed.depth + 1
  FROM needed
  JOIN pg_type AS t ON t.oid = needed.type
  CROSS JOIN LATERAL (
    SELECT t.typbasetype WHERE t.typtype = 'd'
    UNION ALL
    SELECT a.atttypid FROM pg_attribute AS a
    WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
  ) AS part(type)
  JOIN pg_type AS b ON b.oid = part.type
)
SELECT quote_ident(n.nspname) || '.' || quote_ident(t.typname), CAST(n.nspname AS text),
  CASE t.typtype WHEN 'e' THEN
    'CREATE TYPE ' || quote_ident(n.nspname) || '.' || quote_ident(t.typname) || ' AS ENUM (' ||
    (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum AS e
     WHERE e.enumtypid = t.oid) || ')'
  WHEN 'd' THEN
    'CREATE DOMAIN ' || quote_ident(n.nspname) || '.' || quote_ident(t.typname) || ' AS ' ||
    format_type(t.typbasetype, t.typtypmod) ||
    coalesce((SELECT ' COLLATE ' || CAST(CAST(t.typcollation AS regcollation) AS text) FROM pg_type AS b
              WHERE b.oid = t.typbasetype AND b.typcollation <> t.typcollation), '') ||
    coalesce(' DEFAULT ' || t.typdefault, '') || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END ||
    coalesce((SELECT string_agg(' CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid), ''
                                ORDER BY k.conname)
              FROM pg_constraint AS k WHERE k.contypid = t.oid AND k.contype = 'c'), '')
  ELSE
    'CREATE TYPE ' || quote_ident(n.nspname) || '.' || quote_ident(t.typname) || ' AS (' ||
    (SELECT string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
     FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) || ')'
  END
FROM (SELECT type, max(depth) AS depth FROM needed GROUP BY type) AS found
JOIN pg_type AS t ON t.oid = found.type
JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.typtype IN ('e', 'c', 'd') AND n.nspname <> 'pg_catalog'
ORDER BY found.depth DESC, 1
"""


def structure(names: Sequence[TableName]) -> Sql:
    pairs = [sql("({schema}, {name})", schema=Literal(name.schema), name=Literal(name.name)) for name in names]
    return sql(_STRUCTURE.strip(), names=pairs)


def as_structures(rows: Iterable[Sequence[Any]]) -> dict[TableName, Structure]:
    import json

    found: dict[TableName, dict[str, Any]] = {}
    for schema, table, kind, name, text, unique, columns in rows:
        entry = found.setdefault(TableName(str(schema), str(table)), {"indexes": [], "default": {}, "comment": {}})
        if kind == "index":
            entry["indexes"].append(Index(name, tuple(json.loads(columns or "[]")), bool(unique), str(text).strip()))
        else:
            entry[kind][name] = str(text)
    return {
        name: Structure(tuple(entry["indexes"]), entry["default"], entry["comment"]) for name, entry in found.items()
    }


def type_definitions(names: Sequence[str]) -> Sql:
    """Return a query for the types, each with its schema and its DDL."""
    return sql(_TYPES.strip(), names=[sql("({name})", name=Literal(name)) for name in names])
