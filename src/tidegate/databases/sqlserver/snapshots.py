"""Procedures for people who keep the snapshot table in order with SQL.

Facts that shape this file
 * CREATE PROCEDURE must be the first statement of its batch: EXEC of a text makes it that.
 * Texts of two tables are only compared if they have one collation.
 * Inside of a procedure NOCOUNT is on, or the counts of its statements would be results of their own.
"""

from __future__ import annotations

from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.types import COLLATION
from tidegate.interfaces.archive import Migration
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Name, Part, Sql, raw, render, sql

_CLEANUP = """
CREATE PROCEDURE {procedure} @customer_filter nvarchar(255) = NULL, @keep_count int = 2
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    IF @keep_count IS NULL OR @keep_count < 1 THROW 50000, N'@keep_count must be 1 or more.', 1;
    DECLARE @rows bigint = 0, @snapshots bigint = 0;
    SELECT ranked.customer_filter, ranked.batch_id INTO #old_snapshots
    FROM (
        SELECT r.customer_filter, r.batch_id,
               ROW_NUMBER() OVER (PARTITION BY r.customer_filter ORDER BY r.snapshot_date DESC) AS number
        FROM {register} AS r
        WHERE r.snapshot_table = {table_text} AND (@customer_filter IS NULL OR r.customer_filter = @customer_filter)
    ) AS ranked
    WHERE ranked.number > @keep_count;
    BEGIN TRANSACTION;
    DELETE t FROM {table} AS t
    JOIN #old_snapshots AS o ON t.batch_id = CONVERT(uniqueidentifier, o.batch_id)
        AND t.customer_filter COLLATE {collation} = o.customer_filter COLLATE {collation};
    SET @rows = ROWCOUNT_BIG();
    DELETE r FROM {register} AS r
    JOIN #old_snapshots AS o ON r.batch_id = o.batch_id AND r.customer_filter = o.customer_filter
    WHERE r.snapshot_table = {table_text};
    SET @snapshots = ROWCOUNT_BIG();
    COMMIT TRANSACTION;
    SELECT @snapshots AS removed_snapshots, @rows AS removed_rows;
END
"""
_STATISTICS = """
CREATE PROCEDURE {procedure}
AS
BEGIN
    SET NOCOUNT ON;
    SELECT r.customer_filter, COUNT_BIG(*) AS snapshot_count, SUM(r.row_total) AS total_rows,
           COUNT_BIG(r.archive_id) AS archived_count,
           CONVERT(datetime2(6), MIN(r.snapshot_date), 121) AS oldest_snapshot,
           CONVERT(datetime2(6), MAX(r.snapshot_date), 121) AS newest_snapshot
    FROM {register} AS r
    WHERE r.snapshot_table = {table_text}
    GROUP BY r.customer_filter
    ORDER BY r.customer_filter;
END
"""


def procedures(table: TableName, register: TableName, suffix: str) -> tuple[Migration, ...]:
    """Return the procedures of one snapshot table. `suffix` tells those of several tables apart."""
    names = {"sp_cleanup_snapshot_history": _CLEANUP, "sp_snapshot_statistics": _STATISTICS}
    statements: list[Sql] = []
    for name, template in names.items():
        procedure = Name.of(TableName(table.schema, f"{name}{suffix}"))
        statements += [_drop(procedure), _create(template, procedure, table, register)]
    return (Migration(1, "procedures of the snapshot table", tuple(statements)),)


def _drop(procedure: Name) -> Sql:
    return sql("DROP PROCEDURE IF EXISTS {procedure}", procedure=procedure)


def _create(template: str, procedure: Name, table: TableName, register: TableName) -> Sql:
    holes: dict[str, Part] = {
        "procedure": procedure,
        "table": Name.of(table),
        "register": Name.of(register),
        "table_text": Literal(str(table)),
        "collation": raw(COLLATION),
    }
    used = {name: hole for name, hole in holes.items() if f"{{{name}}}" in template}
    text = render(sql(template.strip(), **used), DIALECT)
    return sql("EXEC({text})", text=Literal(text))
