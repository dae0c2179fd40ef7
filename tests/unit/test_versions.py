"""Timelines: random histories, cut into batches anyhow and loaded in any order, always end in the table that the
definition asks for (`kit/dimension.py`)."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.dimension import Version, disagreements, made_of
from tidegate.rows.differences import picked
from tidegate.rows.histories import findings, history, several_current
from tidegate.rows.pairs import _paired_by_rank, new_and_changed
from tidegate.rows.settled import differs, settle, settled_again
from tidegate.rows.timelines import Rules, decide
from tidegate.rows.versions import Form, Versions, keys_in, versions_of

SCHEMA = pa.schema(
    [("k1", pa.string()), ("k2", pa.int32()), ("mark", pa.timestamp("us")), ("name", pa.string()), ("flag", pa.bool_())]
)
FORM = Form(("k1", "k2"), "mark", ("k1", "k2", "mark"), "flag", ("flag",), "1", "0")


@dataclass(frozen=True)
class Row:
    key: tuple[str, int]
    mark: int
    name: str | None
    flag: bool


def table_of(rows: list[Row]) -> pa.Table:
    columns = [
        [row.key[0] for row in rows],
        [row.key[1] for row in rows],
        [row.mark * 1_000_000 for row in rows],
        [row.name for row in rows],
        [row.flag for row in rows],
    ]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def rows_of(table: pa.Table) -> list[Row]:
    marks = table["mark"].cast(pa.int64()).to_pylist()
    found = zip(table.to_pylist(), marks, strict=True)
    return [Row((one["k1"], one["k2"]), mark // 1_000_000, one["name"], one["flag"]) for one, mark in found]


class Target:
    """A table that does what a load does, in memory."""

    def __init__(self, form: Form = FORM, *, recompute: bool = False) -> None:
        self.form, self.recompute, self.rows = form, recompute, table_of([])

    def load(self, batch: list[Row], *, wins: bool = True) -> None:
        given_rows = table_of(batch)
        new = self._versions(given_rows)
        touched = {self._entity(row) for row in batch}
        mine = [self._entity(row) in touched for row in rows_of(self.rows)]
        timeline = self.rows.filter(pa.array(mine, pa.bool_()))
        old = self._versions(timeline)
        decision = decide(new, old, Rules(wins=wins, recompute=self.recompute))
        again = {tuple(row) for row in self._groups(old, decision.rewritten)} | {
            tuple(row) for row in self._groups(old, decision.gone)
        }
        kept, rewritten = [], []
        for place, row in enumerate(rows_of(timeline)):
            if self._group(row) in again:
                rewritten.append(row)
            else:
                kept.append(replace(row, flag=row.flag and place not in decision.closed))
        said = list(settle(iter(given_rows.to_batches()), decision.flags, decision.ends, self.form))
        changed = rows_of(pa.Table.from_batches(list(picked(said, decision.changed, SCHEMA.names)), SCHEMA))
        for row in changed:
            kept = [row if self._group(one) == self._group(row) else one for one in kept]
        fresh = picked(said, decision.fresh, SCHEMA.names)
        back = settled_again(iter(table_of(rewritten).to_batches()), decision.staying, self.form)
        others = [row for row, own in zip(rows_of(self.rows), mine, strict=True) if not own]
        written = pa.Table.from_batches([*fresh, *back], SCHEMA)
        # Opened by their group, at last.
        opened = {tuple(row) for row in self._groups(old, decision.opened)}
        rows = [replace(row, flag=row.flag or self._group(row) in opened) for row in (*kept, *rows_of(written))]
        found = table_of(rows)
        assert differs(decision.expected, self._versions(found)) == ""
        self.rows = pa.concat_tables([table_of(others), found])

    def _versions(self, table: pa.Table) -> Versions:
        return versions_of(iter(table.to_batches(max_chunksize=3)), SCHEMA, self.form)

    def _entity(self, row: Row) -> tuple[object, ...]:
        return row.key[: len(self.form.keys)]

    def _group(self, row: Row) -> tuple[object, ...]:
        return (*row.key, row.mark) if "mark" in self.form.group else row.key

    def _groups(self, side: Versions, places: object) -> list[tuple[object, ...]]:
        chosen = rows_of(
            pa.table(
                {
                    **{name: side.named[name] for name in ("k1", "k2", "mark")},
                    "name": pa.nulls(side.rows, pa.string()),
                    "flag": pa.nulls(side.rows, pa.bool_()),
                }
            )
        )
        return [self._group(chosen[place]) for place in places]  # type: ignore[attr-defined]

    def held(self) -> set[Row]:
        rows = rows_of(self.rows)
        assert len(rows) == len(set(rows)), "a version is there twice"
        return set(rows)


def assert_as_defined(target: Target, rows: list[Row]) -> None:
    held = rows_of(target.rows)
    source, found = ([Version(row.key, row.mark, (row.name,), holds=row.flag) for row in side] for side in (rows, held))
    assert disagreements(source, found, recompute=target.recompute) == []


keys = st.tuples(st.sampled_from(["a", "A", "a ", ""]), st.integers(0, 1))
versions = st.builds(Row, keys, st.integers(0, 4), st.sampled_from([None, "", "x", "y"]), st.booleans())


def one_flag_each(rows: list[Row]) -> list[Row]:
    """A source says of a version one thing only."""
    said: dict[tuple[object, ...], bool] = {}
    return [replace(row, flag=said.setdefault((row.key, row.mark, row.name), row.flag)) for row in rows]


def cut(rows: list[Row], seed: int) -> list[list[Row]]:
    """Into batches that hold all versions of a key and mark, as a window does; some of them more than once."""
    dice = random.Random(seed)
    groups = sorted({(row.key, row.mark) for row in rows}, key=repr)
    batches: list[list[Row]] = [[] for _ in range(dice.randint(1, 4))]
    for group in groups:
        for batch in dice.sample(batches, dice.randint(1, len(batches))):
            batch += [row for row in rows if (row.key, row.mark) == group]
    dice.shuffle(batches)
    return [*batches, *dice.sample(batches, dice.randint(0, len(batches)))]


@pytest.mark.parametrize("recompute", [False, True], ids=["flags of the source", "flags recomputed"])
@given(rows=st.lists(versions, max_size=25).map(one_flag_each), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_any_cut_in_any_order_ends_in_the_same_table(recompute, rows, seed):
    target = Target(recompute=recompute)
    for batch in cut(rows, seed):
        target.load(batch)
    assert_as_defined(target, rows)


def row(mark: int, name: str = "x", *, flag: bool = True, key: tuple[str, int] = ("a", 1)) -> Row:
    return Row(key, mark, name, flag)


def held_after(*batches: list[Row], recompute: bool = False, form: Form = FORM) -> set[Row]:
    target = Target(form, recompute=recompute)
    for batch in batches:
        target.load(batch)
    return target.held()


@given(here=st.lists(versions, max_size=12), there=st.lists(versions, max_size=12))
@settings(deadline=None)
def test_groups_of_one_row_are_paired_as_groups_of_many_are(here: list[Row], there: list[Row]):
    sides = [list({(row.key, row.mark): row for row in side}.values()) for side in (here, there)]
    batch, timeline = (versions_of(table_of(side).to_batches(), SCHEMA, FORM) for side in sides)
    new, others = np.arange(batch.rows), np.arange(timeline.rows)

    found = new_and_changed(batch, timeline, new, others[:0])

    assert [places.tolist() for places in found] == [
        places.tolist() for places in _paired_by_rank(batch, timeline, new, others)
    ]


def test_a_newer_version_supersedes_and_a_late_one_does_not():
    assert held_after([row(1)], [row(2)]) == {row(1, flag=False), row(2)}
    assert held_after([row(2)], [row(1)]) == {row(1, flag=False), row(2)}


def test_an_entity_that_the_source_closed_stays_closed():
    assert held_after([row(1)], [row(2, flag=False)]) == {row(1, flag=False), row(2, flag=False)}
    assert held_after([row(1)], [row(1, flag=False)]) == {row(1, flag=False)}
    closed = {row(1, flag=False), row(2)}
    assert held_after([row(1)], [row(2, flag=False)], recompute=True) == closed


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([row(1), row(2, flag=False)], []),
        ([row(1), row(1), row(1, flag=False)], []),
        ([row(1), row(2)], [("a", 1)]),
        ([row(1, "x"), row(1, "y")], [("a", 1)]),
        ([row(1), row(2, key=("b", 1)), row(3, key=("b", 1)), row(4, key=("a", 2))], [("b", 1)]),
    ],
)
def test_keys_with_several_current_rows_are_found(rows: list[Row], keys: list[tuple[str, int]]):
    """Equal rows are one; rows of one mark that differ are several."""
    batch = versions_of(table_of(rows).to_batches(), SCHEMA, FORM)
    assert [rows[place].key for place in several_current(batch)] == keys


def test_back_to_what_it_was_is_a_version_of_its_own():
    history = [row(1, "A"), row(2, "B"), row(3, "A")]
    assert held_after(history, history) == {row(1, "A", flag=False), row(2, "B", flag=False), row(3, "A")}


def test_versions_of_one_mark_are_told_apart_by_their_content():
    assert held_after([row(1, "A", flag=False), row(1, "B")]) == {row(1, "A", flag=False), row(1, "B")}
    tied = held_after([row(1, "A"), row(1, "B")], [row(2, "C")])
    assert tied == {row(1, "A", flag=False), row(1, "B", flag=False), row(2, "C")}
    assert sum(one.flag for one in held_after([row(1, "A"), row(1, "B")])) == 1


def test_what_was_changed_in_place_is_updated_by_what_was_read_later():
    assert held_after([row(1, "A")], [row(1, "B")]) == {row(1, "B")}
    target = Target()
    target.load([row(1, "B")])
    target.load([row(1, "A")], wins=False)
    assert target.held() == {row(1, "B")}


def test_a_tie_that_changes_in_place_is_written_anew():
    target = Target()
    target.load([row(1, "A"), row(1, "B", flag=False)])
    target.load([row(1, "A", flag=False), row(1, "C")])
    assert target.held() == {row(1, "A", flag=False), row(1, "C")}


def test_a_version_with_a_key_of_its_own_may_move_its_mark():
    form = replace(FORM, group=("k1", "k2"), keys=("k1",))
    target = Target(form)
    target.load([row(1, "A", key=("e", 1)), row(2, "B", key=("e", 2))])
    target.load([row(3, "A2", key=("e", 1))])
    assert target.held() == {row(3, "A2", key=("e", 1)), row(2, "B", flag=False, key=("e", 2))}


# Versions with an end, a tombstone, and something outside of their content

ENDED = pa.schema(
    [
        ("version", pa.int32()),
        ("mark", pa.int64()),
        ("name", pa.string()),
        ("gone", pa.int32()),
        ("flag", pa.string()),
        ("end", pa.int64()),
        ("grade", pa.int32()),
        ("key", pa.string()),
    ]
)
ENDED_FORM = Form(
    keys=("key",),
    mark="mark",
    group=("key", "mark"),
    flag="flag",
    outside=("flag", "end", "grade"),
    latest="Y",
    superseded="N",
    end="end",
    tombstone="gone",
)


def ended(mark: int, name: str = "x", **cells: Any) -> dict[str, Any]:
    usual = {"version": 0, "gone": 0, "flag": "Y", "end": None, "grade": 0, "key": "k"}
    return {**usual, "mark": mark, "name": name, **cells}


def after(
    timeline: list[dict[str, Any]], *batches: list[dict[str, Any]], form: Form = ENDED_FORM, **rules: bool
) -> list[tuple[int, str, str, int | None]]:
    """Mark, name, flag and end of what is held when these batches were loaded."""
    table = pa.Table.from_pylist(timeline, ENDED)
    for batch in batches:
        new, table = pa.Table.from_pylist(batch, ENDED), table.combine_chunks()
        sides = [versions_of(iter(one.to_batches()), ENDED, form) for one in (new, table)]
        decision = decide(*sides, Rules(**rules))
        # As if all of it were written anew: what stays, and what comes.
        said = settle(iter(new.to_batches()), decision.flags, decision.ends, form)
        coming = picked(said, decision.fresh | decision.changed, ENDED.names)
        back = settled_again(iter(table.to_batches()), decision.staying, form)
        table = pa.Table.from_batches([*coming, *back], ENDED)
        assert differs(decision.expected, versions_of(iter(table.to_batches()), ENDED, form)) == ""
    rows = [(row["mark"], row["name"], row["flag"], row["end"]) for row in table.to_pylist()]
    assert list(history(versions_of(iter(table.to_batches()), ENDED, form))) == []
    return sorted(rows, key=repr)


def test_what_is_outside_of_versions_with_one_mark_changes_in_place():
    tied = [ended(1, "A", flag="N"), ended(1, "B")]
    assert len(after(tied, [ended(1, "A", flag="N", grade=7), ended(1, "B")])) == 2


def test_an_end_that_the_source_says_in_place_is_taken_over_and_back():
    assert after([ended(1)], [ended(1, flag="N", end=5)]) == [(1, "x", "N", 5)]
    assert after([ended(1, flag="N", end=5)], [ended(1)]) == [(1, "x", "Y", None)]
    assert after([ended(1, flag="N", end=5)], [ended(1)], wins=False) == [(1, "x", "N", 5)]


def test_an_end_that_was_found_here_moves_with_the_version_that_it_was_found_by():
    form = replace(ENDED_FORM, group=("version",))
    timeline = [
        ended(1, flag="N", end=2, version=1),
        ended(2, flag="N", end=3, version=2),
        ended(3, version=3),
    ]
    held = after(timeline, [ended(4, version=2)], form=form)
    assert held == [(1, "x", "N", 3), (3, "x", "N", 4), (4, "x", "Y", None)]


@pytest.mark.parametrize("said", ["YN", "NY", "NN"])
def test_of_versions_with_one_mark_one_lasts_until_the_next(said):
    tied = [ended(1, name, flag=flag) for name, flag in zip("AB", said, strict=True)]
    held = after([], tied, [ended(2)], [ended(3)])
    assert [row[3] for row in held[:2]] in ([1, 2], [2, 1])
    assert held[2:] == [(2, "x", "N", 3), (3, "x", "Y", None)]


def test_a_tombstone_never_holds():
    assert after([ended(1)], [ended(2, gone=1)]) == [(1, "x", "N", 2), (2, "x", "N", None)]
    assert after([ended(1)], [ended(2, gone=1)], recompute=True) == [(1, "x", "N", 2), (2, "x", "N", None)]


def test_a_tombstone_that_somebody_let_hold_is_closed():
    assert after([ended(1, gone=1)], [ended(1, gone=1)]) == [(1, "x", "N", None)]


def test_what_holds_again_is_told_apart_from_what_comes_with_its_mark():
    closed = held_after([row(1, "A", flag=False)], [row(1, "A"), row(1, "B", flag=False)])
    assert closed == {row(1, "A"), row(1, "B", flag=False)}


def test_of_repeated_rows_that_differ_in_their_flag_one_that_holds_is_verified():
    rows = [ended(1), ended(1, flag="N")]
    source, held, none = (
        versions_of(iter(pa.Table.from_pylist(some, ENDED).to_batches()), ENDED, ENDED_FORM)
        for some in (rows, rows[:1], [])
    )
    assert list(findings(source, none, held, recompute=False)) == []


def test_what_ended_does_not_hold_where_flags_are_recomputed():
    held = after([], [ended(1, "A", end=5), ended(1, "B", flag="N")], recompute=True)
    assert held == [(1, "A", "N", 1), (1, "B", "Y", None)]


# Versions that are made here

MADE = pa.schema(
    [("k1", pa.string()), ("k2", pa.int32()), ("name", pa.string()), ("start", pa.int64()), ("end", pa.int64())]
)
MADE = MADE.append(pa.field("flag", pa.bool_()))
MADE_FORM = Form(
    keys=("k1", "k2"),
    mark="start",
    group=("k1", "k2", "start"),
    flag="flag",
    outside=("flag", "end"),
    latest="1",
    superseded="0",
    end="end",
    times=("start",),
)
MAKING = Rules(recompute=True, collapses=True)
State = tuple[tuple[str, int], int, str | None]
Source = dict[tuple[str, int], str | None]


class MadeTarget:
    """A table of made versions, in memory."""

    def __init__(self) -> None:
        self.rows = MADE.empty_table()

    def load(self, states: list[State], rules: Rules = MAKING) -> None:
        columns = [
            [key[0] for key, _, _ in states],
            [key[1] for key, _, _ in states],
            [name for _, _, name in states],
            [start for _, start, _ in states],
            [None] * len(states),
            [True] * len(states),
        ]
        batch = pa.table([pa.array(one, field.type) for one, field in zip(columns, MADE, strict=True)], schema=MADE)
        decision = decide(self._versions(batch), self._versions(self.rows), rules)
        gone = set(decision.gone.tolist())
        kept = self.rows.filter(pa.array([place not in gone for place in range(self.rows.num_rows)], pa.bool_()))
        places = [place for place in range(self.rows.num_rows) if place not in gone]
        ends = decision.timeline_ends
        settled = [None if ends is None else ends[place].as_py() for place in places]
        old = [
            {**row, "flag": place in decision.opened or (row["flag"] and place not in decision.closed), "end": end}
            for row, place, end in zip(kept.to_pylist(), places, settled, strict=True)
        ]
        said = list(settle(iter(batch.to_batches()), decision.flags, decision.ends, MADE_FORM))
        changed = pa.Table.from_batches(list(picked(said, decision.changed, MADE.names)), MADE).to_pylist()
        for row in changed:
            name = (row["k1"], row["k2"], row["start"])
            old = [row if (one["k1"], one["k2"], one["start"]) == name else one for one in old]
        fresh = pa.Table.from_batches(list(picked(said, decision.fresh, MADE.names)), MADE).to_pylist()
        self.rows = pa.Table.from_pylist([*old, *fresh], MADE)
        assert differs(decision.expected, self._versions(self.rows)) == ""

    def see(self, at: int, source: Source, *, is_newest: bool) -> None:
        """All that the source had at this time."""
        states = [(key, at, name) for key, name in source.items()]
        names = pa.table([[key[0] for key in source], [key[1] for key in source]], pa.schema([MADE[0], MADE[1]]))
        there = keys_in(names.to_batches(), ["k1", "k2"])
        self.load(states, replace(MAKING, wins=is_newest, there=there, left_by=pa.scalar(at)))

    def _versions(self, table: pa.Table) -> Versions:
        return versions_of(iter(table.to_batches(max_chunksize=2)), MADE, MADE_FORM)

    def held(self) -> set[tuple[Any, ...]]:
        return {tuple(row.values()) for row in self.rows.to_pylist()}


def made_reference(states: list[State]) -> set[tuple[Any, ...]]:
    observed: dict[Any, dict[Any, object]] = {}
    for key, start, name in states:
        observed.setdefault(key, {})[start] = name
    return {(*key, name, start, end, holds) for key, start, name, end, holds in made_of(observed)}


states = st.lists(
    st.tuples(keys, st.integers(0, 6), st.sampled_from([None, "", "x"])), max_size=25, unique_by=lambda one: one[:2]
)


@given(states=states, seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_made_versions_tell_what_was_so_however_it_was_cut(states, seed):
    """In the order of time, as a mark reads them, in batches of any size that repeat what was read before."""
    dice = random.Random(seed)
    target, ordered, done = MadeTarget(), sorted(states, key=lambda one: one[1]), 0
    while done < len(ordered):
        upto = dice.randint(done + 1, len(ordered))
        target.load(ordered[dice.randint(0, done) : upto])
        done = upto
    target.load(ordered)
    assert target.held() == made_reference(states)


@given(states=states, seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_made_versions_are_a_history_in_any_order(states, seed):
    """What says nothing new leaves no trace, so what comes late may find less than there was; a history it stays."""
    dice, target = random.Random(seed), MadeTarget()
    dice.shuffle(states)
    for begin in range(0, len(states), 3):
        target.load(states[begin : begin + 3])
    held = target.held()
    for key in {key for key, _, _ in states}:
        own = sorted((row for row in held if row[:2] == key), key=lambda row: row[3])
        assert [row[4] for row in own] == [*(row[3] for row in own[1:]), None]
        assert [row[5] for row in own] == [*(False for _ in own[1:]), True]
        assert all(one[2] != two[2] for one, two in itertools.pairwise(own))
    target.load(sorted(states, key=lambda one: one[1]))
    assert target.held() == made_reference(states)


def seen_reference(sources: list[Source]) -> set[tuple[Any, ...]]:
    """Of a source that was seen whole, time and again: a version lasts while each look shows the same."""
    found = set()
    for key in {key for source in sources for key in source}:
        begun: tuple[int, str | None] | None = None
        for at, source in enumerate(sources):
            is_there = key in source
            if begun is not None and (not is_there or source[key] != begun[1]):
                found.add((*key, begun[1], begun[0], at, False))
                begun = None
            if is_there and begun is None:
                begun = (at, source[key])
        if begun is not None:
            found.add((*key, begun[1], begun[0], None, True))
    return found


@given(
    sources=st.lists(st.dictionaries(keys, st.sampled_from([None, "", "x"]), max_size=4), max_size=7),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25, deadline=None)
def test_a_source_seen_whole_ends_in_the_same_table_in_whatever_order_looks_arrive(sources, seed):
    """Looks that arrive late are followed by all that were made after them, as planning has it."""
    dice, target, loaded = random.Random(seed), MadeTarget(), list[int]()
    for late in dice.sample(range(len(sources)), len(sources)):
        for at in [late, *sorted(one for one in loaded if one > late)]:
            target.see(at, sources[at], is_newest=at >= max(loaded, default=0))
        loaded.append(late)
    assert target.held() == seen_reference(sources)
