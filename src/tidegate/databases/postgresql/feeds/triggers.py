"""Triggers of PostgreSQL as a change feed.

Facts that shape this file
 * A trigger per statement gets all changed rows at once, in a transition table. Partitioned tables have row triggers
   only: those are cloned to every partition.
 * A statement fires the statement triggers of the table that it names. So what is written through a parent does not
   fire those of a partition, nor those of a table that inherits. Row triggers of both fire, and TRUNCATE triggers.
 * Row triggers are cloned to partitions, not to tables that inherit: these can be written to without any trigger.
 * A clone can be disabled by itself.
 * Each row of the log has the id of its transaction. A snapshot says of every id whether it is committed. So what lies
   between two snapshots is exactly what was committed in between, however long a transaction was open.
 * The number of ids that a snapshot sees as finished only grows, and orders snapshots.
 * `ENABLE ALWAYS`: the triggers fire as well for what logical replication and restored dumps write, where
   `session_replication_role` is `replica`.
 * The log has no identity column: `lastval()` of the session that writes stays what it was.
 * The function is SECURITY DEFINER with a fixed search path: who writes to the table needs no right on the log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidegate.databases._trigger_feed import Installed, TriggerFeed
from tidegate.databases.postgresql.dialect import DIALECT
from tidegate.databases.postgresql.feeds.partitions import PARTITIONS, Partitions, files_of, untold
from tidegate.errors import Unsupported
from tidegate.interfaces.feed import FeedTable, Problem
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.feeds import Position
from tidegate.model.names import TableName
from tidegate.sql.text import Dialect, Literal, Name, Part, SameValue, Sql, names, raw, sql

_EVENTS = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
_TRANSITIONS = {
    "INSERT": " REFERENCING NEW TABLE AS new_rows",
    "UPDATE": " REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "DELETE": " REFERENCING OLD TABLE AS old_rows",
    "TRUNCATE": "",
}


@dataclass(frozen=True)
class PostgresqlTriggers(TriggerFeed):
    """Four triggers per table, and one function."""

    dialect: ClassVar[Dialect] = DIALECT
    bypassed_by: ClassVar[str] = "DDL that rewrites values, such as ALTER COLUMN ... TYPE ... USING"

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        heirs = self._heirs(session, table.name)
        return [Problem(_by_passed(table.name, heirs))] if heirs else super().problems(session, table)

    def create(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        for table in tables:
            if heirs := self._heirs(session, table):
                raise Unsupported(
                    f"{_by_passed(table, heirs)}.", "Nothing was changed.", "Read the table with another `changes`."
                )
        return super().create(session, tables)

    def _heirs(self, session: Session, table: TableName) -> list[str]:
        """Return the tables that inherit from a table and are not partitions of it."""
        rows = session.query(
            sql(
                "SELECT CAST(CAST(h.oid AS regclass) AS text) FROM pg_catalog.pg_inherits AS i"
                " JOIN pg_catalog.pg_class AS h ON h.oid = i.inhrelid AND NOT h.relispartition"
                " JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent"
                " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
                " WHERE n.nspname = {schema} AND c.relname = {table} ORDER BY 1",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        return [str(name) for (name,) in rows]

    def log_table(self, table: TableName) -> TableName:
        return TableName(self.name, self.stem(table))

    def create_log(self, schema: TableSchema) -> list[Sql]:
        key, log = self.key_of(schema), Name.of(self.log_table(schema.name))
        columns: list[Part] = [
            sql("{name} {type}", name=Name.of(name), type=raw(column.type))
            for name, column in zip(self.logged_names(key), key, strict=True)
        ]
        return [
            sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(self.name)),
            sql(
                "CREATE TABLE {log} (transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),"
                " operation char(1) NOT NULL, changed_at timestamptz NOT NULL DEFAULT clock_timestamp(), {columns})",
                log=log,
                columns=columns,
            ),
            sql("CREATE INDEX ON {log} (transaction_id)", log=log),
        ]

    def triggers(self, schema: TableSchema) -> dict[str, list[Sql]]:
        is_per_row = bool(schema.partitioned_by or schema.parent)
        body = self._body_per_row(schema) if is_per_row else self._body(schema)
        name = self.trigger_name(schema, body)
        function = Name((self.name, name))
        made = {
            f"{name}_{event[0].lower()}": [
                sql(
                    "CREATE TRIGGER {name} AFTER {event} ON {table}{rows}"
                    " FOR EACH {each} EXECUTE FUNCTION {function}()",
                    name=Name.of(f"{name}_{event[0].lower()}"),
                    event=raw(event),
                    table=Name.of(schema.name),
                    rows=raw("" if is_per_row else _TRANSITIONS[event]),
                    each=raw("ROW" if is_per_row and event != "TRUNCATE" else "STATEMENT"),
                    function=function,
                ),
                self.enable(schema.name, f"{name}_{event[0].lower()}"),
            ]
            for event in _EVENTS
        }
        first = f"{name}_i"
        made[first] = [
            sql(
                "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
                " SET search_path = pg_catalog, pg_temp AS $tidegate$\n{body}\n$tidegate$",
                function=function,
                body=body,
            ),
            sql("REVOKE ALL ON FUNCTION {function}() FROM PUBLIC", function=function),
            *made[first],
        ]
        return made

    def _body(self, schema: TableSchema) -> Sql:
        key = self.key_of(schema)
        return sql(
            "BEGIN\n"
            "  IF TG_OP = 'INSERT' THEN\n    {into} SELECT 'I', {new} FROM new_rows AS n;\n"
            "  ELSIF TG_OP = 'UPDATE' THEN\n    {into} SELECT 'U', {new} FROM new_rows AS n;\n"
            "    {into} SELECT 'D', {old} FROM old_rows AS o WHERE NOT EXISTS"
            " (SELECT FROM new_rows AS n WHERE {same});\n"
            "  ELSIF TG_OP = 'DELETE' THEN\n    {into} SELECT 'D', {old} FROM old_rows AS o;\n"
            "  ELSE\n    {emptied};\n  END IF;\n"
            "  RETURN NULL;\nEND",
            into=self._into(schema),
            new=_columns(key, "n"),
            old=_columns(key, "o"),
            same=_same(key, "o", "n"),
            emptied=self._emptied(schema),
        )

    def _body_per_row(self, schema: TableSchema) -> Sql:
        key = self.key_of(schema)
        return sql(
            "BEGIN\n"
            "  IF TG_OP = 'TRUNCATE' THEN\n    {emptied};\n    RETURN NULL;\n  END IF;\n"
            "  IF TG_OP = 'DELETE' THEN\n    {into} SELECT 'D', {old};\n    RETURN NULL;\n  END IF;\n"
            "  IF TG_OP = 'UPDATE' THEN\n    IF NOT ({same}) THEN\n      {into} SELECT 'D', {old};\n    END IF;\n"
            "  END IF;\n"
            "  {into} SELECT left(TG_OP, 1), {new};\n"
            "  RETURN NULL;\nEND",
            into=self._into(schema),
            new=_columns(key, "new"),
            old=_columns(key, "old"),
            same=_same(key, "old", "new"),
            emptied=self._emptied(schema),
        )

    def _into(self, schema: TableSchema) -> Sql:
        return sql(
            "INSERT INTO {log} (operation, {columns})",
            log=Name.of(self.log_table(schema.name)),
            columns=names(self.logged_names(self.key_of(schema))),
        )

    def _emptied(self, schema: TableSchema) -> Sql:
        return sql("INSERT INTO {log} (operation) VALUES ('T')", log=Name.of(self.log_table(schema.name)))

    def drop_trigger(self, table: TableName, name: str) -> list[Sql]:
        statements = [sql("DROP TRIGGER {name} ON {table}", name=Name.of(name), table=Name.of(table))]
        if name.endswith("_u"):  # the last of them in the order of their names
            function = Name((self.name, name.removesuffix("_u")))
            statements.append(sql("DROP FUNCTION IF EXISTS {function}()", function=function))
        return statements

    def drop_log(self, table: TableName) -> list[Sql]:
        return [sql("DROP TABLE {log}", log=Name.of(self.log_table(table)))]

    def enable(self, table: TableName, name: str) -> Sql:
        return sql("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}", table=Name.of(table), name=Name.of(name))

    def installed(self, session: Session, table: TableName) -> Installed:
        log = self.log_table(table)
        found = session.query(
            sql(
                "SELECT CAST(c.oid AS text) FROM pg_catalog.pg_class AS c"
                " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
                " WHERE n.nspname = {schema} AND c.relname = {log}",
                schema=Literal(log.schema),
                log=Literal(log.name),
            )
        )
        triggers = session.query(
            sql(
                "SELECT t.tgname, (WITH RECURSIVE clones AS (SELECT t.oid, t.tgenabled UNION ALL"
                " SELECT d.oid, d.tgenabled FROM pg_catalog.pg_trigger AS d JOIN clones ON d.tgparentid = clones.oid)"
                " SELECT bool_and(tgenabled = 'A') FROM clones) FROM pg_catalog.pg_trigger AS t"
                " JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid"
                " JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
                " WHERE n.nspname = {schema} AND c.relname = {table} AND NOT t.tgisinternal ORDER BY t.tgname",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        ours = {str(name): bool(is_on) for name, is_on in triggers if self._is_ours(str(name), table)}
        return Installed(str(found[0][0]) if found else "", ours)

    # Reading

    def bounds(self, session: Session, table: TableName, log: str, after: Position | None) -> Position:
        [(snapshot, partitions)] = session.query(
            sql(
                "SELECT CAST(pg_current_snapshot() AS text), (SELECT CAST({partitions} AS text)"
                " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
                " WHERE n.nspname = {schema} AND c.relname = {table})",
                partitions=raw(PARTITIONS),
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        _, most, waiting = str(snapshot).split(":")
        open_ids = len(waiting.split(",")) if waiting else 0
        known = json.dumps(json.loads(str(partitions or "{}")), separators=(",", ":"))
        return Position(f"{int(most) - open_ids:020d}", f"{log} {snapshot} {known}".removesuffix(" {}"))

    def untold(self, table: TableName, after: Position, now: Position) -> str:
        return untold(table, _partitions(now), files_of(_partitions(after)))

    def between(self, after: Position, upto: Position) -> Sql:
        was, now = (position.detail.split(" ")[1] for position in (after, upto))
        return sql(
            "(transaction_id >= CAST({oldest} AS xid8)"
            " AND pg_visible_in_snapshot(transaction_id, CAST({now} AS pg_snapshot))"
            " AND NOT pg_visible_in_snapshot(transaction_id, CAST({was} AS pg_snapshot)))",
            oldest=Literal(was.partition(":")[0]),
            now=Literal(now),
            was=Literal(was),
        )

    def since(self, after: Position) -> Sql:
        was = after.detail.split(" ")[1]
        return sql(
            "(transaction_id >= CAST({oldest} AS xid8)"
            " AND NOT pg_visible_in_snapshot(transaction_id, CAST({was} AS pg_snapshot)))",
            oldest=Literal(was.partition(":")[0]),
            was=Literal(was),
        )

    def remove(self, session: Session, log: TableName, upto: Position) -> None:
        snapshot = upto.detail.split(" ")[1]
        session.execute(
            sql(
                "DELETE FROM {log} WHERE transaction_id < CAST({most} AS xid8)"
                " AND pg_visible_in_snapshot(transaction_id, CAST({snapshot} AS pg_snapshot))",
                log=Name.of(log),
                most=Literal(snapshot.split(":")[1]),
                snapshot=Literal(snapshot),
            )
        )


def _partitions(position: Position) -> Partitions:
    """Return the partitions at a position; empty for a table that has none."""
    known = position.detail.split(" ")[2:]
    return json.loads(known[0]) if known else {}


def _by_passed(table: TableName, heirs: Sequence[str]) -> str:
    names = ", ".join(heirs)
    return f"tables inherit from {table} ({names}): triggers of {table} do not see what is written to them"


def _columns(key: list[Column], image: str) -> list[Part]:
    return [sql("{image}.{name}", image=raw(image), name=Name.of(column.name)) for column in key]


def _same(key: list[Column], left: str, right: str) -> Sql:
    pairs = [SameValue(Name((left, column.name)), Name((right, column.name)), column.type) for column in key]
    same = sql("{pair}", pair=pairs[0])
    for pair in pairs[1:]:
        same = sql("{before} AND {pair}", before=same, pair=pair)
    return same
