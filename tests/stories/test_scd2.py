"""SCD2 tables: read by a cursor and loaded as versions, on every pair of databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.crash import Interrupter
from kit.mariadb import MariaDb
from kit.pairs import first_daily, pairs
from kit.sides import ask
from tidegate import Tidegate
from tidegate.api import propose_file
from tidegate.errors import RunFailed
from tidegate.model.plan import Extract, Notice
from tidegate.runs import sync
from tidegate.sql.text import raw

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

# The default names of cursor and flag, in lower case.
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
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
History = list[tuple[int, str, str | None, datetime, bool]]


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


@dataclass
class Dimension:
    """A source with versions of customers, a lake and a target."""

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
        """Insert a new version. The source closes the older versions without changing their cursors."""
        moment = ago(minutes)
        if latest:
            close = "UPDATE customers SET islatest = %s WHERE id = %s AND region = %s"
            sides.do(self.source, close, False, id_, region)
        sides.do(self.source, INSERT, id_, region, name, moment, latest)

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str, *values: object) -> None:
        sides.do(self.target, statement, *values)

    def versions_in(self, url: str) -> History:
        rows = ask(url, "SELECT id, region, name, lastmodified, islatest FROM customers")
        return sorted(((*row[:4], bool(row[4])) for row in rows), key=repr)

    def files(self) -> list[Path]:
        found = (self.lake / "organized" / "scd_customers").glob("*/customers_scd_*.parquet")
        return sorted(found, key=lambda path: path.stem)

    def assert_equal(self) -> None:
        assert self.versions_in(self.target) == self.versions_in(self.source)
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert self.steps() == []


@pytest.fixture(scope="module")
def dimensions(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Dimension]]:
    with ExitStack() as databases:
        names = iter(range(1000))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"scd_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        def make(source: str, target: str) -> Dimension:
            dimension = Dimension(database(source), database(target), tmp_path_factory.mktemp("lake"), engine)
            dimension.open(source)
            return dimension

        yield make


@pytest.fixture(params=pairs("mysql to postgresql"), ids=" to ".join)
def dimension(dimensions: Callable[[str, str], Dimension], request: pytest.FixtureRequest) -> Dimension:
    return dimensions(*request.param)


def test_new_versions_supersede_older_ones(dimension: Dimension):
    """The first run loads all versions, the second does nothing, and the third inserts new versions and closes an older
    one."""
    report = dimension.run()
    assert (report.outcome, report.rows_extracted, report.rows_loaded) == ("done", 4, 4)
    dimension.assert_equal()
    quiet = dimension.run()
    assert (quiet.outcome, quiet.engine, len(dimension.files())) == ("nothing to do", None, 1)

    dimension.came(1, 20, "third")
    dimension.came(3, 20, "new")
    report = dimension.run()
    assert report.steps[-1].why.endswith("2 versions inserted, 0 changed, 1 superseded")
    dimension.assert_equal()


# Cursors


def test_late_and_equal_cursors_in_the_look_back(dimension: Dimension):
    """Rows that commit late, with a cursor equal to or lower than the watermark, are read when they are in the
    look-back."""
    dimension.run()
    dimension.came(5, 80, "committed late, at the very cursor")
    dimension.came(6, 85, "committed late, before it")
    assert len(dimension.run().steps) == 2
    dimension.assert_equal()
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 5", False)
    dimension.came(7, 70)
    dimension.run()
    dimension.assert_equal()


def test_row_committed_after_inspect_is_read_next(dimension: Dimension, monkeypatch: pytest.MonkeyPatch):
    """A row that commits after the run fixed its upper bound is read by the next run."""
    dimension.run()
    dimension.came(1, 20, "third")
    change_schemas = sync._change_schemas

    def meanwhile(*arguments: Any) -> None:
        dimension.came(3, 10, "after the bound was fixed")
        change_schemas(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(sync, "_change_schemas", meanwhile)
        dimension.run()
    assert dimension.steps() == ["Extract", "Load"]
    dimension.run()
    dimension.assert_equal()


@pytest.mark.thorough
def test_late_version_is_seen_when_another_is_deleted(dimension: Dimension):
    """When one version is deleted and another commits late at the same cursor, the late version is read."""
    dimension.came(6, 82)
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 6")
    dimension.came(7, 82, "committed late")
    dimension.run()
    assert [row[2] for row in dimension.versions_in(dimension.target) if row[0] == 7] == ["committed late"]
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 2", False)  # only closed
    dimension.run()
    assert [row[4] for row in dimension.versions_in(dimension.target) if row[0] == 2] == [False, False]


@pytest.mark.thorough
def test_deleted_newest_version_causes_no_endless_read(dimension: Dimension):
    """When the source deletes its newest version, the next run reads once and later plans do nothing."""
    dimension.came(3, 20)
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 3")
    dimension.run()
    assert dimension.steps() == []


def test_future_cursor_hides_no_rows(dimension: Dimension):
    """When a row has a cursor in the future, the plan warns and later rows with today's cursor are still read."""
    dimension.came(9, -60 * 24 * 400, "from the future")
    assert any("cursor values in the future" in text for text in dimension.warnings())
    dimension.run()
    dimension.assert_equal()
    dimension.came(1, 10, "today")
    dimension.run()
    dimension.assert_equal()


@pytest.mark.thorough
def test_number_can_be_the_cursor(dimensions: Callable[[str, str], Dimension]):
    """The cursor can be an identity column instead of a timestamp."""
    dimension = dimensions("postgresql", "mysql")
    dimension.in_source("ALTER TABLE customers ADD COLUMN seq bigint GENERATED ALWAYS AS IDENTITY")
    dimension.settings |= {"cursor_column": "seq"}
    dimension.run()
    dimension.came(1, 1, "third")
    dimension.run()
    dimension.assert_equal()


# The initial load


@pytest.mark.parametrize(("initial_load", "expected"), [("window", 1), ("latest+window", 3), ("full", 5)])
def test_initial_load_decides_the_first_extract(dimensions: Callable[[str, str], Dimension], initial_load, expected):
    """`initial_load` decides which versions the first run takes. `verify` counts the others, and a backfill loads
    them."""
    dimension = dimensions("mysql", "postgresql")
    dimension.in_source("UPDATE customers SET lastmodified = lastmodified - INTERVAL 40 DAY")
    dimension.came(3, 5)
    dimension.settings |= {"initial_load": initial_load, "initial_load_days": 30}
    left_out = [text for text in dimension.warnings() if "older than the window: left out" in text]
    assert [text.split()[0] for text in left_out] == (["3"] if initial_load == "window" else [])
    planned = [step.rows for step in dimension.tidegate().plan().tables[0].steps if isinstance(step, Extract)]
    assert planned == [dimension.run().rows_extracted]
    versions = dimension.versions_in(dimension.target)
    assert len(versions) == (4 if initial_load == "latest+window" else expected)
    verified = dimension.tidegate().verify()
    assert verified.outcome == "equal"
    outside = [finding.what for finding in verified.findings if finding.check == "coverage"]
    days = (
        "(initial_load_days: 30)"
        if initial_load == "window"
        else "(initial_load: latest+window, initial_load_days: 30)"
    )
    older = {"window": "4 of 5", "latest+window": "1 of 5", "full": ""}[initial_load]
    assert outside == ([f"{older} versions are not in scope {days}"] if older else [])
    assert dimension.steps() == []
    dimension.tidegate().backfill("customers", "2000-01-01", "2030-01-01")
    dimension.assert_equal()


def test_verify_fails_on_rows_without_a_cursor(dimensions: Callable[[str, str], Dimension]):
    """When a row has no cursor value, the plan warns that it is never read, and `verify` fails."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_source("ALTER TABLE customers ALTER COLUMN lastmodified DROP NOT NULL")
    dimension.in_source(INSERT, 9, "EU", "never read", None, True)
    dimension.run()
    assert "1 row without a cursor: never read" in dimension.warnings()

    report = dimension.tidegate().verify()

    (error,) = (finding for finding in report.findings if finding.severity == "error")
    assert (report.exit_code, error.check) == (3, "coverage")
    assert error.what.startswith("1 row without a cursor: never read; ")


def test_repair_loads_versions_before_the_look_back(dimension: Dimension):
    """With `initial_load: full`, `verify` finds a late version that is older than the look-back, and `repair` loads
    it."""
    dimension.settings["initial_load"] = "full"
    dimension.run()
    dimension.came(2, 85, "late", latest=False)
    dimension.came(9, 105, "before all others")
    dimension.run()
    found = dimension.tidegate().verify()
    assert found.findings[0].what.startswith("1 version missing in the target (9, EU")
    dimension.tidegate().repair()
    dimension.assert_equal()


# Losses and changes in the target


def test_lost_versions_and_files_are_restored(dimension: Dimension):
    """When the target loses versions or the lake loses a file, the next run restores them."""
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.run()
    dimension.in_target("DELETE FROM customers WHERE id = 1")
    assert "the target holds 2 of 5 versions" in dimension.tidegate().plan().tables[0].steps[0].why
    assert [step.step for step in dimension.run().steps] == ["load", "load"]
    dimension.assert_equal()
    dimension.files()[0].unlink()
    report = dimension.run()
    assert [(step.step, step.outcome) for step in report.steps] == [("extract", "done"), ("load", "skipped")]
    dimension.assert_equal()


@pytest.mark.thorough
def test_lost_versions_are_restored_with_new_ones(dimension: Dimension):
    """When the target loses a version and the source has a new one, one run loads both."""
    dimension.came(3, 200)
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_target("DELETE FROM customers WHERE id = 3")
    report = dimension.run()
    assert [(step.step, step.outcome) for step in report.steps] == [
        ("extract", "done"),
        ("load", "done"),
        ("load", "done"),
    ]
    assert report.steps[1].why.startswith("the target holds 4 of 5 versions")
    dimension.assert_equal()
    assert dimension.run().outcome == "nothing to do"


def test_added_versions_are_reported_with_a_load(dimension: Dimension):
    """When somebody added versions to the target, a run that loads new versions also warns about them."""
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_target(
        "INSERT INTO customers SELECT 77, region, name, lastmodified, islatest FROM customers WHERE id = 1"
    )
    [warning] = [finding.what for finding in dimension.run().findings if finding.severity == "warning"]
    assert warning.endswith("4 were there after the last load: somebody added 2")


@pytest.mark.thorough
def test_failed_target_count_stops_the_load(
    dimensions: Callable[[str, str], Dimension], monkeypatch: pytest.MonkeyPatch
):
    """When the target's versions cannot be counted, the run fails before it extracts, and the next run completes."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.came(1, 20, "third")
    with monkeypatch.context() as patched:
        patched.setattr("tidegate.changes.cursor.inspect.count_rows", lambda table: raw("SELECT 1 / 0"))
        with pytest.raises(RunFailed) as failed:
            dimension.run()
    assert [step.step for step in failed.value.report.steps] == []
    assert "division by zero" in str(failed.value)
    assert [step.step for step in dimension.run().steps] == ["extract", "load"]
    dimension.assert_equal()


@pytest.mark.thorough
def test_loss_between_count_and_load_is_restored(dimension: Dimension, monkeypatch: pytest.MonkeyPatch):
    """When the target loses a version after it was counted, the following run restores it."""
    dimension.came(3, 200)
    dimension.run()
    dimension.came(1, 20, "third")
    load = sync.load

    def meanwhile(*arguments: Any) -> Any:
        dimension.in_target("DELETE FROM customers WHERE id = 3")  # older than the versions of the load
        return load(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(sync, "load", meanwhile)
        dimension.run()
    assert "the target holds 5 of 6 versions" in dimension.tidegate().plan().tables[0].steps[0].why
    dimension.run()
    dimension.assert_equal()


def test_lost_ledger_is_rebuilt(dimensions: Callable[[str, str], Dimension]):
    """When ledger and scope are deleted, the next run writes them again and loads no version."""
    dimension = dimensions("mysql", "postgresql")
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.run()
    dimension.in_target("DELETE FROM tidegate.ledger")
    dimension.in_target("DELETE FROM tidegate.scopes")
    assert {step.outcome for step in dimension.run().steps} == {"skipped"}
    dimension.assert_equal()


@pytest.mark.parametrize("place", first_daily("extract done", "task about to commit", "loaded"))
def test_interrupted_run_resumes(dimensions: Callable[[str, str], Dimension], place):
    """When a run is interrupted at a boundary, the next run completes it together with newer versions."""
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


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["task about to commit", "loaded"])
def test_interrupted_healing_resumes(dimensions: Callable[[str, str], Dimension], tmp_path, place):
    """When the restoring of two batches is interrupted, the remaining rows must not count as complete. The next run
    restores all."""
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


def test_wrong_flags_are_found_and_repaired(dimension: Dimension):
    """When flags in the target are changed, `verify` reports the wrong current versions and `repair` restores them."""
    dimension.run()
    # Flags of MySQL are numbers, also in PostgreSQL.
    yes, no = ("true", "false") if dimension.source.startswith("postgresql") else ("1", "0")
    dimension.in_target(f"UPDATE customers SET islatest = {yes} WHERE name = 'first'")  # noqa: S608
    dimension.in_target(f"UPDATE customers SET islatest = {no} WHERE region = 'US'")  # noqa: S608
    found = dimension.tidegate().verify()
    assert found.exit_code == 3
    findings = " ".join(finding.what for finding in found.findings)
    assert "1 key with more than one current version (1, EU" in findings
    assert "1 version current although newer ones exist (1, EU" in findings
    assert "1 version current only in the source (2, US" in findings
    dimension.tidegate().repair()
    dimension.assert_equal()


def test_added_version_is_reported_and_removed(dimensions: Callable[[str, str], Dimension]):
    """When somebody adds a version to the target, plan and `verify` report it and `repair` removes it."""
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


@pytest.mark.parametrize("flags", first_daily("source", "recompute"))
def test_repair_keeps_versions_purged_by_the_source(dimensions: Callable[[str, str], Dimension], flags: str):
    """When the source deletes old versions, the target keeps them through `repair` and `reload`, and `verify` reports a
    note."""
    dimension = dimensions("postgresql", "mysql")
    dimension.settings["flags"] = flags
    dimension.run()
    before = dimension.versions_in(dimension.target)
    dimension.in_source("DELETE FROM customers WHERE name = 'first'")
    dimension.in_source("DELETE FROM customers WHERE region = 'US'")
    found = dimension.tidegate().verify()
    assert (found.outcome, [finding.severity for finding in found.findings]) == ("equal", ["note"])
    assert found.findings[0].what.startswith("2 versions that the source lost (1, EU")
    dimension.in_target("INSERT INTO customers VALUES (77, 'EU', 'mine', %s, false)", ago(85))
    dimension.in_target("UPDATE customers SET name = 'mine too' WHERE name = 'second'")
    dimension.tidegate().repair()
    assert dimension.versions_in(dimension.target) == before
    dimension.tidegate().run(reload=True)
    assert dimension.versions_in(dimension.target) == before
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_withdrawn_version_is_found_and_removed(dimensions: Callable[[str, str], Dimension]):
    """When the source deletes its current version and reopens the one before, `verify` finds it and `repair` removes
    it."""
    dimension = dimensions("postgresql", "mysql")
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE name = 'second'")
    dimension.in_source("UPDATE customers SET islatest = true WHERE name = 'first'")
    assert "1 version only in the target (1, EU" in str(dimension.tidegate().verify().findings)
    dimension.tidegate().repair()
    dimension.assert_equal()


@pytest.mark.thorough
def test_text_can_be_the_flag(dimension: Dimension):
    """With `current_value: Y` and `superseded_value: N`, a text column is the flag. Other values are refused."""
    dimension.in_source("ALTER TABLE customers ADD active varchar(1)")
    dimension.in_source("UPDATE customers SET active = CASE WHEN name = 'first' THEN 'N' ELSE 'Y' END")
    dimension.in_source("UPDATE customers SET active = 'Y' WHERE name IS NULL")
    dimension.settings["flag_column"] = "active"
    with pytest.raises(RunFailed, match="which text says yes is not known"):
        dimension.run()
    dimension.settings |= {"current_value": "Y", "superseded_value": "N", "ignore_columns": ["islatest"]}
    dimension.run()
    dimension.came(1, 20, "third")
    dimension.in_source("UPDATE customers SET active = CASE WHEN name = 'third' THEN 'Y' ELSE 'N' END WHERE id = 1")
    dimension.run()
    query = "SELECT name, active FROM customers WHERE id = 1 ORDER BY lastmodified"
    assert ask(dimension.target, query) == [("first", "N"), ("second", "N"), ("third", "Y")]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.came(1, 10, "fourth")
    dimension.in_source("UPDATE customers SET active = '?' WHERE name = 'fourth'")
    with pytest.raises(RunFailed, match="neither 'Y' nor 'N'"):
        dimension.run()


# Keys and flags


def test_closed_key_stays_closed(dimension: Dimension):
    """When the source closes a key without a current version, the target has none either."""
    dimension.run()
    dimension.came(1, 30, "gone", latest=False)
    dimension.in_source("UPDATE customers SET islatest = %s WHERE id = 1 AND region = 'EU'", False)
    dimension.run()
    dimension.assert_equal()
    assert not any(row[4] for row in dimension.versions_in(dimension.target) if row[:2] == (1, "EU"))


@pytest.mark.parametrize("flags", ["source", "recompute"])
def test_deleted_keys_are_closed_and_reopen(dimension: Dimension, flags):
    """With `deletes: close`, keys that leave the source lose their current version. When they return, a new version is
    current."""
    dimension.settings |= {"deletes": "close", "flags": flags}
    dimension.in_source(INSERT, 2, "eu", "unlike 'EU' in its case alone", ago(75), True)
    dimension.run()
    dimension.assert_equal()
    assert dimension.run().engine is None

    dimension.in_source("DELETE FROM customers WHERE id = 1")
    dimension.in_source("DELETE FROM customers WHERE id = 2 AND name LIKE 'unlike%%'")
    assert "2 keys still current after leaving the source" in str(dimension.tidegate().verify().findings)
    report = dimension.run()
    assert report.steps[-1].why.endswith("0 versions inserted, 0 changed, 2 superseded")
    left = [row for row in dimension.versions_in(dimension.target) if row[0] == 1 or row[1] == "eu"]
    assert (len(left), any(row[4] for row in left)) == (3, False)
    assert [row[4] for row in dimension.versions_in(dimension.target) if row[0] == 2 and row[1] != "eu"] == [True, True]
    assert dimension.tidegate().verify().outcome == "equal"
    assert dimension.run().engine is None

    dimension.came(1, 20, "back")
    dimension.run()
    assert [row[2] for row in dimension.versions_in(dimension.target) if row[0] == 1 and row[4]] == ["back"]
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_deleted_key_stays_closed_after_losses(dimensions: Callable[[str, str], Dimension]):
    """After a key was closed, losing ledger entries, target rows or key files does not reopen it."""
    dimension = dimensions("postgresql", "mysql")
    dimension.settings |= {"deletes": "close", "flags": "recompute"}
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id = 1")
    dimension.run()
    after = dimension.versions_in(dimension.target)
    first, _ = dimension.files()
    dimension.in_target("DELETE FROM tidegate_ledger WHERE value_text = %s", first.stem.removeprefix("customers_scd_"))
    assert [step.step for step in dimension.run().steps] == ["load"]
    assert dimension.versions_in(dimension.target) == after

    dimension.in_target("DELETE FROM customers")
    assert [step.step for step in dimension.run().steps] == ["load", "load"]
    assert dimension.versions_in(dimension.target) == after

    dimension.in_target("UPDATE customers SET islatest = 1 WHERE name = 'second'")
    assert "1 key still current after leaving the source (1, EU" in str(dimension.tidegate().verify().findings)
    dimension.tidegate().repair()
    assert dimension.versions_in(dimension.target) == after
    for keys in (dimension.lake / "organized" / "keys_customers").glob("*/customers_keys_*.parquet"):
        keys.unlink()
    dimension.run()
    assert dimension.versions_in(dimension.target) == after
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_closed_version_gets_an_end(dimensions: Callable[[str, str], Dimension]):
    """With `end_column`, a deleted key's version ends at the time of the run. A future-dated version ends where it
    starts."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_source("ALTER TABLE customers ADD ends timestamp(6)")
    dimension.came(4, -60, "in the future")
    dimension.settings |= {"deletes": "close", "end_column": "ends", "batch_size": 2}
    dimension.run()
    dimension.in_source("DELETE FROM customers WHERE id IN (1, 4)")
    dimension.run()
    rows = "SELECT lastmodified, ends, islatest FROM customers WHERE id IN (1, 4) ORDER BY lastmodified"
    (_, first, _), (_, second, is_current), (begins, third, _) = ask(dimension.target, rows)
    assert first == ago(90) and NOW <= second < NOW + timedelta(hours=1) and not is_current
    assert begins == third == ago(-60)
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_closing_requires_a_flag_or_an_end(dimensions: Callable[[str, str], Dimension]):
    """`deletes: close` is refused when the table has neither a flag column nor an end column."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.settings["deletes"] = "close"
    dimension.in_source("ALTER TABLE customers RENAME islatest TO nothing")
    with pytest.raises(RunFailed, match="needs a column that says whether a version holds, or where it ends"):
        dimension.run()


def test_flags_can_be_recomputed(dimension: Dimension):
    """With `flags: recompute`, the newest version of each key is current, whatever the source's flags are."""
    dimension.settings["flags"] = "recompute"
    dimension.in_source("UPDATE customers SET islatest = %s", False)
    dimension.run()
    dimension.came(1, 30, "third", latest=False)
    dimension.run()
    current = {row[:3] for row in dimension.versions_in(dimension.target) if row[4]}
    assert current == {(1, "EU", "third"), (2, "EU", None), (2, "US", "US")}
    assert dimension.tidegate().verify().outcome == "equal"


def test_one_of_equal_cursors_is_current(dimension: Dimension):
    """When two versions of a key have the same cursor, `flags: recompute` makes exactly one of them current."""
    dimension.settings["flags"] = "recompute"
    dimension.came(1, 30, "third")
    dimension.came(1, 30, "at the same moment", latest=False)
    dimension.run()
    current = [row for row in dimension.versions_in(dimension.target) if row[:2] == (1, "EU") and row[4]]
    assert [row[3] for row in current] == [ago(30)]
    report = dimension.tidegate().verify()
    assert report.outcome == "equal", report.findings
    dimension.came(1, 20, "later")
    dimension.run()
    assert [row[2] for row in dimension.versions_in(dimension.target) if row[:2] == (1, "EU") and row[4]] == ["later"]
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_business_keys_come_from_the_primary_key(dimensions: Callable[[str, str], Dimension]):
    """Without `business_keys` the primary key decides. A table without one, or a null key value, is refused."""
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
    """Create products whose key is code and version: three of them share the code A."""
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


@pytest.mark.parametrize("batch_size", first_daily(None, 1))
def test_too_narrow_business_key_is_refused(dimensions: Callable[[str, str], Dimension], batch_size):
    """When several current rows share a business key, the run is refused and proposes a wider key."""
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
    versions = ask(dimension.target, "SELECT code, version FROM customers WHERE islatest ORDER BY code, version")
    assert versions == PRODUCTS
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_recompute_resolves_several_current_rows(dimensions: Callable[[str, str], Dimension]):
    """With `flags: recompute`, several current rows of one key are loaded and only the newest is current."""
    dimension = with_products(dimensions)
    with pytest.raises(RunFailed, match="several current rows") as refused:
        dimension.run()
    assert "Set `business_keys` to the columns that name one entity" in refused.value.report.failures[0][1]
    dimension.settings["flags"] = "recompute"
    dimension.run()
    versions = ask(dimension.target, "SELECT code, version FROM customers WHERE islatest ORDER BY code")
    assert versions == [("A", 3), ("B", 2), ("C", 1)]


@pytest.mark.thorough
def test_flags_cleared_late_are_read_again(dimensions: Callable[[str, str], Dimension]):
    """When a new version commits before the old one is closed, the run fails. After the source closed it, the next run
    loads."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.in_source(INSERT, 2, "EU", "before the old one is closed", ago(79), True)
    with pytest.raises(RunFailed, match="several current rows for 1 value of the business key"):
        dimension.run()
    dimension.in_source("UPDATE customers SET islatest = false WHERE id = 2 AND name IS NULL")
    dimension.run()
    dimension.assert_equal()


@pytest.mark.thorough
def test_file_from_before_a_narrower_key_is_refused(dimensions: Callable[[str, str], Dimension]):
    """When `business_keys` becomes narrower, an old file with several current rows per key is not loaded."""
    dimension = with_products(dimensions)
    dimension.settings["business_keys"] = ["code", "version"]
    dimension.run()
    dimension.settings["business_keys"] = ["code"]
    dimension.in_target("DELETE FROM customers")
    with pytest.raises(RunFailed, match="several current rows for 2 values of the business key"):
        dimension.run()
    assert ask(dimension.target, "SELECT count(*) FROM customers") == [(0,)]


@pytest.mark.thorough
def test_init_proposes_a_key_with_one_current_row(dimensions: Callable[[str, str], Dimension]):
    """`init` proposes business keys under which each key has one current row."""
    dimension = with_products(dimensions, ", PRIMARY KEY (code, version, lastmodified)")
    proposed = propose_file(dimension.source, dimension.target, str(dimension.lake))
    assert "business_keys: [code, version]" in proposed.text


def test_unique_index_on_current_rows_is_respected(dimensions: Callable[[str, str], Dimension]):
    """With a unique index on current rows of the target, loading several new versions of a key never violates it."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.run()
    dimension.in_target("CREATE UNIQUE INDEX ON customers (id, region) WHERE islatest")
    dimension.came(1, 20, "third")
    dimension.came(1, 15, "fourth")
    dimension.run()
    dimension.assert_equal()


def test_version_key_updates_versions_in_place(dimension: Dimension):
    """With `version_key`, versions that the source changes are updated in the target instead of inserted."""
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


def test_ignored_columns_follow_the_source(dimension: Dimension):
    """Ignored columns are updated in place, ends are computed, and a tombstone closes its key."""
    dimension.in_source("ALTER TABLE customers ADD grade int")
    moment = TYPES[dimension.source.partition(":")[0].partition("+")[0]]["moment"]
    dimension.in_source(f"ALTER TABLE customers ADD ends {moment}")
    dimension.in_source("ALTER TABLE customers ADD gone int")
    dimension.settings |= {"ignore_columns": ["grade"], "end_column": "ends", "tombstone_column": "gone"}
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
    assert not any(row[4] for row in dimension.versions_in(dimension.target) if row[0] == 1)


def test_tombstone_is_never_current(dimension: Dimension):
    """With `flags: recompute`, a tombstone closes its key, and a later version reopens it."""
    dimension.in_source("ALTER TABLE customers ADD gone int")
    dimension.settings |= {"flags": "recompute", "tombstone_column": "gone"}
    dimension.run()
    dimension.came(1, 20, "grave")
    dimension.in_source("UPDATE customers SET gone = 1 WHERE name = 'grave'")
    dimension.run()
    current = [row[2] for row in dimension.versions_in(dimension.target) if row[4]]
    assert current == [None, "US"]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.came(1, 10, "back")
    dimension.run()
    assert [row[2] for row in dimension.versions_in(dimension.target) if row[4]] == ["back", None, "US"]
    assert dimension.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_numeric_tombstone_with_a_text_flag(dimension: Dimension):
    """A tombstone column can be a number while the flag is a text. A timestamp cannot be a tombstone."""
    dimension.in_source("ALTER TABLE customers ADD active varchar(1)")
    dimension.in_source("ALTER TABLE customers ADD gone smallint")
    dimension.in_source("UPDATE customers SET active = 'Y', gone = CASE WHEN id = 2 THEN 1 ELSE 0 END")
    dimension.in_source("UPDATE customers SET active = 'N' WHERE name = 'first'")
    words = {"flag_column": "active", "current_value": "Y", "superseded_value": "N", "ignore_columns": ["islatest"]}
    dimension.settings |= {**words, "tombstone_column": "gone"}
    dimension.run()
    assert ask(dimension.target, "SELECT name FROM customers WHERE active = 'Y'") == [("second",)]
    assert dimension.tidegate().verify().outcome == "equal"
    dimension.settings["tombstone_column"] = "lastmodified"
    with pytest.raises(RunFailed, match=r"lastmodified is .*, which says neither yes nor no"):
        dimension.run()


def test_duplicate_rows_become_one_version(dimension: Dimension):
    """When the source has the same row several times, the target has one version. It is current when one duplicate
    is."""
    dimension.came(3, 20, "twice", latest=False)
    dimension.came(3, 20, "twice")
    dimension.came(3, 20, "twice", latest=False)
    dimension.run()
    assert [row[4] for row in dimension.versions_in(dimension.target) if row[0] == 3] == [True]
    report = dimension.tidegate().verify()
    assert report.outcome == "equal", report.findings
    dimension.in_target("DELETE FROM customers WHERE id = 3")
    found = dimension.tidegate().verify()
    assert found.findings[0].what.startswith("1 version missing in the target (3, EU")


@pytest.mark.thorough
def test_older_current_version_is_reported(dimension: Dimension):
    """When an older version is current in the source, the target closes it and `verify` warns."""
    dimension.came(2, 30, "newer", latest=False)
    dimension.run()
    assert not any(row[4] for row in dimension.versions_in(dimension.target) if row[:2] == (2, "EU"))
    report = dimension.tidegate().verify()
    assert (report.outcome, report.findings[0].severity) == ("equal", "warning")
    assert "1 version current in the source although newer ones exist (2, EU" in report.findings[0].what


@pytest.mark.thorough
def test_emptied_source_closes_every_key(dimension: Dimension):
    """With `deletes: close`, an emptied source closes all keys, and a returning key is reopened."""
    dimension.settings["deletes"] = "close"
    dimension.run()
    dimension.in_source("DELETE FROM customers")
    dimension.run()
    versions = dimension.versions_in(dimension.target)
    assert (len(versions), [row for row in versions if row[4]]) == (4, [])
    assert dimension.tidegate().verify().outcome == "equal"
    assert dimension.steps() == []
    dimension.came(1, 1, "back")
    dimension.run()
    assert [row[2] for row in dimension.versions_in(dimension.target) if row[4]] == ["back"]


@pytest.mark.thorough
@pytest.mark.parametrize("type_", ["timestamptz", "date", "numeric(20,6)"])
def test_cursors_of_other_types(dimensions: Callable[[str, str], Dimension], type_):
    """The cursor can be a timestamp with time zone, a date or a decimal number."""
    dimension = dimensions("postgresql", "postgresql")
    using = "extract(epoch FROM lastmodified)" if type_.startswith("numeric") else f"lastmodified::{type_}"
    dimension.in_source(f"ALTER TABLE customers ALTER lastmodified TYPE {type_} USING {using}")
    dimension.run()
    newest = "INSERT INTO customers SELECT 9, 'EU', 'late', max(lastmodified), true FROM customers"
    dimension.in_source(newest)
    dimension.run()
    dimension.assert_equal()


@pytest.mark.thorough
def test_large_batch_loads_in_several_transactions(dimension: Dimension):
    """With `batch_size`, a large batch is loaded in several transactions with the same result."""
    dimension.settings["batch_size"] = 2
    dimension.run()
    for number in range(10, 20):
        dimension.came(number, 30)
    dimension.came(1, 30, "third")
    dimension.run()
    dimension.assert_equal()


def test_new_column_is_loaded_for_all_versions(dimension: Dimension):
    """When the source adds a column, the next run adds it to the target for all versions."""
    dimension.run()
    dimension.in_source("ALTER TABLE customers ADD COLUMN grade int DEFAULT 3")
    report = dimension.run()
    assert [step.step for step in report.steps] == ["change schema", "extract", "load"]
    assert {row[0] for row in ask(dimension.target, "SELECT grade FROM customers")} == {3}
    dimension.assert_equal()


def test_foreign_versions_need_adoption(dimensions: Callable[[str, str], Dimension]):
    """When the target has versions that no ledger knows, a run is refused until `adopt`."""
    dimension = dimensions("postgresql", "postgresql")
    dimension.in_target(CREATE.format(**TYPES["postgresql"]))
    dimension.in_target("INSERT INTO customers VALUES (1, 'EU', 'first', %s, true)", ago(100))
    with pytest.raises(RunFailed, match="1 version that no ledger knows"):
        dimension.run()
    dimension.tidegate().adopt()
    dimension.run()
    dimension.assert_equal()
