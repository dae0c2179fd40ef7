"""Columns that only the target has keep their values: dropped by the source or added by hand."""

from __future__ import annotations

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
from tidegate import Tidegate
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.demo.embedded import EmbeddedPostgres
    from tidegate.model.report import RunReport

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

COLUMNS = "day int NOT NULL, id int NOT NULL, amount decimal(20,4), desk varchar(20), PRIMARY KEY (day, id)"
PARTITION = {"kind": "partition", "partition_column": "day"}
STATIC_REPLACE = {"kind": "static", "merge_strategy": "replace"}
STATIC_UPSERT = {"kind": "static", "merge_strategy": "upsert", "allow_deletes": True}
KINDS = {"partition": PARTITION, "static replace": STATIC_REPLACE, "static upsert": STATIC_UPSERT}


@dataclass
class Deals:
    """A source with deals of three days, a lake and a target."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    spark: SparkSession = field(repr=False)
    settings: dict[str, Any] = field(default_factory=lambda: dict(PARTITION))

    def open(self, columns: str = COLUMNS) -> None:
        self.in_source(f"CREATE TABLE deals ({columns})")
        for (day, number), desk in desks(1, 2, 3).items():
            values = (day, number, day * 10 + number, desk)
            self.in_source("INSERT INTO deals (day, id, amount, desk) VALUES (%s, %s, %s, %s)", *values)

    def tidegate(self) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": self.lake}
        return Tidegate(**places, tables={"deals": self.settings}, spark=self.spark)

    def run(self) -> RunReport:
        return self.tidegate().run()

    def in_source(self, statement: str, *values: object) -> None:
        sides.do(self.source, statement, *values)

    def in_target(self, statement: str) -> None:
        sides.do(self.target, statement)

    def restate(self, day: int) -> None:
        """Update a row, delete one and insert two, so that the count changes."""
        self.in_source("UPDATE deals SET amount = amount + 100 WHERE day = %s AND id = 1", day)
        self.in_source("DELETE FROM deals WHERE day = %s AND id = 2", day)
        self.in_source("INSERT INTO deals (day, id, amount) VALUES (%s, 4, 4), (%s, 5, 5)", day, day)

    def values_of(self, column: str) -> dict[tuple[int, int], Any]:
        """Return the values of a target column by key."""
        found = self.ask(f"SELECT day, id, {column} FROM deals")  # noqa: S608 - a name of ours
        return {(day, number): value for day, number, value in found}

    def ask(self, question: str) -> list[Any]:
        return sides.ask(self.target, question)

    def copied(self, url: str) -> list[Any]:
        return sorted(sides.ask(url, "SELECT day, id, amount FROM deals"))

    def warnings(self) -> list[str]:
        [table] = self.tidegate().plan().tables
        return [step.text for step in table.steps if isinstance(step, Notice) and step.severity == "warning"]

    def columns_in_lake(self) -> dict[str, set[str]]:
        files = (self.lake / "organized").rglob("*.parquet")
        return {path.name: set(pq.read_schema(path).names) for path in files}

    def assert_in_step(self) -> None:
        assert self.copied(self.target) == self.copied(self.source)
        assert self.tidegate().verify().outcome == "equal"
        assert not self.tidegate().plan().does_something


def desks(*days: int) -> dict[tuple[int, int], str]:
    return {(day, number): f"desk {day}{number}" for day in days for number in (1, 2, 3)}


def desks_after_restatement() -> dict[tuple[int, int], str | None]:
    """Return the desks of days 1 to 3 after day 3 was restated."""
    return {**desks(1, 2), (3, 1): "desk 31", (3, 3): "desk 33", (3, 4): None, (3, 5): None}


@pytest.fixture(scope="module")
def make(
    postgres: EmbeddedPostgres, mariadb: MariaDb, engine: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Deals]]:
    with ExitStack() as databases:
        names = iter(range(1000))

        def database(kind: str) -> str:
            server = {"mysql": mariadb, "postgresql": postgres}[kind]
            name = f"own_columns_{next(names)}"
            databases.callback(server.drop_database, name)
            return server.create_database(name)

        yield lambda source, target: Deals(database(source), database(target), tmp_path_factory.mktemp("lake"), engine)


@pytest.fixture(params=first_daily(*pairs("postgresql to mysql"), ("mysql", "postgresql")), ids=" to ".join)
def deals(make: Callable[[str, str], Deals], request: pytest.FixtureRequest) -> Deals:
    return make(*request.param)


# A column that the source dropped


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_column_writes_nothing(deals: Deals, kind: str):
    """The source drops a column and nothing else changes. Neither lake nor target is written."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    before = deals.columns_in_lake()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")

    assert deals.run().outcome == "nothing to do"

    assert deals.values_of("desk") == desks(1, 2, 3)
    assert deals.columns_in_lake() == before
    deals.assert_in_step()


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_column_keeps_its_values(deals: Deals, kind: str):
    """A day is restated after the source dropped a column. Rows that still exist keep their values in that column."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.restate(3)

    deals.run()

    assert deals.values_of("desk") == desks_after_restatement()
    deals.assert_in_step()


def test_old_files_keep_a_dropped_column(deals: Deals):
    """When a column is dropped, files that are not extracted again keep it."""
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.restate(3)
    deals.run()

    columns = deals.columns_in_lake()

    assert {name for name, names in columns.items() if "desk" in names} == {
        "deals_day_1.parquet",
        "deals_day_2.parquet",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_lost_rows_come_back_with_a_dropped_column(deals: Deals, kind: str):
    """The target loses rows after the drop. The lake still has them with the dropped column. Rows that were not lost
    keep values that somebody wrote by hand."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.in_target("UPDATE deals SET desk = 'by hand' WHERE day = 2 AND id = 1")
    deals.in_target("DELETE FROM deals WHERE day = 1")
    deals.in_target("DELETE FROM deals WHERE day = 2 AND id = 3")

    deals.run()

    assert deals.values_of("desk") == {**desks(1, 2, 3), (2, 1): "by hand"}
    deals.assert_in_step()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_column_dropped_on_both_sides(deals: Deals, kind: str):
    """Old files have a column that neither side has any more. Their other columns are loaded."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.in_target("ALTER TABLE deals DROP COLUMN desk")
    assert deals.run().outcome == "nothing to do"
    deals.in_target("DELETE FROM deals WHERE day = 1")

    deals.run()

    deals.assert_in_step()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_column_dropped_and_another_added(deals: Deals, kind: str):
    """When the source drops one column and adds another, the target keeps the old values and gets the new ones."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.in_source("ALTER TABLE deals ADD COLUMN trader int")
    deals.in_source("UPDATE deals SET trader = id * 7")

    deals.run()

    assert deals.values_of("desk") == desks(1, 2, 3)
    assert deals.values_of("trader") == {(day, number): number * 7 for day in (1, 2, 3) for number in (1, 2, 3)}
    deals.assert_in_step()


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_column_returns_with_new_values(deals: Deals, kind: str):
    """A run recorded that the column was dropped. A new column with the same name is extracted, whatever old files
    have."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.run()
    deals.in_source("ALTER TABLE deals ADD COLUMN desk varchar(20)")
    deals.in_source("UPDATE deals SET desk = 'moved'")

    deals.run()

    assert set(deals.values_of("desk").values()) == {"moved"}
    deals.assert_in_step()


@pytest.mark.thorough
def test_purged_day_verifies_after_a_drop(deals: Deals):
    """The source purges a day and drops a column. `verify` compares the day in the columns of its load, and a lost file
    is extracted with all of them."""
    deals.open()
    deals.run()
    deals.in_source("DELETE FROM deals WHERE day = 1")
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    assert deals.tidegate().verify().outcome == "equal"
    next((deals.lake / "organized").rglob("deals_day_1.parquet")).unlink()

    deals.run()

    assert "desk" in deals.columns_in_lake()["deals_day_1.parquet"]
    assert deals.tidegate().verify().outcome == "equal"
    assert not deals.tidegate().plan().does_something


# A column that somebody added to the target


@pytest.mark.parametrize("kind", KINDS)
def test_column_added_by_hand_keeps_its_values(deals: Deals, kind: str):
    """Somebody adds two columns to the target, one with a default. Their values stay, nulls included."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_target("ALTER TABLE deals ADD COLUMN checked varchar(20)")
    deals.in_target("ALTER TABLE deals ADD COLUMN score int DEFAULT 5")
    deals.in_target("UPDATE deals SET checked = 'yes', score = 9 WHERE id = 1")
    deals.in_target("UPDATE deals SET score = NULL WHERE id = 3")
    deals.restate(3)

    deals.run()

    assert deals.values_of("checked") == {key: "yes" if key[1] == 1 else None for key in desks_after_restatement()}
    scores = {1: 9, 2: 5, 3: None, 4: 5, 5: 5}
    assert deals.values_of("score") == {key: scores[key[1]] for key in desks_after_restatement()}
    deals.assert_in_step()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["partition", "static replace"])
def test_reload_keeps_own_columns(deals: Deals, kind: str):
    """`run --reload` keeps the values of columns that only the target has."""
    deals.settings = dict(KINDS[kind])
    deals.open()
    deals.run()
    deals.in_target("ALTER TABLE deals ADD COLUMN checked varchar(20)")
    deals.in_target("UPDATE deals SET checked = 'yes'")

    deals.tidegate().run(reload=True)

    assert set(deals.values_of("checked").values()) == {"yes"}
    deals.assert_in_step()


# A table without a key


@pytest.mark.parametrize("kind", ["partition", "static replace"])
def test_load_without_a_key_is_refused(deals: Deals, kind: str):
    """Without a key, rows cannot be matched with their own columns. The plan warns, and the load of that day is refused
    without a change. With a key, it is loaded."""
    deals.settings = dict(KINDS[kind])
    deals.open(COLUMNS.replace(", PRIMARY KEY (day, id)", ""))
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.restate(3)
    before = sorted(deals.ask("SELECT * FROM deals"))

    assert any("values in desk, which only the target has" in text for text in deals.warnings())
    with pytest.raises(RunFailed, match="no key of the target finds them again"):
        deals.run()

    assert sorted(deals.ask("SELECT * FROM deals")) == before
    deals.in_target("ALTER TABLE deals ADD PRIMARY KEY (day, id)")
    deals.run()
    assert deals.values_of("desk") == desks_after_restatement()
    deals.assert_in_step()


@pytest.mark.thorough
def test_refused_day_does_not_stop_the_others(deals: Deals):
    """When the load of one day is refused, the other days are loaded."""
    deals.open(COLUMNS.replace(", PRIMARY KEY (day, id)", ""))
    deals.run()
    deals.in_source("ALTER TABLE deals DROP COLUMN desk")
    deals.restate(3)
    deals.in_source("INSERT INTO deals (day, id, amount) VALUES (4, 1, 1)")

    with pytest.raises(RunFailed, match="deals 3"):
        deals.run()

    assert deals.values_of("amount")[4, 1] == 1
    assert deals.values_of("desk") == {**desks(1, 2, 3), (4, 1): None}


def test_empty_own_column_needs_no_key(deals: Deals):
    """Without a key, a load is allowed when the target's own column has no values."""
    deals.open(COLUMNS.replace(", PRIMARY KEY (day, id)", ""))
    deals.run()
    deals.in_target("ALTER TABLE deals ADD COLUMN checked varchar(20)")
    deals.restate(3)

    deals.run()

    deals.assert_in_step()


# Versions

MOMENTS = {"postgresql": "timestamp(6)", "mysql": "datetime(6)"}
VERSIONS = "id int NOT NULL, name varchar(20), city varchar(20), lastmodified {moment} NOT NULL, islatest int NOT NULL"


@dataclass
class Customers(Deals):
    """A source with versions of customers. The table has no key for a version."""

    settings: dict[str, Any] = field(
        default_factory=lambda: {"kind": "scd2", "business_keys": ["id"], "initial_load": "full"}
    )

    def open(self, columns: str = VERSIONS) -> None:
        moment = MOMENTS[sides.kind_of(self.source)]
        self.in_source(f"CREATE TABLE deals ({columns.format(moment=moment)})")
        self.add(1, "Ann", 1, 0, "Rome")
        self.add(1, "Anna", 2, 1, "Oslo")
        self.add(2, "Bob", 1, 0, "Bern")
        self.add(2, "Rob", 1, 1, "Bonn")  # two versions with one cursor: a changed flag rewrites both

    def add(self, number: int, name: str, day: int, latest: int, city: str | None = None) -> None:
        names, values = "id, name, lastmodified, islatest", [number, name, f"2024-01-0{day} 12:00:00", latest]
        if city is not None:
            names, values = f"{names}, city", [*values, city]
        placeholders = ", ".join(["%s"] * len(values))
        self.in_source(f"INSERT INTO deals ({names}) VALUES ({placeholders})", *values)  # noqa: S608 - names of ours

    def cities(self, column: str = "city") -> dict[str, tuple[Any, int]]:
        """Return the target's value in a column and whether the version is current, by name."""
        found = self.ask(f"SELECT name, {column}, islatest FROM deals")  # noqa: S608 - a name of ours
        return {name: (value, latest) for name, value, latest in found}


@pytest.fixture
def customers(deals: Deals) -> Customers:
    customers = Customers(deals.source, deals.target, deals.lake, deals.spark)
    customers.open()
    customers.run()
    return customers


def test_versions_keep_a_dropped_column(customers: Customers):
    """New versions close older ones, also where two rows share a cursor and are written again. The dropped column keeps
    its values."""
    customers.in_source("ALTER TABLE deals DROP COLUMN city")
    assert customers.run().outcome == "nothing to do"
    customers.in_source("UPDATE deals SET islatest = 0")
    customers.add(1, "Annie", 3, 1)
    customers.add(2, "Robert", 3, 1)

    customers.run()

    assert customers.cities() == {
        "Ann": ("Rome", 0),
        "Anna": ("Oslo", 0),
        "Annie": (None, 1),
        "Bob": ("Bern", 0),
        "Rob": ("Bonn", 0),
        "Robert": (None, 1),
    }
    assert customers.tidegate().verify().outcome == "equal"
    assert not customers.tidegate().plan().does_something


def test_versions_keep_a_column_added_by_hand(customers: Customers):
    """Versions keep the values of a column that somebody added to the target."""
    customers.in_target("ALTER TABLE deals ADD COLUMN checked varchar(20)")
    customers.in_target("UPDATE deals SET checked = name")
    customers.in_source("UPDATE deals SET islatest = 0 WHERE id = 2")
    customers.add(2, "Robert", 3, 1, "Kiel")

    customers.run()

    expected = {name: (name, 0) for name in ("Ann", "Anna", "Bob", "Rob")}
    assert customers.cities("checked") == {**expected, "Anna": ("Anna", 1), "Robert": (None, 1)}


@pytest.mark.thorough
def test_lost_versions_come_back_with_a_dropped_column(customers: Customers):
    """Versions that the target lost are restored from the lake with the values of a dropped column."""
    customers.in_source("ALTER TABLE deals DROP COLUMN city")
    customers.in_source("UPDATE deals SET islatest = 0 WHERE id = 1")
    customers.add(1, "Annie", 3, 1)
    customers.run()
    customers.in_target("DELETE FROM deals WHERE name IN ('Ann', 'Bob')")

    customers.run()

    assert customers.cities() == {
        "Ann": ("Rome", 0),
        "Anna": ("Oslo", 0),
        "Annie": (None, 1),
        "Bob": ("Bern", 0),
        "Rob": ("Bonn", 1),
    }
    assert customers.tidegate().verify().outcome == "equal"
    assert not customers.tidegate().plan().does_something
