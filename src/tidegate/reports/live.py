"""Draw the live page: the frame that a browser opens once, and the parts that it fetches again when they changed.

The parts are those of the report, and what only a live page can show: runs under way, the next run, and how fresh each
table is. Styles and scripts are files of their own, and no element has a `style`: the policy of the page forbids what
is not a file of this server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from tidegate.reports._agreement import LAKE, SOURCE, TARGET, agreement
from tidegate.reports._findings import findings
from tidegate.reports._flow import SHAPES, flow
from tidegate.reports._markup import Html, join, prose, tag
from tidegate.reports._pieces import definitions, empty, grid
from tidegate.reports._reading import PLACES, Alert, Facts, Freshness, Table, read
from tidegate.reports._runs import runs
from tidegate.reports._snapshots import snapshots
from tidegate.reports._states import TONES, badge, style_of
from tidegate.reports._tables import has_problem, inside, summary
from tidegate.reports._verdict import figures, headline, verdict, verdict_status
from tidegate.reports._words import NONE, duration, moment, number, plural
from tidegate.reports.html import ICON, asset, foot, top_bar

FRESHNESS = ("table", "loaded up to", "source has", "last loaded", "last verified", "late rows", "waits for")
STEPS_OF_A_TABLE = 20
STEPS_OF_A_RUN = 8
TITLES = {
    "alerts": "Alerts",
    "tables": "Tables",
    "next": "Next run",
    "freshness": "Freshness",
    "runs": "Runs",
    "findings": "Findings",
    "snapshots": "Snapshots",
}
"""The sections, in the order of the page. A part without content is hidden."""
ASSETS = {
    "/page.css": ("text/css", "page.css"),
    "/live.css": ("text/css", "live.css"),
    "/page.js": ("text/javascript", "page.js"),
    "/live.js": ("text/javascript", "live.js"),
}


@dataclass(frozen=True)
class Look:
    """What the page shows: the facts of the newest look at source, lake and target, and what is under way."""

    raw: Mapping[str, Any] | None = None
    """None before the first look is done."""
    under_way: Sequence[Mapping[str, Any]] = ()
    open_runs: Sequence[Mapping[str, Any]] = ()
    """Runs that took tables and neither ended nor tell on this machine how far they are."""
    problem: str = ""
    """Why the newest look failed; the facts are then those of an earlier one."""


@dataclass(frozen=True)
class Shown:
    """The parts of the page at one moment, each with a tag that changes when its content does."""

    look: Look
    facts: Facts
    parts: Mapping[str, str]
    tags: Mapping[str, str]

    @classmethod
    def of(cls, look: Look, before: Shown | None = None) -> Shown:
        """Return what the page shows now. What did not change since `before` is not drawn again."""
        if before is not None and look.raw is before.look.raw and look.problem == before.look.problem:
            facts, drawn = before.facts, {**before.parts, "now": _now(look)}
        else:
            facts = read(look.raw or {})
            drawn = {**before.parts} if before is not None and look.raw is before.look.raw else _parts(look, facts)
            drawn |= {"now": _now(look), "problem": _problem(look)}
        return cls(look, facts, drawn, {name: tag_of(text) for name, text in drawn.items()})


def frame(version: str) -> str:
    """Return the page without content: its script fetches the parts."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", "Tidegate"),
        tag("link", rel="icon", href="/icon.svg"),
        tag("link", rel="stylesheet", href="/page.css"),
        tag("link", rel="stylesheet", href="/live.css"),
    )
    state = tag("span", "connecting", class_="when", id="state", role="status")
    bar = tag("div", top_bar(state), class_="page")
    band = tag("header", bar, _part("verdict", "div"), class_="band unproven", id="band")
    links = [tag("a", title, href=f"#{name}", data_of=name) for name, title in TITLES.items()]
    nav = tag("nav", tag("div", *links, class_="page"), aria_label="Sections")
    sections = [
        tag("section", tag("h2", title), *_content(name), class_="page", id=name, data_of=name)
        for name, title in TITLES.items()
    ]
    now = tag("section", tag("h2", "Under way"), _part("now", "div"), class_="page", id="now", data_of="now")
    script = [tag("script", src=f"/{name}.js", defer=True) for name in ("page", "live")]
    without = tag(
        "noscript", tag("p", prose("This page needs JavaScript. `tidegate report` writes one that does not."))
    )
    skip = tag("a", "Skip to the tables", href="#tables", class_="skip")
    top = (skip, band, nav, without, _part("problem", "div", role="alert"))
    body = tag("body", *top, tag("main", now, *sections), foot(read({"version": version})), *script)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _part(name: str, element: str, **attributes: str) -> Html:
    return tag(element, id=f"part-{name}", data_part=name, **attributes)


def _content(name: str) -> tuple[Html, ...]:
    """Return the part of a section, and for the tables also what chooses among them."""
    part = _part(name, "div")
    return (_tools(), part, tag("button", "Show all tables", type="button", id="all")) if name == "tables" else (part,)


def _tools() -> Html:
    """Return the controls above the tables. They are shown when there are enough tables to search."""
    search = tag("input", type="search", id="search", placeholder="Find a table", aria_label="Find a table")
    attention = tag("label", tag("input", type="checkbox", id="attention"), " only what needs attention")
    count = tag("output", id="shown", for_="search attention")
    return tag("div", search, attention, count, class_="tools")


def icon() -> str:
    return ICON


def asset_of(path: str) -> tuple[str, str] | None:
    """Return the type and the text of a style or a script; None for any other path."""
    found = ASSETS.get(path)
    return (found[0], asset(found[1])) if found else None


def _parts(look: Look, facts: Facts) -> dict[str, str]:
    """Return the content of every part that shows facts; empty for a part that has nothing to say."""
    if look.raw is None:
        return {"verdict": _waiting(), **dict.fromkeys(TITLES, "")}
    return {
        "verdict": _verdict(facts),
        "alerts": tag("ul", *map(_alert, facts.alerts), class_="findings") if facts.alerts else "",
        "tables": _tables(facts),
        "next": _next_run(facts),
        "freshness": _freshness(facts),
        "runs": runs(facts),
        "findings": findings(facts),
        "snapshots": snapshots(facts) if facts.snapshots else "",
    }


def _problem(look: Look) -> str:
    return tag("p", prose(look.problem), class_="page") if look.problem else ""


def content_of(facts: Facts, name: str) -> Html | None:
    """Return the calendar and the receipts of one table; None when there is no such table."""
    for place, table in enumerate(facts.tables):
        if table.name == name:
            return inside(table, f"t{place}")
    return None


def tag_of(text: str) -> str:
    """Return a short text that changes when the text does."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# The top


def _waiting() -> Html:
    sign = tag("span", "…", class_="sign", aria_hidden="true")
    lead = tag("p", "Looking at source, lake and target for the first time.", class_="lead")
    inside = tag("div", tag("div", sign, tag("div", tag("h1", "One moment."), lead), class_="verdict"), class_="page")
    return tag("div", inside, data_status="unproven", data_title="Tidegate")


def _verdict(facts: Facts) -> Html:
    top = tag("div", verdict(facts), figures(facts), class_="page")
    title = f"{headline(facts)} Tidegate"
    return tag("div", top, flow(facts), data_status=verdict_status(facts), data_title=title, data_at=facts.generated_at)


# Runs under way


def _now(look: Look) -> Html:
    return join([*map(_progress, look.under_way), *map(_open_run, look.open_runs)])


def _progress(told: Mapping[str, Any]) -> Html:
    """Return a run that tells how far it is: its phases, its rows, and its newest steps."""
    failed = int(told.get("failed") or 0)
    pairs = [
        ("run", str(told.get("run", ""))),
        ("started", moment(str(told.get("started_at", "")))),
        ("by", str(told.get("by", ""))),
    ]
    title = tag("h3", tag("code", str(told.get("verb", "run"))), " ", badge("under way"))
    trouble = tag("p", tag("b", f"{style_of('failed').sign} {plural(failed, 'step')} failed", class_="badge bad"))
    phases = tag("ul", *map(_phase, told.get("phases") or ()), class_="going")
    steps = list(reversed(told.get("steps") or ()))[:STEPS_OF_A_RUN]
    newest = tag("ol", *map(_step, steps), class_="latest") if steps else None
    return tag("article", title, definitions(pairs), trouble if failed else None, phases, newest, class_="card")


def _phase(phase: Mapping[str, Any]) -> Html:
    """Return `extract 12 of 40 windows, 1,200,000 of 4,000,000 rows, 90,000 rows/s` with a bar."""
    name, windows, done = str(phase.get("name", "")), int(phase.get("windows") or 0), int(phase.get("done") or 0)
    rows, seconds = int(phase.get("rows") or 0), float(phase.get("seconds") or 0.0)
    most = int(phase.get("expected") or 0)
    expected = f" of {number(most)}" if most >= rows and most else ""  # a merge counts the rows that it compares, too
    speed = f", {number(round(rows / seconds))} rows/s" if rows and seconds else ""
    counted = f"{number(min(done, windows))} of {plural(windows, 'window')}"
    words = f"{counted}, {number(rows)}{expected} rows{speed}, {duration(seconds)}"
    bar = tag("progress", max=max(windows, 1), value=min(done, windows), aria_label=f"{name}: {words}")
    return tag("li", tag("b", tag("bdi", name)), bar, tag("span", words))


def _step(step: Mapping[str, Any]) -> Html:
    value = str(step.get("value") or "")
    about = join([tag("bdi", str(step.get("table", ""))), tag("bdi", value) if value else None], " ")
    words = f" {step.get('step', '')}, {plural(int(step.get('rows') or 0), 'row')}, {duration(step.get('seconds'))} "
    return tag("li", about, words, badge(str(step.get("outcome", ""))))


def _open_run(run: Mapping[str, Any]) -> Html:
    """Return a run that only the target knows of."""
    names = list(run.get("tables") or ())
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    pairs = [
        ("run", str(run.get("run", ""))),
        ("since", moment(str(run.get("since", "")))),
        ("by", str(run.get("holder", ""))),
        ("tables", f"{', '.join(map(str, names[:5]))}{more}"),
    ]
    words = "It has taken these tables and has not ended: it works without telling here how far it is, or was killed."
    remedy = "If it was killed, the next `tidegate run` completes it."
    title = tag("h3", "A run ", badge("not ended"))
    return tag("article", title, definitions(pairs), tag("p", prose(f"{words} {remedy}")), class_="card")


def _alert(alert: Alert) -> Html:
    place = tag("b", tag("bdi", alert.table or "the project"))
    about = join([tag("bdi", alert.condition), f" since {moment(alert.since)}" if alert.since else None])
    remedy = tag("p", prose(alert.remedy)) if alert.remedy else None
    words = tag("div", place, tag("p", prose(alert.text)), remedy, tag("small", about))
    return tag("li", badge(alert.severity), words)


# Tables


def _tables(facts: Facts) -> Html:
    """Return a closed section for each table, those with a problem first. The script fetches what is inside."""
    if not facts.tables:
        return empty("No tables yet. `tidegate init` proposes them from the source.")
    ordered = sorted(enumerate(facts.tables), key=lambda placed: _urgency(placed[1]))
    return join(_table(facts, table, f"t{place}") for place, table in ordered)


def _urgency(table: Table) -> int:
    tone = "bad" if has_problem(table) else style_of(table.status).tone
    return TONES.index(tone) if tone in ("bad", "wait") else len(TONES)


def _table(facts: Facts, table: Table, anchor: str) -> Html:
    calm = _urgency(table) == len(TONES)
    drawn = summary(table, _sides(replace(facts, tables=(table,))))
    content = tag("div", data_table=table.name)
    names = {"data_key": table.name, "data_tag": tag_of(repr(table)), "data_calm": "yes" if calm else None}
    return tag("details", drawn, content, class_="table", id=anchor, **names)


def _sides(facts: Facts) -> Html:
    """Return `source = lake = target`, with the sign of each gate in its colour. The lake of a table with batches is a
    log of changes, whose rows compare with nothing: there it is `source = target`."""
    has_batches = any(table.batches is not None for table in facts.tables)
    pairs = [(SOURCE, TARGET)] if has_batches else [(SOURCE, LAKE), (LAKE, TARGET)]
    drawn = [tag("span", PLACES[SOURCE])]
    for first, second in pairs:
        gate = agreement(facts, first, second)
        words = f"{gate.agree:,} of {gate.compared:,} agree" if gate.compared else "not compared"
        drawn += [tag("b", gate.sign, class_=SHAPES[gate.sign], title=words), tag("span", PLACES[second])]
    return tag("span", join(drawn, " "), class_="sides")


# What comes next, and how fresh everything is


def _next_run(facts: Facts) -> Html:
    busy = [table for table in facts.tables if table.next]
    if not busy:
        return empty("The next run has nothing to do, as far as the newest look knows.")
    steps = sum(len(table.next) for table in busy)
    words = f"{plural(steps, 'step')} for {plural(len(busy), 'table')}. `tidegate plan` prints all of them."
    return join([tag("p", prose(words)), *map(_steps_of, busy)])


def _steps_of(table: Table) -> Html:
    shown = [tag("li", prose(step)) for step in table.next[:STEPS_OF_A_TABLE]]
    left = len(table.next) - len(shown)
    more = tag("li", f"and {plural(left, 'more step')}") if left else None
    title = tag("summary", tag("h3", tag("bdi", table.name)), tag("span", plural(len(table.next), "step")))
    return tag("details", title, tag("ol", *shown, more, class_="inside steps"), class_="table", data_key=table.name)


def _freshness(facts: Facts) -> Html:
    if not facts.tables:
        return empty("No tables yet.")
    return grid("Freshness", FRESHNESS, (_fresh(table) for table in facts.tables))


def _fresh(table: Table) -> Html:
    fresh = table.freshness
    cells = (
        tag("bdi", fresh.loaded_to or NONE),
        _newest(fresh),
        _time(fresh.loaded_at),
        _time(fresh.proven_at),
        number(fresh.late) if fresh.late else NONE,
        _waits(fresh),
    )
    return tag("tr", tag("th", tag("bdi", table.name)), *(tag("td", cell) for cell in cells))


def _newest(fresh: Freshness) -> Html:
    """Return the newest value of the source, marked when the target does not have it yet."""
    newest = tag("bdi", fresh.source_has or NONE)
    if not fresh.source_has or fresh.source_has == fresh.loaded_to:
        return newest
    return join([newest, badge("behind")], " ")


def _waits(fresh: Freshness) -> Html:
    lines = [
        *(f"open: {holder}" for holder in fresh.held_by),
        *(f"read again later: {gap}" for gap in fresh.gaps),
        *([fresh.watermark_set] if fresh.watermark_set else []),
    ]
    return join((tag("small", prose(line)) for line in lines), " ") if lines else Html(NONE)


def _time(iso: str) -> Html:
    """Return a time in UTC; the script adds how long ago it was."""
    return tag("time", moment(iso), datetime=iso) if iso else Html(NONE)
