"""Draw the top of the page: the verdict, and the most important figures."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.reports._agreement import objections
from tidegate.reports._markup import Html, join, prose, tag
from tidegate.reports._reading import Facts, Run, Value
from tidegate.reports._states import needs_attention
from tidegate.reports._words import NONE, duration, minute, number, per_second, plural

HEADLINES = {
    "equal": "Target equals source.",
    "differs": "Target differs from source.",
    "pending": "Not in sync yet.",
    "unproven": "Not proven.",
}
SIGNS = {"equal": "=", "differs": "≠", "pending": "→", "unproven": "?"}

# The headline itself says when "equal" was not proven by hashes.
WEAKER = {"count": "Row counts are equal.", "sample": "Equal, as far as sampled."}

PROOFS = {
    "hash": "Compared by row count and a 128-bit hash over every row.",
    "sample": "Compared by row count and a sample of rows; the other rows were not read.",
    "count": "Compared by row count alone; contents were not read.",
}


def verdict_status(facts: Facts) -> str:
    """Return the status of the page. "equal" becomes "unproven" without tables, or when facts contradict it."""
    if facts.status not in HEADLINES:
        return "unproven"
    if facts.status == "equal" and (not facts.tables or objections(facts)):
        return "unproven"
    return facts.status


def headline(facts: Facts) -> str:
    status = verdict_status(facts)
    return WEAKER.get(facts.proof, HEADLINES[status]) if status == "equal" else HEADLINES[status]


def verdict(facts: Facts) -> Html:
    """Return the sign, the headline, the sentence in numbers, and the kind of proof."""
    sign = tag("span", SIGNS[verdict_status(facts)], class_="sign", aria_hidden="true")
    lead = tag("p", prose(_sentence(facts)), class_="lead")
    words = tag("div", tag("h1", headline(facts)), lead, _contradiction(facts), _proof(facts))
    return tag("div", sign, words, class_="verdict")


def _sentence(facts: Facts) -> str:
    if facts.text:
        return facts.text
    return "No sentence came with this verdict." if facts.tables else "There are no tables yet."


def _contradiction(facts: Facts) -> Html | None:
    if facts.status and facts.status not in HEADLINES:
        return _warning("The verdict is a word that this page does not know: ", facts.status)
    if facts.status != "equal" or verdict_status(facts) == "equal":
        return None
    against = objections(facts) or ["there are no tables to compare"]
    return _warning("The verdict was “equal”, but these facts contradict it: ", "; ".join(against))


def _warning(sentence: str, detail: str) -> Html:
    return tag("p", sentence, tag("bdi", detail), ".", class_="doubt")


def _proof(facts: Facts) -> Html | None:
    if not facts.tables:
        return None
    return tag("p", prose(PROOFS.get(facts.proof, f"Proof: {facts.proof or 'not stated'}.")), class_="proof")


def figures(facts: Facts) -> Html:
    """Return the most important numbers."""
    values = [value for table in facts.tables for value in table.values if value.in_scope]
    counted = sum(not value.is_whole for value in values)
    open_values = sum(map(needs_attention, values))
    proven = [value for value in values if value.state == "proven"]
    rows = sum(_first(value.rows[2], value.rows[0]) for value in proven)
    shown = [
        _figure("tables", number(len(facts.tables)), ""),
        _figure("values", number(counted), f"{open_values:,} open" if open_values else ""),
        _figure("rows proven", number(rows), _in(proven)),
        *_pace(facts.runs),
    ]
    if facts.findings:
        link = tag("a", number(len(facts.findings)), href="#findings")
        shown.append(_figure("findings", link, _worst(facts)))
    return tag("dl", *shown, class_="figures")


def _in(proven: Sequence[Value]) -> str:
    """Return `in 16 values and 2 whole tables`."""
    wholes = sum(value.is_whole for value in proven)
    parts = [plural(len(proven) - wholes, "value")] if len(proven) > wholes else []
    parts += [plural(wholes, "whole table")] if wholes else []
    return f"in {' and '.join(parts)}" if parts else ""


def _pace(runs: tuple[Run, ...]) -> list[Html]:
    """Return the duration of the newest run, and the rows per second of the newest run that moved rows."""
    last = runs[0] if runs else None
    moving = next((run for run in runs if run.rows_moved), None)
    took = _figure("last run", duration(last.seconds) if last else NONE, last.outcome if last else "")
    rate = per_second(moving.rows_moved, moving.seconds) if moving else NONE
    when = minute(moving.started_at) if moving and moving is not last else ""
    return [took, _figure("rows per second", rate, when)]


def _worst(facts: Facts) -> str:
    for severity in ("error", "warning"):
        count = sum(finding.severity == severity for finding in facts.findings)
        if count:
            return plural(count, severity)
    return ""


def _figure(label: str, figure: str, beside: str) -> Html:
    small = tag("small", tag("bdi", beside)) if beside else None
    return tag("div", tag("dt", label), tag("dd", join([tag("span", figure), small])))


def _first(*counts: int | None) -> int:
    return next((count for count in counts if count is not None), 0)
