"""Triggers of SQL Server as a change feed.

Facts that shape this file
 * A trigger fires once per statement; `inserted` and `deleted` hold all of its rows.
 * The log has a rowversion in place of an identity: `@@IDENTITY` of the session that writes stays what it was.
 * MIN_ACTIVE_ROWVERSION is the least rowversion that an open transaction holds. What lies below it is committed for
   good, however long a transaction was open.
 * Bulk copy fires triggers only where it is asked to; TRUNCATE and SWITCH never do. A trigger can be disabled.
 * OUTPUT without INTO fails for a table with triggers: applications that use it stop working.
 * A trigger may write to a table of the same owner without rights of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidegate.databases._trigger_feed import Installed, TriggerFeed
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.interfaces.session import Session
from tidegate.model.columns import TableSchema
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.sql.text import Dialect, Literal, Name, Part, SameValue, Sql, names, raw, render, sql

_STEP = 10_000


@dataclass(frozen=True)
class SqlServerTriggers(TriggerFeed):
    """One trigger per table."""

    dialect: ClassVar[Dialect] = DIALECT
    bypassed_by: ClassVar[str] = "TRUNCATE, SWITCH, and bulk copy without FIRE_TRIGGERS"

    def log_table(self, table: TableName) -> TableName:
        return TableName(self.name, self.stem(table))

    def create_log(self, schema: TableSchema) -> list[Sql]:
        key = self.key_of(schema)
        columns: list[Part] = [
            sql("{name} {type} NOT NULL", name=Name.of(name), type=raw(column.type))
            for name, column in zip(self.logged_names(key), key, strict=True)
        ]
        make_schema = sql("CREATE SCHEMA {name} AUTHORIZATION dbo", name=Name.of(self.name))
        return [
            sql(
                "IF SCHEMA_ID({name}) IS NULL EXEC ({make})",
                name=Literal(self.name),
                make=Literal(render(make_schema, DIALECT)),
            ),
            sql(
                "CREATE TABLE {log} (row_version rowversion NOT NULL, operation char(1) NOT NULL,"
                " changed_at datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME(), {columns})",
                log=Name.of(self.log_table(schema.name)),
                columns=columns,
            ),
            # No key: a compatible server gives all rows of a transaction one row version.
            sql(
                "CREATE CLUSTERED INDEX by_version ON {log} (row_version)",
                log=Name.of(self.log_table(schema.name)),
            ),
        ]

    def triggers(self, schema: TableSchema) -> dict[str, list[Sql]]:
        key = self.key_of(schema)
        body = sql(
            "BEGIN\n"
            "  SET NOCOUNT ON;\n"
            "  {into}\n  SELECT CASE WHEN EXISTS (SELECT 1 FROM deleted) THEN 'U' ELSE 'I' END, {new}"
            " FROM inserted AS n;\n"
            "  {into}\n  SELECT 'D', {old} FROM deleted AS o\n"
            "  WHERE NOT EXISTS (SELECT 1 FROM inserted AS n WHERE {same});\n"
            "END",
            into=sql(
                "INSERT INTO {log} (operation, {columns})",
                log=Name.of(self.log_table(schema.name)),
                columns=names(self.logged_names(key)),
            ),
            new=[Name(("n", column.name)) for column in key],
            old=[Name(("o", column.name)) for column in key],
            same=_all([SameValue(Name(("o", column.name)), Name(("n", column.name)), column.type) for column in key]),
        )
        name = self.trigger_name(schema, body)
        return {
            name: [
                sql(
                    "CREATE TRIGGER {name} ON {table} AFTER INSERT, UPDATE, DELETE AS\n{body}",
                    name=Name((schema.name.schema, name)),
                    table=Name.of(schema.name),
                    body=body,
                )
            ]
        }

    def drop_trigger(self, table: TableName, name: str) -> list[Sql]:
        return [sql("DROP TRIGGER {name}", name=Name((table.schema, name)))]

    def drop_log(self, table: TableName) -> list[Sql]:
        return [sql("DROP TABLE {log}", log=Name.of(self.log_table(table)))]

    def enable(self, table: TableName, name: str) -> Sql:
        trigger = Name((table.schema, name))
        return sql("ENABLE TRIGGER {trigger} ON {table}", trigger=trigger, table=Name.of(table))

    def installed(self, session: Session, table: TableName) -> Installed:
        found = session.query(installed_log(self.log_table(table)))
        triggers = session.query(installed_triggers(table))
        ours = {str(name): str(off) == "0" for name, off in triggers if self._is_ours(str(name), table)}
        return Installed(str(found[0][0]) if found else "", ours)

    # Reading

    def bounds(self, session: Session, table: TableName, log: str, after: Position | None) -> Position:
        newest = int(str(session.query(newest_version())[0][0]))
        return Position(f"{newest:020d}", f"{log} {newest}")

    def between(self, after: Position, upto: Position) -> Sql:
        was, now = (int(position.detail.rpartition(" ")[2]) for position in (after, upto))
        return sql(
            "row_version > {after} AND row_version <= {upto}",
            after=_version(was),
            upto=_version(now),
        )

    def since(self, after: Position) -> Sql:
        return sql("row_version > {after}", after=_version(int(after.detail.rpartition(" ")[2])))

    def remove(self, session: Session, log: TableName, upto: Position) -> None:
        step = remove_step(log, int(upto.detail.rpartition(" ")[2]))
        while session.execute(step) == _STEP:
            pass


def installed_log(log: TableName) -> Sql:
    """Return a query for what tells a log from one that was made anew."""
    return sql(
        "SELECT CONCAT(t.object_id, '-', CONVERT(varchar(33), t.create_date, 126)) FROM sys.tables AS t\n"
        "JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE s.name = {schema} AND t.name = {log}",
        schema=Literal(log.schema),
        log=Literal(log.name),
    )


def installed_triggers(table: TableName) -> Sql:
    """Return a query for the triggers of a table, and whether each is disabled."""
    return sql(
        "SELECT g.name, CAST(g.is_disabled AS int) FROM sys.triggers AS g\n"
        "JOIN sys.tables AS t ON t.object_id = g.parent_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id\n"
        "WHERE s.name = {schema} AND t.name = {table} ORDER BY g.name",
        schema=Literal(table.schema),
        table=Literal(table.name),
    )


def newest_version() -> Sql:
    """Return a query for the greatest rowversion below which no transaction is open."""
    return sql("SELECT CONVERT(bigint, MIN_ACTIVE_ROWVERSION()) - 1")


def remove_step(log: TableName, upto: int) -> Sql:
    """Return a DELETE of a part of the log."""
    return sql(
        "DELETE TOP ({step}) FROM {log} WHERE row_version <= {upto}",
        step=Literal(_STEP),
        log=Name.of(log),
        upto=_version(upto),
    )


def _version(number: int) -> Sql:
    return sql("CONVERT(binary(8), CAST({number} AS bigint))", number=Literal(number))


def _all(conditions: list[SameValue]) -> Sql:
    found = sql("{first}", first=conditions[0])
    for condition in conditions[1:]:
        found = sql("{before} AND {next}", before=found, next=condition)
    return found
