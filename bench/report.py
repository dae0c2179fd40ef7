"""What came of it: ratios for people, everything as JSON, and a chart."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from bench.measure import Series

if TYPE_CHECKING:
    from bench.cases import Case, Reach

_MIB = 1024 * 1024


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    return {"cores": os.cpu_count(), "memory_mib": memory, "python": platform.python_version()}


def as_text(case: Case, series: Sequence[Series]) -> str:
    """Every contender beside Tidegate: how many times as long it took."""
    ours = _ours(series)
    head = f"  {'':18} {'seconds':>8} {'spread':>7} {'ratio':>7} {'CPU s':>7} {'MiB':>7}"
    lines = [f"\n{case.title}", head]
    for one in _ordered(series):
        if one.failed or not one.runs:
            lines.append(f"  {one.name:18} failed: {one.failed[:200]}")
            continue
        ratio = f"{one.median / ours.median:.2f}" if ours else ""
        cells = f"{one.median:8.2f} {one.spread:7.2f} {ratio:>7} {one.median_of('cpu'):7.2f}"
        wrong = f"  WRONG: {one.wrong}" if one.wrong else ""
        lines.append(f"  {one.name:18} {cells} {one.median_of('peak') / _MIB:7.0f}{wrong}")
    lines += [f"  {line}" for line in reached(case, series)]
    return "\n".join(lines)


def reached(case: Case, series: Sequence[Series]) -> list[str]:
    """Return a line for each figure that the case has to reach: what was measured, and whether that is enough."""
    found = {one.name: one for one in series if one.counts}
    return [_reached(reach, found) for reach in case.reaches]


def _reached(reach: Reach, found: dict[str, Series]) -> str:
    if missing := [name for name in (reach.name, reach.beside) if name and name not in found]:
        return f"{reach.name}: not known, {' and '.join(missing)} was not measured"
    figure = _figure(found[reach.name], reach.what)
    if reach.beside:
        figure /= _figure(found[reach.beside], reach.what)
    unit = f"times {reach.beside}, {reach.what}" if reach.beside else reach.what
    verdict = "reached" if figure <= reach.at_most else "MISSED"
    return f"{reach.name}: {figure:.2f} {unit}; at most {reach.at_most:g} is wanted: {verdict}"


def _figure(one: Series, what: str) -> float:
    return one.median if what == "seconds" else one.median_of("peak") / _MIB


def among(case: dict[str, Any], others: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """A case among others that were measured, in the order of their names; in place of itself."""
    all_of_them = [case, *(one for one in others if one["case"] != case["case"])]
    order = {name: place for place, name in enumerate(names)}
    return sorted(all_of_them, key=lambda one: order.get(one["case"], len(order)))


# What grows, how many times, from which case to which, and of which contenders
_GROWTH = (
    ("rows", 5, "extract-1m", "extract-5m"),
    ("rows", 5, "load-1m", "load-5m"),
    ("rows", 5, "daily-static-1", "daily-static-5m"),
    ("columns", 5, "extract-1m", "extract-wide"),
    ("tables", 10, "tables-20", "tables-200"),
    ("rows, in memory", 20, "memory-1m", "memory-20m"),
)


def growth(cases: Sequence[dict[str, Any]]) -> list[str]:
    """How many times as long each contender takes when there is more of something: a line for each that took part in
    both cases. Of memory, how many times as much."""
    found = {case["case"]: case for case in cases}
    lines = []
    for what, times, less, more in _GROWTH:
        ratios = _grown(found[less], found[more], what) if less in found and more in found else {}
        if ratios:
            told = ", ".join(f"{name} {ratio:.1f}x" for name, ratio in ratios.items())
            lines.append(f"{times} times the {what} ({less}, {more}): {told}")
    return lines


def _grown(less: dict[str, Any], more: dict[str, Any], what: str) -> dict[str, float]:
    before, after = (
        {one["name"]: _size(one, what) for one in case["contenders"] if one["median"] and not one["wrong"]}
        for case in (less, more)
    )
    return {name: after[name] / before[name] for name in before if name in after}


def _size(one: dict[str, Any], what: str) -> float:
    if "memory" not in what:
        return float(one["median"])
    return float(sorted(run["peak"] for run in one["rounds"])[len(one["rounds"]) // 2])


def as_json(case: Case, series: Sequence[Series]) -> dict[str, Any]:
    return {
        "case": case.name,
        "title": case.title,
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "reached": reached(case, series),
        "contenders": [
            {
                "name": one.name,
                "median": round(one.median, 3) if one.runs else None,
                "spread": round(one.spread, 2) if one.runs else None,
                "failed": one.failed,
                "wrong": one.wrong,
                "rounds": [
                    {"wall": run.wall, "cpu": run.cpu, "peak": run.peak, "facts": dict(run.facts)} for run in one.runs
                ],
            }
            for one in series
        ],
    }


def as_markdown(results: dict[str, Any]) -> str:
    """The same for the docs, from the JSON alone."""
    lines: list[str] = []
    for case in results["cases"]:
        lines += [
            f"### {case['title']}",
            "",
            "| | seconds | spread | CPU s | MiB | |",
            "| --- | --: | --: | --: | --: | --- |",
        ]
        for one in sorted(case["contenders"], key=_place):
            if one["failed"] or one["median"] is None:
                lines.append(f"| {one['name']} | | | | | failed: {_cell(one['failed'])} |")
                continue
            rounds = one["rounds"]
            cpu, peak = (sorted(run[what] for run in rounds)[len(rounds) // 2] for what in ("cpu", "peak"))
            told = f"**wrong**: {_cell(one['wrong'])}" if one["wrong"] else ""
            times = f"{one['median']:.2f} | {one['spread']:.2f} | {cpu:.1f}"
            lines.append(f"| {one['name']} | {times} | {peak / _MIB:.0f} | {told} |")
        lines += ["", *(f"- {line}" for line in case.get("reached", []))]
        lines += [""] if case.get("reached") else []
    grown = growth(results["cases"])
    if grown:
        lines += ["### Growth", "", *(f"- {line}" for line in grown), ""]
    for profile in results.get("profiles", []):
        steps = profile["steps"]
        lines += [f"### {profile['database']}: {profile['what']}", "", f"| {' | '.join(steps)} |"]
        lines += [f"|{' --: |' * len(steps)}", f"| {' | '.join(f'{took:.2f}' for took in steps.values())} |", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split())[:120].replace("|", "\\|")


def _place(one: dict[str, Any]) -> float:
    return float("inf") if one["failed"] or one["wrong"] or one["median"] is None else float(one["median"])


def as_chart(results: dict[str, Any]) -> str:
    """Bars, a group for each case: as long as the median took, the wrong ones hollow."""
    rows: list[str] = []
    y = 8
    for case in results["cases"]:
        bars = [one for one in sorted(case["contenders"], key=_place) if one["median"] and not one["failed"]]
        longest = max((one["median"] for one in bars), default=1.0)
        rows.append(f'<text class="title" x="8" y="{y + 14}">{escape(case["title"])}</text>')
        y += 24
        for one in bars:
            width = max(2.0, 430 * one["median"] / longest)
            style = "wrong" if one["wrong"] else "ours" if one["name"].startswith("tidegate") else "other"
            told = f"{one['median']:.1f} s" + (" (wrong)" if one["wrong"] else "")
            rows.append(f'<text class="name" x="150" y="{y + 12}">{escape(one["name"])}</text>')
            rows.append(f'<rect class="{style}" x="158" y="{y}" width="{width:.0f}" height="15"/>')
            rows.append(f'<text x="{164 + width:.0f}" y="{y + 12}">{told}</text>')
            y += 20
        y += 14
    style = (
        "text{font:12px sans-serif;fill:#444}.title{font-weight:bold}.name{text-anchor:end}"
        ".ours{fill:#0b7a75}.other{fill:#b8c4c2}.wrong{fill:none;stroke:#b23a48;stroke-dasharray:3}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{y}" role="img" aria-label="Benchmark">'
    return "\n".join(
        [head, f"<style>{style}</style>", '<rect width="720" height="100%" fill="#fff"/>', *rows, "</svg>\n"]
    )


def _ours(series: Sequence[Series]) -> Series | None:
    return next((one for one in series if one.name == "tidegate" and one.counts), None)


def _ordered(series: Sequence[Series]) -> list[Series]:
    return sorted(series, key=lambda one: one.median if one.counts else float("inf"))
