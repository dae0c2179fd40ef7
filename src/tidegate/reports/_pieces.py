"""Pieces that several sections of the page are made of."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.reports._markup import Html, prose, tag


def empty(sentence: str) -> Html:
    """What stands where there is nothing to show."""
    return tag("p", prose(sentence), class_="empty")


def about(said: Iterable[tuple[str, str]]) -> Html:
    """Names with their values, on one line where there is room; empty values are left out."""
    pairs = (tag("div", tag("dt", name), tag("dd", tag("bdi", value))) for name, value in said if value)
    return tag("dl", *pairs, class_="about")


def grid(label: str, columns: Iterable[str], rows: Iterable[Html]) -> Html:
    """A table in a frame that scrolls by itself, also by keyboard; a screen reader calls it by its label."""
    head = tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns)))
    body = tag("table", head, tag("tbody", *rows))
    return tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=label)
