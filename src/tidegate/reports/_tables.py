"""Draw one section per table: its name and status, the calendar of its values, and their receipts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from tidegate.reports._calendar import calendar
from tidegate.reports._cells import cells, legend
from tidegate.reports._markup import Html, join, prose, tag
from tidegate.reports._over_time import over_time
from tidegate.reports._pieces import definitions, empty, grid
from tidegate.reports._reading import PLACES, Batch, Counts, Facts, Table, Value
from tidegate.reports._states import badge, by_urgency, needs_attention, style_of
from tidegate.reports._words import NONE, moment, number, plural, short_hash

MANY_TABLES = 5  # with more tables, those without a problem are collapsed
MANY_VALUES = 12  # with more values, receipts are collapsed
COLUMNS = ("value", *PLACES, "receipt", "state", "gen.", "loaded at (UTC)")
BATCH_COLUMNS = ("batch", "from", "to", "versions", "state", "gen.", "loaded at (UTC)")
HASH_PLACES = (*PLACES, "ledger")


def tables(facts: Facts) -> Html:
    """Return the sections of all tables, below the legend of their calendars."""
    if not facts.tables:
        return empty("No tables yet. `tidegate init` proposes them from the source.")
    few = len(facts.tables) <= MANY_TABLES
    drawn = (_table(table, f"t{i}", few or has_problem(table)) for i, table in enumerate(facts.tables))
    return join([legend([value for table in facts.tables for value in table.values if not value.is_whole]), *drawn])


def has_problem(table: Table) -> bool:
    return style_of(table.status).tone == "bad" or any(style_of(value.state).tone == "bad" for value in table.values)


def _table(table: Table, anchor: str, is_open: bool) -> Html:
    return tag("details", summary(table), inside(table, anchor), class_="table", id=anchor, open=is_open)


def inside(table: Table, anchor: str) -> Html:
    """Return what a table's section holds below its summary. The ids of its rows begin with `anchor`."""
    anchors = [f"{anchor}v{i}" for i in range(len(table.values))]
    parts = _about(table), _notes(table.notes), over_time(table.over_time), *_values(table, anchors)
    return tag("div", *parts, class_="inside")


def summary(table: Table, *further: Html) -> Html:
    """Return the name, the status, the values with a problem by state, `further`, and the number of values and rows."""
    tally = Counter(value.state for value in table.values if style_of(value.state).tone != "good")
    tallies = [_tally(state, tally[state]) for state in by_urgency(tally)]
    values = sum(not value.is_whole for value in table.values)
    size = [plural(values, "value")] if values else []
    size += [f"{number(table.rows[2])} rows"] if table.rows[2] is not None else []
    name = tag("h3", tag("bdi", table.name))
    held = tag("span", " · ".join(size), class_="held")
    return tag("summary", name, badge(table.status), *tallies, *further, held)


def _tally(state: str, count: int) -> Html:
    sign = tag("i", style_of(state).sign, aria_hidden="true")
    return tag("span", sign, f" {count:,} ", tag("bdi", state or "unknown"), class_=style_of(state).tone)


def _about(table: Table) -> Html:
    pairs = [
        ("kind", table.kind),
        ("by", table.partition_column),
        ("scope", table.scope),
        ("loaded up to", table.watermark),
    ]
    return definitions([*pairs, *_rows(table.rows)])


def _rows(counts: Counts) -> list[tuple[str, str]]:
    """Return one line where source, lake and target agree, else a line for each."""
    if counts[0] is not None and len(set(counts)) == 1:
        return [("rows", f"{number(counts[0])} in source, lake and target")]
    words = ("not counted" if count is None else plural(count, "row") for count in counts)
    return list(zip(PLACES, words, strict=True))


def _notes(notes: Sequence[str]) -> Html | None:
    return tag("ul", *(tag("li", prose(note)) for note in notes), class_="notes") if notes else None


def _values(table: Table, anchors: Sequence[str]) -> list[Html]:
    if not table.values:
        return [empty("No values are listed for this table.")]
    drawn = None if all(value.is_whole for value in table.values) else calendar(cells(table, anchors))
    return [part for part in (drawn, _receipts(table, anchors), _batches(table)) if part is not None]


def _batches(table: Table) -> Html | None:
    if not table.batches:
        return None
    title = tag("summary", "Batches ", tag("small", "files of versions, with their first and last cursor value"))
    rows = map(_batch, table.batches)
    inside = [title, grid(f"Batches of {table.name}", BATCH_COLUMNS, rows)]
    return tag("details", *inside, class_="receipts", open=len(table.batches) <= MANY_VALUES)


def _batch(batch: Batch) -> Html:
    rows = "no file" if batch.rows is None else number(batch.rows)
    cells_of_row = (
        tag("bdi", batch.after or NONE),
        tag("bdi", batch.upto or NONE),
        rows,
        badge(batch.state),
        number(batch.generation or None),
        moment(batch.loaded_at) or NONE,
    )
    return tag("tr", tag("th", tag("bdi", batch.batch)), *(tag("td", cell) for cell in cells_of_row))


def _receipts(table: Table, anchors: Sequence[str]) -> Html:
    """Return the receipts of all values, collapsed when they are many."""
    rows = (_receipt(value, anchor) for value, anchor in zip(table.values, anchors, strict=True))
    values = sum(not value.is_whole for value in table.values)
    title = tag("summary", "Receipts ", tag("small", plural(values, "value") if values else "the whole table"))
    inside = [title, _only(table.values), grid(f"Receipts of {table.name}", COLUMNS, rows)]
    return tag("details", *inside, class_="receipts", open=len(table.values) <= MANY_VALUES)


def _only(values: Sequence[Value]) -> Html | None:
    """Return a checkbox that hides values without a problem; None when it would hide all or none. Needs no script."""
    attention = sum(map(needs_attention, values))
    if attention in (0, len(values)):
        return None
    return tag("label", tag("input", type="checkbox", class_="only"), f" only what needs attention ({attention:,})")


def _receipt(value: Value, anchor: str) -> Html:
    note = tag("small", prose(value.note)) if value.note else None
    state = join([badge(value.state), note], " ")
    cells_of_row = (
        *map(number, value.rows),
        _hashes(value),
        state,
        number(value.generation or None),
        moment(value.loaded_at) or NONE,
    )
    classes = f"todo {style_of(value.state).tone}" if needs_attention(value) else None
    return tag(
        "tr",
        tag("th", tag("bdi", value.value)),
        *(tag("td", cell) for cell in cells_of_row),
        id=anchor,
        class_=classes,
    )


def _hashes(value: Value) -> Html:
    """Return each hash once, with the places that have it. A value in sync has one hash in all four places."""
    places_by_hash: dict[str, list[str]] = defaultdict(list)
    for place, receipt in zip(HASH_PLACES, (*value.receipts, value.ledger), strict=True):
        if receipt:
            places_by_hash[receipt].append(place)
    return join((_hash(receipt, places) for receipt, places in places_by_hash.items()), " ") or Html(NONE)


def _hash(receipt: str, places: list[str]) -> Html:
    where = "all" if len(places) == len(HASH_PLACES) else ", ".join(places)
    return join([tag("code", short_hash(receipt), title=receipt), tag("small", where)], " ")
