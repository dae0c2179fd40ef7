"""Every kind of table over lakes of table formats: the daily run, losses, kills, and readers from outside."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit import processes, sides
from kit.pairs import ALL_ARE_ASKED_FOR, EVERY_PAIR
from kit.project import child, database_on
from tidegate import Tidegate
from tidegate.model.plan import Notice
from unit.test_table_lakes import READERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

EVERYDAY = [("iceberg", "postgresql", "mysql"), ("delta", "mysql", "postgresql")]
ONE = [EVERYDAY[0], pytest.param(*EVERYDAY[1], marks=pytest.mark.thorough)]
CASES = [(name, *pair) for name in READERS for pair in EVERY_PAIR] if ALL_ARE_ASKED_FOR else EVERYDAY
TABLES: dict[str, dict[str, Any]] = {
    "trades": {
        "kind": "partition",
        "partition_column": "cob",
        "restatement_column": "load_id",
        "initial_load_count": 5,
    },
    "customers": {"kind": "scd2", "business_keys": ["id"], "cursor_column": "since", "flag_column": "latest"},
    "products": {"kind": "scd2", "history": "generate", "deletes": "close"},
    "currencies": {"kind": "static", "allow_deletes": True},
}
FORGET = {"postgresql": "DELETE FROM tidegate.ledger", "mysql": "DELETE FROM tidegate_ledger"}
MOMENTS = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}


@dataclass
class Shop:
    """A source with tables of every kind, a lake of a table format and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    format: str
    spark: SparkSession | None = field(default=None, repr=False)

    def configuration(self) -> dict[str, Any]:
        lake = {"format": self.format, "path": str(self.lake)}
        engine = {} if self.spark is not None else {"engine": "process"}
        places = {"source": self.source, "target": self.target, "lake": lake}
        return {**places, **engine, "batch_rows": 64, "tables": TABLES}

    def tidegate(self) -> Tidegate:
        return Tidegate(**{**self.configuration(), "spark": self.spark})

    def run(self) -> RunReport:
        report = self.tidegate().run()
        assert report.outcome in ("done", "nothing to do"), report.failures
        return report

    def do(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def open(self, kind: str) -> None:
        moment = MOMENTS[kind]
        self.do("CREATE TABLE currencies (code varchar(3) PRIMARY KEY, rate decimal(12,6), opens time(6))")
        self.do(f"CREATE TABLE customers (id int NOT NULL, name varchar(20), since {moment} NOT NULL, latest int)")
        self.do("CREATE TABLE products (code int PRIMARY KEY, price decimal(38,18))")
        sides.create(self.source)
        sides.fill(self.source, (20240101, 20240102, 20240103), 1, 100)
        self.do("INSERT INTO currencies VALUES ('CHF', 0.9431, '07:30:00.5'), ('EUR', 1, NULL)")
        self.do("INSERT INTO products VALUES (1, 1.5), (2, 0.000000000000000001)")
        for number in range(3):
            self.do(f"INSERT INTO customers SELECT {number}, 'first', LOCALTIMESTAMP(6), 1")

    def live(self) -> None:
        """Change all tables of the source, as in one day."""
        sides.fill(self.source, (20240104,), 1, 50)
        self.do("UPDATE trades SET amount = amount + 1, load_id = load_id + 1 WHERE cob = 20240103")
        self.do("UPDATE customers SET latest = 0 WHERE id = 1")
        self.do("INSERT INTO customers SELECT 1, 'second', LOCALTIMESTAMP(6), 1")
        self.do("UPDATE products SET price = 2 WHERE code = 1")
        self.do("DELETE FROM products WHERE code = 2")
        self.do("UPDATE currencies SET rate = 2 WHERE code = 'EUR'")

    def rows(self, url: str, query: str) -> Counter[tuple[Any, ...]]:
        return Counter(sides.ask(url, query))

    def outside(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the lake as the format's own library reads them."""
        (place,) = (folder for folder in self.lake.iterdir() if (folder / table).is_dir() and folder.name[0] != ".")
        found: list[dict[str, Any]] = READERS[self.format](self.lake, place.name, table).to_pylist()
        return found

    def steps(self) -> list[str]:
        plan = self.tidegate().plan()
        assert not plan.failures, plan.failures
        return [type(step).__name__ for table in plan.tables for step in table.steps if not isinstance(step, Notice)]

    def assert_in_step(self) -> None:
        for query in (
            "SELECT cob, id, amount, note, traded_at, load_id FROM trades",
            "SELECT id, name, since, latest FROM customers",
            "SELECT code, rate FROM currencies",
        ):
            assert self.rows(self.target, query) == self.rows(self.source, query), query
        current = "SELECT code, price FROM products WHERE end_date IS NULL"
        assert self.rows(self.target, current) == self.rows(self.source, "SELECT code, price FROM products")
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert self.steps() == []

    def assert_readers_agree(self) -> None:
        """Assert that readers from outside see the source's rows: of partitions and whole tables exactly these."""
        trades = self.rows(self.source, "SELECT cob, id, amount, note, traded_at, load_id FROM trades")
        names = ("cob", "id", "amount", "note", "traded_at", "load_id")
        assert Counter(tuple(row[name] for name in names) for row in self.outside("trades")) == trades
        currencies = {(code, rate) for code, rate in sides.ask(self.source, "SELECT code, rate FROM currencies")}
        assert {(row["code"], row["rate"]) for row in self.outside("currencies")} == currencies


Shops = Callable[..., Shop]


@pytest.fixture
def shops(postgres: EmbeddedPostgres, mariadb: MariaDb, tmp_path: Path) -> Iterator[Shops]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:

        def make(name: str, source: str, target: str, spark: SparkSession | None = None) -> Shop:
            prod, uat = (opened.enter_context(database_on(servers[kind])) for kind in (source, target))
            shop = Shop(prod, uat, tmp_path / "lake", name, spark)
            shop.open(source)
            return shop

        yield make


@pytest.mark.parametrize(("name", "source", "target"), CASES)
def test_every_kind_is_kept_in_sync(shops: Shops, name: str, source: str, target: str):
    """Tables of every kind are extracted, loaded, changed, and equal; readers from outside see the same rows."""
    shop = shops(name, source, target)

    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()
    shop.live()
    shop.run()

    shop.assert_in_step()
    shop.assert_readers_agree()
    assert shop.run().outcome == "nothing to do"

    cleaned = shop.tidegate().lake_clean(keep_days=0, dry_run=False)
    assert cleaned["trades"].versions >= 3 and cleaned["trades"].files >= 1
    assert cleaned["customers"].merged >= 2 and cleaned["customers"].into == 1
    assert shop.steps() == []
    shop.assert_readers_agree()
    sides.do(shop.target, "DELETE FROM trades WHERE cob = 20240101")
    shop.run()
    shop.assert_in_step()


@pytest.mark.parametrize(("name", "source", "target"), ONE)
def test_lost_places_are_restored(shops: Shops, name: str, source: str, target: str):
    """When the lake, a file of it, or the ledger is lost, the next run restores it."""
    shop = shops(name, source, target)
    shop.run()

    shutil.rmtree(shop.lake)
    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()

    next(shop.lake.rglob("trades/**/*.parquet")).unlink()
    shop.run()
    shop.assert_in_step()
    shop.assert_readers_agree()

    sides.do(shop.target, FORGET[target])
    shop.run()
    shop.assert_in_step()


@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize(("name", "source", "target"), ONE)
@pytest.mark.parametrize(
    ("place", "nth"), [("published", 2), pytest.param("task about to commit", 2, marks=pytest.mark.thorough)]
)
def test_killed_run_resumes(shops: Shops, tmp_path: Path, name: str, source: str, target: str, place: str, nth: int):
    """A run that is killed after a commit to the lake, or inside of a load, is completed by the next one."""
    shop = shops(name, source, target)
    file = tmp_path / "tidegate.yml"
    file.write_text(yaml.safe_dump(shop.configuration()))
    crash = str(Path(sys.modules["kit.processes"].__file__ or "").with_name("crash.py"))

    with child(crash, file, place, nth, tmp_path / "tally", "process") as run:
        run.communicate(timeout=200)
    assert run.returncode == -9
    shop.run()

    shop.assert_in_step()
    shop.assert_readers_agree()


@pytest.mark.spark
@pytest.mark.parametrize("name", ["iceberg", pytest.param("delta", marks=pytest.mark.thorough)])
def test_spark_tasks_write_and_read_the_lake(shops: Shops, spark: SparkSession, name: str):
    """Spark tasks write the files of the table. Its rows are a DataFrame, and so is what changed between states."""
    shop = shops(name, "postgresql", "postgresql", spark)
    shop.run()
    first = shop.tidegate().lake_history("currencies")[-1]
    shop.live()
    shop.run()

    shop.assert_in_step()
    shop.assert_readers_agree()
    changes = shop.tidegate().lake_changes("currencies", first.id).collect()
    assert {(row["code"], row["rate"], row["_change"]) for row in changes} == {
        ("EUR", Decimal(1), "delete"),
        ("EUR", Decimal(2), "insert"),
    }
