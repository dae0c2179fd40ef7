"""Draw the snapshots of frames: per filter what table and archive keep, and how the size of an archive develops."""

from __future__ import annotations

from tidegate.reports._markup import Html, tag
from tidegate.reports._pieces import grid
from tidegate.reports._reading import Facts, FilterSnapshots
from tidegate.reports._words import NONE, minute, number, size

COLUMNS = ("filter", "in the table", "archives", "rows", "size", "compression", "oldest", "newest", "sizes over time")
POINTS = 30
"""How many archives the line of sizes shows, the newest."""
WIDTH, HEIGHT = 120, 24


def snapshots(facts: Facts) -> Html:
    return grid("Snapshots", COLUMNS, [_row(found) for found in facts.snapshots])


def _row(found: FilterSnapshots) -> Html:
    missing = f", {number(found.without_archive)} not archived" if found.without_archive else ""
    ratio = NONE if found.ratio is None else f"{found.ratio:.2f} to 1"
    cells = (
        tag("bdi", found.customer_filter),
        f"{number(found.in_table)}{missing}",
        number(found.archives),
        number(found.rows),
        size(found.bytes),
        ratio,
        minute(found.oldest) or NONE,
        minute(found.newest) or NONE,
        _trend(found.sizes[-POINTS:]) or NONE,
    )
    return tag("tr", *(tag("td", cell) for cell in cells))


def _trend(sizes: tuple[int, ...]) -> Html | None:
    """Return a line through the sizes; None for less than two archives."""
    if len(sizes) < 2:
        return None
    top, step = max(sizes) or 1, WIDTH / (len(sizes) - 1)
    points = [f"{place * step:.4g},{HEIGHT - HEIGHT * each / top:.4g}" for place, each in enumerate(sizes)]
    label = f"from {size(sizes[0])} to {size(sizes[-1])}"
    line = tag("polyline", points=" ".join(points), fill="none", stroke="currentColor", stroke_width="1.5")
    return tag("svg", line, viewBox=f"-1 -1 {WIDTH + 2} {HEIGHT + 2}", width=WIDTH, height=HEIGHT, aria_label=label)
