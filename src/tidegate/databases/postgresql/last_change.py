"""What PostgreSQL tells of the last change of a table, without reading its rows.

Facts that shape this file
 * The server counts the rows that were inserted, updated and deleted. A transaction is counted when it ended, but a
   busy session hands its counts over some seconds later.
 * A crash begins new counts, also without a restart of the main process; then the views of fixed size, such as
   pg_stat_bgwriter, get a new `stats_reset`.
 * TRUNCATE is no deleted row: it gives the table another file. A partition that is attached or detached is another set.
 * A standby counts nothing.
"""

from __future__ import annotations

from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Sql, sql


def last_change(table: TableName) -> Sql:
    """Return a query for a text that is another one after a change. Null where nobody counts, and for views, foreign
    tables and tables from which others inherit."""
    return sql(
        "WITH root AS (\n"
        "  SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
        "  WHERE n.nspname = {schema} AND c.relname = {table}\n"
        "), leaf AS (\n"
        "  SELECT oid FROM root WHERE relkind <> 'p'\n"
        "  UNION ALL SELECT t.relid FROM root, pg_partition_tree(root.oid) t WHERE root.relkind = 'p' AND t.isleaf\n"
        ")\n"
        "SELECT CASE\n"
        "  WHEN pg_is_in_recovery() OR current_setting('track_counts') <> 'on' THEN NULL\n"
        "  WHEN bool_or(c.relkind <> 'r' OR c.relhassubclass) THEN NULL\n"
        "  ELSE concat_ws(' ', pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter),\n"
        "    string_agg(concat_ws(' ', c.oid, c.relfilenode, pg_stat_get_tuples_inserted(c.oid),\n"
        "      pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid)), ', ' ORDER BY c.oid))\n"
        "  END\n"
        "FROM leaf JOIN pg_class c ON c.oid = leaf.oid",
        schema=Literal(table.schema),
        table=Literal(table.name),
    )
