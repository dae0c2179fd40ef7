"""`python -m bench`: every case, every contender, round by round, and what came of it."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from bench import cases, measure, report
from bench.measure import Failed, Series
from bench.peers import HERE, TOOLS, Tool, install, jars
from bench.world import World, opened

TIMEOUT = 1800.0


def main() -> None:
    options = _options()
    folder = Path(options.folder).resolve()
    tools = [tool for tool in TOOLS if not options.tools or tool.name in options.tools]
    chosen = [case for case in (cases.quick() if options.quick else cases.long()) if _wanted(case, options.cases)]
    missing = install(tools, folder / "environments")
    results: dict[str, Any] = {"machine": report.machine(), "missing": missing, "cases": []}
    shutil.rmtree(folder / "results", ignore_errors=True)
    with opened(folder, jars(folder / "jars")) as world:
        for case in chosen:
            contenders = [tool for tool in tools if case.takes(tool) and tool.name not in missing]
            series = _measured(case, contenders, world, options.rounds)
            results["cases"].append(report.as_json(case, series))
            print(report.as_text(case, series), flush=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    print(f"Written: {folder / 'results.json'}")


def _wanted(case: cases.Case, names: list[str]) -> bool:
    return not names or any(case.name.startswith(name) for name in names)


def _measured(case: cases.Case, contenders: list[Tool], world: World, rounds: int) -> list[Series]:
    """Interleaved: what slows the machine down for a while slows all of them."""
    series = {tool.name: Series(tool.name) for tool in contenders}
    for tool in contenders:
        try:
            case.prepare(tool, world, partial(_run, world))
        except Failed as problem:
            series[tool.name].failed = str(problem)
    for number in range(rounds):
        # Another order each time: who comes after whom is no advantage.
        for tool in contenders[number % len(contenders) :] + contenders[: number % len(contenders)]:
            own = series[tool.name]
            if own.failed:
                continue
            try:
                _one(case, tool, world, own)
            except Failed as problem:
                own.failed = str(problem)
    return list(series.values())


def _one(case: cases.Case, tool: Tool, world: World, own: Series) -> None:
    job = case.job(tool, world)
    own.runs.append(_run(world, tool, job))
    if not own.wrong:
        own.wrong = case.wrong(tool, world, job)
    if isinstance(case, cases.Extract) and tool.name == "tidegate" and not own.wrong:
        world.keep_lake(case.rows, Path(job["folder"]))


def _run(world: World, tool: Tool, job: dict[str, Any]) -> measure.Measured:
    argv = [tool.python(world.folder / "environments"), str(HERE / "tools" / tool.script), json.dumps(job)]
    return measure.run(argv, TIMEOUT)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the short form: under ten minutes")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender has its turn")
    parser.add_argument("--folder", default="bench-results", help="environments, servers' data and results")
    parser.add_argument("--cases", nargs="*", default=[], help="only cases whose names begin so")
    parser.add_argument("--tools", nargs="*", default=[], help="only these contenders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
