"""Elements that several sections of the page use."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.reports._markup import Html, prose, tag


def empty(sentence: str) -> Html:
    """Return the paragraph that is shown where there is nothing else."""
    return tag("p", prose(sentence), class_="empty")


def definitions(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return names with their values, on one line where there is room; empty values are skipped."""
    drawn = (tag("div", tag("dt", name), tag("dd", tag("bdi", value))) for name, value in pairs if value)
    return tag("dl", *drawn, class_="about")


def grid(label: str, columns: Iterable[str], rows: Iterable[Html]) -> Html:
    """Return a table in a frame of its own that scrolls, also by keyboard. The label is for screen readers."""
    head = tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns)))
    body = tag("table", head, tag("tbody", *rows))
    return tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=label)
