"""A database of a stranger, `kit/filebase.py`, is installed and used; nothing in Tidegate knows of it."""

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


# Both sides, by plain drivers


@dataclass
class File:
    """A side in a file, as Python's own sqlite3 sees it."""

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
        seen = [SEEN.get(name, lambda value: value) for name in names]
        found = self.ask(SELECT.format(", ".join(names)))
        return Counter(tuple(see(value) for see, value in zip(seen, row, strict=True)) for row in found)


def _trade(day: int, number: int) -> tuple[object, ...]:
    """The first two of a day are the same."""
    number = max(number, 2)
    amount = number * Decimal("1.000000000000000001") + day
    at = datetime(2024, 1, 1, 7) + number * timedelta(seconds=1, microseconds=1)
    return day, number, str(amount), sides.NOTES[number % len(sides.NOTES)], str(at)


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f" if "." in text else "%Y-%m-%d %H:%M:%S")


SEEN = {"amount": Decimal, "traded_at": _moment}


@dataclass
class Server:
    """A side on a server."""

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
    pytest.param(("filebase", "filebase"), id="filebase to filebase"),
    pytest.param(("postgresql", "filebase"), id="postgresql to filebase", marks=pytest.mark.postgres),
    pytest.param(("mariadb", "filebase"), id="mariadb to filebase", marks=pytest.mark.mysql),
    pytest.param(("filebase", "postgresql"), id="filebase to postgresql", marks=pytest.mark.postgres),
    pytest.param(("filebase", "mariadb"), id="filebase to mariadb", marks=pytest.mark.mysql),
]


@pytest.fixture(params=PAIRS)
def story(request: pytest.FixtureRequest, package: Path, tmp_path: Path) -> Story:
    """Three days in the source, nothing yet in the lake and in the target."""
    source, target = (_side(kind, name, request) for kind, name in zip(request.param, ("prod", "uat"), strict=True))
    source.create()
    source.fill(*DAYS)
    return Story(source, target, tmp_path / "lake")


@pytest.fixture
def files(package: Path, tmp_path: Path) -> Story:
    """The same, both sides on filebase."""
    made = Story(File(tmp_path / "prod.db"), File(tmp_path / "uat.db"), tmp_path / "lake")
    made.source.create()
    made.source.fill(*DAYS)
    return made


# The first story, from and to every database that is here


def test_the_first_run_creates_the_table_and_brings_every_day(story: Story):
    steps = story.run()

    days = [f"{verb} {day}" for verb in ("land", "load") for day in DAYS]
    assert steps == ["change schema", *days]
    story.assert_in_step()


def test_a_second_run_has_nothing_to_do(story: Story):
    story.run()

    assert story.tidegate().run().outcome == "nothing to do"
    assert [report["outcome"] for report in story.tidegate().history()] == ["nothing to do", "done"]


def test_a_new_day_follows(story: Story):
    story.run()
    story.source.fill(THURSDAY)

    assert story.run() == [f"land {THURSDAY}", f"load {THURSDAY}"]
    story.assert_in_step()


def test_a_restated_day_is_replaced(story: Story):
    story.run()
    story.source.do(RESTATE.format(TUESDAY))

    assert story.run() == [f"land {TUESDAY}", f"load {TUESDAY}"]
    story.assert_in_step()


def test_a_day_that_was_deleted_in_the_target_heals(story: Story):
    story.run()
    story.target.do(DELETE.format(TUESDAY))

    assert story.run() == [f"load {TUESDAY}"]
    story.assert_in_step()


def test_a_row_that_was_changed_in_the_target_is_found_and_repaired(story: Story):
    story.run()
    story.target.do(CHANGE.format(MONDAY))

    told = story.tidegate().verify(deep=True)

    assert [(finding.value, finding.what) for finding in told.findings] == [
        (
            str(MONDAY),
            "equal counts, other content; the target was changed after it was loaded;"
            f" 1 changed ({MONDAY}, 7, {MONDAY + 7}.000000000000000007)",
        )
    ]
    story.tidegate().repair()
    story.assert_in_step()


def test_a_new_column_follows_with_the_values_of_the_days_before(story: Story):
    story.run()
    story.source.do(ADD_COLUMN[story.source.url.partition(":")[0]])
    story.source.do("UPDATE trades SET desk = 'rates' WHERE id > 10")

    story.run()

    assert {desk for (desk,) in story.target.ask(SELECT.format("desk"))} == {None, "rates"}
    story.assert_in_step()


# What one file has to get right


def test_it_is_listed_with_the_package_that_brought_it(package: Path):
    assert [(one.kind, one.about, one.origin) for one in installed() if one.kind == "filebase"] == [
        ("filebase", "A database in one file, with SQLite inside.", "filebase")
    ]


def test_a_file_that_is_not_there_is_not_made(files: Story):
    files.target.path.unlink()

    with pytest.raises(Unreachable, match="unable to open database file"):
        files.tidegate().run()

    assert not files.target.path.exists()


def test_a_copy_of_the_target_is_noticed(files: Story):
    files.run()
    shutil.copy(files.target.path, files.target.path.with_name("restored.db"))
    files.target = File(files.target.path.with_name("restored.db"))

    with pytest.raises(ForeignTarget):
        files.tidegate().run()


def test_two_runs_do_not_write_one_table(files: Story):
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
def test_days_and_texts_are_values_to_partition_by(files: Story, column: str, values: list[str]):
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
# What was padded there has its blanks here.
AS_TEXTS = """
SELECT cob::text, small::text, truth::text, single::text, double::text, exact::text, whole::text, day::text,
       clock::text, moment::text, instant::text, bytes::text, code::text, document::text, octet_length(padded)
FROM trades ORDER BY 1, 2
"""


@pytest.mark.postgres
def test_every_type_comes_back_from_a_file_as_it_went(
    package: Path, tmp_path: Path, postgres: EmbeddedPostgres, database: str
):
    there, file, back = Server(database), File(tmp_path / "between.db"), Server(postgres.create_database("came_back"))
    there.do(MANY_TYPES)

    Story(there, file, tmp_path / "first lake", {}).run()
    Story(file, back, tmp_path / "second lake", {}).run()

    assert back.ask(AS_TEXTS) == there.ask(AS_TEXTS)
    postgres.drop_database("came_back")


@pytest.mark.postgres
@pytest.mark.parametrize("value", ["NaN", "-0"])
def test_what_a_file_cannot_keep_is_refused(package: Path, tmp_path: Path, database: str, value: str):
    there, file = Server(database), File(tmp_path / "uat.db")
    there.do("CREATE TABLE trades AS SELECT 1 AS cob, CAST(%s AS double precision) AS price", value)

    with pytest.raises(RunFailed, match="price has NaN or -0, which filebase would keep as something else"):
        Story(there, file, tmp_path / "lake", {}).run()

    assert file.ask("SELECT * FROM trades") == []


@pytest.mark.spark
def test_the_command_finds_it_and_so_do_the_workers_of_spark(files: Story, package: Path, tmp_path: Path):
    path = tmp_path / "tidegate.yml"
    path.write_text(yaml.safe_dump({**files.configuration(), "spark": {"master": "local[2]"}}))
    environment = {"PYTHONPATH": ":".join([str(package), *filter(None, sys.path)])}

    code, said, errors = cli("run", "--config", path, environment=environment)

    assert code == 0, said + errors
    files.assert_in_step()
