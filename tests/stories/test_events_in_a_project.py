"""`changes: events`: a table that a service tells by events, in files or by a reader, synced like every other."""

from __future__ import annotations

import json
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.copied import Copied, Copies
from kit.project import child
from kit.sides import ask

pytestmark = pytest.mark.postgres

CREATE = (
    "CREATE TABLE customers (id int PRIMARY KEY, name text, price numeric(12,4), at timestamptz, raw bytea, ok bool)"
)
ALL = "SELECT id, name, price, at, raw, ok FROM customers ORDER BY id"
ADA: dict[str, Any] = {
    "id": 1,
    "name": "Ada",
    "price": 1.10,
    "at": "2024-03-31T01:30:00.123456Z",
    "raw": "\\x00ff",
    "ok": True,
}
BOB: dict[str, Any] = {"id": 2, "name": None, "price": None, "at": None, "raw": None, "ok": None}


@pytest.fixture
def copied(copies: Copies) -> Copied:
    made = copies()
    made.in_target(CREATE)
    return made


def write(path: Path, *events: dict[str, Any]) -> None:
    with path.open("a") as lines:
        lines.writelines(json.dumps(event) + "\n" for event in events)


def test_events_of_files_arrive_in_order(copied: Copied, tmp_path: Path):
    """Inserts, an update, a delete; another file later; a line that is still being written waits."""
    synced = copied.tidegate(
        {"customers": {"kind": "incremental", "changes": "events", "events": f"{tmp_path}/*.jsonl"}}
    )
    write(tmp_path / "1.jsonl", {"op": "c", "after": ADA}, {"op": "c", "after": BOB})
    synced.run()
    [ada, bob] = ask(copied.target, ALL)
    assert ada[:2] == (1, "Ada") and str(ada[2]) == "1.1000" and ada[4:] == (b"\x00\xff", True)
    assert ada[3] == datetime.fromisoformat(ADA["at"]) and bob[1:] == (None,) * 5
    assert not synced.plan().does_something
    write(tmp_path / "2.jsonl", {"op": "u", "after": {**ADA, "name": "Ada L"}}, {"op": "d", "key": 2})
    with (tmp_path / "2.jsonl").open("a") as lines:
        lines.write('{"op": "d", "key": 1}')
    synced.run()
    assert [row[:2] for row in ask(copied.target, ALL)] == [(1, "Ada L")]
    with (tmp_path / "2.jsonl").open("a") as lines:
        lines.write("\n")
    synced.run()
    assert ask(copied.target, ALL) == []
    assert synced.verify().exit_code == 0


def test_replayed_and_disordered_events_change_nothing(copied: Copied, tmp_path: Path):
    """Positions of their own: what was read comes again and changes nothing; the greatest position of a key wins."""
    table = {
        "kind": "incremental",
        "changes": "events",
        "events": f"{tmp_path}/*.jsonl",
        "only_columns": ["id", "name"],
    }
    synced = copied.tidegate({"customers": table})
    first = [{"op": "c", "lsn": 9, "id": 1, "name": "old"}, {"op": "u", "lsn": 10, "id": 1, "name": "new"}]
    write(tmp_path / "1.jsonl", *reversed(first))
    synced.run()
    assert ask(copied.target, "SELECT id, name FROM customers") == [(1, "new")]
    write(tmp_path / "2.jsonl", *first)
    assert not synced.plan().does_something
    write(tmp_path / "2.jsonl", {"op": "d", "lsn": 11, "id": 1})
    synced.run()
    assert ask(copied.target, ALL) == []


READER = """
import json, pathlib

class Service:
    def read(self, after):
        with open({log!r}, "a") as log:
            log.write(f"{{after}};")
        for number in range(int(after or 0) + 1, int(pathlib.Path({count!r}).read_text()) + 1):
            yield {{"operation": "upsert", "log_position": number, "id": number % 7, "name": f"n{{number}}"}}
"""


def test_reader_is_asked_behind_the_position(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A reader of one's own by its name, also in a run that is killed between lake, target and the end."""
    count, log = tmp_path / "count", tmp_path / "log"
    (tmp_path / "saas_adapter.py").write_text(READER.format(log=str(log), count=str(count)))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(__file__).parents[1]}")
    count.write_text("20")
    table = {
        "kind": "incremental",
        "changes": "events",
        "events": "saas_adapter:Service",
        "only_columns": ["id", "name"],
    }
    synced = copied.tidegate({"customers": table})
    for number, place in enumerate(["published", "task about to commit", "task committed", "before confirm"], 1):
        settings = {"source": copied.source, "target": copied.target, "lake": str(copied.lake), "engine": "process"}
        (tmp_path / "tidegate.yml").write_text(yaml.safe_dump({**settings, "tables": {"customers": table}}))
        with child(
            "-m", "kit.crash", tmp_path / "tidegate.yml", place, 1, tmp_path / f"t{number}", "process"
        ) as victim:
            _, errors = victim.communicate(timeout=200)
        assert victim.returncode == -signal.SIGKILL, errors
        count.write_text(str(20 + 10 * number))
    synced.run()
    assert ask(copied.target, "SELECT name FROM customers ORDER BY name") == [(f"n{n}",) for n in range(54, 61)]
    assert not synced.plan().does_something
    assert log.read_text().endswith("60;")
    assert "saas_adapter" in sys.modules


BROKEN = {
    "whole rows": ({"op": "u", "after": {"id": 1}}, "has no value for name"),
    "values": ({"op": "u", "after": {**ADA, "price": "1.23456789"}}, "price"),
    "operation": ({"op": "sing", "after": ADA}, "is no operation"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_event_that_is_not_understood_stops_the_table(copied: Copied, tmp_path: Path, case: str):
    event, told = BROKEN[case]
    write(tmp_path / "1.jsonl", {"op": "c", "after": BOB}, event)
    table = {"kind": "incremental", "changes": "events", "events": f"{tmp_path}/*.jsonl"}
    [(_, problem)] = copied.tidegate({"customers": table}).run(check=False).failures
    assert told in problem
    assert ask(copied.target, ALL) == []
