"""Static tables: compared as a whole and loaded when their content differs, on every pair of databases."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from kit import sides
from kit.mariadb import MariaDb
from kit.pairs import first_daily, pairs
from kit.sides import ask
from tidegate import Tidegate
from tidegate.errors import RunFailed
from tidegate.model.plan import Extract, Load, Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

CREATE = "CREATE TABLE currencies (code varchar(3) NOT NULL, name varchar(40), rate decimal(20,10), PRIMARY KEY (code))"
ROWS = [("CHF", "Franken", "0.9431000000"), ("EUR", "Euro", "1.0000000000"), ("XXX", None, None), ("usd", "", "0.1")]


@dataclass
class Reference:
    """A source with a table of currencies, a lake and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    def open(self) -> None:
        self.in_source(CREATE)
        for row in ROWS:
            sides.do(self.source, "INSERT INTO currencies VALUES (%s, %s, %s)", *row)

    def tidegate(self) -> Tidegate:
        table = {"kind": "static", **self.settings}
        return Tidegate(
            source=self.source, target=self.target, lake=self.lake, tables={"currencies": table}, spark=self.spark
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

    def in_source(self, statement: str) -> None:
        sides.do(self.source, statement)

    def in_target(self, statement: str) -> None:
        sides.do(self.target, statement)

    def rows_in(self, url: str) -> list[tuple[Any, ...]]:
        return sorted(ask(url, "SELECT code, name, rate FROM currencies"), key=repr)

    def files(self) -> list[Path]:
        return sorted((self.lake / "organized" / "static_currencies").glob("*.parquet"))

    def assert_equal(self) -> None:
        assert self.rows_in(self.target) == self.rows_in(self.source)
        assert self.tidegate().verify().outcome == "equal"
        assert self.steps() == []


@pytest.fixture(scope="module")
def references(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Reference]]:
    with ExitStack() as databases:
        names = iter(range(1000))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"static_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        def make(source: str, target: str) -> Reference:
            reference = Reference(database(source), database(target), tmp_path_factory.mktemp("lake"), engine)
            reference.open()
            return reference

        yield make


@pytest.fixture(params=pairs("postgresql to mysql"), ids=" to ".join)
def reference(references: Callable[[str, str], Reference], request: pytest.FixtureRequest) -> Reference:
    return references(*request.param)


def test_static_table_follows_the_source(reference: Reference):
    """The first run loads all rows, the second does nothing, and the third applies an insert, an update and a
    delete."""
    reference.settings["allow_deletes"] = True
    report = reference.run()
    assert (report.outcome, report.rows_extracted, report.rows_loaded) == ("done", 4, 4)
    reference.assert_equal()
    footer = pq.read_metadata(reference.files()[0]).metadata[b"tidegate"].decode()
    assert all(word in footer for word in ('"hash"', '"rows": 4', '"read_at"', '"columns_id"'))

    quiet = reference.run()
    assert (quiet.outcome, quiet.engine, len(reference.files())) == ("nothing to do", None, 1)

    reference.in_source("UPDATE currencies SET rate = 0.9431000001 WHERE code = 'CHF'")
    reference.in_source("DELETE FROM currencies WHERE code = 'usd'")
    reference.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")
    report = reference.run()
    assert report.steps[-1].why.endswith("1 inserted, 1 updated, 1 deleted")
    reference.assert_equal()


def test_deleted_rows_stay_without_allow_deletes(reference: Reference):
    """When `allow_deletes` is off, rows that the source deleted stay in the target, and `verify` reports equal."""
    reference.run()
    reference.in_source("DELETE FROM currencies WHERE code = 'usd'")
    reference.in_source("UPDATE currencies SET name = 'Franc' WHERE code = 'CHF'")
    reference.run()
    assert {row[0] for row in reference.rows_in(reference.target)} == {"CHF", "EUR", "XXX", "usd"}
    found = reference.tidegate().verify()
    assert found.outcome == "equal"
    assert "holds 1 more" in found.findings[0].what
    assert reference.run().outcome == "nothing to do"


# Losses and changes in the target


def test_lost_target_rows_are_restored(reference: Reference):
    """When the target loses rows, the next run loads them again from the lake."""
    reference.run()
    reference.in_target("DELETE FROM currencies WHERE code <> 'EUR'")
    report = reference.run()
    assert [step.step for step in report.steps] == ["load"]
    assert "the target holds 1 of 4 rows" in report.steps[0].why
    reference.assert_equal()


def test_changed_row_is_reported_and_repaired(reference: Reference):
    """When somebody changes a row in the target, the plan warns, `verify --deep` finds it and `repair` restores it."""
    reference.run()
    reference.in_target("UPDATE currencies SET name = 'mine' WHERE code = 'EUR'")
    assert reference.steps() == []
    assert "somebody changed rows in the target" in reference.warnings()[0]
    deep = reference.tidegate().verify(deep=True)
    assert deep.outcome == "differences"
    assert "1 changed (EUR)" in deep.findings[0].what
    assert not any("somebody changed" in finding.what for finding in reference.tidegate().repair().findings)
    reference.assert_equal()


@pytest.mark.thorough
def test_target_change_is_reported_with_a_load(reference: Reference):
    """When source and target changed both, the load restores the row and its message says that somebody changed the
    target."""
    reference.run()
    reference.in_target("UPDATE currencies SET name = 'mine' WHERE code = 'EUR'")
    reference.in_source("UPDATE currencies SET name = 'Franc' WHERE code = 'CHF'")
    report = reference.run()
    assert report.steps[-1].why.endswith("2 updated, 0 deleted; somebody had changed rows of the target")
    reference.assert_equal()


def test_value_unknown_to_the_source_is_repaired(references: Callable[[str, str], Reference]):
    """When a target row has a value that the source's type cannot have, such as NaN, `repair` overwrites it."""
    reference = references("mysql", "postgresql")
    reference.run()
    reference.in_target("UPDATE currencies SET rate = 'NaN' WHERE code = 'EUR'")
    assert "somebody changed rows in the target" in reference.warnings()[0]
    reference.tidegate().repair()
    reference.assert_equal()
    reference.in_target("INSERT INTO currencies VALUES ('TST', 'mine', 'NaN')")
    with pytest.raises(RunFailed, match="column rate of the target holds a value that the source's cannot have"):
        reference.tidegate().run(reload=True)


@pytest.mark.parametrize(("rule", "expected"), [("restore", ["Load"]), ("keep", [])])
def test_on_target_change_decides_about_added_rows(references: Callable[[str, str], Reference], rule, expected):
    """With `on_target_change: restore` an added row causes a load. With `keep` it stays and `verify` reports a note."""
    reference = references("postgresql", "postgresql")
    reference.settings["on_target_change"] = rule
    reference.run()
    reference.in_target("INSERT INTO currencies VALUES ('TST', 'mine', 1)")
    assert (reference.steps(), reference.warnings()) == (expected, [])
    if rule == "keep":
        found = reference.tidegate().verify()
        assert (found.exit_code, found.findings[0].severity) == (0, "note")
        assert found.findings[0].what.startswith("left out of the proof: `on_target_change: keep`")


def test_lost_or_broken_file_is_extracted_again(references: Callable[[str, str], Reference]):
    """When the lake's file is deleted or broken, the next run extracts it again."""
    reference = references("postgresql", "mysql")
    reference.run()
    reference.files()[0].unlink()
    assert reference.steps() == ["Extract", "Load"]
    assert [(step.step, step.outcome) for step in reference.run().steps] == [("extract", "done"), ("load", "skipped")]
    reference.files()[-1].write_bytes(b"PAR1")
    assert reference.run().steps[0].why.startswith("its file cannot be used")
    reference.assert_equal()


def test_lost_ledger_is_rebuilt(references: Callable[[str, str], Reference]):
    """When ledger and scope are deleted, the next run writes them again without loading a row."""
    reference = references("mysql", "postgresql")
    reference.run()
    reference.in_target("DELETE FROM tidegate.ledger")
    reference.in_target("DELETE FROM tidegate.scopes")
    report = reference.run()
    assert [(step.step, step.outcome) for step in report.steps] == [("load", "skipped")]
    reference.assert_equal()


@pytest.mark.thorough
def test_file_extracted_before_a_crash_is_loaded(references: Callable[[str, str], Reference]):
    """When a run stops between extract and load, the next run loads the file. A file with the source's hash is not yet
    loaded."""
    reference = references("postgresql", "postgresql")
    reference.run()
    reference.in_source("UPDATE currencies SET rate = 7")

    def stop(place: str) -> None:
        if place == "extract done":
            raise KeyboardInterrupt

    tidegate = reference.tidegate()
    tidegate.boundary = stop  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        tidegate.run()
    assert reference.steps() == ["Load"]
    reference.run()
    reference.assert_equal()


# Existing targets


def test_foreign_rows_need_adoption(references: Callable[[str, str], Reference]):
    """When the target has rows that no ledger knows, a run is refused. After `adopt` it loads and keeps them."""
    reference = references("postgresql", "mysql")
    reference.in_target(CREATE)
    reference.in_target("INSERT INTO currencies VALUES ('EUR', 'old', 1), ('OLD', 'theirs', 1)")
    with pytest.raises(RunFailed, match="2 rows that no ledger knows"):
        reference.run()
    reference.tidegate().adopt()
    report = reference.run()
    assert report.steps[-1].why.endswith("3 inserted, 1 updated, 0 deleted")
    assert {row[0] for row in reference.rows_in(reference.target)} == {"CHF", "EUR", "OLD", "XXX", "usd"}
    assert reference.run().outcome == "nothing to do"


def test_equal_target_is_adopted_without_loading(references: Callable[[str, str], Reference]):
    """When the target already has the same rows, the first run records them and loads nothing."""
    reference = references("postgresql", "postgresql")
    reference.in_target(CREATE)
    for row in ROWS:
        sides.do(reference.target, "INSERT INTO currencies VALUES (%s, %s, %s)", *row)
    report = reference.run()
    assert [(step.step, step.outcome) for step in report.steps] == [("extract", "done"), ("load", "skipped")]
    reference.assert_equal()


# Keys


def test_table_without_a_key_is_replaced(reference: Reference):
    """A table without a key, with duplicate rows and nulls, is replaced as a whole."""
    reference.in_source("DROP TABLE currencies")
    reference.in_source("CREATE TABLE currencies (code varchar(3), name varchar(40), rate decimal(20,10))")
    reference.in_source("INSERT INTO currencies VALUES ('EUR', 'twice', 1), ('EUR', 'twice', 1), (NULL, NULL, NULL)")
    reference.run()
    reference.assert_equal()
    reference.in_source("INSERT INTO currencies VALUES ('EUR', 'twice', 1)")
    assert reference.run().steps[-1].why.endswith("3 rows replaced by 4")
    reference.assert_equal()


def test_referenced_rows_are_updated_in_place(reference: Reference):
    """When other tables refer to the target, rows are updated and not replaced. A referenced row cannot be deleted."""
    reference.settings["merge_strategy"] = "replace"
    reference.in_target(CREATE)
    reference.run()
    reference.in_target("CREATE TABLE prices (code varchar(3), FOREIGN KEY (code) REFERENCES currencies (code))")
    reference.in_target("INSERT INTO prices VALUES ('EUR')")
    reference.in_source("UPDATE currencies SET name = 'euro' WHERE code = 'EUR'")
    reference.in_source("DELETE FROM currencies WHERE code = 'usd'")
    assert reference.run().steps[-1].why.endswith("0 inserted, 1 updated, 1 deleted")
    reference.assert_equal()
    reference.in_source("DELETE FROM currencies WHERE code = 'EUR'")
    with pytest.raises(RunFailed):
        reference.run()
    assert len(reference.rows_in(reference.target)) == 3


@pytest.mark.parametrize("kind", first_daily("postgresql", "mysql"))
def test_unique_values_can_be_swapped(references: Callable[[str, str], Reference], kind):
    """When two rows exchange the values of another unique key, the load applies both updates."""
    reference = references("postgresql", kind)
    reference.in_target(CREATE.replace("name varchar(40)", "name varchar(40) UNIQUE"))
    reference.run()
    reference.in_source("UPDATE currencies SET name = CASE code WHEN 'CHF' THEN 'Euro' WHEN 'EUR' THEN 'Franken' END")
    reference.in_source("INSERT INTO currencies VALUES ('GBP', 'Pound', 2)")
    assert reference.run().steps[-1].why.endswith("1 inserted, 3 updated, 0 deleted")
    reference.assert_equal()


@pytest.mark.thorough
def test_keys_equal_in_the_target_collation_fail(references: Callable[[str, str], Reference]):
    """When the target's collation treats a new key as equal to an old one, the load fails and names the collation."""
    reference = references("postgresql", "mysql")
    reference.in_target(CREATE.replace("varchar(3)", "varchar(3) COLLATE utf8mb4_general_ci"))
    reference.run()
    reference.in_source("UPDATE currencies SET code = 'eur' WHERE code = 'EUR'")
    with pytest.raises(RunFailed) as failed:
        reference.run()
    failures = str(failed.value.report.failures)
    assert "the target refused a row: Duplicate entry (error 1062)." in failures
    assert "Two texts may also be equal by the collation" in failures
    found = reference.tidegate().verify()
    assert found.findings[0].what.startswith("equal counts, other content; what was extracted is not loaded yet; 1 ")


@pytest.mark.parametrize(
    ("row", "message"),
    [(("EUR", "again", 1), "is not unique in the source: EUR"), ((None, "no code", 1), "has no value")],
)
def test_duplicate_or_null_keys_are_refused(references: Callable[[str, str], Reference], row, message):
    """When the source has duplicate keys or null keys, the run is refused with an example."""
    reference = references("postgresql", "postgresql")
    reference.in_source("ALTER TABLE currencies DROP CONSTRAINT currencies_pkey")
    reference.in_source("ALTER TABLE currencies ALTER code DROP NOT NULL")
    sides.do(reference.source, "INSERT INTO currencies VALUES (%s, %s, %s)", *row)
    reference.settings |= {"primary_keys": ["code"], "merge_strategy": "upsert"}
    with pytest.raises(RunFailed, match=message):
        reference.run()
    assert ask(reference.target, "SELECT count(*) FROM currencies") == [(0,)]


@pytest.mark.parametrize("deletes", first_daily(True, False))
def test_trigger_that_changes_rows_fails_the_load(references: Callable[[str, str], Reference], deletes):
    """When a trigger of the target changes loaded rows, the load is rolled back and reports the differing rows."""
    reference = references("postgresql", "postgresql")
    reference.settings |= {"merge_strategy": "upsert", "allow_deletes": deletes}
    reference.run()
    reference.in_target("INSERT INTO currencies VALUES ('OWN', 'of the target', 1)")
    reference.in_target(
        "CREATE FUNCTION spoil() RETURNS trigger AS $$ BEGIN new.name := upper(new.name); RETURN new; END $$ LANGUAGE"
        " plpgsql; CREATE TRIGGER spoil BEFORE UPDATE ON currencies FOR EACH ROW EXECUTE FUNCTION spoil()"
    )
    reference.in_source("UPDATE currencies SET name = 'Swiss franc' WHERE code = 'CHF'")
    before = reference.rows_in(reference.target)

    with pytest.raises(RunFailed, match="0 rows missing, 1 unlike, 0 too many of 4"):
        reference.run()
    assert reference.rows_in(reference.target) == before


@pytest.mark.thorough
def test_readers_see_the_old_or_the_new_table(reference: Reference):
    """While a table is replaced, concurrent readers see all old rows or all new rows, never a mix."""
    reference.settings["merge_strategy"] = "replace"
    reference.in_source("DELETE FROM currencies")
    rows = ", ".join(f"('{number:03}', 'old', 1)" for number in range(1000))
    reference.in_source(f"INSERT INTO currencies VALUES {rows}")  # noqa: S608
    reference.run()
    seen: set[tuple[Any, ...]] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.update(ask(reference.target, "SELECT count(*), min(name), max(name) FROM currencies"))

    def wait_until_seen(name: str) -> None:
        deadline = time.monotonic() + 60
        while (1000, name, name) not in seen and time.monotonic() < deadline:
            time.sleep(0.01)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        wait_until_seen("old")
        reference.in_source("UPDATE currencies SET name = 'new'")
        reference.run()
        wait_until_seen("new")
    finally:
        done.set()
        reader.join()
    assert seen == {(1000, "old", "old"), (1000, "new", "new")}


@pytest.mark.thorough
def test_wide_table_fits_the_mysql_row_size(references: Callable[[str, str], Reference]):
    """A table with 100 short text columns is created in MySQL within its limit on row size."""
    reference = references("postgresql", "mysql")
    for number in range(100):
        reference.in_source(f"ALTER TABLE currencies ADD text_{number} varchar(60) DEFAULT '{number}'")
    reference.run()
    everything = "SELECT * FROM currencies"
    assert sorted(ask(reference.target, everything), key=repr) == sorted(ask(reference.source, everything), key=repr)
    reference.assert_equal()


# Change detection


@pytest.mark.parametrize("kind", first_daily("postgresql", "mysql"))
def test_server_checksum_detects_changes(references: Callable[[str, str], Reference], kind):
    """With `change_detection_method: checksum`, a change in the source is extracted and an unchanged source is not."""
    reference = references(kind, "postgresql")
    reference.settings["change_detection_method"] = "checksum"
    reference.run()
    assert reference.steps() == []
    reference.in_source("UPDATE currencies SET name = NULL WHERE code = 'usd'")
    assert reference.steps() == ["Extract", "Load"]
    reference.run()
    assert reference.rows_in(reference.target) == reference.rows_in(reference.source)
    reference.in_target("DELETE FROM currencies WHERE code = 'EUR'")
    assert reference.steps() == ["Load"]
    reference.in_source("DELETE FROM currencies")
    reference.settings["allow_deletes"] = True
    reference.run()
    assert (reference.rows_in(reference.target), reference.steps()) == ([], [])


@pytest.mark.thorough
def test_generated_target_column_cannot_be_hashed(references: Callable[[str, str], Reference]):
    """When a column of `hash_columns` is generated by the target, the plan fails with its name."""
    reference = references("postgresql", "postgresql")
    reference.settings |= {"hash_columns": ["rate"], "primary_keys": ["code"]}
    reference.in_target(
        "CREATE TABLE currencies (code text PRIMARY KEY, name text, rate numeric GENERATED ALWAYS AS (1) STORED)"
    )
    plan = reference.tidegate().plan()
    assert "rate cannot tell a change: the target computes it" in str(dict(plan.failures)["currencies"])


@pytest.mark.thorough
def test_only_hash_columns_detect_a_change(references: Callable[[str, str], Reference]):
    """With `hash_columns`, only changes of these columns cause an extract."""
    reference = references("postgresql", "postgresql")
    reference.settings["hash_columns"] = ["code", "rate"]
    reference.run()
    reference.in_source("UPDATE currencies SET name = 'not watched'")
    assert reference.steps() == []
    reference.in_source("UPDATE currencies SET rate = 3 WHERE code = 'EUR'")
    reference.run()
    assert reference.rows_in(reference.target) == reference.rows_in(reference.source)


def test_new_column_and_reload(references: Callable[[str, str], Reference]):
    """A new column of the source is added and filled. `run --reload` extracts and loads an unchanged table."""
    reference = references("mysql", "postgresql")
    reference.run()
    reference.in_source("ALTER TABLE currencies ADD COLUMN minor int DEFAULT 2")
    report = reference.run()
    assert [step.step for step in report.steps] == ["change schema", "extract", "load"]
    assert {row[0] for row in ask(reference.target, "SELECT minor FROM currencies")} == {2}
    again = reference.tidegate().run(reload=True)
    assert [step.step for step in again.steps] == ["extract", "load"]
    reference.assert_equal()


def test_plan_steps_carry_rows_and_reason(references: Callable[[str, str], Reference]):
    """The steps of a plan carry the value, the number of rows and the reason."""
    reference = references("postgresql", "postgresql")
    steps = reference.tidegate().plan().tables[0].steps
    moves = [step for step in steps if isinstance(step, (Extract, Load))]
    assert [(step.value.text, step.rows, step.why) for step in moves] == [("all rows", 4, "new in the source")] * 2
