"""Draw partition values as a calendar of days or months. Values that are no dates, or too few for a calendar,
are drawn as a strip."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import groupby

from tidegate.reports._cells import Cell, draw
from tidegate.reports._markup import Html, tag

DAY = re.compile(r"(\d{4})(-?)(\d\d)\2(\d\d)(?:[T ][\d:.]+(?:Z|[+-][\d:]+)?)?", re.ASCII)
MONTH = re.compile(r"(\d{4})-?(\d\d)", re.ASCII)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = "MTWTFSS"

DENSE, DENSE_STRIP = 70, 150  # with more values cells are small and have no text
SPARSE = 3  # with fewer values per month a calendar is mostly empty

Dated = dict[date, Cell]


def calendar(cells: Sequence[Cell]) -> Html:
    """Return the calendar of one table's values, then a strip of the values that are no dates."""
    dated, body = _in_time(cells)
    placed = {cell.anchor for cell in dated.values()}
    rest = [cell for cell in cells if cell.anchor not in placed]
    dense = len(cells) > (DENSE if dated else DENSE_STRIP)
    return tag("div", body, _strip(rest), class_="calendar dense" if dense else "calendar")


def _in_time(cells: Sequence[Cell]) -> tuple[Dated, Html | None]:
    days = _by_date(cells, _day)
    if days and len(days) >= SPARSE * len({(day.year, day.month) for day in days}):
        return days, tag("div", *_months(days), class_="months")
    months = _by_date(cells, _month)
    if months:
        return months, tag("div", *_years(months), class_="years")
    return {}, None


def _by_date(cells: Sequence[Cell], read: Callable[[str], date | None]) -> Dated:
    """Return the cells by date, in order; empty when most have no date, or when two have the same one."""
    found = [(when, cell) for cell in cells if (when := read(cell.value.value)) is not None]
    dated = dict(sorted(found, key=lambda pair: pair[0]))
    return dated if len(dated) == len(found) and 2 * len(found) > len(cells) else {}


def _day(text: str) -> date | None:
    found = DAY.fullmatch(text.strip())
    return _date(found[1], found[3], found[4]) if found else None


def _month(text: str) -> date | None:
    found = MONTH.fullmatch(text.strip())
    return _date(found[1], found[2], "1") if found else None


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def _months(days: Dated) -> Iterator[Html]:
    for (year, month), grouped in groupby(days.items(), key=lambda pair: (pair[0].year, pair[0].month)):
        yield _draw_month(year, month, {day.day: cell for day, cell in grouped})


def _draw_month(year: int, month: int, days: dict[int, Cell]) -> Html:
    """Return one month, Monday first. A day without a value is a plain number."""
    weekday, length = monthrange(year, month)
    columns = {1: f"c{weekday + 1}"}
    drawn = [_draw_day(day, days.get(day), columns.get(day, "")) for day in range(1, length + 1)]
    grid = tag("div", *(tag("u", letter, aria_hidden="true") for letter in WEEKDAYS), *drawn, class_="days")
    return tag("section", tag("h4", f"{MONTHS[month - 1]} {year}"), grid)


def _draw_day(day: int, cell: Cell | None, column: str) -> Html:
    return draw(cell, str(day), column) if cell else tag("i", str(day), class_=column or None, aria_hidden="true")


def _years(months: Dated) -> Iterator[Html]:
    yield tag(
        "div",
        tag("u"),
        *(tag("u", name[0], tag("span", name[1:])) for name in MONTHS),
        class_="year",
        aria_hidden="true",
    )
    for year, grouped in groupby(months.items(), key=lambda pair: pair[0].year):
        by_month = {month.month: cell for month, cell in grouped}
        drawn = [draw(by_month[month], str(month)) if month in by_month else tag("i") for month in range(1, 13)]
        yield tag("div", tag("u", str(year)), *drawn, class_="year")


def _strip(cells: Sequence[Cell]) -> Html | None:
    return tag("div", *(draw(cell, cell.value.value) for cell in cells), class_="strip") if cells else None
