"""What is measured. A case knows its contenders' jobs, how a round begins, and what an exact result is."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import tables, truth
from bench.contenders import Tool
from bench.tables import DOCUMENTS, TRADES, VERSIONS, WIDE, TableSchema
from bench.world import SOURCE, World

Run = Callable[[Tool, dict[str, Any]], object]
TARGET = "bench_target"


@dataclass(frozen=True)
class Reach:
    """What a contender has to reach: at most so many times what another takes, or at most so many seconds or MiB."""

    name: str
    at_most: float
    beside: str = ""
    """Another contender. Empty: `at_most` is a number of seconds, or of MiB."""
    what: str = "seconds"
    """`seconds` or `MiB`."""


@dataclass(frozen=True)
class Case(ABC):
    name: str
    title: str
    database: str = "postgresql"
    also: tuple[str, ...] = ()
    """Databases that it needs besides."""
    rounds: int = 3
    """How often each contender has its turn, unless `--rounds` says it."""
    reaches: tuple[Reach, ...] = ()
    only: tuple[str, ...] = ()
    """Contenders, where not all that could are asked."""
    without: tuple[str, ...] = ()
    """Those who are not asked."""

    work = ""

    def takes(self, tool: Tool) -> bool:
        able = self.work in tool.works and self.database in tool.databases
        return able and tool.name not in self.without and (not self.only or tool.name in self.only)

    def prepare(self, tool: Tool, world: World, run: Run) -> None:
        """What has to be there before the first round. Not timed."""
        return

    def begin(self, world: World, number: int) -> None:
        """What happened in the source before this round."""
        return

    @abstractmethod
    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        """The job of one round, with its places emptied. Not timed."""

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        """What is not exact about the result."""
        return ""

    def end(self, world: World) -> None:
        """Makes room."""
        shutil.rmtree(world.folder / "results", ignore_errors=True)


@dataclass(frozen=True)
class Start(Case):
    """From the start of a process to the end of its first Spark job, which is the sort that moves rows."""

    work = "start"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        return world.job(self.work, self.database, [])


@dataclass(frozen=True)
class Extract(Case):
    """A table into Parquet files. `days` of its ten are taken: one is a tenth of the rows."""

    rows: int = 0
    shape: TableSchema = TRADES
    days: int = tables.DAYS
    work = "extract"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        table = world.table(self.database, self.rows, self.shape)
        target = world.sides[self.database].empty(TARGET)
        places = {"folder": str(world.empty_folder(tool.name)), "state": str(world.empty_folder(f"{tool.name} state"))}
        columns = {column.name: column.postgresql[0] for column in self.shape.columns}
        return world.job(self.work, self.database, [table], target=target, days=self.days, columns=columns, **places)

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        if tool.is_limit:
            return ""
        expected = world.truth(self.database, job["table"], self.shape).table
        newest = str(tables.FIRST_DAY + tables.DAYS - self.days)
        expected = expected.filter(truth.at_least(expected["cob"], newest))
        return truth.difference(expected, truth.of_files(Path(job["folder"]), self.shape))


@dataclass(frozen=True)
class Window(Extract):
    """One window by one task and by two."""

    work = "window"


@dataclass(frozen=True)
class Memory(Extract):
    """So many rows that comparing their cells would take more memory than there is: they are counted."""

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        found = truth.rows_of_files(Path(job["folder"]))
        return "" if found == self.rows else f"{found:,} rows of {self.rows:,}"


@dataclass(frozen=True)
class Load(Case):
    """Parquet files into a table, empty or full of older days. Tidegate loads with ledger and proof."""

    rows: int = 0
    into_full: bool = False
    work = "load"

    def prepare(self, tool: Tool, world: World, run: Run) -> None:
        """What Tidegate extracted is what everybody loads."""
        if tool.name != "tidegate":
            return
        lake = world.empty_folder("lake")
        table = world.table(self.database, self.rows)
        target = world.sides[self.database].empty(TARGET)
        run(tool, world.job("extract", self.database, [table], target=target, days=tables.DAYS, folder=str(lake)))

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        side = world.sides[self.database]
        table = world.table(self.database, self.rows)
        target = side.empty(TARGET)
        if self.into_full or not tool.makes_table:
            side.execute(TARGET, TRADES.create(self.database, table))
        if self.into_full:
            older = TRADES.select(self.database, self.rows + 1, 2 * self.rows, cob=str(tables.FIRST_DAY - 1))
            side.execute(TARGET, [f"INSERT INTO {table} {older}"])
            side.settle(TARGET, table)
        place = world.empty_folder(f"{tool.name} files")
        if tool.name.startswith("tidegate"):
            shutil.copytree(world.place("lake"), place, dirs_exist_ok=True)
        else:
            for path in (world.place("lake") / "organized").rglob("*.parquet"):
                shutil.copy(path, place / path.name)
        state = str(world.empty_folder(f"{tool.name} state"))
        return world.job(self.work, self.database, [table], target=target, folder=str(place), state=state)

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        if tool.is_limit:
            return ""
        side = world.sides[self.database]
        if self.into_full:
            side.execute(TARGET, [f"DELETE FROM {job['table']} WHERE cob < {tables.FIRST_DAY}"])
        found = side.cells(TARGET, job["table"], TRADES)
        return truth.unlike(world.truth(self.database, job["table"], TRADES), found)


@dataclass(frozen=True)
class _Lasting(Case):
    """Each contender keeps its own target, files and state from round to round."""

    rows: int = 0

    def _target(self, tool: Tool) -> str:
        return "bench_" + "".join(letter if letter.isalnum() else "_" for letter in tool.name.lower())

    def prepare(self, tool: Tool, world: World, run: Run) -> None:
        world.sides[self.database].empty(self._target(tool))
        world.empty_folder(f"{tool.name} lake")
        world.empty_folder(f"{tool.name} state")
        run(tool, self.job(tool, world))
        # Nights pass between a first load and the days that are measured, and servers tidy up in them.
        for table in self._tables(world):
            world.sides[self.database].settle(self._target(tool), table)

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        target = world.sides[self.database].url(self._target(tool))
        places = {"folder": str(world.place(f"{tool.name} lake")), "state": str(world.place(f"{tool.name} state"))}
        return world.job(self.work, self.database, self._tables(world), target=target, **places, **self._more())

    def _more(self) -> dict[str, Any]:
        return {"kind": "partition"}

    @abstractmethod
    def _tables(self, world: World) -> list[str]: ...


@dataclass(frozen=True)
class Nothing(_Lasting):
    """A run with nothing to do: all tables were brought in sync before."""

    tables: int = 20
    work = "daily"

    def _tables(self, world: World) -> list[str]:
        return [world.table(self.database, self.rows, suffix=number) for number in range(self.tables)]

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        side, table = world.sides[self.database], job["tables"][-1]
        found = side.cells(self._target(tool), table, TRADES)
        return truth.unlike(world.truth(self.database, table, TRADES), found)


@dataclass(frozen=True)
class FirstRun(Nothing):
    """Many small tables that were never loaded, in one run."""

    def prepare(self, tool: Tool, world: World, run: Run) -> None:
        return

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        world.sides[self.database].empty(self._target(tool))
        world.empty_folder(f"{tool.name} lake")
        world.empty_folder(f"{tool.name} state")
        return super().job(tool, world)


@dataclass(frozen=True)
class Plan(FirstRun):
    """What a run would do, of many tables that were never loaded."""

    work = "plan"

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        return ""


@dataclass(frozen=True)
class Daily(_Lasting):
    """A day in the life of a table: a share of it changed since yesterday, and the target is to be as the source."""

    kind: str = "partition"
    percent: float = 1
    work = "daily"

    @property
    def _shape(self) -> TableSchema:
        return VERSIONS if self.kind == "scd2" else TRADES

    def _more(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def _tables(self, world: World) -> list[str]:
        # Of its own for every case: what one changed, another must not find.
        return [world.table(self.database, self.rows, self._shape, self.name.replace("-", "_"))]

    def begin(self, world: World, number: int) -> None:
        table, side = self._tables(world)[0], world.sides[self.database]
        if self.percent and self.kind == "partition":
            rows = int(self.rows * self.percent / 100)
            side.execute(SOURCE, tables.next_day(self.database, table, number, rows, self.rows + 1 + number * rows))
        elif self.percent:
            change = tables.next_versions if self.kind == "scd2" else tables.next_values
            side.execute(SOURCE, change(self.database, table, number, int(100 / self.percent)))
        side.settle(SOURCE, table)
        world.forget_truth()

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        found = world.sides[self.database].cells(self._target(tool), job["table"], self._shape)
        return truth.unlike(world.truth(self.database, job["table"], self._shape), found)


@dataclass(frozen=True)
class Append(Daily):
    """The same of a table that only grows, for contenders who can append and no more."""

    work = "append"


def quick() -> Iterator[Case]:
    """Under ten minutes on two cores."""
    left_out = ("limit, 1 connection", "tidegate, warm", "tidegate, 1 core", "tidegate + verify", "onETL")
    jvms = ("tidegate on Spark", "Spark JDBC")  # whose part on the second server shows nothing new
    for case in _small():
        yield replace(case, without=left_out if case.database == "postgresql" else (*left_out, *jvms))


def _small() -> Iterator[Case]:
    yield Start("start", "Spark: start and first job")
    yield Nothing("nothing", "A run with nothing to do, 20 tables", rows=1_000)
    yield Extract("extract-200k", "Extract of 200,000 rows to Parquet", rows=200_000)
    yield Load("load-200k", "Load of 200,000 rows into an empty table", rows=200_000)
    for kind in ("partition", "scd2", "static"):
        yield Daily(f"daily-{kind}-200k", f"Daily run, {kind}, 1% of 200,000 rows changed", rows=200_000, kind=kind)
    yield Extract("mariadb-extract-200k", "MariaDB: extract of 200,000 rows", "mysql", rows=200_000)
    yield Load("mariadb-load-200k", "MariaDB: load of 200,000 rows into an empty table", "mysql", rows=200_000)


def long() -> Iterator[Case]:
    """Everything, as often as it takes."""
    yield from _small()
    yield Plan("plan", "A plan of 500 tables", rows=10, tables=500)
    yield FirstRun("tables-20", "20 tables of 1,000 rows that were never loaded", rows=1_000)
    yield FirstRun("tables-200", "200 tables of 1,000 rows that were never loaded", rows=1_000, tables=200)
    yield Extract("extract-1m", "Extract of 1,000,000 rows to Parquet", rows=1_000_000)
    yield Extract("extract-5m", "Extract of 5,000,000 rows to Parquet", rows=5_000_000)
    yield Extract("extract-day", "Extract of one day of 500,000 rows out of 5,000,000", rows=5_000_000, days=1)
    yield Window(
        "extract-window", "Extract of one window of 500,000 rows, by one task and by two", rows=5_000_000, days=1
    )
    yield Extract("extract-wide", "Extract of 1,000,000 rows of 50 columns", rows=1_000_000, shape=WIDE)
    yield Extract("extract-documents", "Extract of 200,000 rows with 4,000 characters", rows=200_000, shape=DOCUMENTS)
    yield Load("load-1m", "Load of 1,000,000 rows into an empty table", rows=1_000_000)
    yield Load("load-1m-full", "Load of 1,000,000 rows beside 1,000,000 older ones", rows=1_000_000, into_full=True)
    yield Load("load-5m", "Load of 5,000,000 rows into an empty table", rows=5_000_000)
    for kind, rows in (("partition", 5_000_000), ("scd2", 5_000_000), ("static", 1_000_000)):
        for percent in (0, 1, 10):
            yield Daily(
                f"daily-{kind}-{percent}",
                f"Daily run, {kind}, {percent}% of {rows:,} rows changed",
                rows=rows,
                kind=kind,
                percent=percent,
            )
    yield Daily("daily-static-5m", "Daily run, static, 1% of 5,000,000 rows changed", rows=5_000_000, kind="static")
    yield Extract("mariadb-extract-1m", "MariaDB: extract of 1,000,000 rows", "mysql", rows=1_000_000)
    yield Load("mariadb-load-1m", "MariaDB: load of 1,000,000 rows into an empty table", "mysql", rows=1_000_000)
    for kind in ("partition", "scd2", "static"):
        title = f"MariaDB: daily run, {kind}, 1% of 200,000 rows changed"
        yield Daily(f"mariadb-daily-{kind}", title, "mysql", rows=200_000, kind=kind)
    for work, case in (("extract", Extract), ("load", Load)):
        yield case(f"sqlserver-{work}-200k", f"SQL Server: {work} of 200,000 rows", "sqlserver", rows=200_000)
    yield Daily("sqlserver-daily", "SQL Server: daily run, 1% of 200,000 rows", "sqlserver", rows=200_000)
    for name, rows in (("1m", 1_000_000), ("5m", 5_000_000), ("20m", 20_000_000)):
        title = f"Memory: extract of {rows:,} rows"
        yield Memory(f"memory-{name}", title, only=("tidegate on Spark",), rows=rows)
