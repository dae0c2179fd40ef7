"""One section per table: its name and standing, the calendar of its values, and their receipts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from tidegate.reports._calendar import calendar
from tidegate.reports._cells import cells, legend
from tidegate.reports._markup import Html, join, prose, tag
from tidegate.reports._pieces import about, empty, grid
from tidegate.reports._reading import PLACES, Batch, Counts, Facts, Table, Value
from tidegate.reports._states import badge, by_urgency, look, needs_attention
from tidegate.reports._words import NONE, moment, number, plural, short_hash

MANY_TABLES = 5  # beyond this, tables that are well stay folded
MANY_VALUES = 12  # beyond this, receipts stay folded
COLUMNS = ("value", *PLACES, "receipt", "state", "gen.", "loaded at (UTC)")
BATCH_COLUMNS = ("batch", "from", "to", "versions", "state", "gen.", "loaded at (UTC)")
WITNESSES = (*PLACES, "ledger")


def tables(facts: Facts) -> Html:
    if not facts.tables:
        return empty("No tables yet. `tidegate init` proposes them from the source.")
    calm = len(facts.tables) > MANY_TABLES
    drawn = (_table(table, f"t{i}", not calm or _troubled(table)) for i, table in enumerate(facts.tables))
    return join([legend([value for table in facts.tables for value in table.values if not value.is_whole]), *drawn])


def _troubled(table: Table) -> bool:
    return look(table.status).tone == "bad" or any(look(value.state).tone == "bad" for value in table.values)


def _table(table: Table, anchor: str, is_open: bool) -> Html:
    anchors = [f"{anchor}v{i}" for i in range(len(table.values))]
    inside = tag("div", _about(table), _notes(table.notes), *_values(table, anchors), class_="inside")
    return tag("details", _summary(table), inside, class_="table", id=anchor, open=is_open)


def _summary(table: Table) -> Html:
    """Name, standing, how many values are not well, and how much there is."""
    tally = Counter(value.state for value in table.values if look(value.state).tone != "good")
    told = [_tally(state, tally[state]) for state in by_urgency(tally)]
    values = sum(not value.is_whole for value in table.values)
    held = [plural(values, "value")] if values else []
    held += [f"{number(table.rows[2])} rows"] if table.rows[2] is not None else []
    name = tag("h3", tag("bdi", table.name))
    return tag("summary", name, badge(table.status), *told, tag("span", " · ".join(held), class_="held"))


def _tally(state: str, count: int) -> Html:
    sign = tag("i", look(state).sign, aria_hidden="true")
    return tag("span", sign, f" {count:,} ", tag("bdi", state or "unknown"), class_=look(state).tone)


def _about(table: Table) -> Html:
    said = [
        ("kind", table.kind),
        ("by", table.partition_column),
        ("scope", table.scope),
        ("loaded up to", table.reaches),
    ]
    return about([*said, *_rows(table.rows)])


def _rows(counts: Counts) -> list[tuple[str, str]]:
    """One line where the three places agree, else one for each."""
    if counts[0] is not None and len(set(counts)) == 1:
        return [("rows", f"{number(counts[0])} in source, lake and target")]
    told = ("not counted" if count is None else plural(count, "row") for count in counts)
    return list(zip(PLACES, told, strict=True))


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
    title = tag("summary", "Batches ", tag("small", "files of versions, with the marks that they hold"))
    rows = map(_batch, table.batches)
    inside = [title, grid(f"Batches of {table.name}", BATCH_COLUMNS, rows)]
    return tag("details", *inside, class_="receipts", open=len(table.batches) <= MANY_VALUES)


def _batch(batch: Batch) -> Html:
    rows = "no file" if batch.rows is None else number(batch.rows)
    told = (
        tag("bdi", batch.after or NONE),
        tag("bdi", batch.upto or NONE),
        rows,
        badge(batch.state),
        number(batch.generation or None),
        moment(batch.loaded_at) or NONE,
    )
    return tag("tr", tag("th", tag("bdi", batch.batch)), *(tag("td", cell) for cell in told))


def _receipts(table: Table, anchors: Sequence[str]) -> Html:
    """Folded when long."""
    rows = (_receipt(value, anchor) for value, anchor in zip(table.values, anchors, strict=True))
    values = sum(not value.is_whole for value in table.values)
    title = tag("summary", "Receipts ", tag("small", plural(values, "value") if values else "the whole table"))
    inside = [title, _only(table.values), grid(f"Receipts of {table.name}", COLUMNS, rows)]
    return tag("details", *inside, class_="receipts", open=len(table.values) <= MANY_VALUES)


def _only(values: Sequence[Value]) -> Html | None:
    """A box that hides what is well. It works without a script."""
    attention = sum(map(needs_attention, values))
    if attention in (0, len(values)):
        return None
    return tag("label", tag("input", type="checkbox", class_="only"), f" only what needs attention ({attention:,})")


def _receipt(value: Value, anchor: str) -> Html:
    note = tag("small", prose(value.note)) if value.note else None
    state = join([badge(value.state), note], " ")
    told = (
        *map(number, value.rows),
        _hashes(value),
        state,
        number(value.generation or None),
        moment(value.loaded_at) or NONE,
    )
    marked = f"todo {look(value.state).tone}" if needs_attention(value) else None
    return tag(
        "tr",
        tag("th", tag("bdi", value.value)),
        *(tag("td", cell) for cell in told),
        id=anchor,
        class_=marked,
    )


def _hashes(value: Value) -> Html:
    """Each hash once, with who holds it: one hash and four witnesses is the sight of a value in step."""
    holders: dict[str, list[str]] = defaultdict(list)
    for witness, receipt in zip(WITNESSES, (*value.receipts, value.ledger), strict=True):
        if receipt:
            holders[receipt].append(witness)
    return join((_hash(receipt, held) for receipt, held in holders.items()), " ") or Html(NONE)


def _hash(receipt: str, witnesses: list[str]) -> Html:
    who = "all" if len(witnesses) == len(WITNESSES) else ", ".join(witnesses)
    return join([tag("code", short_hash(receipt), title=receipt), tag("small", who)], " ")
