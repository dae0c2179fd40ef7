"""Native partitions in words of no database: which partition takes a value, and which new one a value gets."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tidegate.errors import Unsupported
from tidegate.loads._switch_choice import Found, choose
from tidegate.model.names import TableName
from tidegate.model.native import (
    NativePartition,
    PartitionLayout,
    Precondition,
    new_partition,
    with_partition,
)
from tidegate.model.values import Value, ValueKind

TABLE = TableName("dbo", "fact")


def number(text: object) -> Value:
    return Value.of(text, ValueKind.INTEGER)


def day(text: str) -> Value:
    return Value.of(text, ValueKind.DATE)


def ranges(*bounds: Value, right: bool = True) -> PartitionLayout:
    """Return the layout of these boundaries, open at both ends, as SQL Server has it."""
    ends = [None, *bounds, None]
    partitions = tuple(
        NativePartition(position + 1, str(position + 1), low, high)
        for position, (low, high) in enumerate(pairwise(ends))
    )
    return PartitionLayout(TABLE, "range", "d", partitions, low_included=right)


def closed(*bounds: tuple[Value, Value]) -> PartitionLayout:
    partitions = tuple(NativePartition(place, f"p{place}", *bound) for place, bound in enumerate(bounds, 1))
    return PartitionLayout(TABLE, "range", "d", partitions)


@pytest.mark.parametrize(
    ("right", "value", "partition"),
    [
        (True, 99, 1),
        (True, 100, 2),
        (True, 200, 3),
        (False, 100, 1),
        (False, 101, 2),
        (False, 200, 2),
        (False, 201, 3),
    ],
)
def test_boundary_belongs_to_its_side(right: bool, value: int, partition: int):
    found = ranges(number(100), number(200), right=right).partition_of(number(value))

    assert found is not None
    assert found.number == partition


def test_null_is_in_the_first_range():
    found = ranges(number(100)).partition_of(None)

    assert found is not None
    assert found.number == 1
    assert closed((number(1), number(2))).partition_of(None) is None


def test_list_takes_its_values_and_the_rest():
    parts = (
        NativePartition(1, "a", values=(number(1), None)),
        NativePartition(2, "rest", is_default=True),
    )
    layout = PartitionLayout(TABLE, "list", "d", parts)

    assert [layout.partition_of(value) for value in (number(1), None, number(7))] == [parts[0], parts[0], parts[1]]
    assert not layout.holds_only(parts[0], number(1))


@pytest.mark.parametrize(
    ("right", "low", "high", "only"),
    [
        (True, "2024-01-31", "2024-02-01", "2024-01-31"),
        (False, "2024-01-30", "2024-01-31", "2024-01-31"),
        (True, "2024-01-30", "2024-02-01", None),
    ],
)
def test_range_of_one_day_holds_only_that_day(right: bool, low: str, high: str, only: str | None):
    part = NativePartition(1, "p", day(low), day(high))
    layout = PartitionLayout(TABLE, "range", "d", (part,), low_included=right)

    assert layout.holds_only(part, day("2024-01-31")) is (only is not None)


@pytest.mark.parametrize(
    ("layout", "value", "bounds"),
    [
        (closed((number(20240131), number(20240201))), number(20240202), ("20240202", "20240203")),
        (closed((number(20240101), number(20240201))), number(20240215), ("20240201", "20240301")),
        (closed((number(202412), number(202501))), number(202503), ("202503", "202504")),
        (closed((day("2023-01-01"), day("2024-01-01"))), day("2024-05-05"), ("2024-01-01", "2025-01-01")),
        (closed((day("2024-01-01"), day("2024-02-01"))), day("2024-12-31"), ("2024-12-01", "2025-01-01")),
        (closed((number(1), number(5)), (number(8), number(12))), number(6), ("6", "7")),
        (ranges(number(100), right=False), number(150), ("149", "150")),
    ],
)
def test_new_partition_has_the_width_of_its_neighbours(layout: PartitionLayout, value: Value, bounds: tuple[str, str]):
    new = new_partition(layout, value)

    assert new is not None
    assert (str(new.low), str(new.high)) == bounds


def test_split_leaves_the_rest():
    """The next value finds the rest after the new partition, so its own split has no part before it."""
    layout = ranges(number(100))
    first = new_partition(layout, number(100))
    assert first is not None
    layout = with_partition(layout, first)

    second = new_partition(layout, number(101))

    assert second is not None
    assert (second.splits, str(second.low), str(second.high)) == ("2", "101", "102")
    assert layout.named("2") is not None
    assert layout.named("2").low == second.low  # type: ignore[union-attr]


PART = NativePartition(1, "p1", number(1), number(2))
LAYOUT = PartitionLayout(TABLE, "range", "d", (PART,))
REFERENCED = Precondition("no foreign key", is_met=False, error="4967", reason="lines refers to it", cure=("DROP FK",))


@pytest.mark.parametrize(
    ("setting", "found", "answer"),
    [
        ("direct", Found(LAYOUT, PART), "direct: `switch: direct`"),
        ("auto", Found(None), "direct: the table is not partitioned"),
        ("auto", Found(LAYOUT, PART), "switch: into the empty partition p1"),
        ("auto", Found(LAYOUT, PART, holds=True), "switch: in place of the rows of p1"),
        (
            "auto",
            Found(LAYOUT, PART, holds=True, holds_others=True),
            "direct: its partition p1 also has rows of other values, which a stage would copy",
        ),
        (
            "always_stage",
            Found(LAYOUT, PART, holds=True, holds_others=True),
            "switch: the other rows of p1 are copied into the stage",
        ),
        (
            "always_stage",
            Found(LAYOUT, PART, holds=True, holds_others=True, can_carry=False),
            "direct: its partition p1 also has rows of other values",
        ),
        ("auto", Found(LAYOUT, PART, unmet=(REFERENCED,)), "direct: lines refers to it (error 4967)"),
        ("auto", Found(LAYOUT, PART, not_copied=("note",)), "direct: the target has note besides the source's columns"),
    ],
)
def test_choice_says_why(setting: str, found: Found, answer: str):
    assert str(choose(setting, found, [number(1)])) == answer


def test_refusal_names_error_and_cure():
    with pytest.raises(Unsupported) as refused:
        choose("always_stage", Found(LAYOUT, PART, unmet=(REFERENCED,)), [number(1)])

    assert "no foreign key: lines refers to it (error 4967)" in str(refused.value)
    assert "Run: DROP FK" in str(refused.value)
