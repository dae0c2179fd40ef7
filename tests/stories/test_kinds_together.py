"""Three kinds of tables in one project: load order, failures, limits and killed runs."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit import processes, sides
from kit.mariadb import MariaDb
from kit.pairs import ALL_ARE_ASKED_FOR, BOTH_WAYS, EVERY_PAIR, pairs
from kit.project import child, database_on
from kit.sides import ask
from tidegate import Tidegate
from tidegate.databases.postgresql.session import PostgresqlSession
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice
from tidegate.runs import plan as planner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

KILLS = int(os.environ.get("TIDEGATE_KILLS", "1"))
SEED = int(os.environ.get("TIDEGATE_SEED", "20240105"))
MOMENTS = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
TABLES: dict[str, dict[str, Any]] = {
    # Facts come first here, because loads must not follow the order of the file.
    "sales": {"kind": "partition", "partition_column": "day"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "cursor_column": "since", "flag_column": "latest"},
    "products": {"kind": "scd2", "history": "generate", "deletes": "close"},
    "currencies": {"kind": "static", "allow_deletes": True},
}
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)


@dataclass
class Shop:
    """A source with a fact table, two dimensions and a reference table."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    chance: random.Random = field(default_factory=lambda: random.Random(SEED), repr=False)
    minutes: int = 1000
    days: int = 1

    def configuration(self) -> dict[str, Any]:
        return {"source": self.source, "target": self.target, "lake": str(self.lake), "tables": TABLES}

    def tidegate(self) -> Tidegate:
        return Tidegate(**{**self.configuration(), "spark": self.spark})

    def open(self, kind: str) -> None:
        moment = MOMENTS[kind]
        do = self.do
        do("CREATE TABLE currencies (code varchar(3) PRIMARY KEY, rate decimal(12,6))")
        do(f"CREATE TABLE customers (id int NOT NULL, name varchar(20), since {moment} NOT NULL, latest int NOT NULL)")
        do("CREATE TABLE products (code int PRIMARY KEY, price decimal(10,2))")
        do("CREATE TABLE sales (day int NOT NULL, id int NOT NULL, code varchar(3) NOT NULL, PRIMARY KEY (day, id))")
        for code in ("EUR", "CHF", "USD"):
            do("INSERT INTO currencies VALUES (%s, 1)", code)
        for number in range(20):
            do("INSERT INTO products VALUES (%s, 1)", number)
            self.move_in(number)
        self.sell()

    def do(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def move_in(self, customer: int) -> None:
        self.minutes -= 1
        moment = NOW - timedelta(minutes=self.minutes)
        self.do("UPDATE customers SET latest = 0 WHERE id = %s", customer)
        self.do("INSERT INTO customers VALUES (%s, %s, %s, 1)", customer, f"moved {self.minutes}", moment)

    def sell(self) -> None:
        self.days += 1
        for number in range(30):
            code = self.chance.choice([row[0] for row in ask(self.source, "SELECT code FROM currencies")])
            self.do("INSERT INTO sales VALUES (%s, %s, %s)", self.days, number, code)

    def live(self) -> None:
        """Change all tables of the source, as in one day."""
        self.sell()
        for _ in range(3):
            self.move_in(self.chance.randrange(25))
        self.do("UPDATE products SET price = price + 1 WHERE code = %s", self.chance.randrange(20))
        self.do("UPDATE currencies SET rate = rate * 2 WHERE code = 'USD'")

    def rows(self, url: str, query: str) -> Counter[tuple[Any, ...]]:
        return Counter(ask(url, query))

    def assert_in_step(self) -> None:
        for query in (
            "SELECT day, id, code FROM sales",
            "SELECT id, name, since, latest FROM customers",
            "SELECT code, rate FROM currencies",
        ):
            assert self.rows(self.target, query) == self.rows(self.source, query), query
        current = "SELECT code, price FROM products WHERE end_date IS NULL"
        assert self.rows(self.target, current) == self.rows(self.source, "SELECT code, price FROM products")
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        assert not self.tidegate().plan().does_something


@pytest.fixture(scope="module")
def shops(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Shop]]:
    servers: dict[str, Any] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:

        def make(source: str, target: str) -> Shop:
            prod, uat = (opened.enter_context(database_on(servers[kind])) for kind in (source, target))
            shop = Shop(prod, uat, tmp_path_factory.mktemp("lake"), spark)
            shop.open(source)
            return shop

        yield make


@pytest.mark.parametrize(("source", "target"), EVERY_PAIR if ALL_ARE_ASKED_FOR else BOTH_WAYS)
def test_facts_load_after_referenced_tables(shops: Callable[[str, str], Shop], source, target):
    """When a fact table has a foreign key to a reference table, the reference table is loaded first."""
    shop = shops(source, target)
    sides.do(shop.target, "CREATE TABLE currencies (code varchar(3) PRIMARY KEY, rate decimal(12,6))")
    sides.do(
        shop.target,
        "CREATE TABLE sales (day int NOT NULL, id int NOT NULL, code varchar(3) NOT NULL, PRIMARY KEY (day, id),"
        " FOREIGN KEY (code) REFERENCES currencies (code))",
    )
    report = shop.tidegate().run()
    steps = [(step.step, step.table) for step in report.steps if step.step != "change schema"]
    extracts = [table for step, table in steps if step == "extract"]
    assert (extracts[0], extracts[-1]) == ("sales", "currencies")
    loads = [table for step, table in steps if step == "load"]
    assert (loads[0], loads[-1]) == ("currencies", "sales")
    shop.assert_in_step()
    shop.do("INSERT INTO currencies VALUES ('GBP', 3)")
    shop.do("INSERT INTO sales VALUES (9, 1, 'GBP')")
    shop.live()
    shop.tidegate().run()
    shop.assert_in_step()


CHAIN = """
CREATE TABLE regions (id int PRIMARY KEY, name varchar(20));
CREATE TABLE countries (id int PRIMARY KEY, region int NOT NULL, FOREIGN KEY (region) REFERENCES regions (id));
CREATE TABLE cities (id int PRIMARY KEY, country int NOT NULL, FOREIGN KEY (country) REFERENCES countries (id));
CREATE TABLE branches (id int PRIMARY KEY, city int NOT NULL, FOREIGN KEY (city) REFERENCES cities (id))
"""


@pytest.mark.parametrize(("source", "target"), EVERY_PAIR if ALL_ARE_ASKED_FOR else BOTH_WAYS)
def test_foreign_keys_decide_the_order_of_loads(shops: Callable[[str, str], Shop], source, target):
    """Four reference tables, each with a foreign key to the next. Their names sort the other way round."""
    shop = shops(source, target)
    for side in (shop.source, shop.target):
        for statement in CHAIN.split(";"):
            sides.do(side, statement)
    shop.do("INSERT INTO regions VALUES (1, 'Europe')")
    for table in ("countries", "cities", "branches"):
        shop.do(f"INSERT INTO {table} VALUES (1, 1), (2, 1)")  # noqa: S608 - a name of ours
    tables = {
        name: {"kind": "static", "allow_deletes": True} for name in ("branches", "cities", "countries", "regions")
    }
    tidegate = Tidegate(**{**shop.configuration(), "tables": tables, "spark": shop.spark})
    steps = tidegate.run().steps
    assert [step.table for step in steps if step.step == "load"] == ["regions", "countries", "cities", "branches"]
    assert [step.table for step in steps if step.step == "extract"] == ["branches", "cities", "countries", "regions"]
    assert tidegate.verify().outcome == "equal"


@pytest.mark.thorough
def test_source_order_is_kept_where_the_target_has_no_keys(shops: Callable[[str, str], Shop]):
    """Only the source has foreign keys: the target's readers still never find a city without its country."""
    shop = shops("postgresql", "postgresql")
    for statement in CHAIN.split(";"):
        shop.do(statement)
    shop.do("INSERT INTO regions VALUES (1, 'Europe')")
    shop.do("INSERT INTO countries VALUES (1, 1)")
    shop.do("INSERT INTO cities VALUES (1, 1)")
    tables = {name: {"kind": "static"} for name in ("cities", "countries", "regions")}
    steps = Tidegate(**{**shop.configuration(), "tables": tables, "spark": shop.spark}).run().steps
    assert [step.table for step in steps if step.step == "load"] == ["regions", "countries", "cities"]


def test_a_cycle_of_the_source_orders_the_tables_around_it(shops: Callable[[str, str], Shop]):
    """A store has a manager, who works in a store. A target without foreign keys takes them one by one: the plan
    has nothing to say. What refers to them comes last. Cycles of the target are in `test_foreign_keys.py`."""
    shop = shops("postgresql", "postgresql")
    shop.do("CREATE TABLE stores (id int PRIMARY KEY, manager int)")
    shop.do("CREATE TABLE staff (id int PRIMARY KEY, store int REFERENCES stores)")
    shop.do("ALTER TABLE stores ADD FOREIGN KEY (manager) REFERENCES staff")
    shop.do("CREATE TABLE sales_of_staff (id int PRIMARY KEY, staff int REFERENCES staff)")
    for table in ("stores", "staff", "sales_of_staff"):
        shop.do(f"INSERT INTO {table} VALUES (1, NULL)")  # noqa: S608 - a name of ours
    tables = {name: {"kind": "static"} for name in ("sales_of_staff", "staff", "stores")}
    tidegate = Tidegate(**{**shop.configuration(), "tables": tables, "spark": shop.spark})
    warned = {
        table.table: [step.text for step in table.steps if isinstance(step, Notice) and "cycle" in step.text]
        for table in tidegate.plan().tables
    }
    assert warned == {"sales_of_staff": [], "staff": [], "stores": []}
    assert [step.table for step in tidegate.run().steps if step.step == "load"][-1] == "sales_of_staff"


def test_failed_table_does_not_stop_the_others(shops: Callable[[str, str], Shop]):
    """When one table fails, the others are loaded. `error_threshold` decides whether the run counts as failed."""
    shop = shops("postgresql", "postgresql")
    shop.do("ALTER TABLE currencies DROP CONSTRAINT currencies_pkey")
    shop.do("INSERT INTO currencies VALUES ('EUR', 2)")
    table = {**TABLES["currencies"], "primary_keys": ["code"], "merge_strategy": "upsert"}
    configuration = {**shop.configuration(), "tables": {**TABLES, "currencies": table}, "spark": shop.spark}
    with pytest.raises(RunFailed) as failed:
        Tidegate(**configuration).run()
    report: Any = failed.value.report
    assert [name for name, _ in report.failures] == ["currencies"]
    assert ask(shop.target, "SELECT count(*) FROM sales") == [(30,)]
    tolerant = Tidegate(**{**configuration, "error_threshold": 0.3})
    assert tolerant.run().exit_code == 0


def test_plan_refuses_more_than_max_apply_rows(shops: Callable[[str, str], Shop]):
    """When a load has more rows than `max_apply_rows`, the plan refuses the table."""
    shop = shops("postgresql", "postgresql")
    tables = {name: {**table, "max_apply_rows": 25} for name, table in TABLES.items()}
    plan = Tidegate(**{**shop.configuration(), "tables": tables, "spark": shop.spark}).plan()
    assert [name for name, _ in plan.failures] == ["sales"]
    assert "30 rows would come in one transaction, `max_apply_rows` allows 25" in plan.failures[0][1]
    tables["customers"] |= {"max_apply_rows": 7, "batch_size": 7}
    plan = Tidegate(**{**shop.configuration(), "tables": tables, "spark": shop.spark}).plan()
    assert [name for name, _ in plan.failures] == ["sales"]


@pytest.mark.thorough
def test_plan_shows_free_log_space_for_large_loads(shops: Callable[[str, str], Shop], monkeypatch: pytest.MonkeyPatch):
    """PostgreSQL reports no free log space, so the test sets a text. A load counts as large from 30 rows on."""
    shop = shops("postgresql", "postgresql")
    monkeypatch.setattr(planner, "LARGE_LOAD", 30)
    monkeypatch.setattr(PostgresqlSession, "log_space", lambda session: "its log has room for 7 MiB")
    plan = shop.tidegate().plan()
    notices = {table.table: [step.text for step in table.steps if isinstance(step, Notice)] for table in plan.tables}
    assert "30 rows come in one transaction; its log has room for 7 MiB" in notices["sales"]
    assert not any("7 MiB" in text for text in notices["currencies"])


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc")
@pytest.mark.parametrize(("source", "target"), pairs("postgresql to mysql"))
def test_killed_runs_of_all_kinds_resume(shops: Callable[[str, str], Shop], tmp_path, source, target):
    """When runs are killed at random moments while the source changes, the next run completes every kind of table."""
    shop = shops(source, target)
    configuration = tmp_path / "tidegate.yml"
    configuration.write_text(yaml.safe_dump({**shop.configuration(), "spark": {"master": "local[2]"}}))
    usual = 10.0
    for _ in range(KILLS):
        begun = time.monotonic()
        run = child("-m", "tidegate.cli.main", "run", "--quiet", "-c", configuration)
        time.sleep(usual * shop.chance.uniform(0.3, 1.0))
        if run.poll() is not None:
            usual = time.monotonic() - begun
        processes.kill_session(run.pid)
        run.communicate()
        shop.live()
    deadline = time.monotonic() + 120
    while True:
        try:
            shop.tidegate().run()
            break
        except RunFailed:  # killed sessions may keep their locks for a moment
            assert time.monotonic() < deadline
            time.sleep(1)
    shop.assert_in_step()
