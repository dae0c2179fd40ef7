"""MySQL 8 and MariaDB 10.6 and later, as source and as target.

Rows leave as the server's own text protocol and arrive by LOAD DATA LOCAL, or where a server forbids that by INSERT.
Each task reads in a consistent transaction of its own, and a load streams inside the transaction that writes its ledger
row. Tables of engines without transactions can be read, but not be written to.
"""

from __future__ import annotations

import os
import socket
import ssl
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from tidegate.databases.mysql import types
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.databases.mysql.statements import create_stage
from tidegate.interfaces import Database, Session
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.values import Kind
from tidegate.sql.text import Literal, Name, Part, Sql, names, raw, sql

LONGEST_KEY = 3072
LONGEST_ROW = 65_535
WIDEST_PAGE = 8126
"""What a row may take of a page of the usual size, at most."""
_AROUND = 20
_OUTSIDE = 40
"""What a value takes of it that may stand elsewhere: one that can be longer than 255 bytes."""
LONGEST_NAME = 64
_PREFIX = 191
_TIMEOUTS = ("connect_timeout", "read_timeout", "write_timeout")


class Mysql(Database):
    """MySQL and MariaDB through PyMySQL and LOAD DATA LOCAL."""

    kind = "mysql"
    label = "MySQL"
    features = frozenset()
    dialect = DIALECT
    schemas_are_databases = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._collation = "utf8mb4_bin"
        """Of the tables that we create; the first session says which one of this server tells all texts apart."""

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
            "password": place.password.encode(),  # as text, PyMySQL would take it for latin1
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

    def partition_kind(self, column: Column) -> Kind | None:
        return types.partition_kind(column)

    def clock(self, mark: Column) -> Sql | None:
        """A TIMESTAMP is a moment, which our sessions see in UTC; other times are those of the server."""
        there = sql("CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', @@global.time_zone)")
        moment = {"instant": sql("UTC_TIMESTAMP(6)"), "timestamp": there, "date": sql("DATE({there})", there=there)}
        found = moment.get(mark.holds.family)
        return None if found is None else sql("SELECT CAST({moment} AS CHAR)", moment=found)

    def declare(self, column: Column) -> Column:
        return types.declare(column, self._collation)

    def refused_names(self, names: Sequence[str]) -> dict[str, str]:
        folded = Counter(name.casefold() for name in names)
        return {name: why for name in names if (why := _why_not(name, folded))}

    def fits(self, source: Column, target: Column) -> str:
        verdict = super().fits(source, target)
        if verdict == "widen" and (target.has_default or target.identity or target.has_more):
            # MODIFY says a column anew, and would forget a default, a comment or a check.
            return (
                f"{target.name} is {target.type} in the target, narrower than {source.type}, and has more to it there"
            )
        return verdict

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        columns = _narrowed(columns, {*key, index_on})
        by_name = {column.name: column for column in columns}
        parts: list[Part] = [_definition(column) for column in columns]
        # A key over texts without a bound cannot be had here; the rows are the same without it.
        if key and sum(_key_bytes(by_name[part]) for part in key) <= LONGEST_KEY:
            parts.append(sql("PRIMARY KEY ({columns})", columns=names(key)))
        if index_on and tuple(key[:1]) != (index_on,):
            short = _key_bytes(by_name[index_on]) <= LONGEST_KEY
            length = raw("" if short else f"({_PREFIX})")
            parts.append(sql("KEY ({column}{length})", column=Name.of(index_on), length=length))
        made = sql("CREATE TABLE {table} ({parts}) ENGINE = InnoDB", table=Name.of(name), parts=parts)
        return [made]

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
        """Said to be temporary: it commits nothing then, and asks for no right."""
        return sql("DROP TEMPORARY TABLE IF EXISTS {stage}", stage=Name.of(stage))

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        return [self._grant("SELECT, SHOW VIEW, TRIGGER", Name.of(table)) for table in tables]

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """On the database, since a right to a table alone cannot create one."""
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


def _narrowed(columns: Sequence[Column], keys: set[str]) -> list[Column]:
    """The same columns, the longest texts as LONGTEXT where a row would have no room for all of them in itself."""
    kept = list(columns)
    by_length = sorted(range(len(kept)), key=lambda place: _row_bytes(kept[place]), reverse=True)
    for place in by_length:
        is_long, is_wide = sum(map(_row_bytes, kept)) > LONGEST_ROW, sum(map(_page_bytes, kept)) > WIDEST_PAGE
        if not is_long and not is_wide:
            break
        column = kept[place]
        helps = is_long or _page_bytes(column) > _OUTSIDE
        if helps and column.name not in keys and types.bare(column.type) in ("varchar", "char"):
            collated = column.type.partition(" CHARACTER SET ")
            kept[place] = replace(column, type="longtext" + "".join(collated[1:]))
    return kept


def _row_bytes(column: Column) -> int:
    """What a column takes of its row, at most; long texts and bytes stand outside of it."""
    if types.bare(column.type).endswith(("text", "blob")) or column.holds.size is None:
        return 12
    widths = {"string": 4, "trimmed": 4, "enum": 4, "binary": 1, "padded": 1}
    return column.holds.size * widths.get(column.holds.family, 0) + _AROUND


def _page_bytes(column: Column) -> int:
    taken = _row_bytes(column)
    return _OUTSIDE if types.bare(column.type).endswith(("text", "blob")) or taken > 255 + _AROUND else taken


def _why_not(name: str, folded: Counter[str]) -> str:
    if len(name) > LONGEST_NAME:
        return f"longer than {LONGEST_NAME} characters"
    if any(ord(letter) > 0xFFFF for letter in name):
        return "with a letter beyond the first plane of Unicode, such as an emoji"
    if name != name.rstrip(" "):
        return "with a blank at its end"
    return "the same as another but for its case" if folded[name.casefold()] > 1 else ""


def _definition(column: Column) -> Sql:
    # Said for both, since a TIMESTAMP of which nothing is said refuses nulls.
    ending = " NULL" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


def _key_bytes(column: Column) -> int:
    """How much of an index a column takes; more than there is when it has no bound."""
    if column.rests_as not in ("string", "text", "binary"):
        return 16
    if types.bare(column.type).endswith(("text", "blob")):
        return LONGEST_KEY + 1  # these are indexed by their beginnings only
    return (column.holds.size or LONGEST_KEY) * (1 if column.holds.family == "binary" else 4)


def _encryption(options: dict[str, str]) -> dict[str, Any]:
    """PyMySQL prefers TLS where nothing is said of it, and insists on it where it is given a context."""
    mode = options.get("ssl_mode", "preferred")
    if mode in ("disabled", "preferred"):
        return {"ssl_disabled": mode == "disabled"}
    context = ssl.create_default_context(cafile=options.get("ssl_ca"))
    context.check_hostname = mode == "verify_identity"
    context.verify_mode = ssl.CERT_NONE if mode == "required" else ssl.CERT_REQUIRED
    if "ssl_cert" in options:
        context.load_cert_chain(options["ssl_cert"], options.get("ssl_key"))
    return {"ssl": context}
