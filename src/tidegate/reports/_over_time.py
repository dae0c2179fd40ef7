"""Draw how a table that is read by a cursor went over its loads: watermark, throughput, late rows, duplicates, gaps."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.reports._markup import Html, tag
from tidegate.reports._reading import Point
from tidegate.reports._words import minute, number

POINTS = 60
"""How many loads are drawn, the newest."""
WIDTH, HEIGHT = 240, 40


def over_time(points: Sequence[Point]) -> Html | None:
    """Return one small chart for each figure; None for less than two loads."""
    shown = points[-POINTS:]
    if len(shown) < 2:
        return None
    rates = [0.0 if point.rate is None else point.rate for point in shown]
    charts = [
        _watermark(shown),
        _bars("rows per second", rates, "k4"),
        *(
            _bars(name, [float(getattr(point, name)) for point in shown], "k6")
            for name in ("late", "duplicates", "gaps")
        ),
    ]
    span = f"{len(shown):,} loads, {minute(shown[0].at)} to {minute(shown[-1].at)}"
    title = tag("summary", "Over time ", tag("small", span))
    return tag("details", title, tag("div", *charts, class_="charts"), class_="receipts", open=True)


def _watermark(points: Sequence[Point]) -> Html | None:
    """Return a line through the watermarks that can be drawn: times and numbers."""
    known = [(place, point) for place, point in enumerate(points) if point.height is not None]
    if len(known) < 2:
        return None
    heights = [point.height or 0.0 for _, point in known]
    low, span = min(heights), (max(heights) - min(heights)) or 1.0
    step = WIDTH / (len(points) - 1)
    places = [
        f"{place * step:.5g},{HEIGHT - HEIGHT * (height - low) / span:.4g}"
        for (place, _), height in zip(known, heights, strict=True)
    ]
    line = tag("polyline", points=" ".join(places), fill="none", stroke="currentColor", stroke_width="1.5")
    return _chart("watermark", f"from {known[0][1].watermark} to {known[-1][1].watermark}", line)


def _bars(name: str, values: Sequence[float], colour: str) -> Html | None:
    """Return a bar for each load; None where all are 0."""
    top = max(values)
    if not top:
        return None
    step = WIDTH / len(values)
    bars = (
        tag(
            "rect",
            tag("title", number(round(value))),
            x=f"{place * step:.5g}",
            y=f"{HEIGHT - HEIGHT * value / top:.4g}",
            width=f"{step * 0.8:.4g}",
            height=f"{HEIGHT * value / top:.4g}",
            class_=colour,
        )
        for place, value in enumerate(values)
        if value
    )
    return _chart(name, f"{number(round(values[-1]))} at last, {number(round(top))} at most", *bars)


def _chart(name: str, words: str, *drawn: Html) -> Html:
    label = f"{name}: {words}"
    box = f"-1 -1 {WIDTH + 2} {HEIGHT + 2}"
    svg = tag("svg", *drawn, viewBox=box, width=WIDTH, height=HEIGHT, role="img", aria_label=label)
    return tag("figure", tag("figcaption", tag("strong", name), " ", tag("bdi", words)), svg)
