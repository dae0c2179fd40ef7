"""SQL Server 2016 and later, as source and as target; also Managed Instance and Azure SQL Database.

Microsoft's driver reads rows as Arrow batches. Its bulk copy writes rows into a staging table, and one INSERT ...
SELECT moves them into the target inside the transaction that writes the ledger row. docs/proved.md tells what was
tested on a compatible server and what rests on Microsoft's documentation alone.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tidegate.databases.sqlserver import structure, transactions, types
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.snapshots import procedures
from tidegate.databases.sqlserver.statements import create_stage
from tidegate.errors import Unsupported
from tidegate.interfaces import Capabilities, Database, Session
from tidegate.interfaces.archive import Migration
from tidegate.model.columns import Column, TableSchema
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.model.types import type_fit
from tidegate.model.values import ValueKind
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, names, raw, sql

if TYPE_CHECKING:
    from tidegate.interfaces.feed import Feed

LONGEST_NAME = 128
LONGEST_CLUSTERED_KEY, LONGEST_KEY = 900, 1700
SECONDS_TO_CONNECT = 15
MILLISECONDS_TO_LOCK = 300_000

# The driver's keywords for the options of `config/urls/sqlserver.py`.
_KEYWORDS = {
    "encrypt": "Encrypt",
    "trust_server_certificate": "TrustServerCertificate",
    "hostname_in_certificate": "HostnameInCertificate",
    "server_certificate": "ServerCertificate",
    "application_intent": "ApplicationIntent",
    "multi_subnet_failover": "MultiSubnetFailover",
    "packet_size": "PacketSize",
    "server_spn": "ServerSPN",
    "connect_retry_count": "ConnectRetryCount",
    "connect_retry_interval": "ConnectRetryInterval",
}


_NUMBERS = (
    {"bit", "tinyint", "smallint", "int", "bigint"},
    {"decimal", "numeric"},
    {"smallmoney", "money"},
)
"""Groups of types that ALTER COLUMN converts without loss."""
_REPLACES, _CHANGES = "SELECT, INSERT, DELETE, ALTER", "SELECT, INSERT, UPDATE, DELETE, ALTER"


class SqlServer(Database):
    """SQL Server through mssql-python, Microsoft's driver."""

    kind = "sqlserver"
    statement_end = "\nGO"
    label = "SQL Server"
    capabilities = Capabilities(
        transactional_ddl=True,
        enforced_keys=True,
        session_locks=True,
        streams_into_transaction=False,  # a bulk copy opens a connection of its own, see stage.py
        exported_snapshots=False,
        read_only_sessions=False,  # the session refuses writes by itself
        native_partitions=True,
        row_versions=True,
        bulk_from_files=False,
        schemas_are_databases=False,
        updates_identity=False,
        surrogate_keys=True,
        alters_columns=True,
    )
    dialect = DIALECT

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        try:
            from tidegate.databases.sqlserver.session import SqlServerSession
        except (ImportError, OSError) as problem:
            raise Unsupported(
                f"Microsoft's driver for SQL Server cannot be loaded: {problem}.",
                "Nothing was read or written.",
                "Install what it needs (Debian, Ubuntu: apt-get install libltdl7 libkrb5-3 libgssapi-krb5-2).",
            ) from None
        options = dict(self.connection.options)
        if "keytab" in options:  # Kerberos finds the keytab of a job by this variable, also on an executor
            os.environ["KRB5_CLIENT_KTNAME"] = options["keytab"]
        return SqlServerSession(
            self,
            self._login(),
            purpose,
            read_only=read_only,
            login_timeout=int(options.get("login_timeout", SECONDS_TO_CONNECT)),
            query_timeout=query_timeout or float(options.get("query_timeout", 0)),
            lock_timeout=int(options.get("lock_timeout", MILLISECONDS_TO_LOCK)),
        )

    def _login(self) -> str:
        """Return the driver's connection string, every value in braces."""
        place, options = self.connection, dict(self.connection.options)
        instance, authentication = options.get("instance", ""), options.get("authentication", "")
        server = f"{place.host}\\{instance}" if instance else place.host
        settings = {
            "Server": f"{server},{place.port}" if place.port else server,
            "Database": place.database,
            "UID": place.user,
            "PWD": place.password,
            **{keyword: options.get(option, "") for option, keyword in _KEYWORDS.items()},
        }
        if authentication == "windows":
            settings["Trusted_Connection"] = "yes"
        elif authentication:
            settings["Authentication"] = authentication
        return ";".join(f"{keyword}={_braced(value)}" for keyword, value in settings.items() if value)

    @property
    def default_schema(self) -> str:
        return "dbo"

    def own_table(self, name: str) -> TableName:
        return TableName("tidegate", name)

    def feed(self, kind: str, name: str) -> Feed | None:
        from tidegate.databases.sqlserver.feeds.cdc import CdcTables
        from tidegate.databases.sqlserver.feeds.change_tracking import ChangeTracking
        from tidegate.databases.sqlserver.feeds.triggers import SqlServerTriggers

        feeds: dict[str, Feed] = {
            "cdc": CdcTables(),
            "change_tracking": ChangeTracking(),
            "triggers": SqlServerTriggers(name),
        }
        return feeds.get(kind)

    def value_kind(self, column: Column) -> ValueKind | None:
        return types.value_kind(column)

    def clock_query(self, cursor: Column) -> Sql | None:
        """Times without an offset are in the server's time zone. For a row version, the greatest one that is safe to
        read: no open transaction can still commit a smaller one (MIN_ACTIVE_ROWVERSION)."""
        if types.base_type(cursor.type) in ("timestamp", "rowversion"):
            return sql("SELECT CONVERT(nvarchar(20), CONVERT(bigint, MIN_ACTIVE_ROWVERSION()) - 1)")
        if cursor.logical_type.family not in ("timestamp", "ticks", "minutes", "date"):
            return None
        local_time = raw("GETDATE()" if cursor.logical_type.family == "ticks" else "SYSDATETIME()")
        now = sql("CONVERT({type}, {time})", type=raw(cursor.type), time=local_time)
        return sql("SELECT {now}", now=AsText(now, cursor.type))

    def change_counter(self, schema: TableSchema) -> Column | None:
        found = [column for column in schema.columns if types.base_type(column.type) in ("timestamp", "rowversion")]
        return found[0] if found else None

    def open_transactions(self, table: TableName) -> Sql | None:
        return transactions.open_transactions(table)

    def space(self, table: TableName) -> Sql | None:
        # Needs no right to see the state of the database, unlike sys.dm_db_partition_stats.
        return sql(
            "SELECT SUM(a.total_pages) * 8192 FROM sys.partitions AS p\n"
            "JOIN sys.allocation_units AS a ON a.container_id = p.partition_id\n"
            "JOIN sys.tables AS t ON t.object_id = p.object_id\n"
            "WHERE SCHEMA_NAME(t.schema_id) = {schema} AND t.name = {name}",
            schema=Literal(table.schema or self.default_schema),
            name=Literal(table.name),
        )

    def declare(self, column: Column) -> Column:
        return types.declare(column)

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        # Names that differ in case only are refused: most databases are not case-sensitive.
        folded = Counter(name.casefold() for name in names)
        return {name: problem for name in names if (problem := _name_problem(name, folded))}

    def fits(self, source: Column, target: Column) -> str:
        verdict = super().fits(source, target)
        if verdict == "widen" and target.identity:
            return f"{target.name} is {target.type} in the target, narrower than {source.type}, and an identity column"
        capacity = types.MONEY_CAPACITY.get(types.base_type(target.type))
        if verdict == "wider" and capacity is not None and type_fit(capacity, source.logical_type) == "widen":
            return f"{target.name} is {target.type} in the target, which cannot store every {source.type}"
        return verdict

    def widening_problem(self, source: Column, target: Column, schema: TableSchema) -> str:
        """ALTER COLUMN replaces the whole type: with another code page, characters would be lost without an error.

        The server refuses it for a key column, for an indexed column unless texts or bytes only get longer, and for a
        column with a default unless the type stays."""
        declared = self.declare(source)
        is_same = (types.base_type(declared.type), declared.collation) == (
            types.base_type(target.type),
            target.collation,
        )
        narrower = f"{target.name} is {target.type} in the target, narrower than {source.type}"
        if not is_same and not any(
            {types.base_type(declared.type), types.base_type(target.type)} <= kinds for kinds in _NUMBERS
        ):
            return f"{narrower}, and of another type or collation"
        if target.name in schema.primary_key:
            return f"{narrower}, and part of its primary key"
        grows = is_same and types.base_type(target.type) in ("varchar", "nvarchar", "varbinary")
        if not grows and any(target.name in index for index in (*schema.indexes, *schema.unique_keys)):
            return f"{narrower}, and in an index"
        return f"{narrower}, and has a default" if target.has_default and not is_same else ""

    def create_schema(self, table: TableName) -> list[Sql]:
        """Return the statement that creates the schema of a table if it does not exist; none for the default schema.

        CREATE SCHEMA must be the first statement of its batch: EXEC makes it that."""
        if table.schema == self.default_schema:
            return []
        create = self.render(sql("CREATE SCHEMA {schema}", schema=Name.of(table.schema)))
        return [
            sql("IF SCHEMA_ID({schema}) IS NULL EXEC({create})", schema=Literal(table.schema), create=Literal(create)),
        ]

    def ignored_by_collation(self, collation: str) -> str:
        """`Latin1_General_CI_AS` ignores case, `Latin1_General_CS_AI` accents; `BIN2` ignores neither."""
        words = collation.upper().split("_")
        return " and ".join(word for part, word in (("CI", "case"), ("AI", "accents")) if part in words)

    def set_default(self, table: TableName, column: str, expression: str) -> Sql | None:
        return sql(
            "ALTER TABLE {table} ADD DEFAULT {expression} FOR {column}",
            table=Name.of(table),
            column=Name.of(column),
            expression=raw(expression),
        )

    can_bypass_triggers = True

    def deferral(self, keys: Sequence[ForeignKey]) -> tuple[str, str]:
        foreign = [f"{key.name} of {key.table}" for key in keys if not key.may_alter]
        if foreign:
            return "", f"this login needs ALTER on the tables to set their constraints aside: {', '.join(foreign)}"
        untrusted = [f"{key.name} of {key.table}" for key in keys if not key.is_validated]
        if untrusted:
            remedy = f"run ALTER TABLE ... WITH CHECK CHECK CONSTRAINT for {', '.join(untrusted)}"
            return "", f"constraints that are not trusted would have to be checked as a whole: {remedy}"
        return "with their foreign keys checked by the server at its end; readers wait until it ends", ""

    def comment(self, table: TableName, column: str, text: str) -> Sql | None:
        return structure.comment(table, column, text)

    def index_problem(self, columns: Sequence[Column]) -> str:
        if sum(map(_key_bytes, columns)) > LONGEST_KEY:
            return f"its columns are longer than the {LONGEST_KEY:,} bytes that a key can have"
        return ""

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        by_name = {column.name: column for column in columns}
        parts: list[Part] = [_definition(column) for column in columns]
        size = sum(_key_bytes(by_name[part]) for part in key)
        # Rows of one value lie together: a heap would keep the empty pages of rows that were replaced.
        has_index = bool(index_on) and tuple(key[:1]) != (index_on,)
        is_clustered = has_index and _key_bytes(by_name[index_on]) <= LONGEST_CLUSTERED_KEY
        # SQL Server has no key over texts without a length. The rows are the same without the key.
        if key and size <= LONGEST_KEY:
            kind = raw("CLUSTERED" if size <= LONGEST_CLUSTERED_KEY and not is_clustered else "NONCLUSTERED")
            parts.append(sql("PRIMARY KEY {kind} ({columns})", kind=kind, columns=names(key)))
        statements = self.create_schema(name)
        statements.append(sql("CREATE TABLE {table} ({parts})", table=Name.of(name), parts=parts))
        if has_index and _key_bytes(by_name[index_on]) <= LONGEST_KEY:
            statements.append(
                sql(
                    "CREATE {kind} INDEX {index} ON {table} ({column})",
                    kind=raw("CLUSTERED" if is_clustered else "NONCLUSTERED"),
                    index=Name.of(f"ix_{index_on}"[:LONGEST_NAME]),
                    table=Name.of(name),
                    column=Name.of(index_on),
                )
            )
        return statements

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD {name} bigint IDENTITY(1, 1) NOT NULL UNIQUE",
            table=Name.of(table),
            name=Name.of(name),
        )

    def snapshot_procedures(self, table: TableName, register: TableName, suffix: str) -> tuple[Migration, ...]:
        return procedures(table, register, suffix)

    def stage_name(self) -> TableName:
        return TableName("", f"#tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        return create_stage(stage, table, columns)

    def drop_stage(self, stage: TableName) -> Sql:
        return sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage))

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        return [self._grant("SELECT, VIEW DEFINITION", table) for table in tables]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """A load needs ALTER for IDENTITY_INSERT, and to add and widen columns."""
        login, own = self._grantee, Name.of(self.own_table("").schema)
        schemas = sorted({table.schema for table in tables})
        return [
            *(
                statement
                for schema in (self.own_table("").schema, *schemas)
                for statement in self.create_schema(TableName(schema, ""))
            ),
            sql("GRANT {rights} ON SCHEMA::{own} TO {login}", rights=raw(_CHANGES), own=own, login=login),
            sql("GRANT CREATE TABLE TO {login}", login=login),
            *(
                # A table belongs to the owner of its schema, not to the login that creates it.
                sql(
                    "IF OBJECT_ID({name}) IS NOT NULL GRANT {rights} ON OBJECT::{table} TO {login}"
                    " ELSE GRANT {rights} ON SCHEMA::{schema} TO {login}",
                    name=Literal(self.render(sql("{table}", table=Name.of(table)))),
                    rights=raw(_CHANGES if table in updated else _REPLACES),
                    table=Name.of(table),
                    schema=Name.of(table.schema),
                    login=login,
                )
                for table in tables
            ),
        ]

    def optional_grants(self, *, writes: bool) -> dict[str, Sql]:
        """Rights of the server are granted to a login, from the database master. The right that shows the log's space
        has another name since 2022 (sys.dm_db_log_space_usage). Azure SQL Database has no such rights."""
        login = self._grantee
        found = {"to see every security policy and foreign key": sql("GRANT VIEW DEFINITION TO {login}", login=login)}
        if not writes:
            return {**found, "to copy masked columns unmasked": sql("GRANT UNMASK TO {login}", login=login)}
        grants = [
            Literal(self.render(sql("GRANT {right} TO {login}", right=raw(right), login=login)))
            for right in ("VIEW DATABASE STATE", "VIEW SERVER PERFORMANCE STATE", "VIEW SERVER STATE")
        ]
        statement = sql(
            "IF SERVERPROPERTY('EngineEdition') = 5 EXEC sys.sp_executesql {on_azure}\n"
            "ELSE IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 16 EXEC master.sys.sp_executesql {newer}\n"
            "ELSE EXEC master.sys.sp_executesql {older}",
            on_azure=grants[0],
            newer=grants[1],
            older=grants[2],
        )
        return {**found, "to see how much space the log has": statement}

    @property
    def _grantee(self) -> Name:
        return Name.of(self.connection.user or "the_login")

    def _grant(self, rights: str, table: TableName) -> Sql:
        return sql(
            "GRANT {rights} ON OBJECT::{table} TO {login}",
            rights=raw(rights),
            table=Name.of(table),
            login=self._grantee,
        )

    def add_column(self, table: TableName, column: Column) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD {column} {type} NULL",
            table=Name.of(table),
            column=Name.of(column.name),
            type=raw(column.type),
        )

    def widen_column(self, table: TableName, column: Column) -> Sql:
        return sql("ALTER TABLE {table} ALTER COLUMN {column}", table=Name.of(table), column=_definition(column))


def _definition(column: Column) -> Sql:
    # NULL is written, too: the default depends on settings of the session and the database.
    ending = " NULL" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


def _name_problem(name: str, folded: Counter[str]) -> str:
    if len(name.encode("utf-16-le")) > LONGEST_NAME * 2:
        return f"longer than {LONGEST_NAME} characters"
    return "equal to another name except for case" if folded[name.casefold()] > 1 else ""


def _key_bytes(column: Column) -> int:
    """Return the bytes that a column takes of an index; more than an index can have if it cannot be indexed."""
    if types.base_type(column.type) not in (*types.CHARACTERS, "varbinary", "binary", "xml", "json"):
        return 17
    # Texts of another database were declared twice as long as they usually are (`types.py`).
    is_doubled = column.collation == types.COLLATION
    width = 1 if is_doubled or column.logical_type.family in ("binary", "padded") else 2
    return column.logical_type.size * width if column.logical_type.size else LONGEST_KEY + 1


def _braced(value: str) -> str:
    return "{" + value.replace("}", "}}") + "}"
