"""MySQL 8 and MariaDB 10.6 and later, as source and as target.

Rows are read by the server's text protocol and written by LOAD DATA LOCAL, or by INSERT if the server forbids that.
Each task reads in a consistent transaction of its own. A load streams its rows inside the transaction that writes the
ledger row. Tables of engines without transactions can be a source, but no target.
"""

from __future__ import annotations

import os
import socket
import ssl
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.databases.mysql import types
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.databases.mysql.statements import create_stage
from tidegate.interfaces import Capabilities, Database, Session
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.model.values import ValueKind
from tidegate.sql.text import Literal, Name, Part, Sql, names, raw, sql

if TYPE_CHECKING:
    from tidegate.interfaces.feed import Feed

LONGEST_KEY = 3072
LONGEST_ROW = 65_535
WIDEST_PAGE = 8126
"""The most bytes of a row that can lie in a page of the default size."""
_OVERHEAD = 20
_OFF_PAGE = 40
"""The bytes in the page of a value that InnoDB may store off-page: one that can be longer than 255 bytes."""
LONGEST_NAME = 64
_PREFIX = 191
_TIMEOUTS = ("connect_timeout", "read_timeout", "write_timeout")


class Mysql(Database):
    """MySQL and MariaDB through PyMySQL and LOAD DATA LOCAL."""

    kind = "mysql"
    label = "MySQL"
    capabilities = Capabilities(
        transactional_ddl=False,  # DDL commits the open transaction
        enforced_keys=True,
        session_locks=True,
        streams_into_transaction=True,
        exported_snapshots=False,
        read_only_sessions=True,
        native_partitions=True,
        row_versions=False,
        bulk_from_files=False,
        schemas_are_databases=True,
        updates_identity=True,
        surrogate_keys=True,
        alters_columns=True,
    )
    dialect = DIALECT
    checks_rows_alone = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._collation = "utf8mb4_bin"
        """The exact collation of this server, for the tables that we create. The first session finds it out."""

    @classmethod
    def connection_of(cls, driver: object) -> Connection | None:
        """PyMySQL keeps its arguments. The other drivers do not tell the password."""
        if type(driver).__module__.partition(".")[0] != "pymysql":
            return None
        told: Any = driver
        socket_path = told.unix_socket or ""
        options = (("unix_socket", socket_path),) if socket_path else ()
        user, password, database = (_decoded(part) for part in (told.user, told.password, told.db))
        return Connection(cls.kind, socket_path or told.host, told.port, database, user, password, options)

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        from tidegate.databases.mysql.session import MysqlSession

        session = MysqlSession(self, self._arguments(purpose), read_only=read_only, query_timeout=query_timeout)
        self._collation = session.collation
        return session

    def _arguments(self, purpose: str) -> dict[str, Any]:
        place, options = self.connection, dict(self.connection.options)
        return {
            "host": place.host,
            "port": place.port,
            "database": place.database,
            "user": place.user or None,
            "password": place.password.encode(),  # PyMySQL would encode a str as latin1
            "charset": "utf8mb4",
            "unix_socket": options.get("unix_socket") or None,
            "program_name": f"tidegate {purpose} {socket.gethostname()[:24]}:{os.getpid()}",
            **_encryption(options),
            "connect_timeout": 10,
            **{name: float(options[name]) for name in _TIMEOUTS if name in options},
        }

    @property
    def default_schema(self) -> str:
        return self.connection.database

    def own_table(self, name: str) -> TableName:
        return TableName(self.connection.database, f"tidegate_{name}")

    def value_kind(self, column: Column) -> ValueKind | None:
        return types.value_kind(column)

    def clock_query(self, cursor: Column) -> Sql | None:
        """A TIMESTAMP is an instant, which our sessions see in UTC. Other types are in the server's time zone."""
        local_time = sql("CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', @@global.time_zone)")
        moment = {
            "instant": sql("UTC_TIMESTAMP(6)"),
            "timestamp": local_time,
            "date": sql("DATE({now})", now=local_time),
        }
        found = moment.get(cursor.logical_type.family)
        return None if found is None else sql("SELECT CAST({moment} AS CHAR)", moment=found)

    def index_problem(self, columns: Sequence[Column]) -> str:
        if sum(map(_key_bytes, columns)) > LONGEST_KEY:
            return f"its columns are longer than the {LONGEST_KEY:,} bytes that a key can have"
        return ""

    def ignored_by_collation(self, collation: str) -> str:
        """`utf8mb4_general_ci` and `utf8mb4_0900_ai_ci` ignore accents, too, `utf8mb4_0900_as_ci` only case."""
        words = collation.lower().split("_")
        if "ci" not in words:
            return ""
        return "case" if "as" in words else "case and accents"

    def set_default(self, table: TableName, column: str, expression: str) -> Sql | None:
        return sql(
            "ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {expression}",
            table=Name.of(table),
            column=Name.of(column),
            expression=raw(expression),
        )

    def comment(self, table: TableName, column: str, text: str) -> Sql | None:
        """That of a column would need its whole definition again."""
        if column:
            return None
        return sql("ALTER TABLE {table} COMMENT = {text}", table=Name.of(table), text=Literal(text))

    def deferral(self, keys: Sequence[ForeignKey]) -> tuple[str, str]:
        return "without the server's checks; a query looks for rows without a parent before the commit", ""

    def only_valid(self, column: Column) -> Sql | None:
        """Zero dates, times beyond a day, and the error value of an enum, whose number is 0."""
        conditions = {
            "date": "YEAR({name}) > 0 AND MONTH({name}) > 0 AND DAYOFMONTH({name}) > 0",
            "clock": "{name} >= '00:00:00' AND {name} < '24:00:00'",
            "enum": "{name} + 0 > 0",
        }
        family = column.logical_type.family
        condition = conditions.get("date" if family in ("timestamp", "instant") else family)
        if condition is None or types.base_type(column.type) == "set":
            return None
        name = Name.of(column.name)
        return sql("CASE WHEN {valid} THEN {name} END", valid=sql(condition, name=name), name=name)

    def space(self, table: TableName) -> Sql | None:
        return sql(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES\n"
            "WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name}",
            schema=Literal(table.schema or self.default_schema),
            name=Literal(table.name),
        )

    def script(self, statement: Sql) -> str:
        """The client ends a statement at the first semicolon, unless it is told another end."""
        text = self.render(statement)
        return f"DELIMITER $$\n{text}$$\nDELIMITER ;" if ";\n" in text else f"{text};"

    def feed(self, kind: str, name: str) -> Feed | None:
        from tidegate.databases.mysql.feeds.cdc import BinaryLog
        from tidegate.databases.mysql.feeds.triggers import MysqlTriggers

        if kind == "triggers":
            return MysqlTriggers(name)
        return BinaryLog("nopad" in self._collation) if kind == "cdc" else None

    def declare(self, column: Column) -> Column:
        return types.declare(column, self._collation)

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        folded = Counter(name.casefold() for name in names)
        return {name: problem for name in names if (problem := _name_problem(name, folded))}

    def fits(self, source: Column, target: Column) -> str:
        verdict = super().fits(source, target)
        if verdict == "widen" and (target.has_default or target.identity or target.has_extra_attributes):
            # MODIFY declares the column again, and would drop a default, a comment or a check.
            narrower = f"{target.name} is {target.type} in the target, narrower than {source.type}"
            return f"{narrower}, and has a default or a comment"
        return verdict

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        columns = _narrowed(columns, {*key, index_on})
        by_name = {column.name: column for column in columns}
        parts: list[Part] = [_definition(column) for column in columns]
        # InnoDB has no key over texts without a length. The rows are the same without the key.
        if key and sum(_key_bytes(by_name[part]) for part in key) <= LONGEST_KEY:
            parts.append(sql("PRIMARY KEY ({columns})", columns=names(key)))
        if index_on and tuple(key[:1]) != (index_on,):
            is_short = _key_bytes(by_name[index_on]) <= LONGEST_KEY
            length = raw("" if is_short else f"({_PREFIX})")
            parts.append(sql("KEY ({column}{length})", column=Name.of(index_on), length=length))
        return [sql("CREATE TABLE {table} ({parts}) ENGINE = InnoDB", table=Name.of(name), parts=parts)]

    def in_partitions(self, table: TableName, statements: Sequence[Sql], column: str, parts: int) -> list[Sql]:
        [create] = statements
        place, count = Name.of(column), Literal(parts)
        return [
            sql("{create} PARTITION BY KEY ({column}) PARTITIONS {parts}", create=create, column=place, parts=count)
        ]

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD COLUMN {name} bigint NOT NULL AUTO_INCREMENT UNIQUE",
            table=Name.of(table),
            name=Name.of(name),
        )

    def stage_name(self) -> TableName:
        return TableName(self.connection.database, f"tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        return create_stage(stage, table, columns)

    def drop_stage(self, stage: TableName) -> Sql:
        """TEMPORARY, so that the DROP does not commit and needs no DROP right."""
        return sql("DROP TEMPORARY TABLE IF EXISTS {stage}", stage=Name.of(stage))

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        return [self._grant("SELECT, SHOW VIEW, TRIGGER", Name.of(table)) for table in tables]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """Grants on the database, since a right on a table does not allow to create it."""
        rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE TEMPORARY TABLES, ALTER, INDEX, TRIGGER"
        return [self._grant(rights, sql("{database}.*", database=Name.of(self.connection.database)))]

    def _grant(self, rights: str, place: Part) -> Sql:
        login = Literal(self.connection.user or "the_login")
        return sql("GRANT {rights} ON {place} TO {login}", rights=raw(rights), place=place, login=login)

    def add_column(self, table: TableName, column: Column) -> Sql:
        return sql(
            "ALTER TABLE {table} ADD COLUMN {column} {type} NULL",
            table=Name.of(table),
            column=Name.of(column.name),
            type=raw(column.type),
        )

    def widen_column(self, table: TableName, column: Column) -> Sql:
        return sql("ALTER TABLE {table} MODIFY COLUMN {column}", table=Name.of(table), column=_definition(column))


def _decoded(text: str | bytes | None) -> str:
    return text.decode() if isinstance(text, bytes) else text or ""


def _narrowed(columns: Sequence[Column], keys: set[str]) -> list[Column]:
    """Return the columns, the longest texts as LONGTEXT if the row would be too long for the server."""
    narrowed = list(columns)
    by_length = sorted(range(len(narrowed)), key=lambda position: _row_bytes(narrowed[position]), reverse=True)
    for position in by_length:
        is_long = sum(map(_row_bytes, narrowed)) > LONGEST_ROW
        is_wide = sum(map(_page_bytes, narrowed)) > WIDEST_PAGE
        if not is_long and not is_wide:
            break
        column = narrowed[position]
        helps = is_long or _page_bytes(column) > _OFF_PAGE
        if helps and column.name not in keys and types.base_type(column.type) in ("varchar", "char"):
            collated = column.type.partition(" CHARACTER SET ")
            narrowed[position] = replace(column, type="longtext" + "".join(collated[1:]))
    return narrowed


def _row_bytes(column: Column) -> int:
    """Return the most bytes that a column takes of its row; long texts and bytes are stored outside of it."""
    if types.base_type(column.type).endswith(("text", "blob")) or column.logical_type.size is None:
        return 12
    widths = {"string": 4, "trimmed": 4, "enum": 4, "binary": 1, "padded": 1}
    return column.logical_type.size * widths.get(column.logical_type.family, 0) + _OVERHEAD


def _page_bytes(column: Column) -> int:
    size = _row_bytes(column)
    is_off_page = types.base_type(column.type).endswith(("text", "blob")) or size > 255 + _OVERHEAD
    return _OFF_PAGE if is_off_page else size


def _name_problem(name: str, folded: Counter[str]) -> str:
    if len(name) > LONGEST_NAME:
        return f"longer than {LONGEST_NAME} characters"
    if any(ord(letter) > 0xFFFF for letter in name):
        return "with a character beyond U+FFFF, such as an emoji"
    if name != name.rstrip(" "):
        return "with a blank at its end"
    return "equal to another name except for case" if folded[name.casefold()] > 1 else ""


def _definition(column: Column) -> Sql:
    # NULL is written, too: a TIMESTAMP without it is NOT NULL on some servers.
    ending = " NULL" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


def _key_bytes(column: Column) -> int:
    """Return the bytes that a column takes of an index; more than an index can have if the column has no length."""
    if column.storage_type not in ("string", "text", "binary"):
        return 16
    if types.base_type(column.type).endswith(("text", "blob")):
        return LONGEST_KEY + 1  # such types can only be indexed by a prefix
    return (column.logical_type.size or LONGEST_KEY) * (1 if column.logical_type.family == "binary" else 4)


def _encryption(options: dict[str, str]) -> dict[str, Any]:
    """Return PyMySQL's TLS arguments. Without arguments it prefers TLS; with a context it requires TLS."""
    mode = options.get("ssl_mode", "preferred")
    if mode in ("disabled", "preferred"):
        return {"ssl_disabled": mode == "disabled"}
    context = ssl.create_default_context(cafile=options.get("ssl_ca"))
    context.check_hostname = mode == "verify_identity"
    context.verify_mode = ssl.CERT_NONE if mode == "required" else ssl.CERT_REQUIRED
    if "ssl_cert" in options:
        context.load_cert_chain(options["ssl_cert"], options.get("ssl_key"))
    return {"ssl": context}
