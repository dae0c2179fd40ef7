"""A project for a story: daily trades in a source, a lake, a target, and queries on all three by plain drivers."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from psycopg import sql

from kit import sides
from kit.sides import Rows, ask, rows_of
from kit.witness import Witness
from tidegate import Tidegate

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.plan import Step
    from tidegate.model.report import RunReport
    from tidegate.runs.listener import Boundary, Listener

TESTS = Path(__file__).parents[1]
ROWS = 200
MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY = range(20240101, 20240108)
FIVE_DAYS = (MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY)


@dataclass
class Story:
    """A source, a lake and a target. `settings` belong to the table, `project` to the project."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)
    project: dict[str, Any] = field(default_factory=dict)

    # Doing

    def tidegate(self, boundary: Boundary | None = None, listener: Listener | None = None) -> Tidegate:
        """Return the project with the current configuration, on the Spark session that all tests share."""
        tidegate = Tidegate(**{**self.configuration(), "spark": self.spark}, listener=listener)
        if boundary is not None:
            tidegate.boundary = boundary
        return tidegate

    def run(self) -> RunReport:
        return self.tidegate().run()

    def configuration(self) -> dict[str, Any]:
        table = {"kind": "partition", "partition_column": "cob", **self.settings}
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        # Each day needs several batches, and Spark replaces a worker that dies.
        ways = {"batch_rows": 64, "spark": {"master": "local[2,3]"}}
        return {**places, **ways, **self.project, "tables": {"trades": table}}

    def file(self, path: Path) -> Path:
        """Write the configuration to a file for another process."""
        path.write_text(yaml.safe_dump(self.configuration()))
        return path

    def fill(self, *days: int, first: int = 1, last: int = ROWS) -> None:
        """Insert days into the source, with trades of these numbers."""
        sides.fill(self.source, days, first, last)

    def restate(self, day: int) -> None:
        """Change the amounts of a day and increase its `load_id`. The number of rows stays."""
        self.in_source("UPDATE trades SET amount = amount + 1, load_id = load_id + 1 WHERE cob = %s", day)

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        sides.do(self.target, statement, *values)

    # Looking

    def rows_in_source(self, *days: int) -> Rows:
        return rows_of(self.source, days)

    def rows_in_target(self, *days: int) -> Rows:
        return rows_of(self.target, days)

    def counts_in_target(self) -> dict[int, int]:
        return sides.counts_of(self.target)

    def ledger(self) -> dict[int, tuple[int, str, int]]:
        """Return the newest ledger entry of each value: generation, kind and rows."""
        return sides.ledger_of(self.target)

    def writers(self) -> set[str]:
        """Return the transactions that wrote the target's rows. They stay the same if no row is written."""
        return {xmin for (xmin,) in ask(self.target, "SELECT DISTINCT xmin::text FROM trades")}

    def lake_file(self, day: int) -> Path:
        return self.lake / "organized" / f"cob_{day}" / f"trades_cob_{day}.parquet"

    def lake_files(self) -> list[Path]:
        """Return all files below `organized`."""
        return sorted(path for path in (self.lake / "organized").rglob("*") if path.is_file())

    def rows_in_lake(self, *days: int) -> Rows:
        import pyarrow.parquet as pq

        tables = [pq.ParquetFile(self.lake_file(day)).read() for day in days]
        return Counter(tuple(row[name] for name in sorted(row)) for table in tables for row in table.to_pylist())

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that a run would take now, including notices."""
        return self.tidegate().plan().tables[0].steps

    def assert_in_step(self, *days: int) -> None:
        """Assert that lake, target and ledger have exactly the source's rows of these days, and no step is planned."""
        expected = self.rows_in_source(*days)
        assert_same_rows(self.rows_in_target(), expected)
        assert self.lake_files() == [self.lake_file(day) for day in days]
        assert_same_rows(self.rows_in_lake(*days), expected)
        counted = sides.counts_of(self.source, days)
        standing = {day: rows for day, (_, kind, rows) in self.ledger().items() if kind == "loaded"}
        assert standing == counted
        assert self.tidegate().verify().outcome == "equal"
        assert not self.tidegate().plan().does_something


@dataclass
class Stories:
    """Creates stories with new databases and five days of trades in the source.

    Args:
        database: creates a database on a server of this kind, and drops it after the block.
        opened: holds the databases until all stories are done.
    """

    database: Callable[[str], AbstractContextManager[str]]
    spark: SparkSession
    folders: pytest.TempPathFactory
    opened: ExitStack

    def __call__(self, source: str = "postgresql", target: str = "postgresql") -> Story:
        prod, uat = (self.opened.enter_context(self.database(kind)) for kind in (source, target))
        story = Story(prod, uat, self.folders.mktemp("lake"), self.spark)
        sides.create(story.source)
        story.fill(*FIVE_DAYS)
        return story


@contextmanager
def database_on(server: EmbeddedPostgres | MariaDb) -> Iterator[str]:
    """Yield the URL of a new database. It is dropped at the end, even if sessions are connected."""
    name = f"story_{uuid.uuid4().hex[:12]}"
    try:
        yield server.create_database(name)
    finally:
        server.drop_database(name)


def assert_same_rows(found: Rows, expected: Rows) -> None:
    lost, added = expected - found, found - expected
    assert not lost, f"{lost.total()} rows lost, such as {next(iter(lost))}"
    assert not added, f"{added.total()} rows too many, such as {next(iter(added))}"


def copy_database(postgres: EmbeddedPostgres, original: str, name: str) -> str:
    """Return the URL of a copy of a database, like a restored backup."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(original))
    with Witness(postgres.url()) as witness:
        witness.do(statement)
    return postgres.url(name)


def cli(*arguments: object, environment: Mapping[str, str] | None = None, **options: Any) -> tuple[int, str, str]:
    """Run the command in a new process. Return its exit code, standard output and standard error."""
    with child("-m", "tidegate.cli.main", *arguments, environment=environment, **options) as command:
        output, errors = command.communicate(timeout=200)
    return command.returncode, output, errors


def child(*arguments: object, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start Python in a new process session, so that all its child processes can be found and killed.

    There is no `preexec_fn`: with it Python forks, and the fork handlers of gRPC were seen to wait for ever."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )
