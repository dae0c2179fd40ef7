"""Generated history: versions are built from a source that has only current rows, with and without a cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kit import sides
from kit.crash import Interrupter
from kit.mariadb import MariaDb
from kit.pairs import first_daily, pairs
from kit.sides import ask
from tidegate import Tidegate
from tidegate.cli.status import in_one_line
from tidegate.errors import ConfigError, RunFailed, ValueProblem
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

CREATE = "CREATE TABLE products (code varchar(8) PRIMARY KEY, price decimal(10,2), changed {moment} NOT NULL)"
MOMENTS = {"postgresql": "timestamp(6)", "mysql": "datetime(6)", "sqlserver": "datetime2(6)"}
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def ago(minutes: int) -> datetime:
    return NOW - timedelta(minutes=minutes)


def rows_of(*products: tuple[str, Decimal | None, int]) -> pa.Table:
    """Return a table of products with their price, changed so many minutes ago."""
    types = [("code", pa.string()), ("price", pa.decimal128(10, 2)), ("changed", pa.timestamp("us"))]
    rows = [{"code": code, "price": price, "changed": ago(minutes)} for code, price, minutes in products]
    return pa.Table.from_pylist(rows, pa.schema(types))


@dataclass
class Plain:
    """A source with current products only, a lake, and a target with their generated history."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    def open(self, kind: str) -> None:
        sides.do(self.source, CREATE.format(moment=MOMENTS[kind]))
        self.put("a", 1, 90)
        self.put("b", None, 80)

    def tidegate(self) -> Tidegate:
        table = {"kind": "scd2", "history": "generate", **self.settings}
        return Tidegate(
            source=self.source, target=self.target, lake=self.lake, tables={"products": table}, spark=self.spark
        )

    def run(self) -> RunReport:
        return self.tidegate().run()

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for step in plan.tables[0].steps if not isinstance(step, Notice)]

    def put(self, code: str, price: float | None, minutes: int = 0) -> None:
        sides.do(self.source, "DELETE FROM products WHERE code = %s", code)
        sides.do(self.source, "INSERT INTO products VALUES (%s, %s, %s)", code, price, ago(minutes))

    def drop(self, code: str) -> None:
        sides.do(self.source, "DELETE FROM products WHERE code = %s", code)

    def files(self) -> list[Path]:
        found = (self.lake / "organized" / "scd_products").glob("*/products_scd_*.parquet")
        return sorted(found, key=lambda path: path.stem)

    def in_target(self, statement: str) -> None:
        sides.do(self.target, statement)

    def history(self) -> list[tuple[Any, ...]]:
        """Return code, price, start, end and whether the version is current, in order of time."""
        rows = ask(self.target, "SELECT code, price, start_date, end_date, is_current FROM products")
        return sorted(
            ((*row[:4], bool(row[4])) for row in rows), key=lambda row: (row[0], row[2], row[3] is None, row[3])
        )

    def versions(self) -> list[tuple[str, float | None, bool]]:
        return [(row[0].strip(), None if row[1] is None else float(row[1]), row[4]) for row in self.history()]

    def assert_a_history(self) -> None:
        """Assert that each code has at most one current version, and no version ends after the next starts."""
        rows = self.history()
        for code in {row[0] for row in rows}:
            own = [row for row in rows if row[0] == code]
            assert all(earlier[3] is not None and earlier[3] <= later[2] for earlier, later in pairwise(own))
            assert [row[4] for row in own[:-1]] == [False] * (len(own) - 1)
            assert own[-1][4] == (own[-1][3] is None)
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert self.steps() == []


@pytest.fixture(scope="module")
def plains(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Plain]]:
    with ExitStack() as databases:
        names = iter(range(1000))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"made_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        def make(source: str, target: str) -> Plain:
            plain = Plain(database(source), database(target), tmp_path_factory.mktemp("lake"), engine)
            plain.open(source)
            return plain

        yield make


@pytest.fixture(params=pairs("postgresql to mysql"), ids=" to ".join)
def plain(plains: Callable[[str, str], Plain], request: pytest.FixtureRequest) -> Plain:
    return plains(*request.param)


def test_changed_row_creates_a_version(plain: Plain):
    """A changed value creates a version. A row with a newer cursor and equal values does not."""
    plain.settings |= {"cursor_column": "changed", "surrogate_key": "version_number"}
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, True)]
    plain.assert_a_history()
    assert plain.run().outcome == "nothing to do"

    plain.put("a", 2, 30)
    plain.put("b", None, 30)  # touched, and the same
    report = plain.run()
    assert report.steps[-1].why.endswith("1 version inserted, 0 changed, 1 superseded")
    assert plain.versions() == [("a", 1, False), ("a", 2, True), ("b", None, True)]
    assert plain.history()[0][3] == ago(30)
    plain.assert_a_history()
    plain.put("a", 1, 10)
    plain.run()
    assert plain.versions() == [("a", 1, False), ("a", 2, False), ("a", 1, True), ("b", None, True)]
    plain.assert_a_history()
    numbers = [row[0] for row in ask(plain.target, "SELECT version_number FROM products")]
    assert len(set(numbers)) == 4


def test_without_a_cursor_the_whole_source_is_read(plain: Plain):
    """Without a cursor column, each run compares all rows: changed rows get versions, missing keys are closed."""
    plain.settings |= {"deletes": "close", "ignore_columns": ["changed"]}
    plain.run()
    plain.assert_a_history()
    assert plain.run().engine is None

    plain.drop("b")
    plain.put("a", 2)
    plain.put("c", 3)
    plain.run()
    assert plain.versions() == [("a", 1, False), ("a", 2, True), ("b", None, False), ("c", 3, True)]
    plain.assert_a_history()

    plain.put("b", None)
    plain.run()
    assert [row[4] for row in plain.history() if row[0] == "b"] == [False, True]
    plain.assert_a_history()


def test_with_a_cursor_all_keys_are_compared(plain: Plain):
    """With a cursor and `deletes: close`, each run compares all keys: missing keys are closed, returning ones
    reopen."""
    plain.settings |= {"cursor_column": "changed", "deletes": "close"}
    plain.run()
    assert plain.run().engine is None
    plain.drop("b")
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, False)]
    assert plain.history()[1][3] >= NOW
    plain.assert_a_history()
    assert plain.run().engine is None

    plain.put("b", None, 75)  # it returns unchanged
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, True)]
    plain.assert_a_history()
    plain.drop("b")
    plain.run()
    plain.put("b", 5, -1)  # a new row, with a cursor after the key was closed
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, False), ("b", 5, True)]
    plain.assert_a_history()


@pytest.mark.thorough
def test_late_file_does_not_change_history(plain: Plain):
    """A file with a reverted change and a returned key is loaded after newer files. The history is as if loaded in
    order."""
    plain.settings |= {"deletes": "close", "ignore_columns": ["changed"]}
    plain.run()
    plain.put("a", 2)
    plain.drop("b")
    plain.run()
    plain.put("a", 1)
    plain.put("b", None)
    plain.run()
    versions, before = plain.versions(), plain.history()
    assert versions == [("a", 1, False), ("a", 2, False), ("a", 1, True), ("b", None, False), ("b", None, True)]

    _, late, _ = plain.files()
    aside = late.rename(plain.lake / "aside")
    plain.in_target("DELETE FROM products")
    sides.forget_loads(plain.target)
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, True)]
    aside.rename(late)
    report = plain.run()
    assert [step.step for step in report.steps] == ["load", "load"]
    assert plain.history() == before
    plain.assert_a_history()


def test_passed_rows_are_inserted_in_time_order(plains: Callable[[str, str], Plain]):
    """Rows passed to `load_versions` become a version between the existing ones, by their cursor."""
    plain = plains("postgresql", "postgresql")
    plain.settings |= {"cursor_column": "changed", "deletes": "close"}
    plain.run()
    plain.put("a", 1, 30)  # touched, and the same
    plain.run()
    plain.tidegate().load_versions("products", rows_of(("a", Decimal(9), 60)))
    assert plain.versions() == [("a", 1, False), ("a", 9, False), ("a", 1, True), ("b", None, True)]
    assert [row[2] for row in plain.history()[:3]] == [ago(90), ago(60), ago(30)]
    plain.assert_a_history()


@pytest.mark.thorough
def test_passed_rows_that_fail_are_withdrawn(plains: Callable[[str, str], Plain]):
    """When rows passed to `load_versions` violate a constraint, their file is removed and the next plan does
    nothing."""
    plain = plains("postgresql", "postgresql")
    plain.settings |= {"cursor_column": "changed"}
    plain.run()
    plain.in_target("ALTER TABLE products ADD CHECK (price < 100)")
    with pytest.raises(RunFailed, match="products_price_check"):
        plain.tidegate().load_versions("products", rows_of(("a", Decimal(100), 60)))
    assert plain.steps() == []
    plain.assert_a_history()


def test_deleted_keys_stay_without_close(plains: Callable[[str, str], Plain]):
    """Without `deletes: close`, a key that left the source stays current and `verify` reports a note."""
    plain = plains("postgresql", "postgresql")
    plain.run()
    plain.drop("b")
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, True)]
    report = plain.tidegate().verify()
    assert (report.outcome, report.findings[0].severity) == ("equal", "note")
    assert "1 key still current after leaving the source (b" in report.findings[0].what


def test_lost_history_is_rebuilt_from_the_lake(plain: Plain):
    """When the target loses its history, the next run rebuilds it from the files of the lake."""
    plain.settings |= {"deletes": "close", "ignore_columns": ["changed"]}
    plain.run()
    plain.put("a", 2)
    plain.drop("b")
    plain.run()
    before = plain.history()
    plain.in_target("DELETE FROM products")
    assert [step.step for step in plain.run().steps] == ["load", "load"]
    assert plain.history() == before
    plain.assert_a_history()


@pytest.mark.parametrize("moment", first_daily("timestamp(6)", "timestamptz"))
def test_repair_keeps_generated_history(plains: Callable[[str, str], Plain], moment: str):
    """`repair` and `reload` keep older versions, which only the target and the lake have."""
    plain = plains("postgresql", "postgresql")
    plain.settings |= {"cursor_column": "changed", "initial_load": "full"}
    sides.do(plain.source, f"ALTER TABLE products ALTER changed TYPE {moment}")
    plain.run()
    plain.put("a", 2, 30)
    plain.run()
    before = plain.history()
    plain.in_target("UPDATE products SET price = 7 WHERE code = 'b'")
    assert plain.tidegate().verify().outcome == "differences"
    plain.tidegate().repair()
    assert plain.history() == before
    plain.in_target("UPDATE products SET price = 7 WHERE code = 'b'")
    plain.put("a", 3, 20)  # a change that the repair loads, too
    plain.tidegate().repair()
    assert [price for code, price, _ in plain.versions() if code == "a"] == [1, 2, 3]
    before = plain.history()
    for path in plain.files():  # now only the target has the generated history
        path.unlink()
    plain.tidegate().run(reload=True)
    assert plain.history() == before


@pytest.mark.thorough
def test_late_change_is_inserted_in_time_order(plains: Callable[[str, str], Plain]):
    """A correction that commits late becomes a version between the existing ones, by its cursor."""
    plain = plains("postgresql", "mysql")
    plain.settings |= {"cursor_column": "changed", "look_back": "2 hours"}
    plain.run()
    plain.put("a", 3, 10)
    plain.run()
    plain.put("a", 2, 40)  # a correction of the past, committed late
    plain.run()
    assert plain.versions()[:3] == [("a", 1, False), ("a", 2, False), ("a", 3, True)]
    assert plain.history()[1][3] == ago(10)


@pytest.mark.thorough
def test_reloaded_batches_keep_their_order(plains: Callable[[str, str], Plain], tmp_path):
    """When an old batch is loaded again together with a newer one that was never loaded, the newer one wins."""
    plain = plains("postgresql", "mysql")
    plain.settings |= {"cursor_column": "changed", "look_back": "2 hours"}
    plain.run()
    plain.put("b", 5, 70)
    plain.run()
    ledger = sides.ledger_name(plain.target)
    first = min(ask(plain.target, f"SELECT value_text FROM {ledger}"))[0]  # noqa: S608
    sides.do(plain.target, f"DELETE FROM {ledger} WHERE value_text = %s", first)  # noqa: S608
    plain.put("b", 6, 70)
    plain.put("c", 7, 60)
    stopped = plain.tidegate()
    stopped.boundary = Interrupter("extract done", 1, tmp_path / "tally")
    with suppress(KeyboardInterrupt):
        stopped.run()
    plain.run()
    assert plain.versions() == [("a", 1, True), ("b", None, False), ("b", 6, True), ("c", 7, True)]
    plain.assert_a_history()


@pytest.mark.parametrize("kind", first_daily("arrow", "pandas", "spark"))
def test_data_frame_is_loaded_as_a_batch(plains: Callable[[str, str], Plain], kind):
    """`load_versions` takes an Arrow table, a pandas or a Spark data frame. Wrong columns and null keys are refused."""
    plain = plains("postgresql", "mysql")
    plain.settings["cursor_column"] = "changed"
    plain.run()
    table = rows_of(("a", Decimal("9.99"), 60), ("z", None, 50))
    frame: Any = table if kind == "arrow" else table.to_pandas()
    if kind == "spark":
        frame = plain.spark.createDataFrame(frame, "code string, price decimal(10,2), changed timestamp_ntz")
    report = plain.tidegate().load_versions("products", frame)
    assert report.steps[-1].why.endswith("2 versions inserted, 0 changed, 1 superseded")
    assert plain.versions() == [("a", 1, False), ("a", 9.99, True), ("b", None, True), ("z", None, True)]
    again = plain.tidegate().load_versions("products", frame)
    assert {step.outcome for step in again.steps} == {"skipped"}
    assert plain.steps() == []
    plain.put("b", 5, 10)
    plain.run()
    assert plain.versions()[2:4] == [("b", None, False), ("b", 5, True)]
    with pytest.raises(ConfigError, match="differ in the columns price"):
        plain.tidegate().load_versions("products", table.drop(["price"]))
    unnamed = table.set_column(0, "code", pa.array(["a", None], pa.string()))
    with pytest.raises(ValueProblem, match=r"nulls where there must be a value: code \(1 row\)"):
        plain.tidegate().load_versions("products", unnamed)
    assert plain.steps() == []


@pytest.mark.thorough
def test_target_needs_the_version_columns(plains: Callable[[str, str], Plain]):
    """An existing target without start, end and flag column is refused, and loaded after they are added."""
    plain = plains("postgresql", "postgresql")
    plain.in_target("CREATE TABLE products (code varchar(8), price decimal(10,2), changed timestamp(6))")
    with pytest.raises(RunFailed, match="the target has no column start_date, end_date, is_current"):
        plain.run()
    plain.in_target(
        "ALTER TABLE products ADD start_date timestamp(6), ADD end_date timestamp(6), ADD is_current boolean"
    )
    plain.in_target("ALTER TABLE products ADD id bigint GENERATED ALWAYS AS IDENTITY")
    plain.run()
    plain.assert_a_history()


def test_version_columns_can_be_renamed(plains: Callable[[str, str], Plain]):
    """Names of generated columns can be set. A name that the source already uses is refused."""
    plain = plains("postgresql", "postgresql")
    plain.settings |= {"start_column": "changed"}
    with pytest.raises(RunFailed, match="the source has changed, which versions are made with"):
        plain.run()
    plain.settings |= {"start_column": "valid_from", "end_column": "valid_to", "flag_column": "now"}
    plain.run()
    assert ask(plain.target, 'SELECT count(*) FROM products WHERE valid_to IS NULL AND "now"') == [(2,)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"flags": "source"}, "generates its own history"),
    ],
)
def test_contradictory_settings_are_refused(plains: Callable[[str, str], Plain], settings, message):
    """A setting that contradicts generated history is refused when the project is opened."""
    plain = plains("postgresql", "postgresql")
    plain.settings |= settings
    with pytest.raises(ConfigError, match=message):
        plain.tidegate()


def test_tombstone_closes_the_key(plain: Plain):
    """A tombstone row ends the version before it and is not current itself."""
    sides.do(plain.source, "ALTER TABLE products ADD gone int")
    plain.settings |= {"cursor_column": "changed", "tombstone_column": "gone"}
    plain.run()
    sides.do(plain.source, "UPDATE products SET gone = 1, changed = %s WHERE code = 'a'", ago(10))
    plain.run()
    assert plain.versions() == [("a", 1.0, False), ("a", 1.0, False), ("b", None, True)]
    assert plain.history()[0][3] == ago(10)
    assert plain.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_status_of_a_table_without_a_cursor(plain: Plain):
    """`status` shows scope, batches and versions of a table without a cursor, before and after the first run."""
    (before,) = plain.tidegate().status()
    assert (before.scope, before.is_whole, before.batches) == ("all versions", True, ())
    assert in_one_line(before) == "scope all versions; nothing is loaded yet"
    assert before.pending[1].startswith("extract batch 20")
    plain.run()
    (after,) = plain.tidegate().status()
    assert in_one_line(after).startswith(
        "scope all versions; the whole table is loaded, from 1 batch; the target holds 2 versions; last loaded 20"
    )
