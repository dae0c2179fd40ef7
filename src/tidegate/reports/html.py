"""Render one self-contained page that shows whether the target equals the source, and by what proof.

The page needs no network, and works without its small script. A content security policy allows no other script,
whatever the name of a table contains."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from typing import Any

from tidegate.reports._analysis import analysis
from tidegate.reports._findings import findings
from tidegate.reports._flow import flow
from tidegate.reports._markup import Html, tag
from tidegate.reports._reading import Facts, read
from tidegate.reports._runs import runs
from tidegate.reports._snapshots import snapshots
from tidegate.reports._tables import tables
from tidegate.reports._verdict import figures, headline, verdict, verdict_status
from tidegate.reports._words import minute, moment

PROMISE = (
    "Every morning the target equals the source within its declared scope, provably, "
    "and whoever interrupts the run loses nothing."
)
MEANING = (
    "“Equal” means: for every value inside the declared scope, the target has the row count and the 128-bit "
    "hash that the source had when it was read. The hash covers every compared column of every row, in any "
    "order of rows. Values outside of the scope are not part of the claim. A table that keeps rows which the source "
    "deleted, and a table of versions, may have more rows: every row of the source is there, unchanged. "
    "Where only counts or samples were compared, the headline says so."
)
WAVE = "M2 9q3-3 6 0t6 0t6 0M2 15q3-3 6 0t6 0t6 0"
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 22 24'>"
    "<rect width='22' height='24' rx='5' fill='#0a4f59'/>"
    f"<path d='{WAVE}M11 3v18' fill='none' stroke='#fff' stroke-width='2' stroke-linecap='round'/></svg>"
)


def render(facts: dict[str, Any]) -> str:
    """Return the page. The same facts give the same page, byte for byte; missing facts are not shown."""
    known = read(facts)
    style, script = Html(asset("page.css")), Html(asset("page.js"))
    head = tag("head", *_meta(known, script), tag("style", style))
    body = tag("body", _top(known), tag("main", *_sections(known)), foot(known), tag("script", script))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def write(facts: dict[str, Any], path: Path) -> Path:
    """Write the page to `path`, atomically: readers see the old page until the new one is complete. Return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        draft.write_bytes(render(facts).encode("utf-8"))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def asset(name: str) -> str:
    return files("tidegate.reports").joinpath(name).read_text("utf-8")


def _meta(facts: Facts, script: str) -> list[Html]:
    allowed = b64encode(sha256(script.encode("utf-8")).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'"
    return [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{headline(facts)} Tidegate report"),
        tag("link", rel="icon", href="data:image/svg+xml;base64," + b64encode(ICON.encode("utf-8")).decode()),
    ]


def _top(facts: Facts) -> Html:
    """Return the top of the page: logo, time, verdict, figures and flow."""
    when = tag("span", f"{minute(facts.generated_at)} UTC" if facts.generated_at else "", class_="when")
    inside = tag("div", top_bar(when), verdict(facts), figures(facts), class_="page")
    return tag("header", inside, flow(facts), class_=f"band {verdict_status(facts)}")


def top_bar(when: Html) -> Html:
    """Return the line with the logo, a time and the button for light or dark."""
    wave = tag("path", d=f"{WAVE}M11 3v18")
    logo = tag("svg", wave, viewBox="0 0 22 24", class_="logo", aria_hidden="true")
    toggle = tag("button", "Light or dark", type="button", id="theme", hidden=True)
    return tag("div", logo, tag("strong", "Tidegate"), when, toggle, class_="bar-top")


def _sections(facts: Facts) -> list[Html]:
    parts = [("tables", "Tables", tables), ("runs", "Runs", runs), ("findings", "Findings", findings)]
    if facts.analysis is not None:
        parts.insert(1, ("analysis", "Analysis", analysis))
    if facts.snapshots:
        parts.insert(1, ("snapshots", "Snapshots", snapshots))
    return [tag("section", tag("h2", name), draw(facts), class_="page", id=anchor) for anchor, name, draw in parts]


def foot(facts: Facts) -> Html:
    when = f", {moment(facts.generated_at)}" if facts.generated_at else ""
    by = tag("p", "Made by Tidegate ", tag("bdi", facts.version), when, ". All times are UTC.")
    return tag("footer", tag("div", tag("p", tag("em", PROMISE)), tag("p", MEANING), by, class_="page"))
