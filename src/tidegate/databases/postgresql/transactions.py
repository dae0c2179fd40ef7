"""The open transactions that may still write to a table.

Facts that shape this file
 * now() is the moment when a transaction began. So every open transaction can still write an older time, also one that
   has written nothing yet. A number of a sequence is drawn inside of the INSERT, which locks the table first.
 * A login without pg_read_all_stats does not see what sessions of others do. Who holds a lock is never hidden.
 * Autovacuum, WAL senders and roles without the right to write do not count. Nor do Tidegate's own readers.
 * A prepared transaction has no session, and may be committed by anybody at any time.
 * A sequence with CACHE 50 gives each session fifty numbers at once, which the session uses up at its leisure.
"""

from __future__ import annotations

from tidegate.databases.postgresql.dialect import DIALECT
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Sql, render, sql

_TRANSACTIONS = """
SELECT CASE WHEN count(*) FILTER (WHERE o.is_hidden) = 0 THEN coalesce(json_agg(json_build_object(
    'session', o.session, 'who', o.who, 'age', o.age, 'wrote', o.wrote)) FILTER (WHERE o.session IS NOT NULL), '[]'
  )::text END
FROM (
  SELECT a.pid || ' ' || a.xact_start AS session, a.query = '<insufficient privilege>' AS is_hidden,
         concat_ws(' ', a.usename, nullif(a.application_name, '')) AS who,
         extract(epoch FROM clock_timestamp() - a.xact_start) AS age,
         EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'relation'
                 AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
                 AND (l.relation = to_regclass({table})
                      OR l.relation IN (SELECT i.inhrelid FROM pg_inherits AS i)
                      AND l.relation IN (SELECT p.relid FROM pg_partition_tree(to_regclass({table})) AS p))
                 AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         ) AS wrote
  FROM pg_stat_activity AS a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND (a.query = '<insufficient privilege>' OR a.xact_start IS NOT NULL)
    AND coalesce(a.backend_type, 'client backend') NOT IN ('autovacuum worker', 'walsender', 'parallel worker')
    AND has_table_privilege(a.usesysid, to_regclass({table}), 'INSERT, UPDATE')
    AND a.application_name !~ '^tidegate (inspect|extract|verify|snapshot|describe|init) '
  UNION ALL
  SELECT 'prepared ' || p.gid, false, concat_ws(' ', p.owner, 'prepared transaction', p.gid),
         extract(epoch FROM clock_timestamp() - p.prepared), true
  FROM pg_prepared_xacts AS p WHERE p.database = current_database()
) AS o
"""


_BLOCK = """
SELECT max(s.seqcache)
FROM pg_depend AS d
JOIN pg_sequence AS s ON s.seqrelid = d.objid
JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = to_regclass({table}) AND a.attname = {column} AND d.deptype IN ('a', 'i')
"""


def number_block(table: TableName, column: str) -> Sql:
    """Return a query for the CACHE of the sequence that belongs to a column."""
    name = Literal(render(Name(Name.of(table).parts), DIALECT))
    return sql(_BLOCK.strip(), table=name, column=Literal(column))


def open_transactions(table: TableName) -> Sql:
    return sql(_TRANSACTIONS.strip(), table=Literal(render(Name(Name.of(table).parts), DIALECT)))
