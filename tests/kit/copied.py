"""A source and a target with tables of a test's own, synced by threads of the process, and compared cell by cell."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import sides
from kit.project import database_on
from tidegate import Tidegate

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres


@dataclass
class Copied:
    """Two databases and a lake. `settings` are those of the project."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path

    def tidegate(self, tables: dict[str, Any], **settings: Any) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": self.lake}
        return Tidegate(**places, tables=tables, engine="process", **settings)

    def in_source(self, statements: str) -> None:
        _each(self.source, statements)

    def in_target(self, statements: str) -> None:
        _each(self.target, statements)

    def rows(self, side: str, query: str) -> Counter[tuple[object, ...]]:
        return Counter(sides.ask({"source": self.source, "target": self.target}[side], query))

    def assert_equal(self, query: str, in_target: str = "") -> None:
        """Assert that a query gives the same rows on both sides, and some."""
        expected = self.rows("source", query)
        assert expected
        assert self.rows("target", in_target or query) == expected


@dataclass
class Copies:
    """Creates pairs of databases, each on a server of its kind, and drops them at the end."""

    servers: dict[str, EmbeddedPostgres | MariaDb]
    folder: Path
    opened: ExitStack

    def __call__(self, source: str = "postgresql", target: str = "postgresql") -> Copied:
        urls = [self.opened.enter_context(database_on(self.servers[kind])) for kind in (source, target)]
        return Copied(urls[0], urls[1], self.folder / f"lake_{len(list(self.folder.iterdir()))}")


def _each(url: str, statements: str) -> None:
    """Run statements that end with `;` and a line break."""
    with sides.opened(url) as witness:
        for statement in statements.split(";\n"):
            if statement.strip():
                witness.do(statement)
