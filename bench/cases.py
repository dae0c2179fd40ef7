"""What is measured. A case knows its contenders' jobs, how a round begins, and what an exact result is."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench import tables, truth
from bench.peers import Tool
from bench.world import World

Measure = Callable[[Tool, dict[str, Any]], object]


@dataclass(frozen=True)
class Case(ABC):
    name: str
    title: str

    work = ""

    def prepare(self, tool: Tool, world: World, run: Measure) -> None:
        """What has to be there before the first round. Not timed."""
        return

    def takes(self, tool: Tool) -> bool:
        return self.work in tool.works

    @abstractmethod
    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        """The job of one round, with its places emptied. Not part of what is timed."""

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        """What is not exact about the result."""
        return ""


@dataclass(frozen=True)
class Extract(Case):
    """A table into Parquet files, start-up included."""

    rows: int = 0
    work = "extract"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        table = world.table(self.rows)
        world.empty_target()
        return world.job(self.work, [table], world.empty_folder(tool.name), world.empty_folder(f"{tool.name} state"))

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        if tool.is_limit:
            return ""
        return truth.difference(world.truth(job["table"]), truth.of_files(Path(job["folder"])))


@dataclass(frozen=True)
class Load(Case):
    """Parquet files into an empty table, start-up included. Tidegate loads what it landed, with ledger and proof."""

    rows: int = 0
    work = "load"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        table = world.table(self.rows)
        world.empty_target()
        job = world.job(self.work, [table], self._files(tool, world, table), world.empty_folder(f"{tool.name} state"))
        if tool.name in ("plain Python", "Spark JDBC"):  # the others make the table themselves
            with psycopg.connect(world.target) as connection:
                connection.execute(tables.create("postgresql", table))
        return job

    def _files(self, tool: Tool, world: World, table: str) -> Path:
        """What Tidegate's extract left; Tidegate itself takes it as its lake."""
        lake = world.folder / f"lake_{self.rows}"
        if not lake.exists():
            raise FileNotFoundError("the extract of this size has to come first")
        place = world.empty_folder(f"{tool.name} files")
        if tool.name == "tidegate":
            shutil.copytree(lake, place, dirs_exist_ok=True)
        else:
            for path in (lake / "organized").rglob("*.parquet"):
                shutil.copy(path, place / path.name)
        return place

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        return truth.difference(world.truth(job["table"]), truth.of_table(world.target, job["table"]))


@dataclass(frozen=True)
class Start(Case):
    """From the start of a process to the end of the first Spark job."""

    work = "start"

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        return world.job(self.work, [], world.empty_folder(tool.name), world.empty_folder(f"{tool.name} state"))


@dataclass(frozen=True)
class Nothing(Case):
    """A run with nothing to do: all tables were brought in step before."""

    tables: int = 20
    rows: int = 1_000
    work = "nothing"

    def prepare(self, tool: Tool, world: World, run: Measure) -> None:
        world.empty_target(self._target(tool))
        world.empty_folder(f"{tool.name} lake")
        world.empty_folder(f"{tool.name} lasting state")
        run(tool, self.job(tool, world))

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        names = [world.table(self.rows, number) for number in range(self.tables)]
        lake, state = world.place(f"{tool.name} lake"), world.place(f"{tool.name} lasting state")
        return world.job(self.work, names, lake, state, world.server.url(self._target(tool)))

    def _target(self, tool: Tool) -> str:
        return f"bench_{tool.name.lower().replace(' ', '_')}"

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        table = job["tables"][-1]
        return truth.difference(truth.of_table(world.source, table), truth.of_table(job["target"], table))


@dataclass(frozen=True)
class Plan(Nothing):
    """What a run would do, of many tables that were never loaded."""

    tables: int = 500
    rows: int = 10
    work = "plan"

    def prepare(self, tool: Tool, world: World, run: Measure) -> None:
        world.empty_target(self._target(tool))

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        return ""


def quick() -> Iterator[Case]:
    yield Start("start", "Spark: start and first job")
    yield Nothing("nothing", "A run with nothing to do, 20 tables")
    yield Extract("extract-200k", "Extract of 200,000 rows to Parquet", rows=200_000)
    yield Extract("extract-1m", "Extract of 1,000,000 rows to Parquet", rows=1_000_000)
    yield Load("load-1m", "Load of 1,000,000 rows into an empty table", rows=1_000_000)


def long() -> Iterator[Case]:
    yield from quick()
    yield Plan("plan", "A plan of 500 tables")
    yield Extract("extract-5m", "Extract of 5,000,000 rows to Parquet", rows=5_000_000)
    yield Load("load-5m", "Load of 5,000,000 rows into an empty table", rows=5_000_000)
