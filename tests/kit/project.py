"""A project for a story: trades by day in a source, a lake, a target, and eyes on all three that are not Tidegate's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from psycopg import sql

from kit.witness import Witness
from tidegate import Tidegate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.plan import Step
    from tidegate.model.report import RunReport
    from tidegate.runs.listener import Boundary, Listener

TESTS = Path(__file__).parents[1]
ROWS = 200
MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY = range(20240101, 20240108)
FIVE_DAYS = (MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY)

Rows = Counter[tuple[object, ...]]

# No key, and the first two rows of a day are the same: a row that is lost or doubled shows.
CREATE = """
CREATE TABLE trades (
    cob integer, id bigint NOT NULL, amount numeric(38,18), note text, traded_at timestamp, load_id bigint
);
CREATE INDEX ON trades (cob)
"""
_FILL = """
INSERT INTO trades (cob, id, amount, note, traded_at, load_id)
SELECT %s::int, number, number * 1.000000000000000001 + %s::int,
       (ARRAY[NULL, '', 'naïve ✓ 山田', E'two\nlines\t"quoted", 100%%', '\\.'])[1 + number %% 5],
       timestamp '2024-01-01 07:00' + number * interval '1.000001 s', 1
FROM (SELECT greatest(generate_series(%s::int, %s::int), 2)) AS numbers (number)
"""
_COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = 'trades'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname
"""
_COUNTS = "SELECT cob, count(*) FROM trades WHERE cob = ANY(%s) GROUP BY cob"
_LEDGER = """
SELECT DISTINCT ON (value_text) value_text, generation, kind, row_total
FROM tidegate.ledger WHERE table_name = 'public.trades' ORDER BY value_text, generation DESC
"""


@dataclass
class Story:
    """One source, one lake, one target. `settings` are those of the table, `project` those of the project."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)
    project: dict[str, Any] = field(default_factory=dict)

    # Doing

    def tidegate(self, boundary: Boundary | None = None, listener: Listener | None = None) -> Tidegate:
        """The project as it is configured now, on the session that all tests share."""
        made = Tidegate(**{**self.configuration(), "spark": self.spark}, listener=listener)
        if boundary is not None:
            made.boundary = boundary
        return made

    def run(self) -> RunReport:
        return self.tidegate().run()

    def configuration(self) -> dict[str, Any]:
        table = {"kind": "partition", "partition_column": "cob", **self.settings}
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        # A day takes several batches; a worker that dies is replaced.
        ways = {"batch_rows": 64, "spark": {"master": "local[2,3]"}}
        return {**places, **ways, **self.project, "tables": {"trades": table}}

    def file(self, path: Path) -> Path:
        """The configuration as a file, for another process."""
        path.write_text(yaml.safe_dump(self.configuration()))
        return path

    def fill(self, *days: int, first: int = 1, last: int = ROWS) -> None:
        """Days arrive in the source, with trades of these numbers."""
        with Witness(self.source) as source:
            for day in days:
                source.do(_FILL, day, day, first, last)

    def restate(self, day: int) -> None:
        """The same number of rows, with other amounts, under the next load."""
        self.in_source("UPDATE trades SET amount = amount + 1, load_id = load_id + 1 WHERE cob = %s", day)

    def in_source(self, statement: str, *values: object) -> None:
        with Witness(self.source) as source:
            source.do(statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        with Witness(self.target) as target:
            target.do(statement, *values)

    # Looking

    def rows_in_source(self, *days: int) -> Rows:
        return rows_of(self.source, days)

    def rows_in_target(self, *days: int) -> Rows:
        return rows_of(self.target, days)

    def counts_in_target(self) -> dict[int, int]:
        return dict(ask(self.target, "SELECT cob, count(*) FROM trades GROUP BY cob ORDER BY cob"))

    def ledger(self) -> dict[int, tuple[int, str, int]]:
        """The newest word on each value: its generation, its kind and its rows."""
        return {int(value): (generation, kind, rows) for value, generation, kind, rows in ask(self.target, _LEDGER)}

    def writers(self) -> set[str]:
        """The transactions that wrote what the target holds: the same ones as before when nobody touched it."""
        return {xmin for (xmin,) in ask(self.target, "SELECT DISTINCT xmin::text FROM trades")}

    def lake_file(self, day: int) -> Path:
        return self.lake / "organized" / f"cob_{day}" / f"trades_cob_{day}.parquet"

    def lake_files(self) -> list[Path]:
        """Whatever a reader of the lake would find, wherever it stands."""
        return sorted(path for path in (self.lake / "organized").rglob("*") if path.is_file())

    def rows_in_lake(self, *days: int) -> Rows:
        import pyarrow.parquet as pq

        tables = [pq.ParquetFile(self.lake_file(day)).read() for day in days]
        return Counter(tuple(row[name] for name in sorted(row)) for table in tables for row in table.to_pylist())

    def steps(self) -> tuple[Step, ...]:
        """What a run would do now, notices included."""
        return self.tidegate().plan().tables[0].steps

    def assert_in_step(self, *days: int) -> None:
        """Every row of these days is in the lake and in the target as it is in the source: none lost, none twice."""
        expected = self.rows_in_source(*days)
        assert_same_rows(self.rows_in_target(), expected)
        assert self.lake_files() == [self.lake_file(day) for day in days]
        assert_same_rows(self.rows_in_lake(*days), expected)
        counted = dict(ask(self.source, _COUNTS, list(days)))
        standing = {day: rows for day, (_, kind, rows) in self.ledger().items() if kind == "loaded"}
        assert standing == counted
        assert self.tidegate().verify().outcome == "equal"
        assert not self.tidegate().plan().does_something


def assert_same_rows(found: Rows, expected: Rows) -> None:
    lost, added = expected - found, found - expected
    assert not lost, f"{lost.total()} rows lost, such as {next(iter(lost))}"
    assert not added, f"{added.total()} rows too many, such as {next(iter(added))}"


def ask(url: str, statement: str, *values: object) -> list[Any]:
    with Witness(url) as witness:
        return witness.ask(statement, *values)


def rows_of(url: str, days: Sequence[int] = ()) -> Rows:
    """Every row, or those of some days, with its columns in the order of their names."""
    with Witness(url) as witness:
        names = sql.SQL(", ").join(sql.Identifier(str(name)) for (name,) in witness.ask(_COLUMNS))
        every = sql.SQL("SELECT {} FROM trades").format(names)
        if not days:
            return Counter(witness.ask(every))
        return Counter(witness.ask(sql.SQL("{} WHERE cob = ANY(%s)").format(every), list(days)))


def copy_database(postgres: EmbeddedPostgres, original: str, name: str) -> str:
    """The URL of a copy, as a restored backup would be."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(original))
    with Witness(postgres.url()) as witness:
        witness.do(statement)
    return postgres.url(name)


def sessions_of(url: str) -> list[str]:
    """The names under which Tidegate is connected to this database."""
    statement = "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
    return [name for (name,) in ask(url, statement) if name.startswith("tidegate ")]


def cli(*arguments: object, environment: Mapping[str, str] | None = None, **options: Any) -> tuple[int, str, str]:
    """The command in a process of its own: its exit code, what it said, and what it said on standard error."""
    with child("-m", "tidegate.cli.main", *arguments, environment=environment, **options) as command:
        output, errors = command.communicate(timeout=200)
    return command.returncode, output, errors


def child(*arguments: object, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Python in a session of its own, so that all it starts can be found and ended."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever starts the tests in the background of a shell ignores Ctrl-C, and so would all children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )
