"""Real servers for the time of a benchmark, and the data in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

import psycopg

from bench import truth
from bench.tables import TRADES, Shape
from bench.truth import Cells
from kit.mariadb import MariaDb
from kit.mysql_witness import opened as mysql_opened
from tidegate.demo.embedded import EmbeddedPostgres

SOURCE = "bench_source"


class Server(Protocol):
    def url(self, database: str) -> str: ...
    def create_database(self, name: str) -> str: ...
    def drop_database(self, name: str) -> None: ...


@dataclass
class Side:
    """One sort of database: statements, and what is in its tables."""

    database: str
    server: Server

    def url(self, name: str) -> str:
        return self.server.url(name)

    def empty(self, name: str) -> str:
        self.server.drop_database(name)
        return self.server.create_database(name)

    def execute(self, name: str, statements: Sequence[str]) -> None:
        if self.database == "postgresql":
            with psycopg.connect(self.url(name), autocommit=True) as connection:
                for statement in statements:
                    connection.execute(statement)
        else:
            with mysql_opened(self.url(name)) as connection, connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                connection.commit()

    def settle(self, name: str, table: str) -> None:
        """Statistics as they are on a table that has been there for a while."""
        tidy = {"postgresql": f"VACUUM (ANALYZE, FREEZE) {table}", "mysql": f"ANALYZE TABLE {table}"}
        self.execute(name, [tidy[self.database]])

    def cells(self, name: str, table: str, shape: Shape) -> Cells:
        read = {"postgresql": truth.of_postgresql, "mysql": truth.of_mysql}
        return read[self.database](self.url(name), table, shape)


@dataclass
class World:
    """Sources that are filled once, and places for results that are emptied before each run."""

    folder: Path
    sides: dict[str, Side]
    jars: str
    filled: dict[tuple[str, str], int] = field(default_factory=dict)
    _truths: dict[tuple[str, str], Cells] = field(default_factory=dict)

    def table(self, database: str, rows: int, shape: Shape = TRADES, suffix: object = "") -> str:
        """A table of so many rows in the source."""
        name = f"{shape.name}_{rows}" + (f"_{suffix}" if suffix != "" else "")
        if (database, name) not in self.filled:
            side = self.sides[database]
            side.execute(SOURCE, [*shape.create(database, name), shape.fill(database, name, rows)])
            side.settle(SOURCE, name)
            self.filled[database, name] = rows
        return name

    def truth(self, database: str, table: str, shape: Shape) -> Cells:
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
            "jdbc_source": _jdbc(database, side.url(SOURCE)),
            "login": _login(side.url(SOURCE)),
            "tables": list(tables),
            "table": tables[0] if tables else "",
            "rows": self.filled[database, tables[0]] if tables else 0,
            "jars": self.jars,
            **more,
            **({"jdbc_target": _jdbc(database, more["target"])} if "target" in more else {}),
        }


def _login(url: str) -> dict[str, Any]:
    at = urlsplit(url)
    return {
        "host": at.hostname,
        "port": at.port,
        "user": at.username,
        "password": unquote(at.password or ""),
        "database": at.path[1:],
    }


def _jdbc(database: str, url: str) -> str:
    at = _login(url)
    scheme, option = {
        "postgresql": ("postgresql", "reWriteBatchedInserts=true"),
        "mysql": ("mysql", "permitMysqlScheme=true&useBulkStmts=true"),  # Spark knows no quotes of `mariadb`
    }[database]
    login = f"user={at['user']}&password={quote(at['password'], safe='')}&{option}"
    return f"jdbc:{scheme}://{at['host']}:{at['port']}/{at['database']}?{login}"


@contextmanager
def opened(folder: Path, jars: str, databases: set[str]) -> Iterator[World]:
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        if "postgresql" in databases:
            sides["postgresql"] = Side("postgresql", _with_memory(stack.enter_context(EmbeddedPostgres(durable=True))))
        if "mysql" in databases:
            sides["mysql"] = Side("mysql", stack.enter_context(MariaDb("--innodb-buffer-pool-size=1G")))
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
