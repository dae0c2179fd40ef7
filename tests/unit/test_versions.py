"""Merge versions into timelines. Random histories, in batches of any size and any order, always end in the same table:
the one that the definition of SCD type 2 asks for (`kit/dimension.py`)."""

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
from tidegate.hashing.differences import select_rows
from tidegate.history.columns import Scd2Columns
from tidegate.history.findings import check_flags, check_history, several_current
from tidegate.history.keys import hash_keys
from tidegate.history.matching import _pair_by_rank, match_changed_rows
from tidegate.history.resolved import describe_mismatch, resolve_existing_rows, resolve_rows
from tidegate.history.rules import MergeRules
from tidegate.history.timelines import merge_versions
from tidegate.history.versions import Versions, hash_versions
from tidegate.history.writes import TimelineWrites

SCHEMA = pa.schema(
    [
        ("k1", pa.string()),
        ("k2", pa.int32()),
        ("cursor", pa.timestamp("us")),
        ("name", pa.string()),
        ("flag", pa.bool_()),
    ]
)
COLUMNS = Scd2Columns(("k1", "k2"), "cursor", ("k1", "k2", "cursor"), "flag", ("flag",), "1", "0")


@dataclass(frozen=True)
class Row:
    key: tuple[str, int]
    cursor: int
    name: str | None
    flag: bool


def table_of(rows: list[Row]) -> pa.Table:
    columns = [
        [row.key[0] for row in rows],
        [row.key[1] for row in rows],
        [row.cursor * 1_000_000 for row in rows],
        [row.name for row in rows],
        [row.flag for row in rows],
    ]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def rows_of(table: pa.Table) -> list[Row]:
    cursors = table["cursor"].cast(pa.int64()).to_pylist()
    rows = zip(table.to_pylist(), cursors, strict=True)
    return [Row((row["k1"], row["k2"]), cursor // 1_000_000, row["name"], row["flag"]) for row, cursor in rows]


class Target:
    """A table in memory, to which the writes of a merge are applied as the scd2 load does it."""

    def __init__(self, columns: Scd2Columns = COLUMNS, *, recompute_flags: bool = False) -> None:
        self.columns, self.recompute_flags, self.table = columns, recompute_flags, table_of([])

    def load(self, rows: list[Row], *, batch_is_newer: bool = True) -> None:
        batch = table_of(rows)
        loaded_entities = {self._entity(row) for row in rows}
        is_loaded = [self._entity(row) in loaded_entities for row in rows_of(self.table)]
        old_rows = self.table.filter(pa.array(is_loaded, pa.bool_()))
        timeline = self._versions(old_rows)
        rules = MergeRules(batch_is_newer=batch_is_newer, recompute_flags=self.recompute_flags)
        writes = merge_versions(self._versions(batch), timeline, rules)
        deleted_keys = {
            *self._version_keys(timeline, writes.rewritten),
            *self._version_keys(timeline, writes.removed),
        }
        kept, deleted = [], []
        for position, row in enumerate(rows_of(old_rows)):
            if self._version_key(row) in deleted_keys:
                deleted.append(row)
            else:
                kept.append(replace(row, flag=row.flag and position not in writes.closed))
        resolved = list(resolve_rows(iter(batch.to_batches()), writes.is_current, writes.ends, self.columns))
        changed = rows_of(pa.Table.from_batches(list(select_rows(resolved, writes.changed, SCHEMA.names)), SCHEMA))
        for new in changed:
            kept = [new if self._version_key(old) == self._version_key(new) else old for old in kept]
        inserted = select_rows(resolved, writes.inserted, SCHEMA.names)
        rewritten = resolve_existing_rows(iter(table_of(deleted).to_batches()), writes.expected_existing, self.columns)
        others = [row for row, loaded in zip(rows_of(self.table), is_loaded, strict=True) if not loaded]
        written = pa.Table.from_batches([*inserted, *rewritten], SCHEMA)
        # Rows are reopened by their version key, after all other writes.
        reopened = set(self._version_keys(timeline, writes.reopened))
        found = table_of(
            [replace(row, flag=row.flag or self._version_key(row) in reopened) for row in (*kept, *rows_of(written))]
        )
        assert describe_mismatch(writes.expected, self._versions(found)) == ""
        self.table = pa.concat_tables([table_of(others), found])

    def rows(self) -> set[Row]:
        rows = rows_of(self.table)
        assert len(rows) == len(set(rows)), "a version is there twice"
        return set(rows)

    def _versions(self, table: pa.Table) -> Versions:
        return hash_versions(iter(table.to_batches(max_chunksize=3)), SCHEMA, self.columns)

    def _entity(self, row: Row) -> tuple[object, ...]:
        return row.key[: len(self.columns.keys)]

    def _version_key(self, row: Row) -> tuple[object, ...]:
        return (*row.key, row.cursor) if "cursor" in self.columns.version_key else row.key

    def _version_keys(self, versions: Versions, positions: object) -> list[tuple[object, ...]]:
        rows = rows_of(
            pa.table(
                {
                    **{name: versions.key_values[name] for name in ("k1", "k2", "cursor")},
                    "name": pa.nulls(versions.rows, pa.string()),
                    "flag": pa.nulls(versions.rows, pa.bool_()),
                }
            )
        )
        return [self._version_key(rows[position]) for position in positions]  # type: ignore[attr-defined]


def assert_as_defined(target: Target, rows: list[Row]) -> None:
    source, found = (
        [Version(row.key, row.cursor, (row.name,), holds=row.flag) for row in side]
        for side in (rows, rows_of(target.table))
    )
    assert disagreements(source, found, recompute=target.recompute_flags) == []


keys = st.tuples(st.sampled_from(["a", "A", "a ", ""]), st.integers(0, 1))
versions = st.builds(Row, keys, st.integers(0, 4), st.sampled_from([None, "", "x", "y"]), st.booleans())


def one_flag_each(rows: list[Row]) -> list[Row]:
    """Give equal versions equal flags: a source has one flag per version."""
    flags: dict[tuple[object, ...], bool] = {}
    return [replace(row, flag=flags.setdefault((row.key, row.cursor, row.name), row.flag)) for row in rows]


def split_into_batches(rows: list[Row], seed: int) -> list[list[Row]]:
    """Split into batches. All versions of a key and cursor are in one batch, as in a window, or in several batches."""
    chance = random.Random(seed)
    version_keys = sorted({(row.key, row.cursor) for row in rows}, key=repr)
    batches: list[list[Row]] = [[] for _ in range(chance.randint(1, 4))]
    for version_key in version_keys:
        for batch in chance.sample(batches, chance.randint(1, len(batches))):
            batch += [row for row in rows if (row.key, row.cursor) == version_key]
    chance.shuffle(batches)
    return [*batches, *chance.sample(batches, chance.randint(0, len(batches)))]


@pytest.mark.parametrize("recompute_flags", [False, True], ids=["flags of the source", "flags recomputed"])
@given(rows=st.lists(versions, max_size=25).map(one_flag_each), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_any_batches_in_any_order_end_in_the_same_table(recompute_flags, rows, seed):
    target = Target(recompute_flags=recompute_flags)
    for batch in split_into_batches(rows, seed):
        target.load(batch)
    assert_as_defined(target, rows)


def row(cursor: int, name: str = "x", *, flag: bool = True, key: tuple[str, int] = ("a", 1)) -> Row:
    return Row(key, cursor, name, flag)


def rows_after(*batches: list[Row], recompute_flags: bool = False) -> set[Row]:
    """Return the rows of a target into which these batches were loaded."""
    target = Target(recompute_flags=recompute_flags)
    for batch in batches:
        target.load(batch)
    return target.rows()


@given(batch_rows=st.lists(versions, max_size=12), timeline_rows=st.lists(versions, max_size=12))
@settings(deadline=None)
def test_both_ways_to_pair_changed_rows_agree(batch_rows: list[Row], timeline_rows: list[Row]):
    """The fast one, for version keys with one row in each side, and the general one."""
    sides = [list({(row.key, row.cursor): row for row in side}.values()) for side in (batch_rows, timeline_rows)]
    batch, timeline = (hash_versions(table_of(side).to_batches(), SCHEMA, COLUMNS) for side in sides)
    unmatched, others = np.arange(batch.rows), np.arange(timeline.rows)

    found = match_changed_rows(batch, timeline, unmatched, others[:0])

    assert [positions.tolist() for positions in found] == [
        positions.tolist() for positions in _pair_by_rank(batch, timeline, unmatched, others)
    ]


def test_newer_version_supersedes_and_late_one_does_not():
    assert rows_after([row(1)], [row(2)]) == {row(1, flag=False), row(2)}
    assert rows_after([row(2)], [row(1)]) == {row(1, flag=False), row(2)}


def test_key_closed_in_the_source_stays_closed():
    assert rows_after([row(1)], [row(2, flag=False)]) == {row(1, flag=False), row(2, flag=False)}
    assert rows_after([row(1)], [row(1, flag=False)]) == {row(1, flag=False)}
    closed = {row(1, flag=False), row(2)}
    assert rows_after([row(1)], [row(2, flag=False)], recompute_flags=True) == closed


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
    """Equal rows count once; different rows with one cursor count each."""
    batch = hash_versions(table_of(rows).to_batches(), SCHEMA, COLUMNS)
    assert [rows[position].key for position in several_current(batch)] == keys


def test_return_to_an_earlier_state_is_a_new_version():
    history = [row(1, "A"), row(2, "B"), row(3, "A")]
    assert rows_after(history, history) == {row(1, "A", flag=False), row(2, "B", flag=False), row(3, "A")}


def test_versions_with_one_cursor_differ_by_content():
    assert rows_after([row(1, "A", flag=False), row(1, "B")]) == {row(1, "A", flag=False), row(1, "B")}
    tied = rows_after([row(1, "A"), row(1, "B")], [row(2, "C")])
    assert tied == {row(1, "A", flag=False), row(1, "B", flag=False), row(2, "C")}
    assert sum(version.flag for version in rows_after([row(1, "A"), row(1, "B")])) == 1


def test_row_changed_in_place_is_updated_by_newer_batch_only():
    assert rows_after([row(1, "A")], [row(1, "B")]) == {row(1, "B")}
    target = Target()
    target.load([row(1, "B")])
    target.load([row(1, "A")], batch_is_newer=False)
    assert target.rows() == {row(1, "B")}


def test_rows_with_one_version_key_are_rewritten():
    target = Target()
    target.load([row(1, "A"), row(1, "B", flag=False)])
    target.load([row(1, "A", flag=False), row(1, "C")])
    assert target.rows() == {row(1, "A", flag=False), row(1, "C")}


def test_version_with_its_own_key_may_change_its_cursor():
    target = Target(replace(COLUMNS, version_key=("k1", "k2"), keys=("k1",)))
    target.load([row(1, "A", key=("e", 1)), row(2, "B", key=("e", 2))])
    target.load([row(3, "A2", key=("e", 1))])
    assert target.rows() == {row(3, "A2", key=("e", 1)), row(2, "B", flag=False, key=("e", 2))}


# Versions with an end, a tombstone, and an ignored column

ENDED = pa.schema(
    [
        ("version", pa.int32()),
        ("cursor", pa.int64()),
        ("name", pa.string()),
        ("gone", pa.int32()),
        ("flag", pa.string()),
        ("end", pa.int64()),
        ("grade", pa.int32()),
        ("key", pa.string()),
    ]
)
ENDED_COLUMNS = Scd2Columns(
    keys=("key",),
    cursor="cursor",
    version_key=("key", "cursor"),
    flag="flag",
    ignored=("flag", "end", "grade"),
    current_value="Y",
    superseded_value="N",
    end="end",
    tombstone="gone",
)


def ended(cursor: int, name: str = "x", **cells: Any) -> dict[str, Any]:
    usual = {"version": 0, "gone": 0, "flag": "Y", "end": None, "grade": 0, "key": "k"}
    return {**usual, "cursor": cursor, "name": name, **cells}


def ended_versions(rows: list[dict[str, Any]], columns: Scd2Columns = ENDED_COLUMNS) -> Versions:
    return hash_versions(iter(pa.Table.from_pylist(rows, ENDED).to_batches()), ENDED, columns)


def after(
    timeline: list[dict[str, Any]],
    *batches: list[dict[str, Any]],
    columns: Scd2Columns = ENDED_COLUMNS,
    **rules: bool,
) -> list[tuple[int, str, str, int | None]]:
    """Return cursor, name, flag and end of all rows after these batches were loaded."""
    rows = timeline
    for batch in batches:
        writes = merge_versions(ended_versions(batch, columns), ended_versions(rows, columns), MergeRules(**rules))
        # All rows are written again: those that stay, and those that are inserted or changed.
        new, old = (pa.Table.from_pylist(side, ENDED).combine_chunks().to_batches() for side in (batch, rows))
        resolved = resolve_rows(iter(new), writes.is_current, writes.ends, columns)
        written = select_rows(resolved, writes.inserted | writes.changed, ENDED.names)
        existing = resolve_existing_rows(iter(old), writes.expected_existing, columns)
        rows = pa.Table.from_batches([*written, *existing], ENDED).to_pylist()
        assert describe_mismatch(writes.expected, ended_versions(rows, columns)) == ""
    assert list(check_history(ended_versions(rows, columns))) == []
    return sorted(((row["cursor"], row["name"], row["flag"], row["end"]) for row in rows), key=repr)


def test_ignored_column_changes_in_place_with_equal_cursors():
    tied = [ended(1, "A", flag="N"), ended(1, "B")]
    assert len(after(tied, [ended(1, "A", flag="N", grade=7), ended(1, "B")])) == 2


def test_end_set_in_the_source_is_copied_and_reset():
    assert after([ended(1)], [ended(1, flag="N", end=5)]) == [(1, "x", "N", 5)]
    assert after([ended(1, flag="N", end=5)], [ended(1)]) == [(1, "x", "Y", None)]
    assert after([ended(1, flag="N", end=5)], [ended(1)], batch_is_newer=False) == [(1, "x", "N", 5)]


def test_computed_end_moves_with_the_next_version():
    columns = replace(ENDED_COLUMNS, version_key=("version",))
    timeline = [
        ended(1, flag="N", end=2, version=1),
        ended(2, flag="N", end=3, version=2),
        ended(3, version=3),
    ]
    rows = after(timeline, [ended(4, version=2)], columns=columns)
    assert rows == [(1, "x", "N", 3), (3, "x", "N", 4), (4, "x", "Y", None)]


@pytest.mark.parametrize("flags", ["YN", "NY", "NN"])
def test_one_of_equal_cursors_lasts_until_the_next_version(flags):
    tied = [ended(1, name, flag=flag) for name, flag in zip("AB", flags, strict=True)]
    rows = after([], tied, [ended(2)], [ended(3)])
    assert [row[3] for row in rows[:2]] in ([1, 2], [2, 1])
    assert rows[2:] == [(2, "x", "N", 3), (3, "x", "Y", None)]


def test_tombstone_is_never_current():
    assert after([ended(1)], [ended(2, gone=1)]) == [(1, "x", "N", 2), (2, "x", "N", None)]
    assert after([ended(1)], [ended(2, gone=1)], recompute_flags=True) == [(1, "x", "N", 2), (2, "x", "N", None)]


def test_tombstone_flagged_as_current_is_closed():
    assert after([ended(1, gone=1)], [ended(1, gone=1)]) == [(1, "x", "N", None)]


def test_reopened_row_differs_from_new_row_with_its_cursor():
    rows = rows_after([row(1, "A", flag=False)], [row(1, "A"), row(1, "B", flag=False)])
    assert rows == {row(1, "A"), row(1, "B", flag=False)}


def test_repeated_row_is_current_if_one_copy_is():
    rows = [ended(1), ended(1, flag="N")]
    source, target, nothing = (ended_versions(side) for side in (rows, rows[:1], []))
    assert list(check_flags(source, nothing, target, recompute_flags=False)) == []


def test_ended_version_is_not_current_with_recomputed_flags():
    rows = after([], [ended(1, "A", end=5), ended(1, "B", flag="N")], recompute_flags=True)
    assert rows == [(1, "A", "N", 1), (1, "B", "Y", None)]


# Generated versions

GENERATED = pa.schema(
    [
        ("k1", pa.string()),
        ("k2", pa.int32()),
        ("name", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("flag", pa.bool_()),
    ]
)
GENERATED_COLUMNS = Scd2Columns(
    keys=("k1", "k2"),
    cursor="start",
    version_key=("k1", "k2", "start"),
    flag="flag",
    ignored=("flag", "end"),
    current_value="1",
    superseded_value="0",
    end="end",
    time_columns=("start",),
)
GENERATION_RULES = MergeRules(recompute_flags=True, drop_unchanged=True)
State = tuple[tuple[str, int], int, str | None]
"""A key, since when, and its name."""
Source = dict[tuple[str, int], str | None]
"""The name of each key of a plain source."""


class GeneratedTarget:
    """A table of generated versions, in memory."""

    def __init__(self) -> None:
        self.table = GENERATED.empty_table()

    def load(self, states: list[State], rules: MergeRules = GENERATION_RULES) -> None:
        rows = [
            {"k1": key[0], "k2": key[1], "name": name, "start": start, "end": None, "flag": True}
            for key, start, name in states
        ]
        batch = pa.Table.from_pylist(rows, GENERATED)
        writes = merge_versions(self._versions(batch), self._versions(self.table), rules)
        removed = set(writes.removed.tolist())
        kept = [
            self._kept_row(row, position, writes)
            for position, row in enumerate(self.table.to_pylist())
            if position not in removed
        ]
        resolved = list(resolve_rows(iter(batch.to_batches()), writes.is_current, writes.ends, GENERATED_COLUMNS))
        changed, inserted = (
            pa.Table.from_batches(list(select_rows(resolved, mask, GENERATED.names)), GENERATED).to_pylist()
            for mask in (writes.changed, writes.inserted)
        )
        for new in changed:
            kept = [new if self._version_key(old) == self._version_key(new) else old for old in kept]
        self.table = pa.Table.from_pylist([*kept, *inserted], GENERATED)
        assert describe_mismatch(writes.expected, self._versions(self.table)) == ""

    def load_snapshot(self, at: int, source: Source, *, is_newest: bool) -> None:
        """Load all rows that the source had at this time."""
        states = [(key, at, name) for key, name in source.items()]
        schema = pa.schema([GENERATED[0], GENERATED[1]])
        keys = pa.table([[key[0] for key in source], [key[1] for key in source]], schema)
        source_keys = hash_keys(keys.to_batches(), ["k1", "k2"])
        as_of = pa.scalar(at)
        rules = replace(GENERATION_RULES, batch_is_newer=is_newest, source_keys=source_keys, source_keys_as_of=as_of)
        self.load(states, rules)

    def rows(self) -> set[tuple[Any, ...]]:
        return {tuple(row.values()) for row in self.table.to_pylist()}

    def _kept_row(self, row: dict[str, Any], position: int, writes: TimelineWrites) -> dict[str, Any]:
        assert writes.timeline_ends is not None
        flag = position in writes.reopened or (row["flag"] and position not in writes.closed)
        return {**row, "flag": flag, "end": writes.timeline_ends[position].as_py()}

    def _version_key(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return row["k1"], row["k2"], row["start"]

    def _versions(self, table: pa.Table) -> Versions:
        return hash_versions(iter(table.to_batches(max_chunksize=2)), GENERATED, GENERATED_COLUMNS)


def expected_from_states(states: list[State]) -> set[tuple[Any, ...]]:
    observed: dict[Any, dict[Any, object]] = {}
    for key, start, name in states:
        observed.setdefault(key, {})[start] = name
    return {(*key, name, start, end, is_current) for key, start, name, end, is_current in made_of(observed)}


states = st.lists(
    st.tuples(keys, st.integers(0, 6), st.sampled_from([None, "", "x"])), max_size=25, unique_by=lambda state: state[:2]
)


@given(states=states, seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_generated_history_is_complete_for_any_batches(states, seed):
    """States arrive in the order of time, as a cursor reads them. Batches have any size and repeat earlier states."""
    chance = random.Random(seed)
    target, ordered, done = GeneratedTarget(), sorted(states, key=lambda state: state[1]), 0
    while done < len(ordered):
        upto = chance.randint(done + 1, len(ordered))
        target.load(ordered[chance.randint(0, done) : upto])
        done = upto
    target.load(ordered)
    assert target.rows() == expected_from_states(states)


@given(states=states, seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_generated_history_is_consistent_in_any_order(states, seed):
    """An unchanged state leaves no row, so a late batch may find less than there was. The history stays consistent."""
    chance, target = random.Random(seed), GeneratedTarget()
    chance.shuffle(states)
    for start in range(0, len(states), 3):
        target.load(states[start : start + 3])
    rows = target.rows()
    for key in {key for key, _, _ in states}:
        versions = sorted((row for row in rows if row[:2] == key), key=lambda row: row[3])
        assert [row[4] for row in versions] == [*(row[3] for row in versions[1:]), None]
        assert [row[5] for row in versions] == [*(False for _ in versions[1:]), True]
        assert all(row[2] != following[2] for row, following in itertools.pairwise(versions))
    target.load(sorted(states, key=lambda state: state[1]))
    assert target.rows() == expected_from_states(states)


def expected_from_snapshots(snapshots: list[Source]) -> set[tuple[Any, ...]]:
    """Return the versions of a source of which these snapshots were read: a version lasts while snapshots show it."""
    expected = set()
    for key in {key for snapshot in snapshots for key in snapshot}:
        version: tuple[int, str | None] | None = None
        for at, snapshot in enumerate(snapshots):
            is_in_source = key in snapshot
            if version is not None and (not is_in_source or snapshot[key] != version[1]):
                expected.add((*key, version[1], version[0], at, False))
                version = None
            if is_in_source and version is None:
                version = (at, snapshot[key])
        if version is not None:
            expected.add((*key, version[1], version[0], None, True))
    return expected


@given(
    snapshots=st.lists(st.dictionaries(keys, st.sampled_from([None, "", "x"]), max_size=4), max_size=7),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25, deadline=None)
def test_snapshots_in_any_order_end_in_the_same_table(snapshots, seed):
    """After a late snapshot all that were read after it are loaded again, as the plan does it."""
    chance, target, loaded = random.Random(seed), GeneratedTarget(), list[int]()
    for late in chance.sample(range(len(snapshots)), len(snapshots)):
        for at in [late, *sorted(later for later in loaded if later > late)]:
            target.load_snapshot(at, snapshots[at], is_newest=at >= max(loaded, default=0))
        loaded.append(late)
    assert target.rows() == expected_from_snapshots(snapshots)
