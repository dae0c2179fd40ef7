"""What a run tells while it moves rows, and what is left of it when it ends or is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tidegate.model.report import StepOutcome
from tidegate.runs.journal import Journal, under_way
from tidegate.runs.listener import Listener

KILLED = """
import os, signal, sys
from pathlib import Path
from tidegate.runs.journal import Journal
from tidegate.runs.listener import Listener
Journal(Path(sys.argv[1]), "r-2", "run", "now", Listener()).phase("extract", 3, None)
os.kill(os.getpid(), signal.SIGKILL)
"""


class Heard(Listener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        self.heard.append(name)

    def moved(self, rows: int) -> None:
        self.heard.append(f"{rows} rows")

    def step(self, outcome: StepOutcome) -> None:
        self.heard.append(outcome.outcome)

    def phase_ended(self) -> None:
        self.heard.append("phase ended")

    def ended(self) -> None:
        self.heard.append("ended")


def journal(folder: Path, listener: Listener | None = None) -> Journal:
    return Journal(folder, "r-1", "run", "2026-01-05T06:00:00+00:00", listener or Listener())


def test_a_run_tells_how_far_it_is(tmp_path):
    told = journal(tmp_path)
    told.phase("extract", 3, 300)
    told.phase_ended()
    told.phase("load", 3, 300)
    told.step(StepOutcome("trades", "load", "20240102", "new", "failed", rows=100))
    told.moved(100)
    told.phase_ended()
    [found] = under_way(tmp_path)
    assert (found["run"], found["verb"], found["failed"]) == ("r-1", "run", 1)
    assert [(phase["name"], phase["windows"], phase["done"], phase["rows"]) for phase in found["phases"]] == [
        ("extract", 3, 0, 0),
        ("load", 3, 1, 100),
    ]
    assert [step["value"] for step in found["steps"]] == ["20240102"]
    told.ended()
    assert under_way(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_another_listener_hears_everything(tmp_path):
    heard = Heard()
    told = journal(tmp_path, heard)
    told.step(StepOutcome("trades", "schema", "", "new", "done"))
    told.phase("load", 1, None)
    told.moved(5)
    told.phase_ended()
    told.ended()
    assert heard.heard == ["done", "load", "5 rows", "phase ended", "ended"]


def test_a_run_that_moves_nothing_writes_nothing(tmp_path):
    told = journal(tmp_path / "runs")
    told.step(StepOutcome("trades", "schema", "", "new", "done"))
    told.ended()
    assert not (tmp_path / "runs").exists()


def test_a_killed_run_is_not_under_way(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert (tmp_path / "r-2" / "progress.json").exists()
    assert under_way(tmp_path) == []
    assert not (tmp_path / "r-2").exists()


def test_a_run_goes_on_where_nothing_can_be_written(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    heard = Heard()
    told = journal(tmp_path / "taken", heard)
    told.phase("load", 1, None)
    told.moved(5)
    told.phase_ended()
    told.ended()
    assert heard.heard == ["load", "5 rows", "phase ended", "ended"]


def test_half_a_file_is_no_run(tmp_path):
    told = journal(tmp_path)
    told.phase("load", 1, None)
    (tmp_path / "r-1" / "progress.json").write_text(json.dumps({"run": "r-1"})[:5])
    assert under_way(tmp_path) == []
    told.ended()
