"""Lake, ledger and target are lost in any order, completely or partly, and the next run restores everything.

TIDEGATE_HISTORIES sets the number of random histories, TIDEGATE_SEED the first seed. A failing history shows its seed:
set it as TIDEGATE_SEED, with TIDEGATE_HISTORIES=1, to repeat the history.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit import sides
from kit.one_process import OneProcess
from kit.pairs import ALL_ARE_ASKED_FOR
from kit.project import (
    FIVE_DAYS,
    FRIDAY,
    MONDAY,
    SATURDAY,
    THURSDAY,
    TUESDAY,
    WEDNESDAY,
    Story,
    assert_same_rows,
    database_on,
)
from kit.sides import ask
from tidegate import Tidegate
from tidegate.errors import ForeignTarget, RunFailed

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres]

SEED = int(os.environ.get("TIDEGATE_SEED", "20240118"))
HISTORIES = int(os.environ.get("TIDEGATE_HISTORIES", "6" if ALL_ARE_ASKED_FOR else "2"))
FIRST_LOAD = 3
"""The number of days that the first run loads. Older days stay out of the scope."""
NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)


@pytest.fixture
def pair(postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """A new source and a new target."""
    with database_on(postgres) as source, database_on(postgres) as target:
        yield source, target


@pytest.fixture
def story(pair: tuple[str, str], tmp_path: Path) -> Story:
    """Five days of trades in the source, and runs without a JVM."""
    story = Story(*pair, tmp_path / "lake", OneProcess(), {"initial_load_count": FIRST_LOAD})  # type: ignore[arg-type]
    sides.create(story.source)
    story.fill(*FIVE_DAYS)
    return story


@pytest.fixture
def story_to_mysql(story: Story, mariadb: MariaDb) -> Iterator[Story]:
    """The same with a target on MySQL, where the ledger's tables are in the database of the target."""
    with database_on(mariadb) as target:
        yield replace(story, target=target)


def lose_ledger(story: Story) -> None:
    if sides.kind_of(story.target) == "postgresql":
        story.in_target("DROP SCHEMA tidegate CASCADE")
        return
    for (table,) in ask(story.target, "SHOW TABLES LIKE 'tidegate%'"):
        story.in_target(f"DROP TABLE {table}")


def copies_of_scope(story: Story) -> tuple[list[str], list[str]]:
    """Return the scopes in the ledger and their copies in the lake."""
    in_ledger = [str(scope) for (scope,) in ask(story.target, "SELECT scope FROM tidegate.scopes")]
    return in_ledger, [path.read_text() for path in scope_files(story.lake)]


def scope_files(lake: Path) -> list[Path]:
    return sorted((lake / ".tidegate" / "scopes").glob("*.json"))


# The copies of the scope


@pytest.mark.parametrize("target", ["story", pytest.param("story_to_mysql", marks=pytest.mark.mysql)])
def test_ledger_lost_after_the_lake_is_rebuilt(request: pytest.FixtureRequest, target: str):
    """The lake is deleted and rebuilt, the target is emptied and reloaded. Then the ledger is dropped. Lake and target
    are complete, so the next run writes the ledger again and loads no row."""
    story: Story = request.getfixturevalue(target)
    story.run()
    shutil.rmtree(story.lake)
    story.run()
    story.in_target("DELETE FROM trades")
    story.run()
    lose_ledger(story)

    report = story.run()

    assert {step.outcome for step in report.steps} == {"skipped"}
    story.assert_in_step(WEDNESDAY, THURSDAY, FRIDAY)


@pytest.mark.thorough
def test_lake_lost_after_the_ledger_keeps_the_scope(story: Story):
    """The rebuilt ledger contains the scope. So Wednesday stays in the scope, although a first run would now begin with
    Thursday."""
    story.run()
    lose_ledger(story)
    story.run()
    shutil.rmtree(story.lake)
    story.fill(SATURDAY)

    story.run()

    story.assert_in_step(WEDNESDAY, THURSDAY, FRIDAY, SATURDAY)


@pytest.mark.parametrize("lost", ["copy in the lake", "copy is cut", "row of the ledger", "both"])
def test_idle_run_restores_a_lost_scope(story: Story, lost: str):
    """When a copy of the scope is lost, the next run writes it again and reports `nothing to do`."""
    story.run()
    before, (copy,) = copies_of_scope(story), scope_files(story.lake)
    if lost in ("copy in the lake", "both"):
        copy.unlink()
    if lost == "copy is cut":
        copy.write_text(copy.read_text()[:20])
    if lost in ("row of the ledger", "both"):
        story.in_target("DELETE FROM tidegate.scopes")

    report = story.run()

    assert (report.outcome, report.steps) == ("nothing to do", ())
    assert copies_of_scope(story) == before


@pytest.mark.thorough
def test_lost_scope_is_derived_from_the_ledger(story: Story):
    """Monday was backfilled and Friday forgotten. Then both copies of the scope and the lake are lost. Monday and
    Wednesday stay in the scope, Tuesday stays out, and Friday is not loaded again."""
    story.run()
    story.tidegate().backfill("trades", MONDAY, MONDAY)
    story.tidegate().forget("trades", FRIDAY)
    story.in_target("DELETE FROM trades WHERE cob = %s", FRIDAY)
    shutil.rmtree(story.lake)
    story.in_target("DELETE FROM tidegate.scopes")
    story.in_source("DELETE FROM trades WHERE cob = %s", TUESDAY)
    story.fill(TUESDAY, SATURDAY)

    story.run()

    assert sorted(story.counts_in_target()) == [MONDAY, WEDNESDAY, THURSDAY, SATURDAY]
    assert story.lake_files() == [story.lake_file(day) for day in (MONDAY, WEDNESDAY, THURSDAY, SATURDAY)]
    assert not story.tidegate().plan().does_something


@pytest.mark.thorough
def test_forget_works_without_a_ledger(story: Story):
    """The scope is read from its copy in the lake. `forget` creates the ledger and writes the new scope to both."""
    story.run()
    lose_ledger(story)

    story.tidegate().forget("trades", THURSDAY)

    story.in_target("DELETE FROM trades WHERE cob = %s", THURSDAY)
    story.run()
    assert sorted(story.counts_in_target()) == [WEDNESDAY, FRIDAY]


def test_ledger_without_target_identity_is_refused(story: Story):
    """The ledger has entries, but its record of the target database is lost. A run is refused until a person
    decides."""
    story.run()
    story.in_target("DROP TABLE tidegate.target")

    with pytest.raises(ForeignTarget):
        story.run()

    story.tidegate().run(reload=True)
    story.assert_in_step(WEDNESDAY, THURSDAY, FRIDAY)


def test_losing_lake_and_ledger_requires_adopt(story: Story):
    """Lake and ledger are lost before the next run, so nothing shows who loaded the rows. The run writes nothing and
    asks for `adopt`."""
    story.run()
    shutil.rmtree(story.lake)
    lose_ledger(story)
    with pytest.raises(RunFailed, match="rows of 3 values that no ledger knows"):
        story.run()

    story.tidegate().adopt()
    story.fill(SATURDAY)
    story.run()

    days = (WEDNESDAY, THURSDAY, FRIDAY, SATURDAY)
    assert_same_rows(story.rows_in_target(), story.rows_in_source(*days))
    assert story.tidegate().verify().outcome == "equal"
    assert not story.tidegate().plan().does_something


# Random histories

TABLES = {
    "trades": {"kind": "partition", "partition_column": "cob", "initial_load_count": FIRST_LOAD},
    "currencies": {"kind": "static"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "cursor_column": "changed", "flag_column": "latest"},
    "orders": {"kind": "incremental", "timestamp_column": "changed", "id_column": "id"},
    "events": {"kind": "incremental", "changes": "sequence", "sequence_column": "id", "load": "append"},
}
CREATE = """
    CREATE TABLE trades (cob integer, id bigint NOT NULL, amount numeric(38,18), note text);
    CREATE INDEX ON trades (cob);
    CREATE TABLE currencies (code varchar(16) PRIMARY KEY, rate numeric(20,10));
    CREATE TABLE customers (id int NOT NULL, name varchar(40), changed timestamp(6) NOT NULL, latest boolean NOT NULL);
    CREATE TABLE orders (id int PRIMARY KEY, item varchar(40), changed timestamp(6) NOT NULL);
    CREATE TABLE events (id int PRIMARY KEY, what varchar(40));
"""
ROWS = "SELECT * FROM {}"


@dataclass
class World:
    """A source with a table of each kind, a lake and a target, and random losses in them."""

    source: str = field(repr=False)
    target: str = field(repr=False)
    lake: Path
    dice: random.Random
    purges: bool
    """Whether the source purges its oldest days. Then only lake and target have them, and only one of them may lose
    something at a time."""
    diary: list[str] = field(default_factory=list)
    number: int = 0
    today: int = 20240100
    floor: int = 0
    purged: dict[int, Counter[tuple[object, ...]]] = field(default_factory=dict)
    """The rows of days in the scope that the source no longer has."""

    @cached_property
    def in_source(self) -> Any:
        return sides.opened(self.source)

    @cached_property
    def in_target(self) -> Any:
        return sides.opened(self.target)

    def close(self) -> None:
        self.in_source.close()
        self.in_target.close()

    def tidegate(self) -> Tidegate:
        places = {"source": self.source, "target": self.target, "lake": str(self.lake)}
        return Tidegate(**places, tables=TABLES, spark=OneProcess())  # type: ignore[arg-type]

    def begin(self) -> None:
        self.in_source.do(CREATE)
        for _ in range(FIRST_LOAD + 2):
            self.live_a_day()
        self.floor = self.today - FIRST_LOAD + 1

    def live_a_day(self) -> None:
        """Add a day of trades and a currency, change another currency, and add versions of customers."""
        self.today += 1
        self.diary.append(f"{self.today} arrives")
        for number in range(self.dice.randint(1, 9)):
            self.in_source.do("INSERT INTO trades VALUES (%s, %s, %s, 'x')", self.today, number, self.dice.random())
        self.in_source.do("UPDATE currencies SET rate = rate + 1 WHERE code = (SELECT min(code) FROM currencies)")
        self.in_source.do("INSERT INTO currencies VALUES (%s, 1.5)", f"C{self.today}")
        for id_ in self.dice.sample(range(4), 2):
            self.number += 1
            moment = NOW - timedelta(days=5) + timedelta(minutes=7 * self.number)
            self.in_source.do("UPDATE customers SET latest = false WHERE id = %s", id_)
            self.in_source.do("INSERT INTO customers VALUES (%s, %s, %s, true)", id_, f"v{self.number}", moment)

        for id_ in (self.today % 4, self.today):  # one is changed, one is new
            self.number += 1
            moment = NOW - timedelta(days=5) + timedelta(minutes=7 * self.number)
            self.in_source.do("DELETE FROM orders WHERE id = %s", id_)
            self.in_source.do("INSERT INTO orders VALUES (%s, %s, %s)", id_, f"o{self.number}", moment)
            self.in_source.do("INSERT INTO events VALUES (%s, %s)", self.number, f"e{self.number}")

    def purge(self) -> None:
        """Delete the oldest day of the scope in the source."""
        (oldest,) = self.in_source.ask("SELECT min(cob) FROM trades WHERE cob >= %s", self.floor)[0]
        if oldest < self.today:
            self.diary.append(f"the source purges {oldest}")
            self.purged[oldest] = Counter(self.in_source.ask("SELECT * FROM trades WHERE cob = %s", oldest))
            self.in_source.do("DELETE FROM trades WHERE cob = %s", oldest)

    # Losses

    def lose(self) -> None:
        """Lose something in one or two of lake, ledger and target, or everything in all three."""
        single = [["lake"], ["ledger"], ["target"], ["scope"]]
        several = [["lake", "target"], ["ledger", "target"], ["lake", "ledger", "target"]]
        places = self.dice.choice(single if self.purges else [*single, *several])
        if len(places) == 3:
            # Remaining rows of the target would look like foreign rows.
            self.lose_in_lake("folder")
            self.lose_in_ledger("schema")
            self.lose_in_target(self.dice.choice(["rows of all tables", "all tables"]))
            self.floor = self.today - FIRST_LOAD + 1
            return
        if "lake" in places:
            self.lose_in_lake(self.dice.choice(["folder", "organized", "file", "file", "scopes"]))
        if "ledger" in places:
            self.lose_in_ledger(self.dice.choice(["schema", "entries", "entry", "entry", "scopes", "a table"]))
        if "target" in places:
            self.lose_in_target(self.dice.choice(["rows", "a row", "day", "table", "rows of all tables", "all tables"]))
        if "scope" in places:
            self.lose_in_lake("scopes")
            self.lose_in_ledger("scopes")

    def lose_in_lake(self, what: str) -> None:
        self.diary.append(f"the lake loses: {what}")
        match what:
            case "folder":
                shutil.rmtree(self.lake)
            case "organized":
                shutil.rmtree(self.lake / "organized")
            case "scopes":
                shutil.rmtree(self.lake / ".tidegate" / "scopes")
            case "file":
                file = self.dice.choice(sorted((self.lake / "organized").rglob("*.parquet")))
                self.diary.append(f"  {file.name}")
                file.unlink()

    def lose_in_ledger(self, what: str) -> None:
        self.diary.append(f"the ledger loses: {what}")
        match what:
            case "schema":
                self.in_target.do("DROP SCHEMA tidegate CASCADE")
            case "entries":
                self.in_target.do("DELETE FROM tidegate.ledger")
            case "scopes":
                self.in_target.do("DELETE FROM tidegate.scopes")
            case "a table":
                table = self.dice.choice(["ledger", "scopes", "runs", "locks"])
                self.diary.append(f"  {table}")
                self.in_target.do(f"DROP TABLE tidegate.{table}")
            case "entry":
                entries = sorted(self.in_target.ask("SELECT table_name, value_text FROM tidegate.ledger"))
                entry = self.dice.choice(entries)
                self.diary.append(f"  {entry}")
                self.in_target.do("DELETE FROM tidegate.ledger WHERE table_name = %s AND value_text = %s", *entry)

    def lose_in_target(self, what: str) -> None:
        table = self.dice.choice(list(TABLES))
        self.diary.append(f"the target loses: {what} ({table})")
        match what:
            case "rows":
                self.in_target.do(f"DELETE FROM {table}")  # noqa: S608
            case "a row":
                order = {
                    "trades": "cob DESC",
                    "currencies": "code",
                    "customers": "changed",
                    "orders": "id",
                    "events": "id",
                }[table]
                chosen = f"SELECT ctid FROM {table} ORDER BY {order} LIMIT 1"  # noqa: S608
                self.in_target.do(f"DELETE FROM {table} WHERE ctid = ({chosen})")  # noqa: S608
            case "table":
                self.in_target.do(f"DROP TABLE {table}")
            case "day":
                day = self.dice.choice(sorted(self.in_target.ask("SELECT DISTINCT cob FROM trades")))
                self.in_target.do("DELETE FROM trades WHERE cob = %s", *day)
            case "rows of all tables":
                self.in_target.do("; ".join(f"DELETE FROM {name}" for name in TABLES))  # noqa: S608
            case "all tables":
                self.in_target.do("; ".join(f"DROP TABLE {name}" for name in TABLES))

    # Assertions after every run

    def assert_in_step(self) -> None:
        for table in TABLES:
            assert self.rows_in_target(table) == self.expected(table), table
        days = sorted({row[0] for row in self.expected("trades")})
        files = sorted(self.lake.glob("organized/cob_*/trades_cob_*.parquet"))
        assert [path.parent.name for path in files] == [f"cob_{day}" for day in days]
        assert list(self.lake.glob("organized/static_currencies/*.parquet"))
        for folder in ("scd_customers", "incremental_orders", "incremental_events"):
            assert list(self.lake.glob(f"organized/{folder}/*/*.parquet")), folder
        self.assert_ledger_is_whole(days)
        report = self.tidegate().verify()
        assert report.outcome == "equal", report.findings
        plan = self.tidegate().plan()
        assert not plan.failures
        assert not plan.does_something, plan

    def assert_ledger_is_whole(self, days: list[int]) -> None:
        """Assert that the ledger has an entry for each loaded value, and that both copies of each scope are equal."""
        entries = self.in_target.ask("SELECT table_name, value_text FROM tidegate.ledger WHERE kind = 'loaded'")
        assert {value for name, value in entries if name.endswith("trades")} == {str(day) for day in days}
        assert {name.rpartition(".")[2] for name, _ in entries} == set(TABLES)
        scopes = sorted(scope for (scope,) in self.in_target.ask("SELECT scope FROM tidegate.scopes"))
        assert len(scopes) == len(TABLES)
        assert sorted(path.read_text() for path in scope_files(self.lake)) == scopes

    def expected(self, table: str) -> Counter[tuple[object, ...]]:
        rows = Counter(self.in_source.ask(ROWS.format(table)))
        if table != "trades":
            return rows
        in_scope = Counter({row: count for row, count in rows.items() if row[0] >= self.floor})
        return sum(self.purged.values(), in_scope)

    def rows_in_target(self, table: str) -> Counter[tuple[object, ...]]:
        return Counter(self.in_target.ask(ROWS.format(table)))


@contextmanager
def described_failures(seed: int, world: World) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        story = "\n".join([f"TIDEGATE_SEED={seed}", str(world.purges), *world.diary])
        raise AssertionError(f"{story}\n{type(problem).__name__}: {problem}") from problem
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
def test_random_losses_are_restored(pair: tuple[str, str], tmp_path: Path, seed: int):
    """One table of each kind. Between two runs something is lost, and perhaps new rows arrive. After each run the
    target equals the source within the scope, lake and ledger are complete, and the next plan does nothing."""
    dice = random.Random(seed)
    world = World(*pair, tmp_path / "lake", dice, purges=dice.random() < 0.4)
    with described_failures(seed, world):
        world.begin()
        world.tidegate().run()
        world.assert_in_step()
        for _ in range(dice.randint(5, 8)):
            if dice.random() < 0.4:
                world.live_a_day()
            elif world.purges and dice.random() < 0.5:
                world.purge()
            world.lose()
            world.diary.append("run")
            world.tidegate().run()
            world.assert_in_step()
