"""Tables of versions: read by their mark, loaded into timelines, on every pair of databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.crash import Interrupter
from kit.mariadb import MariaDb
from kit.pairs import pairs
from kit.sides import ask
from tidegate import Tidegate
from tidegate.api import propose_file
from tidegate.errors import RunFailed
from tidegate.model.plan import Land, Notice
from tidegate.runs import phases
from tidegate.runs.kinds.scd2 import looking
from tidegate.sql.text import raw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

# The usual names of mark and flag, but for their case.
CREATE = (
    "CREATE TABLE customers (id int NOT NULL, region varchar(5) NOT NULL, name varchar(40),"
    " lastmodified {moment} NOT NULL, islatest {truth} NOT NULL)"
)
TYPES = {
    "postgresql": {"moment": "timestamp(6)", "truth": "boolean"},
    "mysql": {"moment": "datetime(6)", "truth": "tinyint(1)"},
    "sqlserver": {"moment": "datetime2(6)", "truth": "bit"},
}
INSERT = "INSERT INTO customers (id, region, name, lastmodified, islatest) VALUES (%s, %s, %s, %s, %s)"
NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
History = list[tuple[int, str, str | None, datetime, bool]]


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


@dataclass
class Dimension:
    """A source with a history of customers, a lake and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=lambda: {"business_keys": ["id", "region"]})

    def open(self, kind: str) -> None:
        self.in_source(CREATE.format(**TYPES[kind]))
        self.came(1, 100, "first")
        self.came(1, 90, "second")
        self.came(2, 80, None)
        self.came(2, 80, "US", region="US")

    def tidegate(self) -> Tidegate:
        table = {"kind": "scd2", **self.settings}
        return Tidegate(
            source=self.source, target=self.target, lake=self.lake, tables={"customers": table}, spark=self.spark
        )

    def run(self) -> RunReport:
        return self.tidegate().run()

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for step in plan.tables[0].steps if not isinstance(step, Notice)]

    def warnings(self) -> list[str]:
        steps = self.tidegate().plan().tables[0].steps
        return [step.text for step in steps if isinstance(step, Notice) and step.severity == "warning"]

    def came(
        self, id_: int, minutes: float, name: str | None = "x", *, region: str = "EU", latest: bool = True
    ) -> None:
        """A new version: those before it no longer hold in the source, whose marks stay as they are."""
        moment = ago(minutes)
        if latest:
            close = "UPDATE customers SET islatest = %s WHERE id = %s AND region = %s"
            sides.do(self.source, close, False, id_, region)
        sides.do(self.source, INSERT, id_, region, name, moment, latest)

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        sides.do(self.target, statement, *values)

    def held(self, url: str) -> History:
        rows = ask(url, "SELECT id, region, name, lastmodified, islatest FROM customers")
        return sorted(((*row[:4], bool(row[4])) for row in rows), key=repr)

    def files(self) -> list[Path]:
        found = (self.lake / "organized" / "scd_customers").glob("*/customers_scd_*.parquet")
        return sorted(found, key=lambda path: path.stem)

    def assert_equal(self) -> None:
        assert self.held(self.target) == self.held(self.source)
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert self.steps() == []


@pytest.fixture(scope="module")
def dimensions(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Dimension]]:
    with ExitStack() as databases:
        names = iter(range(1000))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"scd_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        def make(source: str, target: str) -> Dimension:
            made = Dimension(database(source), database(target), tmp_path_factory.mktemp("lake"), spark)
            made.open(source)
            return made

        yield make


@pytest.fixture(params=pairs("mysql to postgresql"), ids=" to ".join)
def dimension(dimensions: Callable[[str, str], Dimension], request: pytest.FixtureRequest) -> Dimension:
    return dimensions(*request.param)


def test_versions_come_and_supersede_others(dimension: Dimension):
    report = dimension.run()
    assert (report.outcome, report.rows_landed, report.rows_loaded) == ("done", 4, 4)
    dimension.assert_equal()
    quiet = dimension.run()
    assert (quiet.outcome, quiet.engine, len(dimension.files())) == ("nothing to do", None, 1)

    dimension.came(1, 20, "third")
    dimension.came(3, 20, "new")
    report = dimension.run()
    assert report.steps[-1].why.endswith("2 versions inserted, 0 changed, 1 superseded")
    dimension.assert_equal()


# Marks


def test_late_and_equal_marks_inside_of_the_look_back_are_read(dimension: Dimension):
    dimension.run()
    dimension.came(5, 80, "committed late, at the very mark")
    dimension.came(6, 85, "committed late, before it")
    assert len(dimension.run().steps) == 2
    dimension.assert_equal()
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 5", False)
    dimension.came(7, 70)
    dimension.run()
    dimension.assert_equal()


def test_what_comes_between_looking_and_reading_is_read_by_the_next_run(
    dimension: Dimension, monkeypatch: pytest.MonkeyPatch
):
    dimension.run()
    dimension.came(1, 20, "third")
    change_schemas = phases.change_schemas

    def meanwhile(*arguments: Any) -> None:
        dimension.came(3, 10, "after the bound was fixed")
        change_schemas(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(phases, "change_schemas", meanwhile)
        dimension.run()
    assert dimension.steps() == ["Land", "Load"]
    dimension.run()
    dimension.assert_equal()


def test_a_late_version_is_seen_although_another_left_meanwhile(dimension: Dimension):
    dimension.came(6, 82)
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 6")
    dimension.came(7, 82, "committed late")
    dimension.run()
    assert [row[2] for row in dimension.held(dimension.target) if row[0] == 7] == ["committed late"]
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 2", False)  # closed, and nothing else
    dimension.run()
    assert [row[4] for row in dimension.held(dimension.target) if row[0] == 2] == [False, False]


def test_when_the_newest_version_leaves_the_source_nothing_is_read_for_ever(dimension: Dimension):
    dimension.came(3, 20)
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 3")
    dimension.run()
    assert dimension.steps() == []


def test_a_mark_in_the_future_hides_nothing(dimension: Dimension):
    dimension.came(9, -60 * 24 * 400, "from the future")
    assert any("marks in the future" in text for text in dimension.warnings())
    dimension.run()
    dimension.assert_equal()
    dimension.came(1, 10, "today")
    dimension.run()
    dimension.assert_equal()


def test_a_number_can_be_the_mark(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "mysql")
    dimension.in_source("ALTER TABLE customers ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY")
    dimension.settings |= {"mark_column": "seq"}
    dimension.run()
    dimension.came(1, 1, "third")
    dimension.run()
    dimension.assert_equal()


# How much the first run takes


@pytest.mark.parametrize(("initial_load", "expected"), [("window", 1), ("latest+window", 3), ("full", 5)])
def test_the_first_run_takes_what_it_is_told(dimensions: Callable[[str, str], Dimension], initial_load, expected):
    dimension = dimensions("mysql", "postgresql")
    dimension.in_source("UPDATE customers SET lastmodified = lastmodified - INTERVAL 40 DAY")
    dimension.came(3, 5)
    dimension.settings |= {"initial_load": initial_load, "initial_load_days": 30}
    left_out = [text for text in dimension.warnings() if "that still hold, older than the window: left out" in text]
    assert [text.split()[0] for text in left_out] == (["3"] if initial_load == "window" else [])
    planned = [step.rows for step in dimension.tidegate().plan().tables[0].steps if isinstance(step, Land)]
    assert planned == [dimension.run().rows_landed]
    held = dimension.held(dimension.target)
    assert len(held) == (4 if initial_load == "latest+window" else expected)
    verified = dimension.tidegate().verify()
    assert verified.outcome == "equal"
    outside = [finding.what for finding in verified.findings if finding.check == "coverage"]
    days = (
        "(initial_load_days: 30)"
        if initial_load == "window"
        else "(initial_load: latest+window, initial_load_days: 30)"
    )
    older = {"window": "4 of 5", "latest+window": "1 of 5", "full": ""}[initial_load]
    assert outside == ([f"{older} versions stay outside {days}"] if older else [])
    assert dimension.steps() == []
    dimension.tidegate().backfill("customers", "2000-01-01", "2030-01-01")
    dimension.assert_equal()


def test_verify_refuses_to_call_rows_without_a_mark_equal(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_source("ALTER TABLE customers ALTER COLUMN lastmodified DROP NOT NULL")
    dimension.in_source(INSERT, 9, "EU", "never read", None, True)
    dimension.run()
    assert "1 row without a mark: never read" in dimension.warnings()

    report = dimension.tidegate().verify()

    (error,) = (finding for finding in report.findings if finding.severity == "error")
    assert (report.exit_code, error.check) == (3, "coverage")
    assert error.what.startswith("1 row without a mark: never read; ")


def test_all_versions_are_also_those_that_come_late_before_all_others(dimension: Dimension):
    dimension.settings["initial_load"] = "full"
    dimension.run()
    dimension.came(2, 85, "late", latest=False)
    dimension.came(9, 105, "before all others")
    dimension.run()
    found = dimension.tidegate().verify()
    assert found.findings[0].what.startswith("1 version missing in the target (9, EU")
    dimension.tidegate().repair()
    dimension.assert_equal()


# What is lost, and what somebody changed


def test_what_is_lost_heals(dimension: Dimension):
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.run()
    dimension.in_target("DELETE FROM customers WHERE id = 1")
    assert "the target holds 2 of 5 versions" in dimension.tidegate().plan().tables[0].steps[0].why
    assert [step.step for step in dimension.run().steps] == ["load", "load"]
    dimension.assert_equal()
    dimension.files()[0].unlink()
    report = dimension.run()
    assert [(step.step, step.outcome) for step in report.steps] == [("land", "done"), ("load", "skipped")]
    dimension.assert_equal()


def test_what_is_lost_heals_in_the_run_that_brings_news(dimension: Dimension):
    dimension.came(3, 200)
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_target("DELETE FROM customers WHERE id = 3")
    report = dimension.run()
    assert [(step.step, step.outcome) for step in report.steps] == [
        ("land", "done"),
        ("load", "done"),
        ("load", "done"),
    ]
    assert report.steps[1].why.startswith("the target holds 4 of 5 versions")
    dimension.assert_equal()
    assert dimension.run().outcome == "nothing to do"


def test_what_somebody_added_is_told_by_the_run_that_brings_news(dimension: Dimension):
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_target(
        "INSERT INTO customers SELECT 77, region, name, lastmodified, islatest FROM customers WHERE id = 1"
    )
    [told] = [finding.what for finding in dimension.run().findings if finding.severity == "warning"]
    assert told.endswith("4 were there after the last load: somebody added 2")


def test_a_target_that_cannot_be_counted_is_not_loaded(
    dimensions: Callable[[str, str], Dimension], monkeypatch: pytest.MonkeyPatch
):
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.came(1, 20, "third")
    with monkeypatch.context() as patched:
        patched.setattr(looking, "count_rows", lambda table: raw("SELECT 1 / 0"))
        with pytest.raises(RunFailed) as failed:
            dimension.run()
    assert [step.step for step in failed.value.report.steps] == []
    assert "division by zero" in str(failed.value)
    assert [step.step for step in dimension.run().steps] == ["land", "load"]
    dimension.assert_equal()


def test_what_is_lost_between_counting_and_loading_heals(dimension: Dimension, monkeypatch: pytest.MonkeyPatch):
    dimension.came(3, 200)
    dimension.run()
    dimension.came(1, 20, "third")
    load = phases.load

    def meanwhile(*arguments: Any) -> None:
        dimension.in_target("DELETE FROM customers WHERE id = 3")  # older than what the load touches
        load(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(phases, "load", meanwhile)
        dimension.run()
    assert "the target holds 5 of 6 versions" in dimension.tidegate().plan().tables[0].steps[0].why
    dimension.run()
    dimension.assert_equal()


def test_a_lost_ledger_is_written_again(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("mysql", "postgresql")
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.run()
    dimension.in_target("DELETE FROM tidegate.ledger")
    dimension.in_target("DELETE FROM tidegate.scopes")
    assert {step.outcome for step in dimension.run().steps} == {"skipped"}
    dimension.assert_equal()


@pytest.mark.parametrize("place", ["land done", "task about to commit", "loaded"])
def test_a_run_that_is_interrupted_is_completed(dimensions: Callable[[str, str], Dimension], place):
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.came(1, 20, "third")

    def stop(at: str) -> None:
        if at == place:
            raise KeyboardInterrupt

    tidegate = dimension.tidegate()
    tidegate.boundary = stop  # type: ignore[assignment]
    with suppress(KeyboardInterrupt, RunFailed):
        tidegate.run()
    dimension.came(1, 10, "fourth")
    dimension.run()
    dimension.assert_equal()


@pytest.mark.parametrize("place", ["task about to commit", "loaded"])
def test_healing_that_is_interrupted_goes_on(dimensions: Callable[[str, str], Dimension], tmp_path, place):
    """The first of two batches fails, or comes alone: what is held then must not pass for all there was."""
    dimension = dimensions("postgresql", "mysql")
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.run()
    dimension.in_target("DELETE FROM customers")
    tidegate = dimension.tidegate()
    tidegate.boundary = Interrupter(place, 1, tmp_path / "tally")
    with suppress(KeyboardInterrupt, RunFailed):
        tidegate.run()
    dimension.run()
    dimension.assert_equal()


def test_flags_that_tell_no_history_are_found_and_repaired(dimension: Dimension):
    dimension.run()
    # MySQL's truths are numbers, and stay numbers in PostgreSQL.
    yes, no = ("true", "false") if dimension.source.startswith("postgresql") else ("1", "0")
    dimension.in_target(f"UPDATE customers SET islatest = {yes} WHERE name = 'first'")  # noqa: S608
    dimension.in_target(f"UPDATE customers SET islatest = {no} WHERE region = 'US'")  # noqa: S608
    found = dimension.tidegate().verify()
    assert found.exit_code == 3
    told = " ".join(finding.what for finding in found.findings)
    assert "1 key with more than one version holding (1, EU" in told
    assert "1 version holding although newer ones are there (1, EU" in told
    assert "1 version holding in the source alone (2, US" in told
    dimension.tidegate().repair()
    dimension.assert_equal()


def test_a_testers_version_is_told_about(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "mysql")
    dimension.run()
    dimension.in_target("INSERT INTO customers VALUES (77, 'EU', 'mine', %s, false)", ago(85))
    assert any("somebody added 1" in text for text in dimension.warnings())
    found = dimension.tidegate().verify()
    assert "1 version only in the target (77, EU" in found.findings[0].what
    dimension.settings["on_target_change"] = "keep"
    found = dimension.tidegate().verify()
    assert (found.outcome, found.findings[0].severity) == ("equal", "note")
    dimension.settings["on_target_change"] = "report"
    report = dimension.tidegate().repair()
    assert report.steps[-1].why.endswith("0 versions inserted, 0 changed, 0 superseded, 1 removed")
    dimension.assert_equal()


@pytest.mark.parametrize("flags", ["source", "recompute"])
def test_what_the_source_purged_is_history_and_no_repair_removes_it(
    dimensions: Callable[[str, str], Dimension], flags: str
):
    dimension = dimensions("postgresql", "mysql")
    dimension.settings["flags"] = flags
    dimension.run()
    before = dimension.held(dimension.target)
    dimension.in_source("DELETE FROM customers WHERE name = 'first'")
    dimension.in_source("DELETE FROM customers WHERE region = 'US'")
    found = dimension.tidegate().verify()
    assert (found.outcome, [finding.severity for finding in found.findings]) == ("equal", ["note"])
    assert found.findings[0].what.startswith("2 versions that the source lost (1, EU")
    dimension.in_target("INSERT INTO customers VALUES (77, 'EU', 'mine', %s, false)", ago(85))
    dimension.in_target("UPDATE customers SET name = 'mine too' WHERE name = 'second'")
    dimension.tidegate().repair()
    assert dimension.held(dimension.target) == before
    dimension.tidegate().run(reload=True)
    assert dimension.held(dimension.target) == before
    assert dimension.tidegate().verify().outcome == "equal"


def test_a_version_that_the_source_took_back_is_found_and_removed(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "mysql")
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE name = 'second'")
    dimension.in_source("UPDATE customers SET islatest = true WHERE name = 'first'")
    assert "1 version only in the target (1, EU" in str(dimension.tidegate().verify().findings)
    dimension.tidegate().repair()
    dimension.assert_equal()


def test_a_text_may_say_which_version_holds(dimension: Dimension):
    dimension.in_source("ALTER TABLE customers ADD active varchar(1)")
    dimension.in_source("UPDATE customers SET active = CASE WHEN name = 'first' THEN 'N' ELSE 'Y' END")
    dimension.in_source("UPDATE customers SET active = 'Y' WHERE name IS NULL")
    dimension.settings["flag_column"] = "active"
    with pytest.raises(RunFailed, match="which text says yes is not known"):
        dimension.run()
    dimension.settings |= {"latest_value": "Y", "superseded_value": "N", "outside": ["islatest"]}
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_source("UPDATE customers SET active = CASE WHEN name = 'third' THEN 'Y' ELSE 'N' END WHERE id = 1")
    dimension.run()
    said = "SELECT name, active FROM customers WHERE id = 1 ORDER BY lastmodified"
    assert ask(dimension.target, said) == [("first", "N"), ("second", "N"), ("third", "Y")]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.came(1, 10, "fourth")
    dimension.in_source("UPDATE customers SET active = '?' WHERE name = 'fourth'")
    with pytest.raises(RunFailed, match="neither 'Y' nor 'N'"):
        dimension.run()


# Keys and flags


def test_an_entity_that_was_closed_stays_closed(dimension: Dimension):
    dimension.run()
    dimension.came(1, 30, "gone", latest=False)
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 1 AND region = 'EU'", False)
    dimension.run()
    dimension.assert_equal()
    assert not any(row[4] for row in dimension.held(dimension.target) if row[:2] == (1, "EU"))


@pytest.mark.parametrize("flags", ["source", "recompute"])
def test_entities_that_left_are_closed_and_come_back(dimension: Dimension, flags):
    dimension.settings |= {"deletes": "close", "flags": flags}
    dimension.in_source(INSERT, 2, "eu", "unlike 'EU' in its case alone", ago(75), True)
    dimension.run()
    dimension.assert_equal()
    assert dimension.run().engine is None

    dimension.in_source("DELETE FROM customers WHERE id = 1")
    dimension.in_source("DELETE FROM customers WHERE id = 2 AND name LIKE 'unlike%%'")
    assert "2 keys holding that left the source" in str(dimension.tidegate().verify().findings)
    report = dimension.run()
    assert report.steps[-1].why.endswith("0 versions inserted, 0 changed, 2 superseded")
    left = [row for row in dimension.held(dimension.target) if row[0] == 1 or row[1] == "eu"]
    assert (len(left), any(row[4] for row in left)) == (3, False)
    assert [row[4] for row in dimension.held(dimension.target) if row[0] == 2 and row[1] != "eu"] == [True, True]
    assert dimension.tidegate().verify().outcome == "equal"
    assert dimension.run().engine is None

    dimension.came(1, 20, "back")
    dimension.run()
    assert [row[2] for row in dimension.held(dimension.target) if row[0] == 1 and row[4]] == ["back"]
    assert dimension.tidegate().verify().outcome == "equal"


def test_an_entity_that_left_stays_closed_whatever_is_lost(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "mysql")
    dimension.settings |= {"deletes": "close", "flags": "recompute"}
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 1")
    dimension.run()
    after = dimension.held(dimension.target)
    first, _ = dimension.files()
    dimension.in_target("DELETE FROM tidegate_ledger WHERE value_text = %s", first.stem.removeprefix("customers_scd_"))
    assert [step.step for step in dimension.run().steps] == ["load"]
    assert dimension.held(dimension.target) == after

    dimension.in_target("DELETE FROM customers")
    assert [step.step for step in dimension.run().steps] == ["load", "load"]
    assert dimension.held(dimension.target) == after

    dimension.in_target("UPDATE customers SET islatest = 1 WHERE name = 'second'")
    assert "1 key holding that left the source (1, EU" in str(dimension.tidegate().verify().findings)
    dimension.tidegate().repair()
    assert dimension.held(dimension.target) == after
    for keys in (dimension.lake / "organized" / "keys_customers").glob("*/customers_keys_*.parquet"):
        keys.unlink()
    dimension.run()
    assert dimension.held(dimension.target) == after
    assert dimension.tidegate().verify().outcome == "equal"


def test_what_left_ends_where_there_is_an_end(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_source("ALTER TABLE customers ADD ends timestamp(6)")
    dimension.came(4, -60, "in the future")
    dimension.settings |= {"deletes": "close", "end_column": "ends", "batch_size": 2}
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id IN (1, 4)")
    dimension.run()
    rows = "SELECT lastmodified, ends, islatest FROM customers WHERE id IN (1, 4) ORDER BY lastmodified"
    (_, first, _), (_, second, holds), (begins, third, _) = ask(dimension.target, rows)
    assert first == ago(90) and NOW <= second < NOW + timedelta(hours=1) and not holds
    assert begins == third == ago(-60)
    assert dimension.tidegate().verify().outcome == "equal"


def test_closing_needs_a_column_that_says_so(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.settings["deletes"] = "close"
    dimension.in_source("ALTER TABLE customers RENAME islatest TO nothing")
    with pytest.raises(RunFailed, match="needs a column that says whether a version holds, or where it ends"):
        dimension.run()


def test_flags_are_recomputed_if_asked(dimension: Dimension):
    dimension.settings["flags"] = "recompute"
    dimension.in_source("UPDATE customers SET islatest = %s", False)
    dimension.run()
    dimension.came(1, 30, "third", latest=False)
    dimension.run()
    holding = {row[:3] for row in dimension.held(dimension.target) if row[4]}
    assert holding == {(1, "EU", "third"), (2, "EU", None), (2, "US", "US")}
    assert dimension.tidegate().verify().outcome == "equal"


def test_of_versions_with_one_mark_one_holds(dimension: Dimension):
    dimension.settings["flags"] = "recompute"
    dimension.came(1, 30, "third")
    dimension.came(1, 30, "at the same moment", latest=False)
    dimension.run()
    holding = [row for row in dimension.held(dimension.target) if row[:2] == (1, "EU") and row[4]]
    assert [row[3] for row in holding] == [ago(30)]
    report = dimension.tidegate().verify()
    assert report.outcome == "equal", report.findings
    dimension.came(1, 20, "later")
    dimension.run()
    assert [row[2] for row in dimension.held(dimension.target) if row[:2] == (1, "EU") and row[4]] == ["later"]
    assert dimension.tidegate().verify().outcome == "equal"


def test_keys_are_found_in_the_catalog_and_must_have_values(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.settings.clear()
    with pytest.raises(RunFailed, match="what names an entity cannot be told"):
        dimension.run()
    dimension.in_source("ALTER TABLE customers ADD PRIMARY KEY (id, region, lastmodified)")
    dimension.run()
    dimension.assert_equal()
    dimension.in_source("ALTER TABLE customers DROP CONSTRAINT customers_pkey, ALTER region DROP NOT NULL")
    dimension.in_target("ALTER TABLE customers DROP CONSTRAINT customers_pkey, ALTER region DROP NOT NULL")
    dimension.settings["business_keys"] = ["id", "region"]
    dimension.in_source("INSERT INTO customers VALUES (8, NULL, 'x', %s, true)", ago(1))
    with pytest.raises(RunFailed, match="versions without a value for id, region: 8, NULL"):
        dimension.run()


PRODUCTS = [("A", 1), ("A", 2), ("A", 3), ("B", 1), ("B", 2), ("C", 1)]


def with_products(dimensions: Callable[[str, str], Dimension], key: str = "") -> Dimension:
    """Three products share the code A: what names one is its code and its version."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_source("DROP TABLE customers")
    dimension.in_source(
        "CREATE TABLE customers (code text NOT NULL, version int NOT NULL, price int, lastmodified timestamp NOT NULL,"
        f" islatest boolean NOT NULL{key})"
    )
    for place, (code, version) in enumerate(PRODUCTS):
        insert = "INSERT INTO customers VALUES (%s, %s, 10, %s, true)"
        dimension.in_source(insert, code, version, ago(100 - place))
    dimension.settings = {"business_keys": ["code"]}
    return dimension


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_business_key_that_is_too_narrow_is_refused(dimensions: Callable[[str, str], Dimension], batch_size):
    dimension = with_products(dimensions, ", PRIMARY KEY (code, version, lastmodified)")
    dimension.settings |= {"batch_size": batch_size} if batch_size else {}
    with pytest.raises(RunFailed, match="several current rows for 2 values of the business key") as refused:
        dimension.run()
    ((_, problem),) = refused.value.report.failures
    assert "(code), such as A; B." in problem
    assert "Set `business_keys` to [code, version]" in problem
    assert ask(dimension.target, "SELECT count(*) FROM customers") == [(0,)]

    dimension.settings["business_keys"] = ["code", "version"]
    dimension.run()
    held = ask(dimension.target, "SELECT code, version FROM customers WHERE islatest ORDER BY code, version")
    assert held == PRODUCTS
    assert dimension.tidegate().verify().outcome == "equal"


def test_several_current_rows_are_settled_where_flags_are_recomputed(dimensions: Callable[[str, str], Dimension]):
    dimension = with_products(dimensions)
    with pytest.raises(RunFailed, match="several current rows") as refused:
        dimension.run()
    assert "Set `business_keys` to the columns that name one entity" in refused.value.report.failures[0][1]
    dimension.settings["flags"] = "recompute"
    dimension.run()
    held = ask(dimension.target, "SELECT code, version FROM customers WHERE islatest ORDER BY code")
    assert held == [("A", 3), ("B", 2), ("C", 1)]


def test_flags_that_the_source_cleared_late_are_read_again(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.in_source(INSERT, 2, "EU", "before the old one is closed", ago(79), True)
    with pytest.raises(RunFailed, match="several current rows for 1 value of the business key"):
        dimension.run()
    dimension.in_source("UPDATE customers SET islatest = false WHERE id = 2 AND name IS NULL")
    dimension.run()
    dimension.assert_equal()


def test_a_file_from_before_the_key_was_narrowed_is_refused(dimensions: Callable[[str, str], Dimension]):
    dimension = with_products(dimensions)
    dimension.settings["business_keys"] = ["code", "version"]
    dimension.run()
    dimension.settings["business_keys"] = ["code"]
    dimension.in_target("DELETE FROM customers")
    with pytest.raises(RunFailed, match="several current rows for 2 values of the business key"):
        dimension.run()
    assert ask(dimension.target, "SELECT count(*) FROM customers") == [(0,)]


def test_init_proposes_a_key_with_one_current_row(dimensions: Callable[[str, str], Dimension]):
    dimension = with_products(dimensions, ", PRIMARY KEY (code, version, lastmodified)")
    proposed = propose_file(dimension.source, dimension.target, str(dimension.lake))
    assert "business_keys: [code, version]" in proposed.text


def test_a_unique_index_over_what_holds_never_sees_two(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.in_target("CREATE UNIQUE INDEX ON customers (id, region) WHERE islatest")
    dimension.came(1, 20, "third")
    dimension.came(1, 15, "fourth")
    dimension.run()
    dimension.assert_equal()


def test_versions_that_are_updated_in_place_have_a_key_of_their_own(dimension: Dimension):
    dimension.in_source("DROP TABLE customers")
    types = TYPES[dimension.source.partition(":")[0].partition("+")[0]]
    dimension.in_source(CREATE.replace("id int", "version int PRIMARY KEY, id int").format(**types))
    dimension.in_source("INSERT INTO customers VALUES (1, 7, 'EU', 'old', %s, false)", ago(90))
    dimension.in_source("INSERT INTO customers VALUES (2, 7, 'EU', 'new', %s, true)", ago(80))
    dimension.settings |= {"version_key": ["version"]}
    dimension.run()
    dimension.in_source("UPDATE customers SET name = 'corrected', lastmodified = %s WHERE version = 1", ago(10))
    dimension.in_source("UPDATE customers SET lastmodified = %s WHERE version = 2", ago(9))
    report = dimension.run()
    assert report.steps[-1].why.endswith("0 versions inserted, 2 changed, 0 superseded")
    dimension.assert_equal()


def test_what_is_outside_of_a_version_follows_the_source(dimension: Dimension):
    """A grade that the source changes in place, an end that it does not know yet, and a grave."""
    dimension.in_source("ALTER TABLE customers ADD grade int")
    moment = TYPES[dimension.source.partition(":")[0].partition("+")[0]]["moment"]
    dimension.in_source(f"ALTER TABLE customers ADD ends {moment}")
    dimension.in_source("ALTER TABLE customers ADD gone int")
    dimension.settings |= {"outside": ["grade"], "end_column": "ends", "tombstone_column": "gone"}
    dimension.run()
    ends = "SELECT lastmodified, ends FROM customers WHERE id = 1 ORDER BY lastmodified"
    assert ask(dimension.target, ends) == [(ago(100), ago(90)), (ago(90), None)]

    dimension.in_source("UPDATE customers SET grade = 7 WHERE id = 2")
    dimension.in_source(
        "INSERT INTO customers (id, region, name, lastmodified, islatest, gone) VALUES (1, 'EU', 'x', %s, %s, 1)",
        ago(70),
        True,
    )
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 1 AND name <> 'x'", False)
    report = dimension.run()
    assert report.steps[-1].why.endswith("1 version inserted, 2 changed, 1 superseded")
    assert ask(dimension.target, "SELECT grade FROM customers WHERE id = 2") == [(7,), (7,)]
    assert ask(dimension.target, ends) == [(ago(100), ago(90)), (ago(90), ago(70)), (ago(70), None)]
    assert not any(row[4] for row in dimension.held(dimension.target) if row[0] == 1)


def test_a_tombstone_never_holds_whoever_settles_flags(dimension: Dimension):
    dimension.in_source("ALTER TABLE customers ADD gone int")
    dimension.settings |= {"flags": "recompute", "tombstone_column": "gone"}
    dimension.run()
    dimension.came(1, 20, "grave")
    dimension.in_source("UPDATE customers SET gone = 1 WHERE name = 'grave'")
    dimension.run()
    holding = [row[2] for row in dimension.held(dimension.target) if row[4]]
    assert holding == [None, "US"]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.came(1, 10, "back")
    dimension.run()
    assert [row[2] for row in dimension.held(dimension.target) if row[4]] == ["back", None, "US"]
    assert dimension.tidegate().verify().outcome == "equal"


def test_a_tombstone_may_be_a_number_beside_a_flag_that_is_a_text(dimension: Dimension):
    dimension.in_source("ALTER TABLE customers ADD active varchar(1)")
    dimension.in_source("ALTER TABLE customers ADD gone smallint")
    dimension.in_source("UPDATE customers SET active = 'Y', gone = CASE WHEN id = 2 THEN 1 ELSE 0 END")
    dimension.in_source("UPDATE customers SET active = 'N' WHERE name = 'first'")
    words = {"flag_column": "active", "latest_value": "Y", "superseded_value": "N", "outside": ["islatest"]}
    dimension.settings |= {**words, "tombstone_column": "gone"}
    dimension.run()
    assert ask(dimension.target, "SELECT name FROM customers WHERE active = 'Y'") == [("second",)]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.settings["tombstone_column"] = "lastmodified"
    with pytest.raises(RunFailed, match=r"lastmodified is .*, which says neither yes nor no"):
        dimension.run()


def test_a_row_that_the_source_has_twice_is_one_version(dimension: Dimension):
    """One that holds, where the two do not agree."""
    dimension.came(3, 20, "twice", latest=False)
    dimension.came(3, 20, "twice")
    dimension.came(3, 20, "twice", latest=False)
    dimension.run()
    assert [row[4] for row in dimension.held(dimension.target) if row[0] == 3] == [True]
    report = dimension.tidegate().verify()
    assert report.outcome == "equal", report.findings
    dimension.in_target("DELETE FROM customers WHERE id = 3")
    found = dimension.tidegate().verify()
    assert found.findings[0].what.startswith("1 version missing in the target (3, EU")


def test_a_version_that_holds_in_the_source_beside_newer_ones_is_told_about(dimension: Dimension):
    dimension.came(2, 30, "newer", latest=False)
    dimension.run()
    assert not any(row[4] for row in dimension.held(dimension.target) if row[:2] == (2, "EU"))
    report = dimension.tidegate().verify()
    assert (report.outcome, report.findings[0].severity) == ("equal", "warning")
    assert "1 version holding in the source although newer ones are there (2, EU" in report.findings[0].what


def test_when_all_entities_left_all_are_closed(dimension: Dimension):
    dimension.settings["deletes"] = "close"
    dimension.run()
    dimension.in_source("DELETE FROM customers")
    dimension.run()
    held = dimension.held(dimension.target)
    assert (len(held), [row for row in held if row[4]]) == (4, [])
    assert dimension.tidegate().verify().outcome == "equal"
    assert dimension.steps() == []
    dimension.came(1, 1, "back")
    dimension.run()
    assert [row[2] for row in dimension.held(dimension.target) if row[4]] == ["back"]


@pytest.mark.parametrize("type_", ["timestamptz", "date", "numeric(20,6)"])
def test_marks_of_other_types(dimensions: Callable[[str, str], Dimension], type_):
    dimension = dimensions("postgresql", "postgresql")
    using = "extract(epoch FROM lastmodified)" if type_.startswith("numeric") else f"lastmodified::{type_}"
    dimension.in_source(f"ALTER TABLE customers ALTER lastmodified TYPE {type_} USING {using}")
    dimension.run()
    newest = "INSERT INTO customers SELECT 9, 'EU', 'late', max(lastmodified), true FROM customers"
    dimension.in_source(newest)
    dimension.run()
    dimension.assert_equal()


def test_a_large_batch_can_go_in_several_transactions(dimension: Dimension):
    dimension.settings["batch_size"] = 2
    dimension.run()
    for number in range(10, 20):
        dimension.came(number, 30)
    dimension.came(1, 30, "third")
    dimension.run()
    dimension.assert_equal()


def test_a_new_column_comes_with_all_versions(dimension: Dimension):
    dimension.run()
    dimension.in_source("ALTER TABLE customers ADD COLUMN grade int DEFAULT 3")
    report = dimension.run()
    assert [step.step for step in report.steps] == ["change schema", "land", "load"]
    assert {row[0] for row in ask(dimension.target, "SELECT grade FROM customers")} == {3}
    dimension.assert_equal()


def test_a_target_that_was_there_before_is_adopted(dimensions: Callable[[str, str], Dimension]):
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_target(CREATE.format(**TYPES["postgresql"]))
    dimension.in_target("INSERT INTO customers VALUES (1, 'EU', 'first', %s, true)", ago(100))
    with pytest.raises(RunFailed, match="1 version that no ledger knows"):
        dimension.run()
    dimension.tidegate().adopt()
    dimension.run()
    dimension.assert_equal()
