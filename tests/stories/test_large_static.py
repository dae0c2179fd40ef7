"""Static tables with more rows than planning reads: tasks read them, and the plan follows from what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.mariadb import MariaDb
from kit.sides import ask
from tidegate import Tidegate
from tidegate.changes.content_hash.inspect import LIGHT_ROWS
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

ROWS = LIGHT_ROWS + 50
CREATE = "CREATE TABLE places (id integer NOT NULL PRIMARY KEY, name varchar(20), area decimal(12,4))"
FILL = "INSERT INTO places SELECT i, 'place ' || i, i * 0.25 FROM generate_series(1, %s) AS i"


@dataclass
class Places:
    """A source with a large static table, a lake and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=lambda: {"allow_deletes": True})

    def tidegate(self) -> Tidegate:
        table = {"kind": "static", **self.settings}
        return Tidegate(
            source=self.source, target=self.target, lake=self.lake, tables={"places": table}, spark=self.spark
        )

    def run(self) -> RunReport:
        return self.tidegate().run()

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for step in plan.tables[0].steps if not isinstance(step, Notice)]

    def done(self) -> list[tuple[str, str]]:
        return [(step.step, step.outcome) for step in self.run().steps]

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        sides.do(self.target, statement, *values)

    def assert_equal(self) -> None:
        rows = "SELECT id, name, area FROM places ORDER BY id"
        assert [tuple(row) for row in ask(self.target, rows)] == [tuple(row) for row in ask(self.source, rows)]
        assert self.tidegate().verify().outcome == "equal"


@pytest.fixture
def places(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path: Path
) -> Iterator[Callable[[str], Places]]:
    with ExitStack() as databases:
        names = iter(("source", "target"))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"places_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        def make(target: str) -> Places:
            found = Places(database("postgresql"), database(target), tmp_path / "lake", spark)
            found.in_source(CREATE)
            found.in_source(FILL, ROWS)
            return found

        yield make


def test_large_table_is_read_by_tasks(places: Callable[[str], Places]):
    """The plan does not know whether anything changed. The run reads both sides and does what follows."""
    here = places("mysql")
    assert here.done() == [("change schema", "done"), ("extract", "done"), ("load", "done")]
    here.assert_equal()

    assert here.steps() == ["Read"]
    assert here.tidegate().status()[0].state == "in sync"
    quiet = here.run()
    assert (quiet.outcome, [step.step for step in quiet.steps], quiet.steps[0].rows) == (
        "nothing to do",
        ["read"],
        2 * ROWS,
    )

    here.in_source("UPDATE places SET name = 'other' WHERE id IN (7, 70000)")
    report = here.run()
    assert [step.step for step in report.steps] == ["read", "extract", "load"]
    assert report.steps[0].rows == ROWS, "the load reads the target"
    assert report.steps[-1].why.endswith("0 inserted, 2 updated, 0 deleted")
    here.assert_equal()

    # Other counts are enough to know that the rows must move.
    here.in_source("DELETE FROM places WHERE id = 9")
    assert here.steps() == ["Extract", "Load"]
    report = here.run()
    assert report.steps[-1].why.endswith("0 inserted, 0 updated, 1 deleted")
    here.assert_equal()


@pytest.mark.thorough
def test_changed_target_row_is_found_by_reading(places: Callable[[str], Places]):
    """A row that somebody changed in the target is reported by `run`, named by `verify --deep` and repaired."""
    here = places("postgresql")
    here.run()
    here.in_target("UPDATE places SET area = area + 1 WHERE id = 77")
    report = here.run()
    assert report.outcome == "nothing to do"
    assert "somebody changed rows in the target" in report.findings[0].what
    deep = here.tidegate().verify(deep=True)
    assert "1 changed (77)" in deep.findings[0].what

    here.settings["on_target_change"] = "keep"
    assert here.tidegate().verify().findings[0].what.startswith("left out of the proof")
    here.settings["on_target_change"] = "restore"
    assert [step.step for step in here.run().steps] == ["read", "load"]
    here.assert_equal()

    here.in_target("DELETE FROM places WHERE id < 100")
    here.run()
    here.assert_equal()


@pytest.mark.thorough
def test_large_target_that_was_there_before(places: Callable[[str], Places]):
    """Rows that no ledger knows are refused, unless they equal the source's."""
    here = places("postgresql")
    here.in_target(CREATE)
    here.in_target(FILL, ROWS)
    here.in_target("UPDATE places SET area = 0 WHERE id = 5")
    with pytest.raises(RunFailed, match="rows that no ledger knows"):
        here.run()
    here.in_target("UPDATE places SET area = 1.25 WHERE id = 5")
    assert here.done() == [("read", "done"), ("extract", "done"), ("load", "skipped")]
    here.assert_equal()


@pytest.mark.thorough
def test_large_table_without_spark(places: Callable[[str], Places]):
    """Threads of this process do the same."""
    here = places("postgresql")
    here.run()
    here.in_source("UPDATE places SET name = NULL WHERE id = 12345")
    tidegate = Tidegate(
        source=here.source,
        target=here.target,
        lake=here.lake,
        tables={"places": {"kind": "static", **here.settings}},
        engine="process",
    )
    report = tidegate.run()
    assert (report.engine, [step.step for step in report.steps]) == ("process", ["read", "extract", "load"])
    here.assert_equal()
