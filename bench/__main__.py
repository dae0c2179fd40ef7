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

from bench import measure, profile, registry, report
from bench.cases import Case
from bench.contenders import HERE, Tool, install, jars
from bench.measure import Failed, Series
from bench.world import SQLSERVER, World, opened

# Whoever takes longer than all others together is not waited for.
TIMEOUT = 120.0
LONG_TIMEOUT = 1_200.0
QUICK_ROUNDS = 2


def main() -> None:
    options = _options()
    folder = Path(options.folder).resolve()
    chosen, names = registry.chosen(options.cases, options.quick)
    chosen = [case for case in chosen if _has_server(case)]
    is_profiled = not options.cases or "profile" in options.cases
    if not chosen and not is_profiled:
        raise SystemExit(f"No case begins with {' or '.join(options.cases)}. There are: {', '.join(names)}, profile.")
    tools = [tool for tool in registry.tools(chosen) if not options.tools or tool.name in options.tools]
    started = time.monotonic()
    missing = install(tools, folder / "environments")
    results = _found_before(folder) | {"machine": report.machine(), "missing": missing}
    shutil.rmtree(folder / "results", ignore_errors=True)
    timeout = TIMEOUT if options.quick else LONG_TIMEOUT
    drivers = jars([tool for tool in tools if tool.name not in missing], folder / "environments")
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)
    databases = {name for case in chosen for name in (case.database, *case.also)}
    if is_profiled:
        databases |= {"postgresql", "mysql"}
    with opened(folder, drivers, databases) as world:
        for case in chosen:
            contenders = [tool for tool in tools if case.takes(tool) and tool.name not in missing]
            rounds = options.rounds or (QUICK_ROUNDS if options.quick else case.rounds)
            series = _measured(case, contenders, world, rounds, timeout)
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


def _has_server(case: Case) -> bool:
    return "sqlserver" not in (case.database, *case.also) or SQLSERVER in os.environ


def _measured(case: Case, contenders: list[Tool], world: World, rounds: int, timeout: float) -> list[Series]:
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


def _one(case: Case, tool: Tool, world: World, own: Series, run: Any) -> None:
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
    rounds = "how often each contender has its turn: 2 when quick, else as the case says"
    parser.add_argument("--rounds", type=int, help=rounds)
    parser.add_argument("--folder", default="bench-results", help="environments, servers' data and results")
    parser.add_argument("--cases", nargs="*", default=[], help="only cases whose names begin so; `profile` is one")
    parser.add_argument("--tools", nargs="*", default=[], help="only these contenders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
