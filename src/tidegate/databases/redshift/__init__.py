"""Amazon Redshift, provisioned or serverless, as target.

Rows are loaded by COPY of the lake's own Parquet files in S3, into a temporary table, and from there in the transaction
that writes the ledger row. Statements go over PostgreSQL's protocol.
"""

from __future__ import annotations

import copy
import os
import re
import socket
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from tidegate.databases.redshift import types
from tidegate.databases.redshift.copying import without_store
from tidegate.databases.redshift.dialect import DIALECT
from tidegate.databases.redshift.statements import create_stage, definition
from tidegate.errors import Unsupported
from tidegate.interfaces import Capabilities, Database, Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection, canonical_host
from tidegate.model.names import TableName
from tidegate.model.values import ValueKind
from tidegate.sql.text import Literal, Name, Part, Sql, names, raw, sql

if TYPE_CHECKING:
    from tidegate.interfaces.stored_files import ObjectStore

LONGEST_NAME = 127
_SORT_KEY = re.compile(r' SORTKEY \("(?:[^"]|"")*"\)\Z')
# What tells Tidegate where and how to log in and to copy; everything else in the options is libpq's.
OWN_OPTIONS = ("iam", "iam_role", "cluster", "workgroup", "region", "iam_endpoint", "profile")


class Redshift(Database):
    """Amazon Redshift through libpq and COPY from S3."""

    kind = "redshift"
    label = "Redshift"
    capabilities = Capabilities(
        transactional_ddl=False,  # a column's type cannot be altered inside of a transaction
        enforced_keys=False,
        session_locks=True,
        streams_into_transaction=False,
        exported_snapshots=False,
        read_only_sessions=False,
        native_partitions=False,
        row_versions=False,
        bulk_from_files=True,
        schemas_are_databases=False,
        updates_identity=False,
        surrogate_keys=True,
        alters_columns=True,
    )
    dialect = DIALECT
    is_source = False
    folds_names = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.store: ObjectStore | None = None
        """Where files are put that COPY is to load."""

    def loading_from(self, store: ObjectStore | None) -> Redshift:
        if store is None:
            raise without_store(self.label)
        loading = copy.copy(self)
        loading.store = store
        return loading

    @property
    def iam_role(self) -> str:
        """Return the role that COPY reads the bucket with; `default` is the cluster's default role."""
        return dict(self.connection.options).get("iam_role", "default")

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        from tidegate.databases.redshift.session import RedshiftSession

        return RedshiftSession(self, self._arguments(purpose), query_timeout=query_timeout)

    def _arguments(self, purpose: str) -> dict[str, Any]:
        place, options = self.connection, dict(self.connection.options)
        user, password = place.user, place.password
        if options.get("iam") == "true":
            from tidegate.databases.redshift.credentials import temporary_login

            user, password = temporary_login(place)
        is_here = canonical_host(place.host) == "localhost"
        settings = {
            "host": place.host,
            "port": place.port,
            "dbname": place.database,
            "user": user,
            "password": password,
            "application_name": f"tidegate {purpose} {socket.gethostname()[:24]}:{os.getpid()}"[:63],
            "client_encoding": "UTF8",
            "gssencmode": "disable",
            "sslmode": "prefer" if is_here else "require",
            "connect_timeout": 20,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 6,
        }
        libpq = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
        chosen = {key: value for key, value in {**settings, **libpq}.items() if value not in (None, "")}
        # PGHOSTADDR could lead to another server than the host that was checked; an empty address overrides it.
        return {"hostaddr": "", **chosen}

    @property
    def default_schema(self) -> str:
        return "public"

    def own_table(self, name: str) -> TableName:
        return TableName("tidegate", name)

    def value_kind(self, column: Column) -> ValueKind | None:
        return types.value_kind(column)

    def clock_query(self, cursor: Column) -> Sql | None:
        if cursor.logical_type.family not in ("instant", "timestamp", "date"):
            return None
        return sql("SELECT CAST(CAST(SYSDATE AS {type}) AS character varying(50))", type=raw(cursor.type))

    # The passport of a table: what does not fit is named before a row moves

    def declare(self, column: Column) -> Column:
        return types.declare(column)

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        """Names are folded to lower case, and longer ones are cut without an error."""
        folded = Counter(name.lower() for name in names)
        found = {name: f"longer than {LONGEST_NAME} bytes" for name in names if len(name.encode()) > LONGEST_NAME}
        found |= {name: "equal to another name except for case" for name in names if folded[name.lower()] > 1}
        return found

    def refused_types(self, columns: Sequence[Column]) -> dict[str, str]:
        return {column.name: why for column in columns if (why := types.refusal(column))}

    def cautions(self, columns: Sequence[Column]) -> tuple[str, ...]:
        found = [text for column in columns if (text := types.caution(column))]
        if not found:
            return ()
        return (f"longer values than Redshift's types take would be refused before the load: {', '.join(found)}",)

    def widening_problem(self, source: Column, target: Column, schema: TableSchema) -> str:
        """Only VARCHAR can be widened, and not where a key or a default needs the column."""
        narrower = f"{target.name} is {target.type} in the target, narrower than {source.type}"
        if not target.type.startswith("character varying"):
            return f"{narrower}, and Redshift alters the size of VARCHAR alone"
        in_key = any(target.name in key for key in (schema.primary_key, *schema.unique_keys))
        if in_key or target.has_default:
            return f"{narrower}, and {'in a key' if in_key else 'with a default'} Redshift does not alter it"
        return ""

    # DDL

    def index_problem(self, columns: Sequence[Column]) -> str:
        return "Redshift has no indexes"

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        """The key is declared for the planner and for people; `index_on` becomes the sort key."""
        parts: list[Part] = [definition(column) for column in columns]
        if key:
            parts.append(sql("PRIMARY KEY ({columns})", columns=names(key)))
        table = sql("CREATE TABLE {table} ({parts})", table=Name.of(name), parts=parts)
        if index_on:
            table = sql("{table} SORTKEY ({column})", table=table, column=Name.of(index_on))
        if name.schema == self.default_schema:
            return [table]
        return [sql("CREATE SCHEMA IF NOT EXISTS {schema}", schema=Name.of(name.schema)), table]

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        raise Unsupported(
            f"{self.label} cannot add a column that numbers the rows to {table}, which is there already.",
            "Nothing was written.",
            "Create the table with the column, or leave out `surrogate_key`.",
        )

    def numbered(self, statements: Sequence[str], table: TableName, name: str) -> tuple[str, ...]:
        """A column with an identity cannot be added: the CREATE TABLE gets it as its first column."""
        begin = self.render(sql("CREATE TABLE {table} (", table=Name.of(table)))
        column = self.render(sql("{name} bigint IDENTITY(1,1), ", name=Name.of(name)))
        return tuple(statement.replace(begin, begin + column, 1) for statement in statements)

    def laid_out(
        self, statements: Sequence[str], table: TableName, distribution: str, sort_keys: Sequence[str]
    ) -> tuple[str, ...]:
        """Give the CREATE TABLE its distribution (`all`, `even`, `auto`, or a column) and its sort keys."""
        begin = self.render(sql("CREATE TABLE {table} (", table=Name.of(table)))
        ending = self.render(_distribution(distribution))
        sorted_by = self.render(sql(" SORTKEY ({columns})", columns=names(sort_keys))) if sort_keys else ""
        chosen = []
        for statement in statements:
            if statement.startswith(begin):
                by_default = _SORT_KEY.search(statement)
                plain = statement[: by_default.start()] if by_default else statement
                statement = plain + ending + (sorted_by or (by_default[0] if by_default else ""))
            chosen.append(statement)
        return tuple(chosen)

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

    def stage_name(self) -> TableName:
        """A temporary table has a schema that the server chooses: it is known by its name alone."""
        return TableName("", f"tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        return create_stage(stage, columns)

    def drop_stage(self, stage: TableName) -> Sql:
        return sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage))

    # Rights

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        login = self._login
        schemas = sorted({table.schema for table in tables})
        return [
            *(sql("GRANT USAGE ON SCHEMA {schema} TO {login}", schema=Name.of(each), login=login) for each in schemas),
            *(sql("GRANT SELECT ON TABLE {table} TO {login}", table=Name.of(each), login=login) for each in tables),
        ]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """A login owns what it creates. An existing table must belong to it to be altered."""
        login = self._login
        schemas = sorted({table.schema for table in tables})
        grants = [
            sql(
                "GRANT CREATE, TEMP ON DATABASE {place} TO {login}",
                place=Name.of(self.connection.database),
                login=login,
            ),
            *(
                sql("GRANT USAGE, CREATE ON SCHEMA {schema} TO {login}", schema=Name.of(each), login=login)
                for each in schemas
            ),
            *(
                sql(
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {login}",
                    schema=Name.of(each),
                    login=login,
                )
                for each in schemas
            ),
        ]
        if self.iam_role != "default":
            grants.append(
                sql("GRANT ASSUMEROLE ON {role} TO {login} FOR COPY", role=Literal(self.iam_role), login=login)
            )
        return grants

    def notes_on_rights(self) -> tuple[str, ...]:
        place = self.store.full_path("") if self.store is not None else "s3://bucket/prefix/"
        bucket, _, prefix = place.removeprefix("s3://").partition("/")
        return (
            f"The IAM role {self.iam_role} of the cluster needs s3:GetObject on arn:aws:s3:::{bucket}/{prefix}*"
            f" and s3:ListBucket on arn:aws:s3:::{bucket}. Bucket and cluster must be in one region.",
            f"Tidegate itself needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket below {place}",
        )

    @property
    def _login(self) -> Name:
        return Name.of(self.connection.user or "the_login")


def _distribution(chosen: str) -> Sql:
    if not chosen:
        return raw("")
    if chosen.lower() in ("all", "even", "auto"):
        return raw(f" DISTSTYLE {chosen.upper()}")
    return sql(" DISTSTYLE KEY DISTKEY ({column})", column=Name.of(chosen))
