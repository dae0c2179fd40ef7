"""One partition value as a cell: three bars for its places, a sign for its state, words when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.reports._agreement import Mark, marks
from tidegate.reports._markup import Html, isolate, tag
from tidegate.reports._reading import PLACES, Table, Value
from tidegate.reports._states import by_urgency, look
from tidegate.reports._words import number

# What a place adds to the classes of its cell: t2 is "the target holds something else". "Same" adds nothing.
BARS = {Mark.OTHER: "2", Mark.NOTHING: "0", Mark.UNCOUNTED: "9"}
EXPLAINED = {
    Mark.OTHER: "short bar: not what the source holds",
    Mark.NOTHING: "thin line: no rows",
    Mark.UNCOUNTED: "dots: not counted",
}


@dataclass(frozen=True)
class Cell:
    """A value, the id of its row among the receipts, and its heat: 0, few rows, to 3, nearly the most."""

    value: Value
    anchor: str
    heat: int


def cells(table: Table, anchors: Sequence[str]) -> list[Cell]:
    most = max(map(_volume, table.values), default=0)
    return [Cell(v, a, _heat(_volume(v), most)) for v, a in zip(table.values, anchors, strict=True)]


def draw(cell: Cell, label: str, column: str = "") -> Html:
    """A link to the receipt of the value. It is small: a page may hold thousands of them."""
    seen = zip("slt", marks(cell.value), strict=True)
    names = ["d", f"h{cell.heat}", column, look(cell.value.state).code]
    names += [letter + BARS[mark] for letter, mark in seen if mark in BARS]
    classes = " ".join(filter(None, names))
    return tag("a", label, class_=classes, href=f"#{cell.anchor}", title=describe(cell.value))


def describe(value: Value) -> str:
    """`20240102: proven`, then the rows in the three places, then the note."""
    again = f", generation {value.generation}" if (value.generation or 0) > 1 else ""
    lines = [f"{isolate(value.value)}: {isolate(value.state or 'unknown')}{again}", _held(value)]
    return "\n".join([*lines, isolate(value.note)] if value.note else lines)


def _held(value: Value) -> str:
    source, lake, target = value.rows
    if source is not None and source == lake == target:
        return f"{number(source)} rows in all three"
    counts = zip(PLACES, value.rows, strict=True)
    return " · ".join(f"{place} {'not counted' if rows is None else number(rows)}" for place, rows in counts)


def legend(values: Sequence[Value]) -> Html | None:
    """How to read the cells, with the states and the bars that occur, and no others."""
    if not values:
        return None
    found = {value.state for value in values}
    seen = {mark for value in values for mark in marks(value)}
    places = _key("", "bars, from the top: source, lake, target; a stronger tint: more rows")
    states = [_key(look(state).code, state or "unknown", look(state).meaning) for state in by_urgency(found)]
    bars = [_key(f"t{BARS[mark]}", words) for mark, words in EXPLAINED.items() if mark in seen]
    return tag("ul", places, *states, *bars, class_="legend")


def _key(code: str, word: str, meaning: str = "") -> Html:
    swatch = tag("span", class_=f"d h3 {code}".strip(), aria_hidden="true")
    return tag("li", swatch, tag("bdi", word), title=meaning or None)


def _volume(value: Value) -> int:
    return max((rows for rows in value.rows if rows is not None), default=0)


def _heat(rows: int, most: int) -> int:
    return 0 if most <= 0 or rows <= 0 else min(3, 4 * rows // most)
