"""What Spark as the mover of all rows has to reach: cold, on a warm engine, and beside threads of the process."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import tables, truth
from bench.cases import TARGET, Append, Case, Daily, Extract, FirstRun, Load, Nothing, Reach, Run, Window
from bench.contenders import ALL, Tool
from bench.tables import FIRST_DAY, TRADES, TableSchema
from bench.world import World
from kit.packages import libraries, unpacked

COLD, WARM_ENGINE, THREADS = "tidegate", "tidegate, warm engine", "tidegate, process"
WARM, ONE_TASK, TWO_HALVES, PIPE = "tidegate, warm", "tidegate, 1 task", "tidegate, 2 halves", "pipe into COPY"
_COB = next(column for column in TRADES.columns if column.name == "cob")
_SAME = (_COB.postgresql[0], str(FIRST_DAY))
ONE_DAY = TableSchema(
    "one_day", tuple(replace(_COB, postgresql=_SAME) if column is _COB else column for column in TRADES.columns)
)

TOOLS = (
    *(
        Tool(name, "tidegate_tool.py", frozenset({"window"}), is_warm=True, options=(("split_rows", rows),))
        for name, rows in ((ONE_TASK, "1_000_000_000"), (TWO_HALVES, "half"))
    ),
    Tool(PIPE, "pipe.py", frozenset({"across"}), databases=ALL, makes_table=False),
)


@dataclass(frozen=True)
class ProvenLoad(Load):
    """A load whose files are extracted by whoever of Tidegate comes first."""

    def prepare(self, tool: Tool, world: World, run: Run) -> None:
        if tool.name.startswith("tidegate"):
            super().prepare(replace(tool, name="tidegate", is_warm=False), world, run)


@dataclass(frozen=True)
class Across(FirstRun):
    """A table of one database into an empty one of another: extracted, kept in the lake, loaded, proven."""

    into: str = "postgresql"
    work = "across"

    def _tables(self, world: World) -> list[str]:
        return [world.table(self.database, self.rows)]

    def job(self, tool: Tool, world: World) -> dict[str, Any]:
        table, side = self._tables(world)[0], world.sides[self.into]
        target = side.empty(TARGET)
        if not tool.makes_table:
            side.execute(TARGET, TRADES.create(self.into, table))
        places = {"folder": str(world.empty_folder(f"{tool.name} lake")), "state": str(world.empty_folder("state"))}
        client = _client() if tool.name == PIPE else ""
        return world.job(self.work, self.database, [table], target=target, days=tables.DAYS, client=client, **places)

    def wrong(self, tool: Tool, world: World, job: dict[str, Any]) -> str:
        found = world.sides[self.into].cells(TARGET, job["table"], TRADES)
        return truth.difference(world.truth(self.database, job["table"], TRADES).table, found.table)

    def end(self, world: World) -> None:
        world.sides[self.into].empty(TARGET)
        shutil.rmtree(world.folder / "results", ignore_errors=True)


@functools.cache
def _client() -> str:
    """A command that runs MariaDB's own client, whichever machine this is."""
    found = shutil.which("mariadb")
    if found:
        return found
    tree = unpacked("mariadb-client", "mariadb-client-core", lambda tree: (tree / "usr/bin/mariadb").exists())
    folders = ":".join(map(str, libraries(tree)))
    return f"env LD_LIBRARY_PATH={folders} {Path(tree) / 'usr/bin/mariadb'}"


def _cases(rows: int, across: int) -> Iterator[Case]:
    said = f"{rows:,} rows"
    engines = (COLD, WARM_ENGINE, THREADS)
    yield Nothing(
        "engine-nothing",
        "A run with nothing to do, 20 tables",
        rows=1_000,
        only=(*engines, "Sling"),
        reaches=tuple(Reach(name, 0.8) for name in engines),
    )
    yield Append(
        "engine-daily",
        f"Daily run, partition, 1% of {said} changed",
        rows=rows,
        only=(*engines, "Sling", "Spark JDBC", "onETL"),
        reaches=(Reach(WARM_ENGINE, 2, "Sling"), Reach(COLD, 0.5, "Spark JDBC"), Reach(COLD, 0.5, "onETL")),
    )
    reach = (Reach(WARM, 1.7, "limit"),)
    yield Extract("engine-extract", f"Extract of {said}", rows=rows, only=("limit", WARM), reaches=reach)
    reach = (Reach(WARM, 1.5, "limit"),)
    title = f"Load of {said} into an empty table, proven"
    yield ProvenLoad("engine-load", title, rows=rows, only=("limit", WARM), reaches=reach)
    reach = (Reach(TWO_HALVES, 1 / 1.25, ONE_TASK),)
    tasks = (ONE_TASK, TWO_HALVES)
    yield Window("engine-window", f"One window of {said}", rows=rows, shape=ONE_DAY, only=tasks, reaches=reach)
    yield Daily(
        "engine-static", f"Daily run, static, 1% of {said} changed", rows=rows, kind="static", rounds=2, only=engines
    )
    yield Across(
        "engine-across",
        f"First run, {across:,} rows from MariaDB to PostgreSQL",
        "mysql",
        ("postgresql",),
        rows=across,
        only=(PIPE, WARM),
        reaches=(Reach(WARM, 2, PIPE),),
    )


def quick() -> Iterator[Case]:
    yield from _cases(50_000, 50_000)


def long() -> Iterator[Case]:
    yield from _cases(5_000_000, 3_200_000)
