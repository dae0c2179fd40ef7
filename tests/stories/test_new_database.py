"""A third-party database plugin, `kit/filebase.py`, is installed and used without any change in Tidegate."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit import filebase, sides
from kit.copies import database_at
from kit.installing import install_database
from kit.one_process import OneProcess
from kit.pairs import first_daily
from kit.project import MONDAY, THURSDAY, TUESDAY, WEDNESDAY, assert_same_rows, cli
from tidegate import Tidegate
from tidegate.errors import ForeignTarget, RunFailed, Unreachable
from tidegate.plugins import installed

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

DAYS = (MONDAY, TUESDAY, WEDNESDAY)
ROWS = 50
CREATE = """
CREATE TABLE trades (
    cob int, id bigint NOT NULL, amount text_decimal(38,18), note text, traded_at text_timestamp(6), load_id bigint
);
CREATE INDEX trades_by_cob ON trades (cob);
"""
INSERT = "INSERT INTO trades (cob, id, amount, note, traded_at, load_id) VALUES (?, ?, ?, ?, ?, 1)"
COLUMNS = "SELECT name FROM pragma_table_info('trades') ORDER BY name"
SELECT = "SELECT {} FROM trades"
RESTATE = "UPDATE trades SET note = 'restated', load_id = 2 WHERE cob = {}"
DELETE = "DELETE FROM trades WHERE cob = {}"
CHANGE = "UPDATE trades SET note = 'changed' WHERE cob = {} AND id = 7"
ADD_COLUMN = {
    "filebase": "ALTER TABLE trades ADD COLUMN desk text(20)",
    "postgresql": "ALTER TABLE trades ADD COLUMN desk varchar(20)",
    "mysql": "ALTER TABLE trades ADD COLUMN desk varchar(20)",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that filebase is installed in."""
    folder = tmp_path / "packages"
    folder.mkdir()
    shutil.copy(filebase.__file__, folder / "filebase.py")
    install_database(folder, "filebase", "filebase:Filebase")
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("filebase", None)


# Source and target, by plain drivers


@dataclass
class File:
    """A database in a file, accessed by Python's sqlite3."""

    path: Path

    def __post_init__(self) -> None:
        self.path.touch()
        self.url = f"filebase://{self.path}"

    def create(self) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(CREATE)

    def fill(self, *days: int, first: int = 1, last: int = ROWS) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany(INSERT, [_trade(day, number) for day in days for number in range(first, last + 1)])

    def do(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement)

    def ask(self, statement: str) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(statement).fetchall()

    def rows(self) -> sides.Rows:
        names = [name for (name,) in self.ask(COLUMNS)]
        converters = [CONVERTERS.get(name, lambda value: value) for name in names]
        found = self.ask(SELECT.format(", ".join(names)))
        return Counter(tuple(convert(value) for convert, value in zip(converters, row, strict=True)) for row in found)


def _trade(day: int, number: int) -> tuple[object, ...]:
    """Return the cells of a trade. The first two trades of a day are equal."""
    number = max(number, 2)
    amount = number * Decimal("1.000000000000000001") + day
    at = datetime(2024, 1, 1, 7) + number * timedelta(seconds=1, microseconds=1)
    return day, number, str(amount), sides.NOTES[number % len(sides.NOTES)], str(at)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f" if "." in text else "%Y-%m-%d %H:%M:%S")


CONVERTERS = {"amount": Decimal, "traded_at": _moment}


@dataclass
class Server:
    """A database on a server."""

    url: str

    def create(self) -> None:
        sides.create(self.url)

    def fill(self, *days: int, first: int = 1, last: int = ROWS) -> None:
        sides.fill(self.url, days, first, last)

    def do(self, statement: str, *values: object) -> None:
        sides.do(self.url, statement, *values)

    def ask(self, statement: str) -> list[Any]:
        return sides.ask(self.url, statement)

    def rows(self) -> sides.Rows:
        return sides.rows_of(self.url)


@dataclass
class Story:
    source: File | Server
    target: File | Server
    lake: Path
    settings: dict[str, Any] = field(default_factory=lambda: {"restatement_column": "load_id"})

    def configuration(self) -> dict[str, Any]:
        table = {"kind": "partition", "partition_column": "cob", **self.settings}
        places = {"source": self.source.url, "target": self.target.url, "lake": str(self.lake)}
        return {**places, "batch_rows": 16, "tables": {"trades": table}}

    def tidegate(self) -> Tidegate:
        return Tidegate(**self.configuration(), spark=OneProcess())

    def run(self) -> list[str]:
        return _steps(self.tidegate().run())

    def assert_in_step(self) -> None:
        assert self.source.rows().total() > 0
        assert_same_rows(self.target.rows(), self.source.rows())
        assert self.tidegate().verify().outcome == "equal"
        assert not self.tidegate().plan().does_something


def _steps(report: RunReport) -> list[str]:
    assert report.outcome == "done"
    return sorted(f"{step.step} {step.value}".strip() for step in report.steps if step.outcome == "done")


def _side(kind: str, name: str, request: pytest.FixtureRequest) -> File | Server:
    match kind:
        case "filebase":
            return File(request.getfixturevalue("tmp_path") / f"{name}.db")
        case "mariadb":
            databases = request.getfixturevalue("mariadb").database()
            request.addfinalizer(lambda: databases.__exit__(None, None, None))
            return Server(databases.__enter__())
    return Server(request.getfixturevalue("database"))


PAIRS = [
    pytest.param(("filebase", "filebase"), id="filebase to filebase", marks=pytest.mark.thorough),
    pytest.param(("postgresql", "filebase"), id="postgresql to filebase", marks=pytest.mark.postgres),
    pytest.param(("mariadb", "filebase"), id="mariadb to filebase", marks=[pytest.mark.mysql, pytest.mark.thorough]),
    pytest.param(
        ("filebase", "postgresql"), id="filebase to postgresql", marks=[pytest.mark.postgres, pytest.mark.thorough]
    ),
    pytest.param(("filebase", "mariadb"), id="filebase to mariadb", marks=pytest.mark.mysql),
]


@pytest.fixture(params=PAIRS)
def story(request: pytest.FixtureRequest, package: Path, tmp_path: Path) -> Story:
    """Three days in the source, an empty lake and an empty target."""
    source, target = (_side(kind, name, request) for kind, name in zip(request.param, ("prod", "uat"), strict=True))
    source.create()
    source.fill(*DAYS)
    return Story(source, target, tmp_path / "lake")


@pytest.fixture
def files(package: Path, tmp_path: Path) -> Story:
    """The same, both sides on filebase."""
    story = Story(File(tmp_path / "prod.db"), File(tmp_path / "uat.db"), tmp_path / "lake")
    story.source.create()
    story.source.fill(*DAYS)
    return story


# Runs between the plugin and every other database


def test_first_run_creates_and_fills_the_table(story: Story):
    """The first run creates the target table and loads every day."""
    steps = story.run()

    days = [f"{verb} {day}" for verb in ("extract", "load") for day in DAYS]
    assert steps == ["change schema", *days]
    story.assert_in_step()


def test_second_run_does_nothing(story: Story):
    """A second run reports `nothing to do`, and the run history has both runs."""
    story.run()

    assert story.tidegate().run().outcome == "nothing to do"
    assert [report["outcome"] for report in story.tidegate().history()] == ["nothing to do", "done"]


def test_new_day_is_loaded(story: Story):
    """A new day of the source is extracted and loaded."""
    story.run()
    story.source.fill(THURSDAY)

    assert story.run() == [f"extract {THURSDAY}", f"load {THURSDAY}"]
    story.assert_in_step()


@pytest.mark.thorough
def test_restated_day_is_replaced(story: Story):
    """A day with a new `load_id` is extracted and replaced."""
    story.run()
    story.source.do(RESTATE.format(TUESDAY))

    assert story.run() == [f"extract {TUESDAY}", f"load {TUESDAY}"]
    story.assert_in_step()


@pytest.mark.thorough
def test_day_deleted_in_the_target_is_restored(story: Story):
    """When a day is deleted in the target, the next run loads it from the lake."""
    story.run()
    story.target.do(DELETE.format(TUESDAY))

    assert story.run() == [f"load {TUESDAY}"]
    story.assert_in_step()


@pytest.mark.thorough
def test_changed_row_is_found_and_repaired(story: Story):
    """When a row is changed in the target, `verify --deep` names it and `repair` restores it."""
    story.run()
    story.target.do(CHANGE.format(MONDAY))

    verification = story.tidegate().verify(deep=True)

    assert [(finding.value, finding.what) for finding in verification.findings] == [
        (
            str(MONDAY),
            "equal counts, other content; the target was changed after it was loaded;"
            f" 1 changed ({MONDAY}, 7, {MONDAY + 7}.000000000000000007)",
        )
    ]
    story.tidegate().repair()
    story.assert_in_step()


def test_new_column_is_backfilled_in_the_target(story: Story):
    """When the source adds a column, the target gets it with the values of loaded days."""
    story.run()
    story.source.do(ADD_COLUMN[story.source.url.partition(":")[0]])
    story.source.do("UPDATE trades SET desk = 'rates' WHERE id > 10")

    story.run()

    assert {desk for (desk,) in story.target.ask(SELECT.format("desk"))} == {None, "rates"}
    story.assert_in_step()


# Properties of the plugin


def test_plugin_is_listed_with_its_package(package: Path):
    """The list of installed databases names the plugin and its package."""
    assert [(plugin.kind, plugin.about, plugin.origin) for plugin in installed() if plugin.kind == "filebase"] == [
        ("filebase", "A database in one file, with SQLite inside.", "filebase")
    ]


def test_missing_database_file_is_not_created(files: Story):
    """When the target's file does not exist, the run fails and creates none."""
    files.target.path.unlink()

    with pytest.raises(Unreachable, match="unable to open database file"):
        files.tidegate().run()

    assert not files.target.path.exists()


def test_copied_target_is_refused(files: Story):
    """When the target's file is a copy, the run is refused."""
    files.run()
    shutil.copy(files.target.path, files.target.path.with_name("restored.db"))
    files.target = File(files.target.path.with_name("restored.db"))

    with pytest.raises(ForeignTarget):
        files.tidegate().run()


def test_table_lock_excludes_a_second_run(files: Story):
    """When another session holds the lock of the table, a run is refused."""
    files.run()
    files.source.fill(THURSDAY)

    with database_at(files.target.url).connect("another run") as other:
        assert other.try_lock("tidegate table main.trades")
        with pytest.raises(RunFailed, match=r"main\.trades is held by"):
            files.tidegate().run()

    files.run()
    files.assert_in_step()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("text_date", ["2024-01-01", "2024-02-29", "9999-12-31"]),
        ("text(10)", ["a", "A", "a ", "ä"]),
        ("text(10) COLLATE NOCASE", ["a", "A", "a "]),
    ],
)
def test_dates_and_texts_can_be_partition_values(files: Story, column: str, values: list[str]):
    """Dates and texts, also with a case-insensitive collation, work as partition values."""
    rows = [(value, number) for number, value in enumerate(values)]
    with closing(sqlite3.connect(files.source.path)) as connection, connection:
        connection.execute("DROP TABLE trades")
        connection.execute(f"CREATE TABLE trades (cob {column}, id bigint)")
        connection.executemany("INSERT INTO trades VALUES (?, ?)", rows)
    files.settings = {}

    files.run()

    assert sorted(files.target.ask("SELECT cob, id FROM trades")) == sorted(rows)
    assert files.tidegate().verify().outcome == "equal"


MANY_TYPES = """
CREATE TABLE trades (
    cob integer, small smallint, truth boolean, single real, double double precision,
    exact numeric(38,10), whole numeric, day date, clock time(3), moment timestamp, instant timestamptz,
    bytes bytea, code uuid, document json, padded char(5)
);
INSERT INTO trades VALUES
    (1, -32768, true, 0.1, 0.1, 1234567890123456789012345678.0000000001, 1e40, '0001-01-01', '23:59:59.999',
     '9999-12-31 23:59:59.999999', '2024-03-31 01:30:00.5+00', '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
     '{"a": [1, 2.50]}', 'ab'),
    (1, 32767, false, 'infinity', 1e300, -0.0000000001, -0.10, '9999-12-31', '00:00',
     '2024-01-01', '1970-01-01 00:00+00', '', NULL, 'null', ''),
    (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 0, true, -1.5, 0, 0, 0, '2024-02-29', '12:00',
     '2024-02-29 12:00', '2024-02-29 12:00+01', '\\x5c', NULL, '[]', 'x')
"""
# Blanks of padded texts are stored in the file.
AS_TEXTS = """
SELECT cob::text, small::text, truth::text, single::text, double::text, exact::text, whole::text, day::text,
       clock::text, moment::text, instant::text, bytes::text, code::text, document::text, octet_length(padded)
FROM trades ORDER BY 1, 2
"""


@pytest.mark.postgres
def test_every_type_survives_a_round_trip(package: Path, tmp_path: Path, postgres: EmbeddedPostgres, database: str):
    """Values of every PostgreSQL type go into a file and return to PostgreSQL unchanged."""
    source, file, back = Server(database), File(tmp_path / "between.db"), Server(postgres.create_database("came_back"))
    source.do(MANY_TYPES)

    Story(source, file, tmp_path / "first lake", {}).run()
    Story(file, back, tmp_path / "second lake", {}).run()

    assert back.ask(AS_TEXTS) == source.ask(AS_TEXTS)
    postgres.drop_database("came_back")


@pytest.mark.postgres
@pytest.mark.parametrize("value", first_daily("NaN", "-0"))
def test_unsupported_floats_are_refused(package: Path, tmp_path: Path, database: str, value: str):
    """NaN and -0, which the file cannot store, are refused with the column's name."""
    source, file = Server(database), File(tmp_path / "uat.db")
    source.do("CREATE TABLE trades AS SELECT 1 AS cob, CAST(%s AS double precision) AS price", value)

    with pytest.raises(RunFailed, match="price has NaN or -0, which filebase would change"):
        Story(source, file, tmp_path / "lake", {}).run()

    assert file.ask("SELECT * FROM trades") == []


@pytest.mark.spark
def test_cli_and_spark_workers_find_the_plugin(files: Story, package: Path, tmp_path: Path):
    """The command line and the workers of Spark load the installed plugin."""
    path = tmp_path / "tidegate.yml"
    path.write_text(yaml.safe_dump({**files.configuration(), "spark": {"master": "local[2]"}}))
    environment = {"PYTHONPATH": ":".join([str(package), *filter(None, sys.path)])}

    code, output, errors = cli("run", "--config", path, environment=environment)

    assert code == 0, output + errors
    files.assert_in_step()
