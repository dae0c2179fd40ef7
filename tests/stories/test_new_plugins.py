"""Third-party plug-ins, `kit/plugin_*.py`, are installed by entry points and used without any change in Tidegate."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit import plugin_change, plugin_check, plugin_lake, plugin_load, sides
from kit.installing import install_plugin
from kit.one_process import OneProcess
from kit.pairs import first_daily
from kit.project import cli, database_on
from tidegate import Tidegate
from tidegate.errors import ConfigError, RunFailed, Unsupported
from tidegate.interfaces.lake import EntryFacts, Lake, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.model.names import TableName
from tidegate.model.plan import Notice
from tidegate.model.tokens import PartitionToken
from tidegate.plugins import installed
from tidegate.plugins import lake as lake_plugin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = pytest.mark.postgres

PLUGINS = [
    ("changes", "row_count", plugin_change, "RowCount"),
    ("loads", "append_log", plugin_load, "AppendLog"),
    ("lakes", "arrow_files", plugin_lake, "ArrowFiles"),
    ("checks", "at_least", plugin_check, "AtLeast"),
]
CREATE = """
CREATE TABLE currencies (code varchar(3) PRIMARY KEY, name varchar(40), rate numeric(20,10));
INSERT INTO currencies VALUES ('CHF', 'Franken', 0.9431), ('EUR', 'Euro', 1), ('XXX', NULL, NULL);
CREATE TABLE trades (cob integer, id bigint NOT NULL, amount numeric(38,18), load_id bigint);
CREATE INDEX ON trades (cob);
INSERT INTO trades
    SELECT day, id, id * 1.5, 1 FROM generate_series(20240101, 20240103) AS day, generate_series(1, 40) AS id;
CREATE TABLE customers (id integer, name varchar(40), lastmodified timestamp(6) NOT NULL, islatest boolean NOT NULL);
INSERT INTO customers VALUES (1, 'first', '2024-01-01', false), (1, 'second', '2024-01-02', true),
    (2, 'other', '2024-01-02', true)
"""
ROW_COUNT = {"kind": "static", "changes": "row_count"}
LOG = {"kind": "static", "load": "append_log"}
TABLES = {
    "trades": {"kind": "partition", "partition_column": "cob", "restatement_column": "load_id"},
    "currencies": {"kind": "static", "allow_deletes": True},
    "customers": {"kind": "scd2", "business_keys": ["id"], "initial_load": "full", "deletes": "close"},
}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the four plug-ins are installed in."""
    folder = tmp_path / "packages"
    folder.mkdir()
    for group, name, module, class_name in PLUGINS:
        file = Path(str(module.__file__))
        shutil.copy(file, folder)
        install_plugin(folder, group, name, f"{file.stem}:{class_name}")
    monkeypatch.syspath_prepend(folder)
    yield folder
    for file in folder.glob("*.py"):
        sys.modules.pop(file.stem, None)


@dataclass
class Project:
    """A source with three tables, a lake and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    folder: Path
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: str = "parquet"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def configuration(self) -> dict[str, Any]:
        lake = {"format": self.format, "path": str(self.lake)}
        return {"source": self.source, "target": self.target, "lake": lake, "batch_rows": 16, "tables": self.tables}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration(), spark=OneProcess())

    def run(self) -> RunReport:
        return self.tidegate().run()

    def in_source(self, statement: str) -> None:
        sides.do(self.source, statement)

    def in_target(self, statement: str) -> None:
        sides.do(self.target, statement)

    def rows(self, url: str, table: str) -> list[Any]:
        return sorted(sides.ask(url, f"SELECT * FROM {table}"), key=repr)  # noqa: S608 - a name of ours

    def count(self, table: str) -> int:
        return len(self.rows(self.target, table))

    def lose_lake(self) -> None:
        shutil.rmtree(self.lake)

    def steps(self) -> list[str]:
        """Return what the next run would do."""
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for table in plan.tables for step in table.steps if not isinstance(step, Notice)]

    def assert_verified(self) -> None:
        """Assert that `verify` finds nothing, that nothing is left to do, and that the tables have a status."""
        verified = self.tidegate().verify()
        assert verified.outcome == "equal", verified.findings
        assert self.steps() == []
        assert self.run().outcome == "nothing to do"
        assert {table.state for table in self.tidegate().status()} <= {"in sync"}

    def assert_same_rows(self) -> None:
        for table in self.tables:
            assert self.rows(self.target, table) == self.rows(self.source, table)
        self.assert_verified()


@pytest.fixture
def project(packages: Path, postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Project]:
    with database_on(postgres) as source, database_on(postgres) as target:
        sides.do(source, CREATE)
        yield Project(source, target, tmp_path)


def _done(report: RunReport) -> list[str]:
    assert report.outcome == "done", report.failures
    return [f"{step.step} {step.outcome}" for step in report.steps if step.step != "change schema"]


# A change


@pytest.mark.parametrize("load", first_daily("merge", "replace"))
def test_new_change_follows_the_source(project: Project, load: str):
    """A table with the change `row_count` is extracted when its number of rows changes, and only then."""
    project.tables = {"currencies": {**ROW_COUNT, "load": load}}
    assert _done(project.run()) == ["extract done", "load done"]
    project.assert_same_rows()

    project.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")
    report = project.run()
    assert _done(report) == ["extract done", "load done"]
    assert report.steps[0].why == "the source has 4 rows, 3 were extracted"
    project.assert_same_rows()


@pytest.mark.parametrize("load", first_daily("merge", "replace", "append_log"))
def test_new_change_survives_a_lost_lake(project: Project, load: str):
    """When the lake is lost, the table is extracted again and the target stays as it is."""
    project.tables = {"currencies": {**ROW_COUNT, "load": load}}
    project.run()

    project.lose_lake()

    assert _done(project.run()) == ["extract done", "load skipped"]
    project.assert_same_rows()


@pytest.mark.thorough
def test_new_change_restores_lost_rows(project: Project):
    """When the target loses rows, the change plans a load from the lake."""
    project.tables = {"currencies": {**ROW_COUNT}}
    project.run()
    project.in_target("DELETE FROM currencies WHERE code = 'EUR'")

    assert project.steps() == ["Load"]
    project.run()
    project.assert_same_rows()


def test_settings_of_a_change_are_settings_of_the_table(project: Project):
    """The setting `count_tolerance` of the plug-in is read from the table. A wrong value names the setting."""
    project.tables = {"currencies": {**ROW_COUNT, "count_tolerance": 1}}
    project.run()
    project.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")
    assert project.steps() == []
    project.in_source("INSERT INTO currencies VALUES ('JPY', 'Yen', 3)")
    assert project.steps() == ["Extract", "Load"]

    project.tables["currencies"]["count_tolerance"] = "few"
    with pytest.raises(ConfigError, match=r"tables\.currencies\.count_tolerance` must be a whole number"):
        project.tidegate()


def test_tokens_of_a_change_are_stored_with_their_tag(project: Project):
    """Ledger and lake keep the token of the plug-in: tag, version and number of rows."""
    project.tables = {"currencies": {**ROW_COUNT}}
    project.run()

    [(stored,)] = sides.ask(project.target, "SELECT newest FROM tidegate.ledger")
    assert json.loads(stored)["token"] == {"token": "row_count", "version": 1, "rows": 3}


@pytest.mark.thorough
def test_repair_uses_the_new_change(project: Project):
    """A changed value does not change the number of rows: `verify` finds it and `repair` restores it."""
    project.tables = {"currencies": {**ROW_COUNT}}
    project.run()
    project.in_source("UPDATE currencies SET name = 'Swiss franc' WHERE code = 'CHF'")
    assert project.steps() == []
    assert project.tidegate().verify().outcome == "differences"

    project.tidegate().repair()

    project.assert_same_rows()


@pytest.mark.thorough
def test_target_with_unknown_rows_is_refused(project: Project):
    """Rows that were in the target before the first run are refused until somebody adopts them."""
    project.tables = {"currencies": {**ROW_COUNT}}
    project.in_target("CREATE TABLE currencies (code varchar(3) PRIMARY KEY, name varchar(40), rate numeric(20,10))")
    project.in_target("INSERT INTO currencies VALUES ('OLD', 'old', 1)")

    with pytest.raises(RunFailed, match="rows that no ledger knows"):
        project.run()

    project.tidegate().adopt()
    project.run()
    assert project.count("currencies") == 4


def test_retention_is_planned_by_the_new_change(project: Project):
    """With `retain: {lake: 1}` the lake keeps the newest entry alone."""
    project.tables, project.format = {"currencies": {**ROW_COUNT, "retain": {"lake": 1}}}, "arrow_files"
    project.run()
    project.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")

    assert project.steps() == ["Extract", "Load", "Remove"]
    project.run()

    assert len(list(project.lake.glob("entries/*/*/*.json"))) == 1
    project.assert_same_rows()


# A load and its check


@pytest.mark.parametrize(
    "table", first_daily(LOG, {**ROW_COUNT, "load": "append_log"}), ids=["content_hash", "row_count"]
)
def test_new_load_appends_every_extraction(project: Project, table: dict[str, Any]):
    """The log gets the rows of each extraction. A quiet run appends nothing."""
    project.tables = {"currencies": table}
    assert _done(project.run()) == ["extract done", "load done"]
    project.assert_same_rows()

    project.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")
    report = project.run()

    assert report.steps[-1].why.endswith("4 rows appended, the log has 7")
    assert project.count("currencies") == 7
    project.assert_verified()


@pytest.mark.thorough
def test_new_load_survives_a_lost_lake(project: Project):
    """When the lake is lost, the table is extracted again and nothing is appended."""
    project.tables = {"currencies": LOG}
    project.run()
    project.lose_lake()

    assert _done(project.run()) == ["extract done", "load skipped"]
    assert project.count("currencies") == 3
    project.assert_verified()


def test_new_load_survives_a_lost_ledger(project: Project):
    """When the ledger's entries are lost and the log holds the newest extraction, it is recorded and not appended."""
    project.tables = {"currencies": LOG}
    project.run()
    project.in_target("DELETE FROM tidegate.ledger")

    assert _done(project.run()) == ["load skipped"]
    assert project.count("currencies") == 3
    project.assert_verified()


def test_new_check_reports_missing_rows(project: Project):
    """The load names the check `at_least`: fewer rows than in the source are an error, more rows are not."""
    project.tables = {"currencies": LOG}
    project.run()
    project.in_target("INSERT INTO currencies VALUES ('OLD', 'added by hand', 1)")
    assert project.tidegate().verify().outcome == "equal"

    project.in_target("DELETE FROM currencies WHERE code <> 'EUR'")
    report = project.tidegate().verify()

    assert (report.outcome, report.exit_code) == ("differences", 3)
    assert [(finding.check, finding.what) for finding in report.findings] == [
        ("at_least", "3 rows in the source, only 1 in the target")
    ]
    project.tidegate().repair()
    assert project.count("currencies") == 4


def test_settings_of_a_load_are_settings_of_the_table(project: Project):
    """The setting `log_limit` of the plug-in is read from the table. A load beyond it is rolled back."""
    project.tables = {"currencies": {**LOG, "log_limit": 5}}
    project.run()
    project.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")

    with pytest.raises(RunFailed, match="the log has 3 rows and 4 come; `log_limit` allows 5"):
        project.run()

    assert project.count("currencies") == 3
    project.tables["currencies"]["log_limit"] = 7
    project.run()
    assert project.count("currencies") == 7


def test_new_load_refuses_a_target_with_a_key(project: Project):
    """A load states its requirements: a log cannot be appended to a table with a primary key."""
    project.tables = {"currencies": LOG}
    project.in_target("CREATE TABLE currencies (code varchar(3) PRIMARY KEY, name varchar(40), rate numeric(20,10))")

    with pytest.raises(RunFailed, match="has a key, so a row cannot be appended a second time"):
        project.run()


# A lake


@pytest.fixture
def arrow(project: Project) -> Project:
    """A partition table, a static table and a table of versions, in the lake of the plug-in."""
    project.tables, project.format = {name: dict(settings) for name, settings in TABLES.items()}, "arrow_files"
    return project


def test_new_lake_keeps_every_kind_of_table(arrow: Project):
    """Three kinds of tables are extracted into the lake of the plug-in and loaded from it."""
    arrow.run()

    arrow.assert_same_rows()
    assert len(list(arrow.lake.glob("entries/*/*/*.json"))) == 5
    assert list(arrow.lake.glob("parts/*")) == []


def test_changes_go_through_the_new_lake(arrow: Project):
    """A new day, a restated day, a changed row, a new version and a deleted entity reach the target."""
    arrow.run()
    arrow.in_source("INSERT INTO trades VALUES (20240104, 1, 1, 1)")
    arrow.in_source("UPDATE trades SET amount = 0, load_id = 2 WHERE cob = 20240101")
    arrow.in_source("UPDATE currencies SET rate = 2 WHERE code = 'EUR'; DELETE FROM currencies WHERE code = 'XXX'")
    arrow.in_source("UPDATE customers SET islatest = false WHERE id = 1")
    arrow.in_source("INSERT INTO customers VALUES (1, 'third', '2024-01-03', true)")
    arrow.in_source("DELETE FROM customers WHERE id = 2")

    assert len(_done(arrow.run())) == 8

    assert arrow.rows(arrow.target, "trades") == arrow.rows(arrow.source, "trades")
    assert arrow.rows(arrow.target, "currencies") == arrow.rows(arrow.source, "currencies")
    versions = sides.ask(arrow.target, "SELECT id, name, islatest FROM customers ORDER BY lastmodified, id")
    assert versions == [(1, "first", False), (1, "second", False), (2, "other", False), (1, "third", True)]
    arrow.assert_verified()


@pytest.mark.thorough
def test_lost_new_lake_heals(arrow: Project):
    """When the lake is lost, everything is extracted again and the target keeps its rows."""
    arrow.run()
    arrow.lose_lake()

    assert arrow.steps().count("Extract") == 5
    arrow.run()

    arrow.assert_same_rows()
    assert len(list(arrow.lake.glob("entries/*/*/*.json"))) == 5


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_damaged_entry_of_the_new_lake_heals(arrow: Project, damage: str):
    """When a day's Arrow file is lost, or its JSON file is cut, the day is extracted again."""
    arrow.run()
    [rows] = arrow.lake.glob("entries/trades/cob/20240102~*.arrow")
    rows.unlink() if damage == "lost" else (rows.parent / "20240102.json").write_text("{")

    assert _done(arrow.run()) == ["extract done", "load skipped"]
    arrow.assert_same_rows()


@pytest.mark.thorough
def test_lost_target_is_loaded_from_the_new_lake(arrow: Project):
    """When the target loses rows of every table, they come from the lake: nothing is extracted."""
    arrow.run()
    for table in TABLES:
        arrow.in_target(f"DELETE FROM {table}")  # noqa: S608 - a name of ours

    assert set(_done(arrow.run())) == {"load done"}
    arrow.assert_same_rows()


def test_lost_ledger_is_rebuilt_from_the_new_lake(arrow: Project):
    """When the ledger is lost, entries of the lake and the saved scopes rebuild it."""
    arrow.run()
    arrow.in_target("DROP SCHEMA tidegate CASCADE")

    assert set(_done(arrow.run())) <= {"load skipped", "load done"}
    arrow.assert_same_rows()


@pytest.mark.thorough
def test_retention_holds_in_the_new_lake(arrow: Project):
    """With `retain: {lake: 2}` older entries of every table leave the lake, and are not extracted again."""
    for settings in arrow.tables.values():
        settings["retain"] = {"lake": 2}
    for day in range(4, 7):
        arrow.run()
        arrow.in_source(f"INSERT INTO trades VALUES (2024010{day}, 1, 1, 1)")  # noqa: S608 - a number of ours
        arrow.in_source(f"UPDATE currencies SET rate = {day}")  # noqa: S608 - a number of ours
        arrow.in_source(f"INSERT INTO customers VALUES ({day}, 'new', '2024-02-0{day}', true)")  # noqa: S608 - likewise
    arrow.run()

    arrow.assert_same_rows()
    kept = {table: len(list(arrow.lake.glob(f"entries/{table}/*/*.json"))) for table in TABLES}
    assert kept == {"trades": 2, "currencies": 2, "customers": 2}
    assert len(list(arrow.lake.glob("entries/*/*/*.arrow"))) == 6 + len(
        list(arrow.lake.glob("entries/*/*/*.keys.arrow"))
    )


def test_repeated_commit_changes_nothing(packages: Path, tmp_path: Path):
    """A commit that is repeated returns the entry that is there. A newer entry of somebody else stays."""
    lake, table = lake_plugin("arrow_files").at(tmp_path / "lake"), LakeTable(TableName("", "t"), Layout.VALUES, "cob")
    lake.begin("r-1")
    first, second = (_part(lake, table, name, read_at) for name, read_at in (("1", "2024-01-02"), ("2", "2024-01-01")))

    entry, is_ours = lake.commit(table, "7", [first])
    assert (is_ours, entry.rows, entry.read_at) == (True, 30, "2024-01-02")
    assert lake.commit(table, "7", [first]) == (entry, True)
    assert lake.commit(table, "7", [second]) == (entry, False)
    assert lake.entries(table, {}).by_window == {"7": entry}
    assert [batch.num_rows for batch in lake.read(table, entry.id, BatchSize(rows=20))] == [20, 10]
    assert [batch.num_rows for batch in lake.read(table, entry.id, BatchSize(bytes=80))] == [10, 10, 10]

    lake.end("r-1")
    lake.drop(table, "7")
    assert lake.entries(table, {}).by_window == {}
    assert [path.name for path in (tmp_path / "lake").rglob("*") if path.is_file()] == ["lock"]


@pytest.mark.thorough
def test_several_parts_appear_together_in_the_new_lake(packages: Path, tmp_path: Path):
    """Parts of several tasks are committed as one entry, which is read in their order."""
    lake, table = lake_plugin("arrow_files").at(tmp_path / "lake"), LakeTable(TableName("", "t"), Layout.VALUES, "cob")
    lake.begin("r-1")
    parts = [_part(lake, table, name, "2024-01-02") for name in ("1", "2")]
    facts = EntryFacts("7", 60, "", ("id",), "", ("int64",), (), PartitionToken(), "r-1", "new", "2024-01-02", scope="")

    entry, is_ours = lake.commit(table, "7", parts, facts=facts)

    assert (is_ours, entry.rows, lake.entries(table, {}).by_window) == (True, 60, {"7": entry})
    assert [batch.num_rows for batch in lake.read(table, entry.id, BatchSize())] == [30, 30]
    assert lake.commit(table, "7", parts, facts=facts) == (entry, True)


def _part(lake: Lake, table: LakeTable, name: str, read_at: str) -> Part:
    import pyarrow as pa

    rows = pa.record_batch({"id": pa.array(range(30), pa.int64())})
    writer = lake.writer(table, "r-1", name, rows.schema)
    writer.write(rows)
    token = PartitionToken()
    facts = EntryFacts("7", 30, "", ("id",), "", ("int64",), (), token, "r-1", "new", read_at, scope="")
    return writer.close(facts)


def _planned(project: Project, table: str) -> Any:
    from tidegate.runs.plan import planning

    with planning(project.tidegate()._pipeline) as planner:
        return planner.plan([table])[0]


@pytest.mark.spark
def test_new_lake_gives_a_dataframe(arrow: Project, spark: SparkSession):
    """Spark sees the committed rows: all days of a partition table, the newest entry of a static table."""
    arrow.run()
    arrow.in_source("DELETE FROM currencies WHERE code = 'XXX'")
    arrow.run()
    lake = arrow.tidegate()._pipeline.lake

    assert lake.dataframe(spark, _planned(arrow, "trades").table.lake_table).count() == 120
    assert lake.dataframe(spark, _planned(arrow, "currencies").table.lake_table).count() == 2


# All of them


def test_plugins_are_listed_with_their_packages(packages: Path):
    """`tidegate plugins` lists the four plug-ins with the first sentence of their documentation."""
    found = {(plugin.folder, plugin.kind): (plugin.about, plugin.origin) for plugin in installed()}

    assert {place: found[place] for place in [(group, name) for group, name, _, _ in PLUGINS]} == {
        ("changes", "row_count"): ("Extracts a whole table when its number of rows changed.", "row_count"),
        ("loads", "append_log"): ("Appends the rows of each extraction to the target, as an audit log.", "append_log"),
        ("lakes", "arrow_files"): (
            "Arrow IPC files below one folder, each with its facts in a JSON file.",
            "arrow_files",
        ),
        ("checks", "at_least"): (
            "Compares the number of rows: the target may hold more than the source, never fewer.",
            "at_least",
        ),
    }


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"kind": "partition", "partition_column": "cob", "load": "append_log"},
            "`load: append_log` does not fit `changes: partition`.",
        ),
        ({"kind": "scd2", "changes": "row_count"}, "`load: scd2` does not fit `changes: row_count`."),
        ({"kind": "static", "changes": "row_counts"}, "`row_counts` is not among the changes that are installed"),
        ({"kind": "static", "load": "append_logs"}, "`append_logs` is not among the loads that are installed"),
        ({"kind": "static", "count_tolerance": 1}, "`count_tolerance` is not a setting of tables.currencies"),
    ],
)
def test_combinations_without_sense_are_refused(project: Project, settings: dict[str, Any], words: str):
    """A change and a load that do not fit, and settings of a plug-in that a table does not use, are refused."""
    project.tables = {"currencies": settings}

    with pytest.raises((ConfigError, Unsupported), match=words.replace(".", r"\.")):
        project.tidegate()


def test_lake_that_is_not_installed_is_refused(project: Project):
    """A lake's format that no plug-in has is refused when the configuration is read."""
    project.tables, project.format = {"currencies": ROW_COUNT}, "arrow_folders"

    with pytest.raises(Unsupported, match=r"`lake\.format` asks for `arrow_folders`"):
        project.tidegate()


@pytest.mark.spark
@pytest.mark.thorough
def test_cli_and_spark_workers_find_all_plugins(project: Project, packages: Path, tmp_path: Path):
    """The command line and the workers of Spark load the installed plug-ins, also the token of the change."""
    project.format = "arrow_files"
    project.tables = {"currencies": {**ROW_COUNT, "load": "append_log"}, "trades": TABLES["trades"]}
    path = tmp_path / "tidegate.yml"
    path.write_text(yaml.safe_dump({**project.configuration(), "spark": {"master": "local[2]"}}))
    environment = {"PYTHONPATH": ":".join([str(packages), *filter(None, sys.path)])}

    code, output, errors = cli("run", "--config", path, environment=environment)
    assert code == 0, output + errors
    code, output, errors = cli("verify", "--config", path, environment=environment)
    assert code == 0, output + errors

    code, output, errors = cli("plugins", "--json", environment=environment)
    listed = {(plugin["folder"], plugin["kind"]) for plugin in json.loads(output)["plugins"]}
    assert {(group, name) for group, name, _, _ in PLUGINS} <= listed
    project.assert_same_rows()


# A check that a table chooses


def test_table_chooses_several_checks(project: Project):
    """Both checks compare the table; each names its own findings."""
    project.tables = {"trades": {**TABLES["trades"], "check": ["receipt", "at_least"]}}
    project.run()
    project.assert_verified()
    project.in_target("DELETE FROM trades WHERE cob = 20240102 AND id = 7")
    found = {finding.check for finding in project.tidegate().verify().findings if finding.severity == "error"}
    assert found == {"receipt", "at_least"}


def test_one_chosen_check_replaces_the_check_of_the_load(project: Project):
    """Counting finds no changed value: the user asked for that."""
    project.tables = {"trades": {**TABLES["trades"], "check": "at_least"}}
    project.run()
    project.in_target("UPDATE trades SET amount = 0 WHERE cob = 20240102 AND id = 7")
    assert project.tidegate().verify().outcome == "equal"


@pytest.mark.parametrize(
    ("check", "why"), [("nobody", "not installed; installed:"), ("versions", "does not understand `load: replace_par")]
)
def test_check_that_cannot_work_is_refused(project: Project, check: str, why: str):
    project.tables = {"trades": {**TABLES["trades"], "check": check}}
    with pytest.raises(ConfigError, match=why):
        project.tidegate()


# Plug-ins that are wrong


def test_plugin_of_another_interface_is_refused(project: Project, packages: Path):
    """The error names the package's entry point instead of an attribute that is missing deep inside."""
    install_plugin(packages, "changes", "not_a_change", "plugin_check:AtLeast")
    project.tables = {"currencies": {"kind": "static", "changes": "not_a_change"}}
    with pytest.raises(Unsupported, match=r"`not_a_change` \(plugin_check:AtLeast\) is no Change"):
        project.tidegate()


def test_setting_of_two_parts_is_refused(project: Project, packages: Path):
    """A load with a setting of the same name and another default: one of the two would win in silence."""
    (packages / "same_setting.py").write_text(
        "from plugin_load import AppendLog\n"
        "from tidegate.settings import Settings\n"
        "class SameSettings(Settings):\n"
        "    count_tolerance: int = 7\n"
        "class Same(AppendLog):\n"
        "    name = 'same'\n"
        "    changes = ('row_count',)\n"
        "    Settings = SameSettings\n"
    )
    install_plugin(packages, "loads", "same", "same_setting:Same")
    project.tables = {"currencies": {**ROW_COUNT, "load": "same"}}
    with pytest.raises(Unsupported, match="both have the setting `count_tolerance`"):
        project.tidegate()


def test_setting_that_every_table_has_is_refused(project: Project, packages: Path):
    """A change whose setting has the name of one that every table has: the table's own would win in silence."""
    (packages / "table_setting.py").write_text(
        "from plugin_change import RowCount\n"
        "from tidegate.settings import Settings\n"
        "class TableSettings(Settings):\n"
        "    split_rows: int = 7\n"
        "class Taken(RowCount):\n"
        "    name = 'taken'\n"
        "    Settings = TableSettings\n"
    )
    install_plugin(packages, "changes", "taken", "table_setting:Taken")
    project.tables = {"currencies": {"kind": "static", "changes": "taken"}}
    with pytest.raises(Unsupported, match="Every table and `changes: taken` both have the setting `split_rows`"):
        project.tidegate()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("name = 'another'", "has the name `another`: it must be the name of its entry point"),
        ("name = 'odd'\n    Settings = dict", "needs a class attribute `Settings`, a subclass of"),
        ("name = 'odd'\n    loads = 'merge'", "needs a class attribute `loads`, a tuple of names"),
        ("name = ''", "needs a class attribute `name`"),
        ("import nothing_of_this_name", "cannot be imported: ModuleNotFoundError: No module named"),
    ],
)
def test_plugin_with_a_wrong_attribute_is_refused(project: Project, packages: Path, body: str, why: str):
    """A mistake that Python does not notice is named when the plug-in is found, and `tidegate plugins` shows it."""
    (packages / "odd_change.py").write_text(f"from plugin_change import RowCount\nclass Odd(RowCount):\n    {body}\n")
    install_plugin(packages, "changes", "odd", "odd_change:Odd")
    project.tables = {"currencies": {"kind": "static", "changes": "odd"}}
    with pytest.raises(Unsupported, match=why):
        project.tidegate()
    [listed] = [plugin for plugin in installed() if plugin.kind == "odd"]
    assert re.search(why, listed.about)


def test_name_of_two_packages_is_refused(project: Project, packages: Path, tmp_path: Path):
    """Two packages that bring a load of the same name: which one counts must not depend on the order of a path."""
    other = tmp_path / "other packages"
    other.mkdir()
    install_plugin(other, "loads", "append_log", "plugin_load:AppendLog")
    (other / "append_log-1.0.dist-info").rename(other / "more_loads-1.0.dist-info")
    (other / "more_loads-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: more_loads\nVersion: 1.0\n"
    )
    sys.path.append(str(other))
    try:
        project.tables = {"currencies": LOG}
        with pytest.raises(
            Unsupported, match="`append_log` is taken twice among the loads: by append_log and by more_lo"
        ):
            project.tidegate()
    finally:
        sys.path.remove(str(other))


def test_name_of_a_built_in_part_is_refused(project: Project, packages: Path):
    """A package cannot replace a part of Tidegate's own: the list says so, and the built-in part is used."""
    install_plugin(packages, "checks", "content", "plugin_check:AtLeast")
    [_, ours] = [plugin for plugin in installed() if plugin.kind == "content"]
    assert "is taken twice among the checks: by Tidegate and by content" in ours.about


def test_refused_load_names_loads_of_plugins(project: Project):
    project.tables = {"currencies": {"kind": "static", "load": "replace_partition"}}
    with pytest.raises(Unsupported, match=r"Loads that fit: .*append_log"):
        project.tidegate()
