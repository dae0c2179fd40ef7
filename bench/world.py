"""Real servers for the time of a benchmark, and the data in them."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import psycopg

from bench import truth
from bench.tables import TRADES, TableSchema
from bench.truth import Cells
from conformance.servers.sqlserver import as_url
from kit.mariadb import MariaDb
from kit.mysql_witness import opened as mysql_opened
from kit.sqlserver_witness import SqlServerWitness
from tidegate.demo.embedded import EmbeddedPostgres

SOURCE = "bench_source"
SQLSERVER = "TIDEGATE_BENCH_SQLSERVER"
"""Names a server that speaks TDS; without one its cases are left out."""


class Server(Protocol):
    def url(self, database: str) -> str: ...
    def create_database(self, name: str) -> str: ...
    def drop_database(self, name: str) -> None: ...


@dataclass
class Side(ABC):
    """One sort of database: statements, and what is in its tables."""

    server: Server
    database: ClassVar[str]
    tidy: ClassVar[str]
    """A statement that makes statistics what they are on a table that has been there for a while."""

    def url(self, name: str) -> str:
        return self.server.url(name)

    def empty(self, name: str) -> str:
        self.server.drop_database(name)
        return self.server.create_database(name)

    def settle(self, name: str, table: str) -> None:
        self.execute(name, [self.tidy.format(table)])

    def login(self, name: str) -> dict[str, Any]:
        at = urlsplit(self.url(name))
        return {
            "host": at.hostname,
            "port": at.port,
            "user": at.username,
            "password": unquote(at.password or ""),
            "database": at.path[1:],
        }

    @abstractmethod
    def jdbc(self, name: str) -> str: ...

    @abstractmethod
    def execute(self, name: str, statements: Sequence[str]) -> None: ...

    @abstractmethod
    def cells(self, name: str, table: str, shape: TableSchema) -> Cells: ...


class PostgresqlSide(Side):
    database = "postgresql"
    tidy = "VACUUM (ANALYZE, FREEZE) {}"

    def jdbc(self, name: str) -> str:
        return _jdbc("postgresql", self.login(name), "reWriteBatchedInserts=true")

    def execute(self, name: str, statements: Sequence[str]) -> None:
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def cells(self, name: str, table: str, shape: TableSchema) -> Cells:
        return truth.of_postgresql(self.url(name), table, shape)


class MysqlSide(Side):
    database = "mysql"
    tidy = "ANALYZE TABLE {}"

    def jdbc(self, name: str) -> str:
        # Spark knows no quotes of `mariadb`.
        return _jdbc("mysql", self.login(name), "permitMysqlScheme=true&useBulkStmts=true")

    def execute(self, name: str, statements: Sequence[str]) -> None:
        with mysql_opened(self.url(name)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def cells(self, name: str, table: str, shape: TableSchema) -> Cells:
        return truth.of_mysql(self.url(name), table, shape)


class SqlServerSide(Side):
    database = "sqlserver"
    tidy = ""

    def settle(self, name: str, table: str) -> None:
        """Left to the server, which does it when it needs them."""

    def jdbc(self, name: str) -> str:
        at = self.login(name)
        login = f"user={at['user']};password={{{at['password'].replace('}', '}}')}}}"
        options = "encrypt=true;trustServerCertificate=true;useBulkCopyForBatchInsert=true"
        return f"jdbc:sqlserver://{at['host']}:{at['port']};databaseName={at['database']};{login};{options}"

    def execute(self, name: str, statements: Sequence[str]) -> None:
        with SqlServerWitness(self.url(name)) as witness:
            for statement in statements:
                witness.do(statement)

    def cells(self, name: str, table: str, shape: TableSchema) -> Cells:
        return truth.of_sqlserver(self.url(name), table, shape)


@dataclass
class GivenServer:
    """A server that somebody named by its address, in any form that Tidegate reads."""

    given: str

    def url(self, database: str) -> str:
        return urlunsplit(urlsplit(as_url(self.given))._replace(path=f"/{database}"))

    def create_database(self, name: str) -> str:
        self._do(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop_database(self, name: str) -> None:
        self._do(f"DROP DATABASE IF EXISTS {name}")

    def _do(self, statement: str) -> None:
        with SqlServerWitness(as_url(self.given)) as admin:
            admin.do(statement)


@dataclass
class World:
    """Sources that are filled once, and places for results that are emptied before each run."""

    folder: Path
    sides: dict[str, Side]
    jars: str
    filled: dict[tuple[str, str], int] = field(default_factory=dict)
    _truths: dict[tuple[str, str], Cells] = field(default_factory=dict)

    def table(self, database: str, rows: int, shape: TableSchema = TRADES, suffix: object = "") -> str:
        """A table of so many rows in the source."""
        name = f"{shape.name}_{rows}" + (f"_{suffix}" if suffix != "" else "")
        if (database, name) not in self.filled:
            side = self.sides[database]
            side.execute(SOURCE, [*shape.create(database, name), shape.fill(database, name, rows)])
            side.settle(SOURCE, name)
            self.filled[database, name] = rows
        return name

    def truth(self, database: str, table: str, shape: TableSchema) -> Cells:
        """What the source says. The last answer is kept: all contenders of a round are compared with it."""
        if (database, table) not in self._truths:
            self._truths = {(database, table): self.sides[database].cells(SOURCE, table, shape)}
        return self._truths[database, table]

    def forget_truth(self) -> None:
        self._truths = {}

    def place(self, name: str) -> Path:
        return self.folder / "results" / name.replace(" ", "_").replace(",", "")

    def empty_folder(self, name: str) -> Path:
        place = self.place(name)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def job(self, work: str, database: str, tables: Sequence[str], **more: Any) -> dict[str, Any]:
        """What a contender is told."""
        side = self.sides[database]
        return {
            "work": work,
            "database": database,
            "source": side.url(SOURCE),
            "jdbc_source": side.jdbc(SOURCE),
            "login": side.login(SOURCE),
            "tables": list(tables),
            "table": tables[0] if tables else "",
            "rows": self.filled[database, tables[0]] if tables else 0,
            "jars": self.jars,
            **more,
            **({"jdbc_target": side.jdbc(urlsplit(more["target"]).path[1:])} if "target" in more else {}),
        }


def _jdbc(scheme: str, at: dict[str, Any], options: str) -> str:
    login = f"user={at['user']}&password={quote(at['password'], safe='')}&{options}"
    return f"jdbc:{scheme}://{at['host']}:{at['port']}/{at['database']}?{login}"


@contextmanager
def opened(folder: Path, jars: str, databases: set[str]) -> Iterator[World]:
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        if "postgresql" in databases:
            sides["postgresql"] = PostgresqlSide(_with_memory(stack.enter_context(EmbeddedPostgres(durable=True))))
        if "mysql" in databases:
            sides["mysql"] = MysqlSide(stack.enter_context(MariaDb("--innodb-buffer-pool-size=1G")))
        if "sqlserver" in databases:
            sides["sqlserver"] = SqlServerSide(GivenServer(os.environ[SQLSERVER]))
        for side in sides.values():
            side.empty(SOURCE)
        yield World(folder, sides, jars)


def _with_memory(server: EmbeddedPostgres) -> EmbeddedPostgres:
    """As much as the other server has: by itself it would take 128 MB, and stop for its log every few seconds."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
        connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
    server.restart()
    return server
