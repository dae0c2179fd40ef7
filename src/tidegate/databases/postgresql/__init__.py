"""PostgreSQL 14 and later, as source and as target.

Rows are read and written by COPY. All tasks of one extraction read the same exported snapshot. A load streams its rows
inside the transaction that writes the ledger row.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from tidegate.databases.postgresql import transactions, types
from tidegate.databases.postgresql.archive import PostgresqlArchive
from tidegate.databases.postgresql.dialect import DIALECT
from tidegate.databases.postgresql.statements import create_stage
from tidegate.interfaces import Capabilities, Database, Session
from tidegate.interfaces.archive import ArchiveSql
from tidegate.interfaces.feed import Feed
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.model.values import ValueKind
from tidegate.sql.text import Literal, Name, Part, Sql, names, raw, sql

LONGEST_NAME = 63
XMIN = Column("xmin", "xid", "int64", nullable=False, logical_type=Type("int64"), database="postgresql")
"""A system column. Its id has 32 bits and starts anew when it is full; the dialect adds the epoch."""


class Postgresql(Database):
    """PostgreSQL through psycopg and COPY."""

    kind = "postgresql"
    label = "PostgreSQL"
    capabilities = Capabilities(
        transactional_ddl=True,
        enforced_keys=True,
        session_locks=True,
        streams_into_transaction=True,
        exported_snapshots=True,
        read_only_sessions=True,
        native_partitions=True,
        row_versions=False,
        bulk_from_files=False,
        schemas_are_databases=False,
        updates_identity=True,
        surrogate_keys=True,
        alters_columns=True,
    )
    dialect = DIALECT
    can_bypass_triggers = True

    @classmethod
    def connection_of(cls, driver: object) -> Connection | None:
        """psycopg and psycopg2 tell everything but the password as parameters, and the password beside them."""
        info = getattr(driver, "info", None)
        if type(driver).__module__.partition(".")[0] not in ("psycopg", "psycopg2") or info is None:
            return None
        told = info.get_parameters() if hasattr(info, "get_parameters") else dict(info.dsn_parameters)
        rest = {name: str(told[name]) for name in ("sslmode", "sslrootcert", "sslcert", "sslkey") if told.get(name)}
        return Connection(
            cls.kind, info.host, info.port, info.dbname, info.user, info.password or "", tuple(rest.items())
        )

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        from tidegate.databases.postgresql.session import PostgresqlSession

        arguments = self._arguments(purpose)
        return PostgresqlSession(self, arguments, read_only=read_only, query_timeout=query_timeout)

    def _arguments(self, purpose: str) -> dict[str, Any]:
        place = self.connection
        settings = {
            "host": place.host,
            "port": place.port,
            "dbname": place.database,
            "user": place.user,
            "password": place.password,
            # pg_stat_activity shows program, machine and process; the server cuts it after 63 bytes.
            "application_name": f"tidegate {purpose} {socket.gethostname()[:24]}:{os.getpid()}"[:63],
            "connect_timeout": 10,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 6,
        }
        chosen = {key: value for key, value in {**settings, **dict(place.options)}.items() if value not in (None, "")}
        # PGHOSTADDR could lead to another server than the host that was checked; an empty address overrides it.
        return {"hostaddr": "", **chosen}

    @property
    def default_schema(self) -> str:
        return "public"

    def own_table(self, name: str) -> TableName:
        return TableName("tidegate", name)

    def value_kind(self, column: Column) -> ValueKind | None:
        return ValueKind.INTEGER if column == XMIN else types.value_kind(column)

    def change_counter(self, schema: TableSchema) -> Column | None:
        """Return `xmin`: the transaction that wrote a row. A row keeps it when it is frozen."""
        return XMIN

    def clock_query(self, cursor: Column) -> Sql | None:
        """A timestamp without a zone is in the server's own zone, not in that of our session (UTC). For `xmin`, the
        greatest transaction id below which no transaction is open any more."""
        if cursor.type == "xid":
            return sql("SELECT CAST(CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint) - 1 AS text)")
        local_time = sql("now() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')")
        moment = {"instant": sql("now()"), "timestamp": local_time, "date": local_time}.get(cursor.logical_type.family)
        if moment is None:
            return None
        return sql("SELECT CAST(CAST({moment} AS {type}) AS text)", moment=moment, type=raw(cursor.type))

    def set_default(self, table: TableName, column: str, expression: str) -> Sql | None:
        return sql(
            "ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {expression}",
            table=Name.of(table),
            column=Name.of(column),
            expression=raw(expression),
        )

    def add_foreign_key(self, key: ForeignKey) -> Sql:
        statement = super().add_foreign_key(key)
        return sql("{key} DEFERRABLE", key=statement) if key.is_deferrable else statement

    def comment(self, table: TableName, column: str, text: str) -> Sql | None:
        if not column:
            return sql("COMMENT ON TABLE {table} IS {text}", table=Name.of(table), text=Literal(text))
        place = Name((*Name.of(table).parts, column))
        return sql("COMMENT ON COLUMN {place} IS {text}", place=place, text=Literal(text))

    def deferral(self, keys: Sequence[ForeignKey]) -> tuple[str, str]:
        fixed = [key for key in keys if not key.is_deferrable]
        foreign = [f"{key.name} of {key.table}" for key in fixed if not key.may_alter]
        if foreign:
            remedy = f"let the owner run ALTER TABLE ... ALTER CONSTRAINT ... DEFERRABLE for {', '.join(foreign)}"
            return "", f"this login does not own the tables and may not defer their constraints: {remedy}"
        words = "with their foreign keys checked by the server at its end"
        if fixed:
            words += "; they are made deferrable for this transaction, and readers wait until it ends"
        return words, ""

    def only_valid(self, column: Column) -> Sql | None:
        """Infinity, NaN, 24:00:00 and years without four digits."""
        conditions = {
            "date": "isfinite({name}) AND {name} >= '0001-01-01' AND {name} < '10000-01-01'",
            "time": "{name} < '24:00:00'",
            "decimal": "{name} NOT IN ('NaN', 'Infinity', '-Infinity')",
        }
        family = {"timestamp": "date", "instant": "date", "number": "decimal", "float32": "decimal"}
        found = column.logical_type.family
        condition = conditions.get("decimal" if found == "float64" else family.get(found, found))
        if condition is None or column.type == "money":
            return None
        name = Name.of(column.name)
        return sql("CASE WHEN {valid} THEN {name} END", valid=sql(condition, name=name), name=name)

    def number_block(self, table: TableName, column: Column) -> Sql | None:
        return transactions.number_block(table, column.name)

    def open_transactions(self, table: TableName) -> Sql | None:
        return transactions.open_transactions(table)

    def feed(self, kind: str, name: str) -> Feed | None:
        if kind == "cdc":
            from tidegate.databases.postgresql.feeds.cdc import LogicalDecoding

            return LogicalDecoding(name)
        if kind == "triggers":
            from tidegate.databases.postgresql.feeds.triggers import PostgresqlTriggers

            return PostgresqlTriggers(name)
        return None

    def space(self, table: TableName) -> Sql | None:
        return sql(
            "SELECT pg_total_relation_size(c.oid) FROM pg_class AS c\n"
            "JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
            "WHERE n.nspname = {schema} AND c.relname = {name}",
            schema=Literal(table.schema or self.default_schema),
            name=Literal(table.name),
        )

    def declare(self, column: Column) -> Column:
        return types.declare(column)

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        """The server cuts longer names without an error."""
        too_long = [name for name in names if len(name.encode()) > LONGEST_NAME]
        return dict.fromkeys(too_long, f"longer than {LONGEST_NAME} bytes")

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        parts: list[Part] = [_definition(column) for column in columns]
        if key:
            parts.append(sql("PRIMARY KEY ({columns})", columns=names(key)))
        statements = [
            sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(name.schema)),
            sql("CREATE TABLE {table} ({parts})", table=Name.of(name), parts=parts),
        ]
        if index_on and tuple(key[:1]) != (index_on,):
            statements.append(sql("CREATE INDEX ON {table} ({column})", table=Name.of(name), column=Name.of(index_on)))
        return statements[1:] if name.schema == self.default_schema else statements

    def in_partitions(self, table: TableName, statements: Sequence[Sql], column: str, parts: int) -> list[Sql]:
        *before, create = statements
        divided = sql("{create} PARTITION BY HASH ({column})", create=create, column=Name.of(column))
        partitions = [
            sql(
                "CREATE TABLE {partition} PARTITION OF {table} FOR VALUES WITH (MODULUS {parts}, REMAINDER {number})",
                partition=Name.of(TableName(table.schema, f"{table.name[: LONGEST_NAME - 5]}_p{number}")),
                table=Name.of(table),
                parts=Literal(parts),
                number=Literal(number),
            )
            for number in range(parts)
        ]
        return [*before, divided, *partitions]

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD COLUMN {name} bigint GENERATED ALWAYS AS IDENTITY UNIQUE",
            table=Name.of(table),
            name=Name.of(name),
        )

    def snapshot_archive(self) -> ArchiveSql:
        return PostgresqlArchive()

    def stage_name(self) -> TableName:
        return TableName("pg_temp", f"tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        return create_stage(stage, table, columns)

    def drop_stage(self, stage: TableName) -> Sql:
        return sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage))

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        login = Name.of(self.connection.user or "the_login")
        schemas = sorted({table.schema for table in tables})
        return [
            *(
                sql("GRANT USAGE ON SCHEMA {schema} TO {login}", schema=Name.of(schema), login=login)
                for schema in schemas
            ),
            *(sql("GRANT SELECT ON {table} TO {login}", table=Name.of(table), login=login) for table in tables),
        ]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """A login owns the tables that it creates. An existing table must belong to the login to be altered."""
        login = Name.of(self.connection.user or "the_login")
        schemas = sorted({table.schema for table in tables})
        return [
            sql(
                "GRANT CREATE, TEMPORARY ON DATABASE {place} TO {login}",
                place=Name.of(self.connection.database),
                login=login,
            ),
            *(
                sql("GRANT USAGE, CREATE ON SCHEMA {schema} TO {login}", schema=Name.of(schema), login=login)
                for schema in schemas
            ),
            *(self._grant_if_exists(table, login, updates=table in updated) for table in tables),
        ]

    def _grant_if_exists(self, table: TableName, login: Name, *, updates: bool) -> Sql:
        """A table that does not exist yet will belong to the login that creates it, and needs no grant."""
        rights = raw("SELECT, INSERT, UPDATE, DELETE" if updates else "SELECT, INSERT, DELETE")
        grant = sql("GRANT {rights} ON {table} TO {login}", rights=rights, table=Name.of(table), login=login)
        name = Literal(self.render(sql("{table}", table=Name.of(table))))
        body = sql("BEGIN IF to_regclass({name}) IS NOT NULL THEN {grant}; END IF; END", name=name, grant=grant)
        return sql("DO {body}", body=Literal(self.render(body)))

    def add_column(self, table: TableName, column: Column) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD COLUMN {column} {type}",
            table=Name.of(table),
            column=Name.of(column.name),
            type=raw(column.type),
        )

    def widen_column(self, table: TableName, column: Column) -> Sql:
        return sql(
            "ALTER TABLE {table} ALTER COLUMN {column} TYPE {type}",
            table=Name.of(table),
            column=Name.of(column.name),
            type=raw(column.type),
        )


def _definition(column: Column) -> Sql:
    ending = "" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))
