"""PostgreSQL 14 and later, as source and as target.

Rows leave and arrive by COPY. All tasks of one extraction read the same exported snapshot, and a load streams inside
the transaction that writes its ledger row.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Collection, Sequence
from typing import Any

from tidegate.databases.postgresql import types
from tidegate.databases.postgresql.dialect import DIALECT
from tidegate.databases.postgresql.statements import create_stage
from tidegate.interfaces import Database, Feature, Session
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.values import Kind
from tidegate.sql.text import Literal, Name, Part, Sql, names, raw, sql

LONGEST_NAME = 63


class Postgresql(Database):
    """PostgreSQL through psycopg and COPY."""

    kind = "postgresql"
    label = "PostgreSQL"
    features = frozenset({Feature.EXPORTED_SNAPSHOT})
    dialect = DIALECT

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        from tidegate.databases.postgresql.session import PostgresqlSession

        arguments = self._arguments(purpose)
        return PostgresqlSession(self, arguments, read_only=read_only, query_timeout=query_timeout)

    def _arguments(self, purpose: str) -> dict[str, Any]:
        place = self.connection
        given = {
            "host": place.host,
            "port": place.port,
            "dbname": place.database,
            "user": place.user,
            "password": place.password,
            # Whoever looks at the server sees which program on which machine this is; 63 bytes at most.
            "application_name": f"tidegate {purpose} {socket.gethostname()[:24]}:{os.getpid()}"[:63],
            "connect_timeout": 10,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 6,
        }
        named = {key: value for key, value in {**given, **dict(place.options)}.items() if value not in (None, "")}
        # PGHOSTADDR would lead elsewhere than the host that was checked; an empty address keeps it out.
        return {"hostaddr": "", **named}

    @property
    def default_schema(self) -> str:
        return "public"

    def own_table(self, name: str) -> TableName:
        return TableName("tidegate", name)

    def partition_kind(self, column: Column) -> Kind | None:
        return types.partition_kind(column)

    def clock(self, mark: Column) -> Sql | None:
        """A time without a zone is that of the server, whatever ours is set to."""
        there = sql("now() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')")
        moment = {"instant": sql("now()"), "timestamp": there, "date": there}.get(mark.holds.family)
        if moment is None:
            return None
        return sql("SELECT CAST(CAST({moment} AS {type}) AS text)", moment=moment, type=raw(mark.type))

    def declare(self, column: Column) -> Column:
        return types.declare(column)

    def refused_names(self, names: Sequence[str]) -> dict[str, str]:
        """The server itself would cut them without an error."""
        long = [name for name in names if len(name.encode()) > LONGEST_NAME]
        return dict.fromkeys(long, f"longer than {LONGEST_NAME} bytes")

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

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD COLUMN {name} bigint GENERATED ALWAYS AS IDENTITY UNIQUE",
            table=Name.of(table),
            name=Name.of(name),
        )

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
            *(sql("GRANT USAGE ON SCHEMA {schema} TO {login}", schema=Name.of(one), login=login) for one in schemas),
            *(sql("GRANT SELECT ON {table} TO {login}", table=Name.of(one), login=login) for one in tables),
        ]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """Of a table that it creates a login is the owner; one that was there must belong to it to be altered."""
        login = Name.of(self.connection.user or "the_login")
        schemas = sorted({table.schema for table in tables})
        return [
            sql(
                "GRANT CREATE, TEMPORARY ON DATABASE {place} TO {login}",
                place=Name.of(self.connection.database),
                login=login,
            ),
            *(
                sql("GRANT USAGE, CREATE ON SCHEMA {schema} TO {login}", schema=Name.of(one), login=login)
                for one in schemas
            ),
            *(self._grant_if_there(table, login, updates=table in updated) for table in tables),
        ]

    def _grant_if_there(self, table: TableName, login: Name, *, updates: bool) -> Sql:
        """A table that is created later belongs to whoever creates it."""
        rights = raw("SELECT, INSERT, UPDATE, DELETE" if updates else "SELECT, INSERT, DELETE")
        grant = sql("GRANT {rights} ON {table} TO {login}", rights=rights, table=Name.of(table), login=login)
        name = Literal(self.text_of(sql("{table}", table=Name.of(table))))
        body = sql("BEGIN IF to_regclass({name}) IS NOT NULL THEN {grant}; END IF; END", name=name, grant=grant)
        return sql("DO {body}", body=Literal(self.text_of(body)))

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
