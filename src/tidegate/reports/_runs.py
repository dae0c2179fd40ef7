"""Draw the history: each run as a point in time, with a bar of its phases, and its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tidegate.model.report import engine_in_words
from tidegate.model.values import shown
from tidegate.reports._markup import Html, isolate, join, prose, tag
from tidegate.reports._pieces import definitions, empty, grid
from tidegate.reports._reading import Facts, Run, Step
from tidegate.reports._states import badge, style_of
from tidegate.reports._words import NONE, duration, minute, moment, number, per_second, plural, size

# The colour of each phase. `look` and `prove` are the former names of `inspect` and `verify`, in reports of old runs.
PHASES = {
    "look": "k1",
    "inspect": "k1",
    "spark start": "k2",
    "extract": "k3",
    "load": "k4",
    "prove": "k5",
    "verify": "k5",
}
OTHER_PHASE, REST = "k6", "k0"
COLUMNS = ("table", "step", "value", "rows", "bytes", "time", "processor", "memory", "rows/s", "outcome", "why")

SHORTEST = 1.0  # the length of the shortest bar, of 100
RUNS = 40  # how many runs are drawn
STEPS_OF_NEWEST, STEPS = 200, 30  # how many steps of the newest run and of older runs are drawn


def runs(facts: Facts) -> Html:
    """Return the newest runs, below the legend of their phases."""
    if not facts.runs:
        return empty("No run yet. `tidegate plan` shows what the first one would do.")
    shown = facts.runs[:RUNS]
    longest = max(map(_span, shown))
    drawn = tag("ol", *(_run(run, longest, run is shown[0]) for run in shown), class_="runs")
    left = len(facts.runs) - len(shown)
    return join([_key(shown), drawn, empty(f"{plural(left, 'older run')} not shown.") if left else None])


def _key(shown: Sequence[Run]) -> Html | None:
    """Return the phases that occur, in the order of a run, then those without a colour of their own."""
    found = {phase for run in shown for phase, _ in run.timings}
    phases = [phase for phase in PHASES if phase in found] + sorted(found - PHASES.keys())
    return _phases([(phase, "") for phase in phases])


def _phases(phases: Sequence[tuple[str, str]]) -> Html | None:
    items = (tag("li", tag("i", class_=_colour(phase)), tag("bdi", phase), f" {took}") for phase, took in phases)
    return tag("ul", *items, class_="legend phases") if phases else None


def _colour(phase: str) -> str:
    return PHASES.get(phase, OTHER_PHASE)


def _run(run: Run, longest: float, is_newest: bool) -> Html:
    """Return one run on the timeline. The newest run is expanded when it failed."""
    style = style_of(run.outcome)
    dot = tag("span", style.sign, class_=f"dot {style.tone}", aria_hidden="true")
    inside = _summary(run, longest), _inside(run, is_newest)
    return tag("li", dot, tag("details", *inside, open=is_newest and style.tone == "bad"))


def _summary(run: Run, longest: float) -> Html:
    when = tag("span", minute(run.started_at) or NONE, class_="when")
    took = tag("span", duration(run.seconds), class_="took")
    bar = _bar(run, 100 * _span(run) / longest if longest else 0)
    moved = tag("span", _amount(run.rows_moved, run.seconds) or "no rows moved", class_="moved")
    return tag("summary", when, tag("code", run.verb), badge(run.outcome), took, bar, moved)


def _span(run: Run) -> float:
    return max(run.seconds or 0.0, 0.0)


def _bar(run: Run, length: float) -> Html:
    """Return a bar as long as the run took in relation to the longest run, divided into phases. A drawing needs no
    `style`, which the live page's policy forbids."""
    in_phases = sum(seconds for _, seconds in run.timings)
    parts = [(phase, _colour(phase), seconds) for phase, seconds in run.timings]
    if _span(run) > 1.005 * in_phases:
        parts.append(("other", REST, _span(run) - in_phases))
    total, left, drawn = sum(seconds for _, _, seconds in parts) or 1.0, 0.0, []
    for phase, colour, seconds in parts:
        width = max(length, SHORTEST) * seconds / total
        drawn.append(_part(f"{isolate(phase)} {duration(seconds)}", colour, left, width))
        left += width
    return tag("svg", *drawn, class_="track", viewBox="0 0 100 1", preserveAspectRatio="none", aria_hidden="true")


def _part(title: str, colour: str, left: float, width: float) -> Html:
    about = tag("title", title)
    return tag("rect", about, class_=colour, x=f"{left:.4g}", width=f"{width:.4g}", height=1)


def _inside(run: Run, is_newest: bool) -> Html:
    pairs = [
        ("run", run.run),
        ("started", moment(run.started_at)),
        ("engine", engine_in_words(run.engine, run.verb, run.outcome)),
        ("extracted", _amount(run.rows_extracted, run.seconds)),
        ("size", size(run.bytes_extracted) if run.bytes_extracted else ""),
        ("loaded", _amount(run.rows_loaded, run.seconds)),
    ]
    spent = _phases([(phase, duration(seconds)) for phase, seconds in run.timings])
    return tag("div", definitions(pairs), spent, *_steps(run, is_newest), class_="inside")


def _amount(rows: int | None, seconds: float | None) -> str:
    return f"{plural(rows, 'row')}, {per_second(rows, seconds)}/s" if rows else ""


def _steps(run: Run, is_newest: bool) -> list[Html | None]:
    if not run.steps:
        return [empty("No steps.")]
    shown = _chosen(run.steps, STEPS_OF_NEWEST if is_newest else STEPS)
    return [grid(f"Steps of {run.run}", COLUMNS, map(_step, shown)), _left_out(run.steps, shown)]


def _chosen(steps: Sequence[Step], limit: int) -> list[Step]:
    """Return the steps to show, in their order: failed steps first, then the earliest."""
    ranked = sorted(range(len(steps)), key=lambda i: style_of(steps[i].outcome).tone != "bad")
    return [steps[i] for i in sorted(ranked[:limit])]


def _left_out(steps: Sequence[Step], shown: Sequence[Step]) -> Html | None:
    left = Counter(step.outcome for step in steps) - Counter(step.outcome for step in shown)
    counts = ", ".join(f"{count:,} {outcome or 'unknown'}" for outcome, count in sorted(left.items()))
    return empty(f"{plural(left.total(), 'more step')} not shown: {counts}.") if left else None


def _step(step: Step) -> Html:
    """Return one row, and a second one for the error, whose three sentences need the width."""
    measured = (
        number(step.rows),
        size(step.bytes) if step.bytes else NONE,
        duration(step.seconds),
        duration(step.cpu_seconds) if step.memory else NONE,
        size(step.memory) if step.memory else NONE,
        per_second(step.rows, step.seconds),
    )
    cells = (
        tag("bdi", step.step),
        tag("bdi", shown(step.value) or NONE),
        *measured,
        badge(step.outcome),
        prose(step.why),
    )
    row = tag("tr", tag("th", tag("bdi", step.table)), *(tag("td", cell) for cell in cells))
    if not step.error:
        return row
    error = tag("td", tag("pre", tag("bdi", step.error)), colspan=len(COLUMNS))
    return join([row, tag("tr", error, class_="error")])
