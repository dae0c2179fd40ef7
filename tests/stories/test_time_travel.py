"""The past of tables in a lake: read as they were, restored, and brought in sync again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from kit import sides
from kit.project import database_on
from tidegate import RunFailed, Tidegate
from tidegate.cli.main import main
from tidegate.errors import ConfigError, Unsupported
from unit.test_table_lakes import READERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = pytest.mark.postgres

FORMATS = ["iceberg", pytest.param("delta", marks=pytest.mark.thorough)]
CREATE = """
CREATE TABLE trades (cob integer, id integer, amount numeric(12,2));
CREATE INDEX ON trades (cob);
INSERT INTO trades SELECT day, id, id FROM generate_series(1, 2) AS day, generate_series(1, 10) AS id;
CREATE TABLE rates (code varchar(3) PRIMARY KEY, rate numeric(10,4));
INSERT INTO rates VALUES ('CHF', 0.9), ('EUR', 1);
CREATE TABLE log (id integer PRIMARY KEY, at timestamp(6));
INSERT INTO log VALUES (1, '2024-01-01')
"""
CHANGE = """
UPDATE trades SET amount = amount + 100 WHERE cob = 2;
INSERT INTO trades VALUES (2, 11, 1), (3, 1, 1);
UPDATE rates SET rate = 2 WHERE code = 'EUR';
INSERT INTO rates VALUES ('USD', 3);
DELETE FROM rates WHERE code = 'CHF'
"""
TABLES: dict[str, dict[str, Any]] = {
    "trades": {"kind": "partition", "partition_column": "cob"},
    "rates": {"kind": "static", "allow_deletes": True},
    "log": {"kind": "incremental", "changes": "timestamp", "timestamp_column": "at"},
}

QUERIES = {"trades": "SELECT * FROM trades", "rates": "SELECT * FROM rates", "log": "SELECT * FROM log"}


class Past:
    """A project whose target has a past."""

    def __init__(self, source: str, target: str, folder: Path, name: str) -> None:
        self.source, self.target, self.folder, self.format = source, target, folder, name

    def configuration(self) -> dict[str, Any]:
        lake = f"{self.format}:{self.folder / 'lake'}"
        return {"source": self.source, "target": self.target, "lake": lake, "engine": "process", "tables": TABLES}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration())

    def rows(self, table: str) -> list[Any]:
        return sorted(sides.ask(self.target, QUERIES[table]))

    def source_rows(self, table: str) -> list[Any]:
        return sorted(sides.ask(self.source, QUERIES[table]))


@pytest.fixture(params=FORMATS)
def past(postgres: EmbeddedPostgres, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Past]:
    with ExitStack() as opened:
        source, target = (opened.enter_context(database_on(postgres)) for _ in range(2))
        sides.do(source, CREATE)
        yield Past(source, target, tmp_path, request.param)


def test_restored_table_stays_until_it_is_resumed(past: Past):
    """A restored table is what it was, in every row. Runs say so and move nothing of it, until one resumes it."""
    past.tidegate().run()
    then, moment = {table: past.rows(table) for table in ("trades", "rates")}, datetime.now(UTC)
    sides.do(past.source, CHANGE)
    past.tidegate().run()
    assert past.rows("trades") == past.source_rows("trades")

    for table, rows in then.items():
        report = past.tidegate().restore_as_of(table, moment)
        assert report.exit_code == 0
        assert past.rows(table) == rows

    sides.do(past.source, "INSERT INTO trades VALUES (4, 1, 1); INSERT INTO log VALUES (2, '2024-02-01')")
    report = past.tidegate().run(check=False)
    assert report.exit_code == 3
    held = {finding.table for finding in report.findings if "was restored to an earlier state" in finding.what}
    assert held == {"trades", "rates"}
    assert past.rows("trades") == then["trades"]
    assert past.rows("log") == past.source_rows("log")

    past.tidegate().run(resume=True)
    for table in TABLES:
        assert past.rows(table) == past.source_rows(table)
    assert past.tidegate().verify().outcome == "equal"
    assert past.tidegate().run().outcome == "nothing to do"


def test_restore_is_all_or_nothing(past: Past):
    """When the target refuses one window, no window is restored, and nothing is recorded."""
    past.tidegate().run()
    first = past.tidegate().lake_history("trades")[-1]
    sides.do(past.source, CHANGE)
    past.tidegate().run()
    now = past.rows("trades")
    sides.do(past.target, "ALTER TABLE trades ADD CHECK (amount <> 7 OR cob <> 2) NOT VALID")

    with pytest.raises(RunFailed):
        past.tidegate().restore_as_of("trades", first.id)

    assert past.rows("trades") == now
    assert past.tidegate().run().outcome == "nothing to do"


def test_restore_refuses_what_it_cannot_do(past: Past):
    """A log of changes, an unknown version and a time before the first run are refused; nothing is written."""
    past.tidegate().run()

    with pytest.raises(Unsupported, match="its lake is a log of changes"):
        past.tidegate().restore_as_of("log", datetime.now(UTC))
    for wanted in ("2000-01-01", "no version"):
        with pytest.raises(ConfigError, match="the lake has no version at"):
            past.tidegate().restore_as_of("trades", wanted)
    assert past.tidegate().run().outcome == "nothing to do"


def test_commands_show_and_restore_the_past(past: Past, monkeypatch: pytest.MonkeyPatch):
    """`lake history` lists versions, `lake doctor` counts files, `restore` and `run --resume` end as they should."""
    monkeypatch.chdir(past.folder)
    Path("tidegate.yml").write_text(yaml.safe_dump(past.configuration()))
    past.tidegate().run()

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, words)
        return result.exit_code, result.stdout

    code, text = call("lake", "history", "trades", "--json")
    versions = [version for version in json.loads(text)["versions"] if version["run"]]
    assert (code, sorted(version["window"] for version in versions)) == (0, ["1", "2"])
    assert "10 rows" in call("lake", "history", "trades")[1]
    code, text = call("lake", "doctor", "--json")
    assert (code, json.loads(text)["tables"]["trades"]["files"]) == (0, 2)
    sides.do(past.source, CHANGE)
    past.tidegate().run()
    assert call("restore", "trades", "--entry", versions[0]["id"], "--yes", "-q")[0] == 0
    assert len(past.rows("trades")) == 20
    assert call("run", "-q")[0] == 3
    assert call("run", "-q", "--resume")[0] == 0
    assert past.rows("trades") == past.source_rows("trades")
    assert call("restore", "trades", "--yes")[0] == 2


def test_export_writes_the_whole_table(past: Past):
    """An export writes the rows that the source has now as one version; the next one replaces them. No target is
    touched."""
    warehouse = past.folder / "warehouse"

    first = past.tidegate().export("trades", past.format, warehouse)
    sides.do(past.source, CHANGE)
    second = past.tidegate().export("trades", past.format, warehouse)

    assert (first.rows, second.rows) == (20, 22)
    found = READERS[past.format](warehouse, "default", "trades").to_pylist()
    assert sorted((row["cob"], row["id"], row["amount"]) for row in found) == past.source_rows("trades")
    assert sides.ask(past.target, "SELECT count(*) FROM pg_tables WHERE tablename = 'trades'") == [(0,)]


@pytest.mark.spark
def test_dataframe_shows_the_past(past: Past, spark: SparkSession):
    """A DataFrame has the rows of now, of a time, of a version, or those that came since."""
    tidegate = Tidegate(**{**past.configuration(), "engine": "spark", "spark": spark})
    past.tidegate().run()
    moment = datetime.now(UTC)
    sides.do(past.source, CHANGE)
    past.tidegate().run()
    versions = tidegate.lake_history("trades")

    assert tidegate.dataframe("trades").count() == 22
    assert tidegate.dataframe("trades", as_of=moment).count() == 20
    assert tidegate.dataframe("trades", as_of=versions[-1].id).count() == 22
    assert sorted({row.cob for row in tidegate.dataframe("trades", since=moment).collect()}) == [2, 3]
