"""What a table is said to be, by what its values are."""

from __future__ import annotations

import pytest

from tidegate.model.status import ValueStatus
from tidegate.runs.standing import _summed


@pytest.mark.parametrize(
    ("states", "summed"),
    [
        ([], "empty"),
        (["out of scope"], "empty"),
        (["proven", "adopted", "out of scope"], "in step"),
        (["proven", "differs"], "differs"),
        (["differs"], "differs"),
    ],
)
def test_one_value_that_differs_is_a_table_that_differs(states: list[str], summed: str):
    assert _summed([ValueStatus(str(number), state) for number, state in enumerate(states)]) == summed
