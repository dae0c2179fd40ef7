"""Partition values, scopes and table names: spelling, order, JSON and parsing, without a server."""

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
from tidegate.model.values import Value, ValueKind

INTEGER, DECIMAL, DATE, TIMESTAMP, TEXT = (
    ValueKind.INTEGER,
    ValueKind.DECIMAL,
    ValueKind.DATE,
    ValueKind.TIMESTAMP,
    ValueKind.TEXT,
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)


# Each value has one spelling, which file names, ledger entries and literals use.
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
def test_value_has_one_spelling(kind: ValueKind, given: object, text: str):
    """Different spellings of a value, such as `007` and `7`, become one text."""
    assert str(Value.of(given, kind)) == text


@pytest.mark.parametrize(("kind", "given", "text"), SPELLINGS)
def test_spelling_is_parsed_back(kind: ValueKind, given: object, text: str):
    """The text of a value is parsed back to an equal value with the same text."""
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
def test_invalid_value_is_refused(kind: ValueKind, text: str):
    """A text that is not a valid value of its kind is refused."""
    with pytest.raises(ValueError):  # noqa: PT011 - the caller adds the words for a user
        Value.of(text, kind)


@pytest.mark.parametrize("text", ["2024-02-29", "2000-02-29", "0001-02-29 BC", "0005-02-29 BC"])
def test_leap_days_are_valid_dates(text: str):
    """Leap days are valid, also in leap years BC."""
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
def test_values_of_each_kind_are_ordered(kind: ValueKind, ascending: list[str]):
    """Values of each kind sort as numbers, dates, timestamps or texts."""
    values = [Value.of(text, kind) for text in ascending]
    shuffled = random.Random(1).sample(values, len(values))

    assert sorted(shuffled) == values
    assert all(low < high and high > low and low != high for low, high in pairwise(values))


@given(st.lists(st.integers()))
def test_integers_sort_as_numbers(numbers: list[int]):
    """Integer values sort as numbers, not as texts."""
    assert [int(value.text) for value in sorted(Value.of(n, INTEGER) for n in numbers)] == sorted(numbers)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False)))
def test_decimals_sort_as_numbers_and_keep_digits(numbers: list[Decimal]):
    """Decimal values sort as numbers and keep every digit."""
    assert [Decimal(value.text) for value in sorted(Value.of(n, DECIMAL) for n in numbers)] == sorted(numbers)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(0, 12))
def test_trailing_zeros_do_not_matter(number: Decimal, zeros: int):
    """Trailing zeros of a decimal do not change its text."""
    longer = f"{number:f}" + "0" * zeros
    assert Value.of(longer, DECIMAL).text == Value.of(number, DECIMAL).text


@given(st.lists(st.dates()))
def test_dates_sort_as_dates(days: list[date]):
    """Date values sort as dates."""
    values = sorted(Value.of(day.isoformat(), DATE) for day in days)
    assert [date.fromisoformat(value.text) for value in values] == sorted(days)


@given(st.lists(st.datetimes()))
def test_timestamps_sort_as_timestamps(moments: list[datetime]):
    """Timestamp values sort as timestamps."""
    values = sorted(Value.of(moment.isoformat(sep=" "), TIMESTAMP) for moment in moments)
    assert [datetime.fromisoformat(value.text) for value in values] == sorted(moments)


@given(ANY_TEXT)
def test_text_values_are_unchanged(text: str):
    """A text value keeps its text unchanged."""
    assert Value.of(text, TEXT).text == text


def test_equal_values_are_one_dictionary_key():
    """Equal values with different spellings are the same dictionary key."""
    held = {Value.of("1.50", DECIMAL): "first"}
    assert held[Value.of("1.5", DECIMAL)] == "first"


def test_value_equals_only_values():
    """A value does not equal a plain number or text."""
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
def test_scope_contains_floor_and_ranges(of: Scope, held: list[int], left_out: list[int]):
    """A scope contains values from its floor on and in its ranges, without forgotten values."""
    assert [value for value in (*held, *left_out) if of.covers(number(value))] == held


def test_range_adds_no_values_between():
    """A backfilled range adds its own values and none between the range and the floor."""
    widened = scope(floor=202406).with_range(number(202401), number(202401))
    assert [month for month in range(202400, 202408) if widened.covers(number(month))] == [202401, 202406, 202407]


def test_adding_a_range_twice_changes_nothing():
    """Adding the same range again returns an equal scope."""
    once = scope(floor=5).with_range(number(1), number(2))
    assert once.with_range(number(1), number(2)) == once


def test_range_restores_forgotten_values_inside():
    """A backfilled range restores forgotten values inside of it, and only those."""
    widened = scope(floor=5, forgotten=(6, 9)).with_range(number(6), number(7))
    assert (widened.covers(number(6)), widened.covers(number(9))) == (True, False)


def test_forgetting_twice_changes_nothing():
    """Forgetting the same value again returns an equal scope."""
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
def test_scope_text_is_readable(of: Scope, text: str):
    """The text of a scope names floor, ranges and forgotten values."""
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
def test_scope_survives_json(of: Scope):
    """A scope is equal after it was written to JSON and parsed."""
    assert Scope.from_json(of.to_json()) == of


def test_scope_json_format_is_stable():
    """The JSON keys of a scope are fixed, because later versions must read them."""
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
def test_table_name_is_parsed(text: str, schema: str, name: str):
    """A table name is parsed into schema and name, with quotes and case kept."""
    assert TableName.parse(text) == TableName(schema, name)


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a.b.c", '"a', 'a"b', '"a"b', 'a."b"c', '"a"."b"."c"'])
def test_invalid_table_name_is_refused(text: str):
    """A text that is not a table name is refused."""
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
def test_table_name_is_quoted_only_if_needed(name: TableName, text: str):
    """The text of a table name has quotes only where parsing needs them."""
    assert str(name) == text


@given(st.just("") | ANY_NAME, ANY_NAME)
def test_table_name_text_is_unique(schema: str, name: str):
    """Ledger and lake identify a table by this text, so two tables must never share it."""
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
def test_default_schema_is_filled_in(name: TableName, within: TableName):
    """A name without a schema, or with the default of another database, gets the default schema."""
    assert name.within("public") == within


# Sortable texts


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=None), max_size=20))
@example([Decimal("-9.5"), Decimal(-9), Decimal(-10), Decimal(0), Decimal("9.01"), Decimal(9), Decimal(10)])
@example([Decimal("1e-40"), Decimal("-1e-40"), Decimal("1e40"), Decimal("-1e40"), Decimal("123456789" * 9)])
def test_sortable_text_of_decimals(numbers: list[Decimal]):
    """The sortable texts of decimals have the order of the numbers."""
    values = [Value.of(f"{number:f}", ValueKind.DECIMAL) for number in numbers]
    assert sorted(values) == sorted(values, key=lambda value: value.sort_key)


def test_sortable_text_of_timestamps():
    """The sortable texts of timestamps have the order of the timestamps."""
    texts = ["-infinity", "4713-01-01 BC", "0001-12-31 BC", "0001-01-01", "2024-01-31", "2024-01-31 00:00:00.000001"]
    values = [Value.of(text, ValueKind.TIMESTAMP) for text in (*texts, "9999-12-31", "10000-01-01", "infinity")]
    sort_key = [value.sort_key for value in values]
    assert sorted(set(sort_key)) == sort_key
