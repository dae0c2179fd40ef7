"""Draw the findings of the checks, the worst first."""

from __future__ import annotations

from tidegate.reports._markup import Html, join, prose, tag
from tidegate.reports._pieces import empty
from tidegate.reports._reading import Facts, Finding
from tidegate.reports._states import badge
from tidegate.reports._words import plural

RANK = {"error": 0, "warning": 1, "note": 3}
SHOWN = 200


def findings(facts: Facts) -> Html:
    if not facts.findings:
        return empty("No check reported a difference." if facts.tables else "No check has run.")
    ranked = sorted(facts.findings, key=lambda finding: RANK.get(finding.severity, 2))
    left = len(ranked) - SHOWN
    more = empty(f"{plural(left, 'more finding')} not shown.") if left > 0 else None
    return join([tag("ul", *map(_finding, ranked[:SHOWN]), class_="findings"), more])


def _finding(finding: Finding) -> Html:
    where = join([tag("bdi", part) for part in (finding.table, finding.value) if part], " · ")
    check = tag("small", "check ", tag("bdi", finding.check)) if finding.check else None
    return tag("li", badge(finding.severity), tag("div", tag("b", where), tag("p", prose(finding.what)), check))
