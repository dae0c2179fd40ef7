"""SQL Server 2016 and later, as source and as target: the box, Managed Instance and Azure SQL Database.

Rows leave as Arrow batches of Microsoft's own driver and arrive by its bulk copy, in a stage of their own; one INSERT
... SELECT takes them over in the transaction that writes the ledger row. What a compatible server can show of this and
what rests on Microsoft's documentation alone is told in docs/proved.md.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Collection, Sequence

from tidegate.databases.sqlserver import types
from tidegate.databases.sqlserver.dialect import DIALECT
from tidegate.databases.sqlserver.statements import create_stage
from tidegate.errors import Unsupported
from tidegate.interfaces import Database, Session
from tidegate.model.columns import Column, Shape
from tidegate.model.names import TableName
from tidegate.model.types import takes
from tidegate.model.values import Kind
from tidegate.sql.text import AsText, Literal, Name, Part, Sql, names, raw, sql

LONGEST_NAME = 128
LONGEST_CLUSTERED_KEY, LONGEST_KEY = 900, 1700
SECONDS_TO_CONNECT = 15
MILLISECONDS_TO_LOCK = 300_000

# How the driver calls the options of `config/urls/sqlserver.py`.
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
"""Types that become each other without a loss."""
_REPLACES, _CHANGES = "SELECT, INSERT, DELETE, ALTER", "SELECT, INSERT, UPDATE, DELETE, ALTER"


class SqlServer(Database):
    """SQL Server through mssql-python, Microsoft's driver."""

    kind = "sqlserver"
    label = "SQL Server"
    features = frozenset()
    dialect = DIALECT
    updates_identity = False

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
        if "keytab" in options:  # where Kerberos looks for the keys of a job, also on an executor
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
        """In the driver's own form: its few keywords, every value in braces."""
        place, options = self.connection, dict(self.connection.options)
        instance, authentication = options.get("instance", ""), options.get("authentication", "")
        server = f"{place.host}\\{instance}" if instance else place.host
        said = {
            "Server": f"{server},{place.port}" if place.port else server,
            "Database": place.database,
            "UID": place.user,
            "PWD": place.password,
            **{keyword: options.get(option, "") for option, keyword in _KEYWORDS.items()},
        }
        if authentication == "windows":
            said["Trusted_Connection"] = "yes"
        elif authentication:
            said["Authentication"] = authentication
        return ";".join(f"{keyword}={_braced(value)}" for keyword, value in said.items() if value)

    @property
    def default_schema(self) -> str:
        return "dbo"

    def own_table(self, name: str) -> TableName:
        return TableName("tidegate", name)

    def partition_kind(self, column: Column) -> Kind | None:
        return types.partition_kind(column)

    def clock(self, mark: Column) -> Sql | None:
        """A time without an offset is that of the server. Of row versions those count below which no open transaction
        can still write: they are handed out before they are committed."""
        if types.bare(mark.type) in ("timestamp", "rowversion"):
            return sql("SELECT CONVERT(nvarchar(20), CONVERT(bigint, MIN_ACTIVE_ROWVERSION()) - 1)")
        if mark.holds.family not in ("timestamp", "ticks", "minutes", "date"):
            return None
        there = raw("GETDATE()" if mark.holds.family == "ticks" else "SYSDATETIME()")
        now = sql("CONVERT({type}, {there})", type=raw(mark.type), there=there)
        return sql("SELECT {now}", now=AsText(now, mark.type))

    def declare(self, column: Column) -> Column:
        return types.declare(column)

    def refused_names(self, names: Sequence[str]) -> dict[str, str]:
        # A database that minds case would take both; one that does not, which most are, would not.
        folded = Counter(name.casefold() for name in names)
        return {name: why for name in names if (why := _why_not(name, folded))}

    def fits(self, source: Column, target: Column) -> str:
        verdict = super().fits(source, target)
        if verdict == "widen" and target.identity:
            return f"{target.name} is {target.type} in the target, narrower than {source.type}, and an identity there"
        room = types.ROOM.get(types.bare(target.type))
        if verdict == "wider" and room is not None and takes(room, source.holds) == "widen":
            return f"{target.name} is {target.type} in the target, where not every {source.type} has room"
        return verdict

    def why_not_widened(self, source: Column, target: Column, shape: Shape) -> str:
        """ALTER COLUMN says the whole type anew: with another code page characters would be lost in silence. Under a
        key it is refused, under an index unless a text or bytes only grow, and with a default unless the type stays."""
        wished = self.declare(source)
        is_same = (types.bare(wished.type), wished.collation) == (types.bare(target.type), target.collation)
        told = f"{target.name} is {target.type} in the target, narrower than {source.type}"
        if not is_same and not any({types.bare(wished.type), types.bare(target.type)} <= kinds for kinds in _NUMBERS):
            return f"{told}, and of another type or collation"
        if target.name in shape.primary_key:
            return f"{told}, and part of its primary key"
        grows = is_same and types.bare(target.type) in ("varchar", "nvarchar", "varbinary")
        if not grows and any(target.name in index for index in (*shape.indexes, *shape.unique_keys)):
            return f"{told}, and in an index"
        return f"{told}, and has a default" if target.has_default and not is_same else ""

    def create_schema(self, table: TableName) -> list[Sql]:
        """Must be the first of its batch, which EXEC makes it."""
        if table.schema == self.default_schema:
            return []
        made = self.text_of(sql("CREATE SCHEMA {schema}", schema=Name.of(table.schema)))
        return [
            sql("IF SCHEMA_ID({schema}) IS NULL EXEC({made})", schema=Literal(table.schema), made=Literal(made)),
        ]

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        by_name = {column.name: column for column in columns}
        parts: list[Part] = [_definition(column) for column in columns]
        size = sum(_key_bytes(by_name[part]) for part in key)
        # A key over texts without a bound cannot be had here; the rows are the same without it.
        if key and size <= LONGEST_KEY:
            kind = raw("CLUSTERED" if size <= LONGEST_CLUSTERED_KEY else "NONCLUSTERED")
            parts.append(sql("PRIMARY KEY {kind} ({columns})", kind=kind, columns=names(key)))
        statements = self.create_schema(name)
        statements.append(sql("CREATE TABLE {table} ({parts})", table=Name.of(name), parts=parts))
        if index_on and tuple(key[:1]) != (index_on,) and _key_bytes(by_name[index_on]) <= LONGEST_KEY:
            statements.append(
                sql(
                    "CREATE INDEX {index} ON {table} ({column})",
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

    def stage_name(self) -> TableName:
        return TableName("", f"#tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        return create_stage(stage, table, columns)

    def drop_stage(self, stage: TableName) -> Sql:
        return sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage))

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        return [self._grant("SELECT, VIEW DEFINITION", table) for table in tables]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """ALTER lets a load keep the numbers of an identity column and follow a source that grew."""
        login, own = self._grantee, Name.of(self.own_table("").schema)
        schemas = sorted({table.schema for table in tables})
        return [
            *(
                one
                for schema in (self.own_table("").schema, *schemas)
                for one in self.create_schema(TableName(schema, ""))
            ),
            sql("GRANT {rights} ON SCHEMA::{own} TO {login}", rights=raw(_CHANGES), own=own, login=login),
            sql("GRANT CREATE TABLE TO {login}", login=login),
            *(
                # What a login creates belongs to the owner of the schema, not to the login.
                sql(
                    "IF OBJECT_ID({name}) IS NOT NULL GRANT {rights} ON OBJECT::{table} TO {login}"
                    " ELSE GRANT {rights} ON SCHEMA::{schema} TO {login}",
                    name=Literal(self.text_of(sql("{table}", table=Name.of(table)))),
                    rights=raw(_CHANGES if table in updated else _REPLACES),
                    table=Name.of(table),
                    schema=Name.of(table.schema),
                    login=login,
                )
                for table in tables
            ),
        ]

    def grants_besides(self, *, writes: bool) -> dict[str, Sql]:
        sees = "to be sure that no policy or foreign key is hidden from it"
        more = "to be told of the room in the log" if writes else "to copy masked columns as they are"
        right = raw("VIEW DATABASE STATE" if writes else "UNMASK")
        return {
            sees: sql("GRANT VIEW DEFINITION TO {login}", login=self._grantee),
            more: sql("GRANT {right} TO {login}", right=right, login=self._grantee),
        }

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
    # Said for both, since what holds when nothing is said depends on settings.
    ending = " NULL" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


def _why_not(name: str, folded: Counter[str]) -> str:
    if len(name.encode("utf-16-le")) > LONGEST_NAME * 2:
        return f"longer than {LONGEST_NAME} characters"
    return "the same as another but for its case" if folded[name.casefold()] > 1 else ""


def _key_bytes(column: Column) -> int:
    """How much of an index a column takes; more than there is when it cannot be in one."""
    if types.bare(column.type) not in (*types.CHARACTERS, "varbinary", "binary", "xml", "json"):
        return 17
    # A text of another database got twice the room that it takes as a rule (`types.py`).
    is_roomy = column.collation == types.COLLATION
    width = 1 if is_roomy or column.holds.family in ("binary", "padded") else 2
    return column.holds.size * width if column.holds.size else LONGEST_KEY + 1


def _braced(value: str) -> str:
    return "{" + value.replace("}", "}}") + "}"
