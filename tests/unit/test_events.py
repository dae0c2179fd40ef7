"""Events from where they come: readers, functions, files of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.errors import ValueProblem
from tidegate.frames.events import Event, event_rows, events_of

EVENTS = [
    {"operation": "insert", "lsn": 7, "data": {"id": 1, "price": "1.10"}},
    {"op": "d", "position": 8, "key": {"id": 1}},
]


class Reader:
    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def read(self, after: str | None) -> list[dict[str, Any]]:
        self.asked.append(after)
        return EVENTS[1:]


def test_reader_is_asked_for_what_comes_after_a_position():
    reader = Reader()
    assert event_rows(reader, 7) == EVENTS[1:]
    assert event_rows(reader) == EVENTS[1:]
    assert reader.asked == ["7", None]
    assert event_rows(lambda after: [{"after": after}], 7) == [{"after": "7"}]


def test_json_lines_keep_every_digit(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"op": "u", "lsn": "0/16", "after": {"id": 1, "price": 1.10000000000000000001}}\n\n')
    assert events_of(event_rows(path)) == [Event("update", {"id": 1, "price": "1.10000000000000000001"}, "0/16")]


def test_broken_line_is_named(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"op": "u"}\n{"op": \n')
    with pytest.raises(ValueProblem, match="Line 2 of"):
        event_rows(path)


def test_iterables_stay_as_they_are():
    assert [event.operation for event in events_of(event_rows(iter(EVENTS)))] == ["insert", "delete"]
