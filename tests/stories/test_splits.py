"""A large window is read by several tasks on one snapshot, and is one entry of the lake all the same."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from kit import sides
from kit.mariadb import MariaDb
from kit.meanwhile import Before
from kit.one_process import OneProcess
from kit.project import FRIDAY, MONDAY, Stories, Story, child, database_on
from kit.sides import ask
from tidegate import Tidegate
from tidegate.databases import postgresql
from tidegate.databases.mysql.session import MysqlSession
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import TableName
from tidegate.model.report import RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.spark]

MANY, SPLIT_ROWS, PARTS = 4_000, 800, 4


def grow(story: Story) -> Story:
    """Make Friday large enough for several tasks; the other days stay small."""
    story.fill(FRIDAY, first=1_000, last=MANY)
    story.settings |= {"split_rows": SPLIT_ROWS}
    return story


@pytest.fixture
def large(story: Story) -> Story:
    return grow(story)


def tasks(report: RunReport, value: object = FRIDAY) -> int:
    """Return how many tasks extracted a window."""
    [step] = [step for step in report.steps if step.step == "extract" and step.value == str(value)]
    return int(step.why.split("; ")[1].removesuffix(" tasks")) if "; " in step.why else 1


def assert_equal(story: Story) -> None:
    target, source = ([*map(repr, rows.elements())] for rows in (story.rows_in_target(), story.rows_in_source()))
    assert Counter(target) == Counter(source)  # as texts: no NaN equals another
    assert story.tidegate().verify().outcome == "equal"
    assert story.run().outcome == "nothing to do"


def test_large_window_is_read_by_several_tasks(large: Story):
    """Each task writes a part. The window is loaded, compared and remembered as one."""
    report = large.run()

    assert tasks(report) == PARTS
    assert len(list(large.lake_file(FRIDAY).glob("part-*.parquet"))) == PARTS
    assert large.lake_file(MONDAY).is_file()
    [step] = [step for step in report.steps if step.step == "extract" and step.value == str(FRIDAY)]
    assert step.rows == ask(large.source, "SELECT count(*) FROM trades WHERE cob = %s", FRIDAY)[0][0]
    assert_equal(large)


def test_parts_are_read_as_one_table(large: Story, spark: SparkSession):
    """Spark and pyarrow read the folder of a window as a table, and `dataframe` has every row once."""
    large.run()
    folder = large.lake_file(FRIDAY)
    expected = sum(large.rows_in_source(FRIDAY).values())

    assert pq.read_table(folder).num_rows == expected
    assert spark.read.parquet(str(folder)).count() == expected
    table = LakeTable(TableName("", "trades"), Layout.VALUES, "cob")
    assert ParquetLake.at(large.lake).dataframe(spark, table).count() == sum(large.rows_in_source().values())


def test_value_that_fits_no_type_is_read_alike_by_all_tasks(large: Story):
    """One part meets a NaN. All parts are read with that column as text, or their hashes could not be added up."""
    large.in_source("UPDATE trades SET amount = 'NaN' WHERE cob = %s AND id = %s", FRIDAY, MANY)

    report = large.run()

    assert tasks(report) == PARTS
    parts = sorted(large.lake_file(FRIDAY).glob("part-*.parquet"))
    assert {str(pq.read_schema(part).field("amount").type) for part in parts} == {"string"}
    assert_equal(large)


@pytest.mark.thorough
def test_window_changes_its_form_with_its_size(large: Story):
    """A restated day that became small is a file again; when it grows, it is a folder."""
    large.run()
    large.in_source("DELETE FROM trades WHERE cob = %s AND id > 1000", FRIDAY)
    assert tasks(large.run()) == 1
    assert large.lake_file(FRIDAY).is_file()
    assert_equal(large)

    large.fill(FRIDAY, first=5_000, last=9_000)
    assert tasks(large.run()) == PARTS + 1
    assert large.lake_file(FRIDAY).is_dir()
    assert_equal(large)


@pytest.mark.thorough
def test_damaged_part_is_extracted_again(large: Story):
    """A part that is gone changes the window's etag. A run that needs the window extracts it again."""
    large.run()
    next(large.lake_file(FRIDAY).glob("part-*.parquet")).unlink()
    large.in_target("DELETE FROM trades WHERE cob = %s", FRIDAY)

    assert tasks(large.run()) == PARTS
    assert_equal(large)


def test_lost_target_is_loaded_from_the_parts(large: Story):
    large.run()
    large.in_target("DELETE FROM trades")
    assert {step.step for step in large.run().steps} == {"load"}
    assert_equal(large)


@pytest.mark.thorough
def test_rows_that_come_and_go_meanwhile_are_not_read(large: Story):
    """All tasks read the snapshot from before: what somebody changes after it waits for the next run."""
    before = large.rows_in_source()

    def change() -> None:
        large.in_source("UPDATE trades SET note = 'meanwhile' WHERE cob = %s", FRIDAY)
        large.in_source("DELETE FROM trades WHERE cob = %s AND id %% 2 = 0", FRIDAY)

    large.tidegate(listener=Before("extract", change)).run()

    assert large.rows_in_target() == before
    large.run()
    assert_equal(large)


@pytest.mark.parametrize(
    ("place", "nth"),
    [
        pytest.param("published", 5, marks=pytest.mark.thorough),
        pytest.param("extract done", 1, marks=pytest.mark.thorough),
        ("task about to commit", 5),
    ],
)
def test_killed_run_resumes(large: Story, tmp_path: Path, place: str, nth: int):
    """Killed after its commit to the lake, and before that to the target, a window of several parts is completed."""
    configuration = large.file(tmp_path / "tidegate.yml")
    killed = child("-m", "kit.crash", configuration, place, nth, tmp_path / "tally", "all in one")
    killed.communicate(timeout=200)
    assert killed.returncode == -9

    large.run()

    large.tidegate().clean(older_than_hours=0)
    assert list((large.lake / ".tidegate" / "tmp").iterdir()) == []
    assert_equal(large)


@pytest.mark.thorough
def test_never_more_connections_than_allowed(large: Story, monkeypatch: pytest.MonkeyPatch):
    """However many parts there are, `max_connections` tasks read at a time."""
    large.project["max_connections"] = 1
    large.settings["split_rows"] = 300
    seen: list[int] = []
    connect = postgresql.Postgresql.connect

    def counted(self: Any, purpose: str, **options: Any) -> Any:
        if purpose == "extract":
            sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'tidegate extract %%'"
            seen.append(ask(large.source, sessions)[0][0])
        return connect(self, purpose, **options)

    monkeypatch.setattr(postgresql.Postgresql, "connect", counted)
    assert tasks(Tidegate(**{**large.configuration(), "spark": large.spark}).run()) == 10
    assert_equal(large)
    assert max(seen) <= 1


def test_event_log_shows_a_task_for_each_part(large: Story, tmp_path: Path):
    """Spark's own event log has the tasks of the parts."""
    log = tmp_path / "events"
    log.mkdir()
    events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": log.as_uri(), "spark.eventLog.compress": "false"}
    large.settings["split_rows"] = 800
    large.project["spark"] = {"master": "local[2]", "options": events}
    large.settings["initial_load_count"] = 1

    run = child("-m", "tidegate.cli.main", "run", "-c", large.file(tmp_path / "tidegate.yml"))
    _, errors = run.communicate(timeout=200)

    assert run.returncode == 0, errors
    files = [path for path in log.rglob("*") if path.is_file() and path.suffix != ".crc"]
    lines = [line for path in files for line in path.read_text().splitlines() if line]
    ends = [event for event in map(json.loads, lines) if event["Event"] == "SparkListenerTaskEnd"]
    assert len(ends) == PARTS + 1, "a task for each part, and one for the load"


# The other kinds


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "static"},
        {"kind": "static", "load": "replace"},
        {"kind": "scd2", "business_keys": ["cob", "id"], "cursor_column": "traded_at", "initial_load": "full"},
        {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "keys": ["cob", "id"]},
    ],
    ids=["static", "replace", "scd2", "incremental"],
)
def test_large_window_of_every_kind(story: Story, table: dict[str, Any]):
    story.in_source("DELETE FROM trades WHERE cob <> %s", FRIDAY)
    story.fill(FRIDAY, first=1_000, last=MANY)
    story.in_source("DELETE FROM trades WHERE id = 2")
    story.in_source("ALTER TABLE trades ADD PRIMARY KEY (cob, id); ANALYZE trades")
    tidegate = Tidegate(
        source=story.source,
        target=story.target,
        lake=story.lake,
        tables={"trades": {**table, "split_rows": SPLIT_ROWS}},
        spark=story.spark,
    )

    report = tidegate.run()

    [step] = [step for step in report.steps if step.step == "extract"]
    assert step.why.endswith("; 3 tasks")
    assert story.rows_in_target() == story.rows_in_source()
    assert tidegate.verify().outcome == "equal"
    assert tidegate.run().outcome == "nothing to do"


# Without a snapshot that sessions share


@pytest.fixture(scope="module")
def between(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), spark, tmp_path_factory, opened)


@pytest.fixture
def from_mysql(between: Stories) -> Story:
    story = grow(between("mysql", "postgresql"))
    story.in_source("DELETE FROM trades WHERE id = 2")
    story.in_source("ALTER TABLE trades ADD PRIMARY KEY (cob, id)")
    time.sleep(3.5)  # nobody writes to the table any more
    return story


@pytest.mark.mysql
def test_mysql_table_at_rest_is_divided(from_mysql: Story):
    assert tasks(from_mysql.run()) == 3
    assert Counter(from_mysql.rows_in_target()) == from_mysql.rows_in_source()
    assert from_mysql.run().outcome == "nothing to do"


@pytest.mark.thorough
@pytest.mark.mysql
def test_change_between_tasks_is_noticed(from_mysql: Story, monkeypatch: pytest.MonkeyPatch):
    """Each task has a snapshot of its own. After any commit meanwhile, one task reads the window again."""
    read = MysqlSession.read
    acted: list[bool] = []

    def reading(self: Any, request: Any) -> Any:
        if self._connection.kind == "mysql" and request.rows is not None and not acted:
            acted.append(True)
            sides.do(from_mysql.source, "UPDATE trades SET note = 'torn' WHERE cob = %s", FRIDAY)
        return read(self, request)

    monkeypatch.setattr(MysqlSession, "read", reading)
    from_mysql.spark = OneProcess()  # type: ignore[assignment]
    report = from_mysql.run()

    assert acted
    assert tasks(report) == 1
    assert Counter(from_mysql.rows_in_target()) == from_mysql.rows_in_source()


@pytest.mark.mysql
@pytest.mark.thorough
def test_mysql_table_in_motion_is_read_by_one_task(from_mysql: Story):
    sides.do(from_mysql.source, "UPDATE trades SET note = 'a moment ago' WHERE cob = %s AND id = 7", MONDAY)
    assert tasks(from_mysql.run()) == 1
