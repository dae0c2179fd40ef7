"""Real servers for the time of a benchmark, and the data in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import pyarrow as pa

from bench import tables, truth
from tidegate.demo.embedded import EmbeddedPostgres


@dataclass
class World:
    """A source that is filled once, and places for results that are emptied before each run."""

    folder: Path
    server: EmbeddedPostgres
    jars: str
    rows: dict[str, int] = field(default_factory=dict)
    _truths: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return self.server.url("bench_source")

    @property
    def target(self) -> str:
        return self.server.url("bench_target")

    def table(self, rows: int, number: int | None = None) -> str:
        """A table of so many rows in the source."""
        name = f"trades_{rows}" if number is None else f"trades_{rows}_{number}"
        if name not in self.rows:
            with psycopg.connect(self.source, autocommit=True) as connection:
                connection.execute(tables.create("postgresql", name))
                connection.execute(tables.fill("postgresql", name, rows))
                connection.execute(f"CREATE INDEX ON {name} (cob)")
                connection.execute(f"VACUUM (ANALYZE, FREEZE) {name}")
            self.rows[name] = rows
        return name

    def truth(self, table: str) -> pa.Table:
        if table not in self._truths:
            self._truths = {table: truth.of_table(self.source, table)}
        return self._truths[table]

    def empty_target(self, name: str = "bench_target") -> str:
        self.server.drop_database(name)
        return self.server.create_database(name)

    def place(self, name: str) -> Path:
        return self.folder / "results" / name.replace(" ", "_")

    def empty_folder(self, name: str) -> Path:
        place = self.place(name)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def keep_lake(self, rows: int, lake: Path) -> None:
        """What was extracted is what is loaded."""
        place = self.folder / f"lake_{rows}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(lake, place)

    def job(self, work: str, tables: list[str], folder: Path, state: Path, target: str = "") -> dict[str, Any]:
        """What a contender is told."""
        at = urlsplit(self.source)
        login = {
            "host": at.hostname,
            "port": at.port,
            "user": at.username,
            "password": unquote(at.password or ""),
            "database": at.path[1:],
        }
        return {
            "work": work,
            "kind": "postgresql",
            "source": self.source,
            "target": target or self.target,
            "jdbc_source": _jdbc(self.source),
            "jdbc_target": _jdbc(self.target),
            "login": login,
            "tables": tables,
            "table": tables[0] if tables else "",
            "rows": self.rows[tables[0]] if tables else 0,
            "folder": str(folder),
            "state": str(state),
            "jars": self.jars,
        }


def _jdbc(url: str) -> str:
    at = urlsplit(url)
    login = f"user={at.username}&password={at.password}&reWriteBatchedInserts=true"
    return f"jdbc:postgresql://{at.hostname}:{at.port}{at.path}?{login}"


@contextmanager
def opened(folder: Path, jars: str) -> Iterator[World]:
    with EmbeddedPostgres(durable=True) as server:
        for name in ("bench_source", "bench_target"):
            server.create_database(name)
        yield World(folder, server, jars)
