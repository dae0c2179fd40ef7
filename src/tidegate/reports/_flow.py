"""Draw source, lake and target as three basins of water, as high as they have rows, with a gate between each two."""

from __future__ import annotations

from tidegate.reports._agreement import LAKE, SOURCE, TARGET, Agreement, agreement
from tidegate.reports._markup import Html, join, tag
from tidegate.reports._reading import PLACES, Facts
from tidegate.reports._words import number, plural

SHAPES = {"=": "good", "≠": "bad", "?": "calm"}

# The drawing is stretched to the width of the page. Its words are HTML beside it, so that they keep their size.
BASIN, HEIGHT, BRIM, BED = 200, 100, 14, 92


def flow(facts: Facts) -> Html:
    """Return the drawing, with its numbers and a caption."""
    totals = [_total(facts, place) for place in range(3)]
    gates = agreement(facts, SOURCE, LAKE), agreement(facts, LAKE, TARGET)
    basins = tag("div", *(_basin(facts, place, totals[place]) for place in range(3)), class_="basins")
    signs = tag("div", *(_sign(gate) for gate in gates), class_="gates")
    caption = tag("figcaption", *(tag("span", _agreement(gate)) for gate in gates))
    water = tag("div", _drawing(facts, totals, _caption(totals, gates)), signs, basins, class_="water")
    return tag("figure", water, caption, class_="flow")


def _drawing(facts: Facts, totals: list[int | None], caption: str) -> Html:
    box = f"0 0 {3 * BASIN} {HEIGHT}"
    inside = _water(facts, totals), _gate(BASIN), _gate(2 * BASIN)
    return tag("svg", *inside, role="img", aria_label=caption, viewBox=box, preserveAspectRatio="none")


def _sign(gate: Agreement) -> Html:
    return tag("span", gate.sign, class_=f"gate {SHAPES[gate.sign]}", aria_hidden="true")


def _total(facts: Facts, place: int) -> int | None:
    known = [table.rows[place] for table in facts.tables]
    counted = [rows for rows in known if rows is not None]
    return sum(counted) if counted else None


def _uncounted(facts: Facts, place: int) -> int:
    """Return how many tables were not counted, of which the total of the other tables says nothing."""
    return sum(table.rows[place] is None for table in facts.tables)


def _water(facts: Facts, totals: list[int | None]) -> Html:
    """Draw the water. Where a place lacks rows only because some tables were not counted, its level is unknown."""
    full = max((total or 0 for total in totals), default=0)
    levels = [_level(total, full) for total in totals]
    known = [None if _uncounted(facts, place) and level != 1 else level for place, level in enumerate(levels)]
    return join(_surface(place, level) for place, level in enumerate(known))


def _level(total: int | None, full: int) -> float | None:
    """Return the height of the water, from 0 to 1: linear, but never invisible. None when rows were not counted."""
    if total is None:
        return None
    return max(0.06, total / full) if total else 0.0


def _surface(place: int, level: float | None) -> Html:
    left, right = place * BASIN, (place + 1) * BASIN
    if level is None:
        return tag("path", class_="unknown", d=f"M{left} {BRIM + 10}H{right}")
    top = round(BED - (BED - BRIM - 10) * level, 1)
    wave = f"M{left} {top}q25 -4 50 0t50 0t50 0t50 0"
    body = tag("path", class_="sea", d=f"{wave}V{HEIGHT}H{left}Z") if level else None
    return join([body, tag("path", class_="surface", d=wave if level else f"M{left} {BED}H{right}")])


def _gate(x: int) -> Html:
    return tag("path", class_="post", d=f"M{x} {BRIM - 8}V{HEIGHT}")


def _basin(facts: Facts, place: int, total: int | None) -> Html:
    uncounted = _uncounted(facts, place) if total is not None else 0
    lines = [
        tag("dt", PLACES[place]),
        tag("dd", "not counted") if total is None else tag("dd", tag("b", number(total)), " rows"),
        tag("dd", tag("small", plural(uncounted, "table"), " not counted")) if uncounted else None,
        tag("dd", tag("small", tag("bdi", facts.project[place]))) if facts.project[place] else None,
    ]
    return tag("dl", *lines)


def _agreement(gate: Agreement) -> str:
    if not gate.total:
        return "nothing to compare"
    if not gate.compared:
        return "not compared"
    sentence = f"{gate.agree:,} of {plural(gate.compared, 'value')} agree"
    left = gate.total - gate.compared
    return f"{sentence}, {left:,} not compared" if left else sentence


def _caption(totals: list[int | None], gates: tuple[Agreement, Agreement]) -> str:
    counts = ", ".join(f"{place} {number(total)} rows" for place, total in zip(PLACES, totals, strict=True))
    return f"{counts}. Source and lake: {_agreement(gates[0])}. Lake and target: {_agreement(gates[1])}."
