"""Draw one partition value as a cell: a bar each for source, lake and target, a sign for its state, a tooltip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.reports._agreement import Bar, bars
from tidegate.reports._markup import Html, isolate, tag
from tidegate.reports._reading import PLACES, Table, Value
from tidegate.reports._states import by_urgency, style_of
from tidegate.reports._words import number

# The CSS classes of a cell: t2 means that the target has other rows. `SAME` adds no class.
CODES = {Bar.OTHER: "2", Bar.NOTHING: "0", Bar.UNCOUNTED: "9"}
EXPLAINED = {
    Bar.OTHER: "short bar: not equal to the source",
    Bar.NOTHING: "thin line: no rows",
    Bar.UNCOUNTED: "dots: not counted",
}


@dataclass(frozen=True)
class Cell:
    """A value, the HTML id of its row among the receipts, and its heat: from 0, few rows, to 3, nearly the most."""

    value: Value
    anchor: str
    heat: int


def cells(table: Table, anchors: Sequence[str]) -> list[Cell]:
    """Return a cell for every value of a table."""
    most = max(map(_volume, table.values), default=0)
    return [Cell(v, a, _heat(_volume(v), most)) for v, a in zip(table.values, anchors, strict=True)]


def draw(cell: Cell, label: str, column: str = "") -> Html:
    """Return the cell as a link to the receipt of the value."""
    # The markup is short: a page may have thousands of cells.
    names = ["d", f"h{cell.heat}", column, style_of(cell.value.state).code]
    names += [letter + CODES[bar] for letter, bar in zip("slt", bars(cell.value), strict=True) if bar in CODES]
    classes = " ".join(filter(None, names))
    return tag("a", label, class_=classes, href=f"#{cell.anchor}", title=describe(cell.value))


def describe(value: Value) -> str:
    """Return the tooltip: `20240102: proven`, then the rows in the three places, then the note."""
    again = f", generation {value.generation}" if (value.generation or 0) > 1 else ""
    lines = [f"{isolate(value.value)}: {isolate(value.state or 'unknown')}{again}", _counts(value)]
    return "\n".join([*lines, isolate(value.note)] if value.note else lines)


def _counts(value: Value) -> str:
    source, lake, target = value.rows
    if source is not None and source == lake == target:
        return f"{number(source)} rows in all three"
    counts = zip(PLACES, value.rows, strict=True)
    return " · ".join(f"{place} {'not counted' if rows is None else number(rows)}" for place, rows in counts)


def legend(values: Sequence[Value]) -> Html | None:
    """Return the legend of the cells, with the states and bars that occur; None without values."""
    if not values:
        return None
    states_found = {value.state for value in values}
    bars_found = {bar for value in values for bar in bars(value)}
    places = _key("", "bars, from the top: source, lake, target; a stronger tint: more rows")
    styles = {state: style_of(state) for state in by_urgency(states_found)}
    states = [_key(style.code, state or "unknown", style.meaning) for state, style in styles.items()]
    lengths = [_key(f"t{CODES[bar]}", words) for bar, words in EXPLAINED.items() if bar in bars_found]
    return tag("ul", places, *states, *lengths, class_="legend")


def _key(code: str, word: str, meaning: str = "") -> Html:
    swatch = tag("span", class_=f"d h3 {code}".strip(), aria_hidden="true")
    return tag("li", swatch, tag("bdi", word), title=meaning or None)


def _volume(value: Value) -> int:
    return max((rows for rows in value.rows if rows is not None), default=0)


def _heat(rows: int, most: int) -> int:
    return 0 if most <= 0 or rows <= 0 else min(3, 4 * rows // most)
