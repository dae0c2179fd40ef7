"""Ranges of a key or of places: every row is in exactly one of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.databases._key_ranges import leading_column
from tidegate.databases.postgresql.splitting import (
    SAMPLED_BLOCKS,
    Storage,
    _share_to_sample,
    _storage,
    boundaries_of,
    place_ranges,
)
from tidegate.interfaces import ReadRequest
from tidegate.interfaces.splits import Divisible
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.model.values import Value, ValueKind
from tidegate.sql.ranges import boundary_after, narrowed, ranges
from tidegate.sql.text import Dialect, Sql, raw, render, sql

TABLE = TableName("", "t")
DIALECT = Dialect()


def column(type_: str, name: str = "k", *, nullable: bool = True) -> Column:
    return Column(name, type_, "string", nullable=nullable, logical_type=Type("string"))


def database(type_: str, collation: str, values: Sequence[object]) -> sqlite3.Connection:
    """Return a database with these values in the order of the collation."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (id integer PRIMARY KEY, k {type_} COLLATE {collation})")
    connection.executemany("INSERT INTO t (k) VALUES (?)", [(value,) for value in values])
    return connection


def ids(connection: sqlite3.Connection, condition: Sql) -> list[int]:
    query = render(sql("SELECT id FROM t WHERE {condition}", condition=condition), DIALECT)
    return [number for (number,) in connection.execute(query)]


def boundaries(connection: sqlite3.Connection, key: Column, kind: ValueKind, step: int, most: int) -> list[Value]:
    found: list[Value] = []
    while len(found) < most:
        query = boundary_after(TABLE, key, None, found[-1] if found else None, step)
        row = connection.execute(render(query, DIALECT)).fetchone()
        if row is None:
            break
        found.append(Value.of(row[0], kind))
    return found


TEXTS = st.text("aAbBéß '", max_size=3)
DAYS = st.dates().map(str)
UUIDS = st.uuids().map(str)


@pytest.mark.parametrize("collation", ["BINARY", "NOCASE", "RTRIM"])
@given(values=st.lists(st.none() | TEXTS | DAYS | UUIDS, max_size=40), step=st.integers(1, 12), most=st.integers(0, 5))
def test_every_text_is_in_one_range(collation: str, values: list[str | None], step: int, most: int):
    """Also where the collation takes different texts for equal. Boundaries ascend in the order of the server."""
    connection, key = database("text", collation, values), column("text")
    found = boundaries(connection, key, ValueKind.TEXT, step, most)

    parts = [ids(connection, condition) for condition in ranges(key, found)]

    assert len(parts) == len(found) + 1
    assert sorted(number for part in parts for number in part) == list(range(1, len(values) + 1))


@given(values=st.lists(st.none() | st.integers(-50, 50), max_size=40), step=st.integers(1, 12), most=st.integers(0, 5))
def test_every_number_is_in_one_range(values: list[int | None], step: int, most: int):
    """Ties are in one range, nulls in the first. No range but the last is longer than a step and its ties."""
    connection, key = database("integer", "BINARY", values), column("integer")
    found = boundaries(connection, key, ValueKind.INTEGER, step, most)

    parts = [ids(connection, condition) for condition in ranges(key, found)]

    assert sorted(number for part in parts for number in part) == list(range(1, len(values) + 1))
    assert all(low < high for low, high in pairwise(found))
    nulls = [number for number, value in enumerate(values, 1) if value is None]
    assert set(nulls) <= set(parts[0])
    for part in parts[1:-1]:
        kept = [values[number - 1] for number in part]
        assert len(part) <= step - 1 + max(map(kept.count, kept), default=0)


def test_ranges_of_a_strict_column_ask_for_no_nulls():
    rendered = [render(one, DIALECT) for one in ranges(column("int", nullable=False), [Value.of(7, ValueKind.INTEGER)])]
    assert rendered == ["\"k\" < CAST('7' AS int)", "\"k\" >= CAST('7' AS int)"]


def test_no_boundary_is_one_range():
    assert [render(one, DIALECT) for one in ranges(column("int"), [])] == ["1 = 1"]


def test_conditions_of_the_window_are_kept():
    """A condition with OR stays whole."""
    condition = narrowed(raw("a = 1 OR b = 2"), raw("c < 3"))
    assert render(condition, DIALECT) == "(a = 1 OR b = 2) AND c < 3"


# Which column


def schema(*indexes: tuple[str, ...], key: tuple[str, ...] = (), partitioned_by: str = "") -> TableSchema:
    columns = tuple(column("int", name) for name in ("day", "id", "at", "note"))
    return TableSchema(TABLE, columns, primary_key=key, indexes=indexes, partitioned_by=partitioned_by)


@pytest.mark.parametrize(
    ("table", "fixed", "ranged", "chosen"),
    [
        (schema(key=("id",)), (), "", "id"),
        (schema(("day",)), (), "", "day"),
        (schema(), (), "", None),
        (schema(("note",), key=("id",)), (), "", "id"),
        (schema(key=("note",)), (), "", None),
        (schema(("note",), ("at",)), (), "", "at"),
        (schema(key=("day", "id")), ("day",), "", "id"),
        (schema(("day",), key=("id",)), ("day",), "", "id"),
        (schema(key=("id",)), ("day",), "", None),
        (schema(("day",)), ("day",), "", None),
        (schema(key=("id", "day"), partitioned_by="RANGE (day)"), ("day",), "", "id"),
        (schema(("at",), key=("id",)), (), "at", "at"),
        (schema(key=("id",)), (), "at", None),
    ],
    ids=[
        "key", "index", "nothing", "key before index", "no order", "another index", "after the fixed one",
        "secondary index", "no index on the fixed one", "nothing after the fixed one", "partitioned", "cursor",
        "no index on the cursor",
    ],
)  # fmt: skip
def test_leading_column(table: TableSchema, fixed: tuple[str, ...], ranged: str, chosen: str | None):
    rows = raw("1 = 1") if fixed or ranged else None
    window = Divisible(ReadRequest(TABLE, table.columns, rows), table, 100, fixed, ranged)
    found = leading_column(window, lambda one: one.name != "note")
    assert (found.name if found else None) == chosen


def test_rows_that_no_index_is_known_for_are_not_divided():
    """A condition on some column: a range of the key would read all rows of the table for each part."""
    table = schema(key=("id",))
    window = Divisible(ReadRequest(TABLE, table.columns, raw("note = 'x'")), table, 100)
    assert leading_column(window, lambda one: True) is None


# Places


@given(rows=st.lists(st.integers(1, 50), max_size=60), parts=st.integers(2, 8))
def test_places_divide_rows_evenly(rows: list[int], parts: int):
    """No part is larger than its share and the rows of one place."""
    places = [(7 * number, count) for number, count in enumerate(rows)]
    found = boundaries_of(places, parts)

    assert len(found) < parts
    assert found == sorted(set(found))
    bounds = [-1, *found, 7 * len(rows)]
    sizes = [sum(count for place, count in places if low <= place < high) for low, high in pairwise(bounds)]
    assert sum(sizes) == sum(rows)
    assert max(sizes) <= sum(rows) / parts + max(rows, default=0)


def test_ranges_of_places_have_open_ends():
    """Rows before the first boundary and behind the last are read, too: rows come while places are looked at."""
    rendered = [render(one, DIALECT) for one in place_ranges([3, 9])]
    assert rendered == [
        "ctid < CAST('(3,0)' AS tid)",
        "ctid >= CAST('(3,0)' AS tid) AND ctid < CAST('(9,0)' AS tid)",
        "ctid >= CAST('(9,0)' AS tid)",
    ]
    assert [render(one, DIALECT) for one in place_ranges([])] == ["true"]


@pytest.mark.parametrize(
    ("found", "storage"),
    [
        ([("r", "heap", 100, 5000)], Storage(100, 5000)),
        ([("p", "", 0, -1), ("r", "heap", 10, 50), ("r", "heap", 20, -1)], Storage(30, 50)),
        ([("v", "", 0, 0)], None),
        ([("p", "", 0, -1), ("r", "heap", 10, 50), ("f", "", 0, 0)], None),
        ([("r", "columnar", 10, 50)], None),
        ([], None),
    ],
    ids=["table", "partitions", "view", "foreign partition", "another engine", "gone"],
)
def test_only_heaps_have_places(found: list[Any], storage: Storage | None):
    assert _storage(found) == storage


@pytest.mark.parametrize(
    ("blocks", "table_rows", "rows", "has_condition", "percent"),
    [
        (SAMPLED_BLOCKS, 1_000, 1_000, False, None),
        (100 * SAMPLED_BLOCKS, 1_000_000, 1_000_000, False, 1),
        (100 * SAMPLED_BLOCKS, 1_000_000, 500_000, True, 2),
        (100 * SAMPLED_BLOCKS, 1_000_000, 10_000, True, None),
        (100 * SAMPLED_BLOCKS, 0, 10_000, True, 1),
    ],
    ids=["small table", "whole table", "half of it", "a small share", "no statistics"],
)
def test_sample_is_small(blocks: int, table_rows: int, rows: int, has_condition: bool, percent: float | None):
    """A sample finds the rows of large windows. The rows of a small one are read themselves."""
    request = ReadRequest(TABLE, (), raw("day = 1") if has_condition else None)
    assert _share_to_sample(Storage(blocks, table_rows), Divisible(request, schema(), rows)) == percent
