"""The status of a table follows from the status of its values."""

from __future__ import annotations

import pytest

from tidegate.model.status import ValueStatus
from tidegate.tables.status import summary_of


@pytest.mark.parametrize(
    ("states", "summed"),
    [
        ([], "empty"),
        (["out of scope"], "empty"),
        (["proven", "adopted", "out of scope"], "in sync"),
        (["proven", "differs"], "differs"),
        (["differs"], "differs"),
    ],
)
def test_one_differing_value_makes_the_table_differ(states: list[str], summed: str):
    """A table is `empty` without values, `differs` when one value differs, and otherwise `in sync`."""
    assert summary_of([ValueStatus(str(number), state) for number, state in enumerate(states)]) == summed
