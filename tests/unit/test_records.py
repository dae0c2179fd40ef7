"""Watermarks keep their value and its type as text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tidegate.consistency.gaps import missing_windows
from tidegate.model.records import text_of, type_of, value_of


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("2024-01-15T10:00:00", "text", "2024-01-15T10:00:00"),
        (7, "integer", "7"),
        (np.int64(1 << 62), "integer", "4611686018427387904"),
        (Decimal("1.50"), "decimal", "1.50"),
        (0.1, "float", "0.1"),
        (date(2024, 1, 31), "date", "2024-01-31"),
        (datetime(2024, 1, 31, 10, 0, 0, 1, UTC), "timestamp", "2024-01-31T10:00:00.000001+00:00"),
        ((date(2024, 1, 31), 5), "pair", '[["date", "2024-01-31"], ["integer", "5"]]'),
        (None, "none", None),
    ],
)
def test_watermark_value_survives_as_text(value: Any, kind: str, text: str | None):
    assert (type_of(value), text_of(value)) == (kind, text)
    assert value_of(text, kind) == value


def test_truth_value_is_no_watermark():
    with pytest.raises(TypeError):
        type_of(True)


@pytest.mark.parametrize(
    ("windows", "gaps"),
    [
        ([], []),
        ([(None, 5), (5, 9)], []),
        ([(5, 9), (None, 5), (12, 15), (7, 10)], [("10", "12")]),
        ([(3, 4), (1, 9), (9, 12)], []),
    ],
)
def test_ranges_between_windows_are_found(windows: list[Any], gaps: list[Any]):
    assert [(gap.first_missing, gap.last_missing) for gap in missing_windows(windows)] == gaps
