"""Sequences behind the columns of a table, moved past what was loaded.

Facts that shape this file
 * A value that is given for an identity or serial column does not move its sequence: the next INSERT of an application
   would draw a value that is there already.
 * `setval` is not undone by a rollback. So sequences only ever move away from values that are in use.
 * A sequence that was never drawn from gives its `last_value` first; `is_called` tells.
 * `last_value` can be read by whoever may use the sequence, `setval` needs UPDATE on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, sql


@dataclass(frozen=True)
class Counter:
    """A sequence that a column takes its values from."""

    column: str
    sequence: TableName
    ascending: bool
    may_move: bool


def counters_of(table: TableName) -> Sql:
    """Return the query for the sequences of identity columns and of defaults."""
    return sql(
        """\
SELECT DISTINCT a.attname, o.nspname, s.relname, q.seqincrement > 0,
       has_sequence_privilege(s.oid, 'SELECT') AND has_sequence_privilege(s.oid, 'UPDATE')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef f ON f.adrelid = c.oid AND f.adnum = a.attnum AND a.attgenerated = ''
JOIN pg_depend d ON (d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                     AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype = 'i')
                 OR (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass)
JOIN pg_class s ON s.relkind = 'S'
               AND s.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END
JOIN pg_namespace o ON o.oid = s.relnamespace
JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE n.nspname = {schema} AND c.relname = {name}
ORDER BY 1""",
        schema=Literal(table.schema),
        name=Literal(table.name),
    )


def move(table: TableName, counter: Counter) -> Sql:
    """Return the statement that moves a sequence past the values of its column; no row where it is past them."""
    column = Name.of(counter.column)
    return sql(
        """\
SELECT setval({sequence}::regclass, w.value)
FROM (SELECT {extreme}::bigint AS value FROM {table}) AS w, {relation} AS s
WHERE {is_beyond} OR (w.value = s.last_value AND NOT s.is_called)""",
        sequence=Literal(_as_regclass(counter.sequence)),
        relation=Name.of(counter.sequence),
        extreme=sql("max({column})", column=column) if counter.ascending else sql("min({column})", column=column),
        is_beyond=sql("w.value > s.last_value") if counter.ascending else sql("w.value < s.last_value"),
        table=Name.of(table),
    )


def _as_regclass(name: TableName) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in (name.schema, name.name))
