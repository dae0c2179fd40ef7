"""`python -m bench`: every case, every contender, round by round, and what came of it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import cases, measure, profile, report
from bench.contenders import HERE, TOOLS, Tool, install, jars
from bench.measure import Failed, Series
from bench.world import SQLSERVER, World, opened

# Whoever takes longer than all others together is not waited for.
TIMEOUT = 120.0
LONG_TIMEOUT = 1_200.0


def main() -> None:
    options = _options()
    folder = Path(options.folder).resolve()
    tools = [tool for tool in TOOLS if not options.tools or tool.name in options.tools]
    listed = cases.quick() if options.quick else cases.long()
    listed = [case for case in listed if _has_server(case)]
    chosen = [case for case in listed if _wanted(case.name, options.cases)]
    started = time.monotonic()
    missing = install(tools, folder / "environments")
    results = _found_before(folder) | {"machine": report.machine(), "missing": missing}
    shutil.rmtree(folder / "results", ignore_errors=True)
    timeout = TIMEOUT if options.quick else LONG_TIMEOUT
    drivers = jars([tool for tool in tools if tool.name not in missing], folder / "environments")
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)
    names = [case.name for case in listed]
    is_profiled = _wanted("profile", options.cases)
    databases = {case.database for case in chosen} | ({"postgresql", "mysql"} if is_profiled else set())
    with opened(folder, drivers, databases) as world:
        for case in chosen:
            contenders = [tool for tool in tools if case.takes(tool) and tool.name not in missing]
            series = _measured(case, contenders, world, options.rounds, timeout)
            results["cases"] = report.among(report.as_json(case, series), results["cases"], names)
            print(report.as_text(case, series), flush=True)
            _write(folder, results)
        if is_profiled:
            results["profiles"] = list(_profiles(world, options.quick))
            print("\n".join(profile.as_text(one) for one in results["profiles"]))
            _write(folder, results)
    print("\n".join(report.growth(results["cases"])))
    print(f"\nWritten after {time.monotonic() - started:.0f} s: {folder}/results.json, .md and .svg")


def _found_before(folder: Path) -> dict[str, Any]:
    """What was measured here stays until it is measured again: a long benchmark may be run in parts."""
    place = folder / "results.json"
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {"cases": [], "profiles": []}
    return found


def _profiles(world: World, quick: bool) -> Iterator[dict[str, Any]]:
    for database in ("postgresql", "mysql"):
        yield profile.of(world.sides[database])
        if not quick:
            yield from profile.of_days(world, database)


def _write(folder: Path, results: dict[str, Any]) -> None:
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    (folder / "results.md").write_text(report.as_markdown(results))
    (folder / "results.svg").write_text(report.as_chart(results))


def _wanted(name: str, begins: list[str]) -> bool:
    return not begins or any(f"{name}-".startswith(f"{begin}-") for begin in begins)


def _has_server(case: cases.Case) -> bool:
    return case.database != "sqlserver" or SQLSERVER in os.environ


def _measured(case: cases.Case, contenders: list[Tool], world: World, rounds: int, timeout: float) -> list[Series]:
    """Interleaved: what slows the machine down for a while slows all of them."""
    series = {tool.name: Series(tool.name, tool.is_warm) for tool in contenders}
    run = partial(_run, world, timeout)
    for tool in contenders:
        _tried(series[tool.name], partial(case.prepare, tool, world, run))
    for number in range(rounds):
        case.begin(world, number)
        # Another order each time: who comes after whom is no advantage.
        for tool in contenders[number % len(contenders) :] + contenders[: number % len(contenders)]:
            own = series[tool.name]
            if not own.failed:
                _tried(own, partial(_one, case, tool, world, own, run))
    case.end(world)
    return list(series.values())


def _tried(series: Series, work: Any) -> None:
    try:
        work()
    except Failed as problem:
        series.failed = str(problem)


def _one(case: cases.Case, tool: Tool, world: World, own: Series, run: Any) -> None:
    job = case.job(tool, world)
    own.runs.append(run(tool, job))
    try:
        own.wrong = own.wrong or case.wrong(tool, world, job)
    except Exception as problem:  # whatever a contender left behind, the others go on
        own.wrong = f"its result cannot be read: {problem}"


def _run(world: World, timeout: float, tool: Tool, job: dict[str, Any]) -> measure.Measured:
    told = {**job, "is_warm": tool.is_warm, **dict(tool.options)}
    argv = [tool.python(world.folder / "environments"), str(HERE / "tools" / tool.script), json.dumps(told)]
    return measure.run(argv, timeout)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the short form: under ten minutes")
    parser.add_argument("--rounds", type=int, help="how often each contender has its turn: 2 when quick, 3 otherwise")
    parser.add_argument("--folder", default="bench-results", help="environments, servers' data and results")
    parser.add_argument("--cases", nargs="*", default=[], help="only cases whose names begin so; `profile` is one")
    parser.add_argument("--tools", nargs="*", default=[], help="only these contenders")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 3)
    return options


if __name__ == "__main__":
    sys.exit(main())
