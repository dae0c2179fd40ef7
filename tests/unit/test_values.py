"""Partition values, the scope that they span, and names of tables: what they mean without a server."""

from __future__ import annotations

import json
import random
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.values import Kind, Value

INTEGER, DECIMAL, DATE, TIMESTAMP, TEXT = Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TEXT
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)


# One meaning has one spelling: file names, ledger rows and literals are made of it.
SPELLINGS = [
    (INTEGER, "20240131", "20240131"),
    (INTEGER, "-9223372036854775808", "-9223372036854775808"),
    (INTEGER, "007", "7"),
    (INTEGER, "-0", "0"),
    (INTEGER, "+5", "5"),
    (INTEGER, " 5 ", "5"),
    (INTEGER, 202401, "202401"),
    (DECIMAL, "1.50", "1.5"),
    (DECIMAL, "1.5", "1.5"),
    (DECIMAL, "100", "100"),
    (DECIMAL, "1E+2", "100"),
    (DECIMAL, "1.5e-3", "0.0015"),
    (DECIMAL, ".5", "0.5"),
    (DECIMAL, "5.", "5"),
    (DECIMAL, "-0.00", "0"),
    (DECIMAL, " -12.340 ", "-12.34"),
    (DECIMAL, "99999999999999999999999999999999999999.9", "99999999999999999999999999999999999999.9"),
    (DATE, "2024-01-31", "2024-01-31"),
    (DATE, "20240131", "2024-01-31"),
    (DATE, "2024-01-31 00:00:00", "2024-01-31"),
    (DATE, "0001-01-01", "0001-01-01"),
    (DATE, "0044-03-15 BC", "0044-03-15 BC"),
    (DATE, "5874897-12-31", "5874897-12-31"),
    (DATE, "infinity", "infinity"),
    (DATE, "-infinity", "-infinity"),
    (TIMESTAMP, "2024-01-31", "2024-01-31 00:00:00"),
    (TIMESTAMP, "20240131", "2024-01-31 00:00:00"),
    (TIMESTAMP, "2024-01-31T10:30", "2024-01-31 10:30:00"),
    (TIMESTAMP, "2024-01-31 10:30:00", "2024-01-31 10:30:00"),
    (TIMESTAMP, "2024-01-31 10:30:00.500000", "2024-01-31 10:30:00.5"),
    (TIMESTAMP, "2024-01-31 10:30:00.000001", "2024-01-31 10:30:00.000001"),
    (TIMESTAMP, "2024-01-31 10:30:00+00", "2024-01-31 10:30:00"),
    (TIMESTAMP, "2024-01-31 10:30:00.5+00", "2024-01-31 10:30:00.5"),
    (TIMESTAMP, "2024-01-31T10:30:00Z", "2024-01-31 10:30:00"),
    (TIMESTAMP, "0044-03-15 12:00:00+00 BC", "0044-03-15 12:00:00 BC"),
    (TIMESTAMP, "294276-12-31 23:59:59.999999", "294276-12-31 23:59:59.999999"),
    (TIMESTAMP, "infinity", "infinity"),
    (TEXT, "", ""),
    (TEXT, " a ", " a "),
    (TEXT, "007", "007"),
    (TEXT, "é/🙂'\\", "é/🙂'\\"),
]


@pytest.mark.parametrize(("kind", "given", "text"), SPELLINGS)
def test_a_value_is_spelled_in_one_way(kind: Kind, given: object, text: str):
    assert str(Value.of(given, kind)) == text


@pytest.mark.parametrize(("kind", "given", "text"), SPELLINGS)
def test_a_spelling_is_read_back_as_the_same_value(kind: Kind, given: object, text: str):
    assert Value.of(text, kind) == Value.of(given, kind)
    assert Value.of(text, kind).text == text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (INTEGER, ""),
        (INTEGER, "1.0"),
        (INTEGER, "1_000"),
        (INTEGER, "0x10"),
        (INTEGER, "٣"),
        (INTEGER, "None"),
        (DECIMAL, ""),
        (DECIMAL, "."),
        (DECIMAL, "1.2.3"),
        (DECIMAL, "1,5"),
        (DECIMAL, "NaN"),
        (DECIMAL, "Infinity"),
        (DECIMAL, "1_0"),
        (DATE, ""),
        (DATE, "2024-13-01"),
        (DATE, "2024-02-30"),
        (DATE, "2023-02-29"),
        (DATE, "1900-02-29"),
        (DATE, "20241301"),
        (DATE, "0000-01-01"),
        (DATE, "2024-1-1"),
        (DATE, "31.01.2024"),
        (DATE, "2024-01-31 10:00:00"),
        (DATE, "yesterday"),
        (TIMESTAMP, "2024-01-31 25:00:00"),
        (TIMESTAMP, "2024-01-31 10:61:00"),
        (TIMESTAMP, "2024-01-31 10:00:00+02"),
        (TIMESTAMP, "2024-02-30 10:00:00"),
        (TIMESTAMP, "now"),
    ],
)
def test_what_is_no_value_of_its_kind_is_refused(kind: Kind, text: str):
    with pytest.raises(ValueError):  # noqa: PT011 - the caller adds the words for a user
        Value.of(text, kind)


@pytest.mark.parametrize("text", ["2024-02-29", "2000-02-29", "0001-02-29 BC", "0005-02-29 BC"])
def test_leap_days_are_days_also_before_christ(text: str):
    assert Value.of(text, DATE).text == text


@pytest.mark.parametrize(
    ("kind", "ascending"),
    [
        (INTEGER, ["-10", "-9", "0", "9", "10", "20240101", "9223372036854775807"]),
        (DECIMAL, ["-10", "-9.5", "0", "0.00001", "9.5", "10", "1e30"]),
        (
            DATE,
            [
                "-infinity",
                "4713-01-01 BC",
                "0044-03-15 BC",
                "0044-03-16 BC",
                "0001-12-31 BC",
                "0001-01-01",
                "1969-12-31",
                "9999-12-31",
                "10000-01-01",
                "5874897-12-31",
                "infinity",
            ],
        ),
        (
            TIMESTAMP,
            [
                "-infinity",
                "0044-03-15 12:00:00 BC",
                "0044-03-15 12:00:01 BC",
                "2024-01-31",
                "2024-01-31 00:00:00.000001",
                "2024-01-31 00:00:00.5",
                "2024-01-31 00:00:01",
                "2024-01-31 10:00",
                "2024-02-01",
                "10000-01-01",
                "infinity",
            ],
        ),
        (TEXT, ["", "10", "9", "A", "B", "a", "á", "🙂"]),
    ],
)
def test_values_of_each_kind_stand_in_their_order(kind: Kind, ascending: list[str]):
    values = [Value.of(text, kind) for text in ascending]
    shuffled = random.Random(1).sample(values, len(values))

    assert sorted(shuffled) == values
    assert all(low < high and high > low and low != high for low, high in pairwise(values))


@given(st.lists(st.integers()))
def test_integers_are_ordered_as_numbers(numbers: list[int]):
    assert [int(value.text) for value in sorted(Value.of(n, INTEGER) for n in numbers)] == sorted(numbers)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False)))
def test_decimals_are_ordered_as_numbers_and_lose_no_digit(numbers: list[Decimal]):
    assert [Decimal(value.text) for value in sorted(Value.of(n, DECIMAL) for n in numbers)] == sorted(numbers)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(0, 12))
def test_zeros_at_the_end_of_a_decimal_change_nothing(number: Decimal, zeros: int):
    longer = f"{number:f}" + "0" * zeros
    assert Value.of(longer, DECIMAL).text == Value.of(number, DECIMAL).text


@given(st.lists(st.dates()))
def test_dates_are_ordered_as_days(days: list[date]):
    values = sorted(Value.of(day.isoformat(), DATE) for day in days)
    assert [date.fromisoformat(value.text) for value in values] == sorted(days)


@given(st.lists(st.datetimes()))
def test_timestamps_are_ordered_as_moments(moments: list[datetime]):
    values = sorted(Value.of(moment.isoformat(sep=" "), TIMESTAMP) for moment in moments)
    assert [datetime.fromisoformat(_padded(value.text)) for value in values] == sorted(moments)


def _padded(text: str) -> str:
    """Python 3.10 reads three or six digits of a second, not one."""
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(6, '0')}"


@given(ANY_TEXT)
def test_texts_are_kept_as_they_are(text: str):
    assert Value.of(text, TEXT).text == text


def test_equal_values_are_one_key():
    held = {Value.of("1.50", DECIMAL): "first"}
    assert held[Value.of("1.5", DECIMAL)] == "first"


def test_a_value_equals_nothing_but_values():
    assert Value.of("1", INTEGER) != 1
    assert Value.of("a", TEXT) != "a"


# Scope


def number(value: int) -> Value:
    return Value.of(value, INTEGER)


def scope(floor: int | None = None, ranges: tuple[tuple[int, int], ...] = (), forgotten: tuple[int, ...] = ()) -> Scope:
    return Scope(
        None if floor is None else number(floor),
        tuple((number(low), number(high)) for low, high in ranges),
        frozenset(map(number, forgotten)),
    )


@pytest.mark.parametrize(
    ("of", "held", "left_out"),
    [
        (scope(), [], [0, 5]),
        (scope(floor=5), [5, 6, 99], [4, 0]),
        (scope(floor=5, ranges=((1, 2),)), [1, 2, 5, 9], [0, 3, 4]),
        (scope(ranges=((1, 2), (7, 7))), [1, 2, 7], [0, 3, 6, 8]),
        (scope(floor=5, forgotten=(6,)), [5, 7], [6, 4]),
        (scope(ranges=((1, 9),), forgotten=(1, 9)), [2, 8], [1, 9]),
    ],
    ids=str,
)
def test_a_scope_holds_its_floor_and_its_ranges_less_what_was_forgotten(
    of: Scope, held: list[int], left_out: list[int]
):
    assert [value for value in (*held, *left_out) if of.holds(number(value))] == held


def test_a_backfill_adds_its_range_and_nothing_between():
    widened = scope(floor=202406).with_range(number(202401), number(202401))
    assert [month for month in range(202400, 202408) if widened.holds(number(month))] == [202401, 202406, 202407]


def test_a_range_is_added_once():
    once = scope(floor=5).with_range(number(1), number(2))
    assert once.with_range(number(1), number(2)) == once


def test_a_backfill_remembers_what_was_forgotten_inside_of_it_and_only_there():
    widened = scope(floor=5, forgotten=(6, 9)).with_range(number(6), number(7))
    assert (widened.holds(number(6)), widened.holds(number(9))) == (True, False)


def test_forgetting_twice_is_forgetting_once():
    once = scope(floor=5).without(number(6))
    assert once.without(number(6)) == once


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (scope(), "nothing"),
        (scope(floor=5), "from 5"),
        (scope(floor=5, ranges=((1, 2), (3, 3))), "from 5 and 1 to 2 and 3"),
        (scope(ranges=((1, 2),), forgotten=(2, 1)), "1 to 2, without 1, 2"),
        (scope(forgotten=(10, 9)), "nothing, without 9, 10"),
    ],
)
def test_a_scope_reads_as_a_sentence(of: Scope, text: str):
    assert str(of) == text


@pytest.mark.parametrize(
    "of",
    [
        scope(),
        scope(floor=5),
        scope(floor=-5, ranges=((1, 2), (3, 3)), forgotten=(6, 7)),
        scope(ranges=((1, 2),)),
        scope(forgotten=(1,)),
        Scope(Value.of("", TEXT)),
        Scope(Value.of("é/🙂", TEXT), ((Value.of("a", TEXT), Value.of("b", TEXT)),), frozenset({Value.of("'", TEXT)})),
        Scope(Value.of("2024-01-31 10:00:00.5", TIMESTAMP)),
        Scope(Value.of("0044-03-15 BC", DATE), forgotten=frozenset({Value.of("infinity", DATE)})),
        Scope(Value.of("1.50", DECIMAL)),
    ],
    ids=str,
)
def test_a_scope_survives_the_ledger(of: Scope):
    assert Scope.from_json(of.to_json()) == of


def test_a_scope_is_stored_in_words_that_outlive_a_version():
    assert json.loads(scope(floor=5, ranges=((1, 2),), forgotten=(6,)).to_json()) == {
        "kind": "integer",
        "floor": "5",
        "ranges": [["1", "2"]],
        "forgotten": ["6"],
    }


# Names


@pytest.mark.parametrize(
    ("text", "schema", "name"),
    [
        ("orders", "", "orders"),
        ("sales.orders", "sales", "orders"),
        ("Sales.Orders", "Sales", "Orders"),
        ('"odd.schema"."odd ""table"', "odd.schema", 'odd "table'),
        ('sales."order items"', "sales", "order items"),
        ('"sales".orders', "sales", "orders"),
        ("two words", "", "two words"),
        ("100%{x}[y]", "", "100%{x}[y]"),
        ("äöü🙂", "", "äöü🙂"),
    ],
)
def test_a_table_name_is_read_as_written(text: str, schema: str, name: str):
    assert TableName.parse(text) == TableName(schema, name)


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a.b.c", '"a', 'a"b', '"a"b', 'a."b"c', '"a"."b"."c"'])
def test_what_is_no_table_name_is_refused(text: str):
    with pytest.raises(ValueError, match="is not a table name"):
        TableName.parse(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (TableName("", "orders"), "orders"),
        (TableName("sales", "orders"), "sales.orders"),
        (TableName("sales", "order items"), "sales.order items"),
        (TableName("a.b", "c"), '"a.b".c'),
        (TableName("a", "b.c"), 'a."b.c"'),
        (TableName("", 'odd "table'), '"odd ""table"'),
    ],
)
def test_a_table_name_is_shown_with_quotes_only_where_it_needs_them(name: TableName, text: str):
    assert str(name) == text


@given(st.just("") | ANY_NAME, ANY_NAME)
def test_what_is_shown_of_a_name_leads_back_to_it(schema: str, name: str):
    """The ledger and the lake know a table by this text: two tables must never share it."""
    assert TableName.parse(str(TableName(schema, name))) == TableName(schema, name)


@pytest.mark.parametrize(
    ("name", "within"),
    [
        (TableName("", "orders"), TableName("public", "orders")),
        (TableName("dbo", "orders"), TableName("public", "orders")),
        (TableName("sales", "orders"), TableName("sales", "orders")),
        (TableName("public", "orders"), TableName("public", "orders")),
    ],
)
def test_the_default_schema_is_filled_in(name: TableName, within: TableName):
    assert name.within("public") == within


# Texts that sort as values do


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=None), max_size=20))
@example([Decimal("-9.5"), Decimal(-9), Decimal(-10), Decimal(0), Decimal("9.01"), Decimal(9), Decimal(10)])
@example([Decimal("1e-40"), Decimal("-1e-40"), Decimal("1e40"), Decimal("-1e40"), Decimal("123456789" * 9)])
def test_numbers_have_texts_that_sort_as_they_do(numbers: list[Decimal]):
    values = [Value.of(f"{number:f}", Kind.DECIMAL) for number in numbers]
    assert sorted(values) == sorted(values, key=lambda value: value.in_order)


def test_moments_have_texts_that_sort_as_they_do():
    texts = ["-infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "2024-01-31", "2024-01-31 00:00:00.000001"]
    values = [Value.of(text, Kind.TIMESTAMP) for text in (*texts, "9999-12-31", "10000-01-01", "infinity")]
    in_order = [value.in_order for value in values]
    assert sorted(set(in_order)) == in_order
