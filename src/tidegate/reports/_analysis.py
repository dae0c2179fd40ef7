"""Draw the analysis: which values each table lacks in lake and target, where hashes differ, and gaps."""

from __future__ import annotations

from tidegate.reports._markup import Html, tag
from tidegate.reports._pieces import empty, grid
from tidegate.reports._reading import Analysis, Facts
from tidegate.reports._words import number

COLUMNS = ("table", "what", "how many", "which")
SHOWN = 12
"""How many values a row names, the first of them."""


def analysis(facts: Facts) -> Html:
    found = facts.analysis or ()
    if not found:
        return empty("No table lacks a value, and no hash differs.")
    return grid("Analysis", COLUMNS, [_row(each) for each in found])


def _row(found: Analysis) -> Html:
    left = len(found.values) - SHOWN
    named = ", ".join(found.values[:SHOWN]) + (f" and {number(left)} more" if left > 0 else "")
    cells = (tag("bdi", found.table), found.what, number(len(found.values)), tag("bdi", named))
    return tag("tr", *(tag("td", cell) for cell in cells))
