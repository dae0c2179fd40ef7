"""What a run tells of itself while it moves rows, in a file that `tidegate ui` on the same machine reads.

A run has a folder of its own below the user's cache folder, with two files: `progress.json`, which is replaced as a
whole, and `alive`, a lock that the operating system releases when the process of the run ends, however it ends. The
files are for people. A run that cannot write them goes on without.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tidegate.model.report import StepOutcome
from tidegate.runs.listener import Listener
from tidegate.spark.java import cache_dir
from tidegate.spark.warm import locks
from tidegate.spark.warm.private import NotPrivate, make_folder, read_private, write_private
from tidegate.state.lock import whoami

_SECONDS_BETWEEN = 0.5
_STEPS = 30
"""How many of the newest steps the file has."""


@cache
def journals_of(target: str, lake: str) -> Path:
    """Return the folder of all runs of a project, which may not exist. A project is known by its target and lake."""
    key = hashlib.sha256(f"{target}\n{lake}".encode()).hexdigest()[:16]
    return cache_dir() / "runs" / key


@dataclass
class Journal(Listener):
    """Writes down what it hears, and passes it on to another listener."""

    folder: Path
    run: str
    verb: str
    started_at: str
    listener: Listener
    _told: dict[str, Any] = field(default_factory=dict)
    _alive: locks.FileLock | None = None
    _is_broken: bool = False
    _written: float = 0.0
    _since: float = 0.0

    def phase(self, name: str, splits: int, rows: int | None) -> None:
        self.listener.phase(name, splits, rows)
        self._since = time.monotonic()
        phase = {"name": name, "windows": splits, "expected": rows, "done": 0, "rows": 0, "seconds": 0.0}
        self._begin()
        self._told["phases"].append(phase)
        self._write()

    def moved(self, rows: int) -> None:
        self.listener.moved(rows)
        if self._told:
            self._phase["rows"] = rows
            self._write(at_most_every=_SECONDS_BETWEEN)

    def step(self, outcome: StepOutcome) -> None:
        self.listener.step(outcome)
        if self._told:
            self._phase["done"] += 1
            self._told["failed"] += outcome.outcome == "failed"
            shown = {key: getattr(outcome, key) for key in ("table", "step", "value", "outcome", "rows", "seconds")}
            self._told["steps"] = [*self._told["steps"][1 - _STEPS :], shown]
            self._write(at_most_every=_SECONDS_BETWEEN)

    def phase_ended(self) -> None:
        self._write()
        self.listener.phase_ended()

    def ended(self) -> None:
        self.listener.ended()
        if self._alive is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            self._alive.close(used=False)
        self._alive, self._told = None, {}

    @property
    def _own(self) -> Path:
        return self.folder / self.run

    @property
    def _phase(self) -> dict[str, Any]:
        phase: dict[str, Any] = self._told["phases"][-1]
        return phase

    def _begin(self) -> None:
        if self._told:
            return
        about = {"run": self.run, "verb": self.verb, "started_at": self.started_at, "by": whoami()}
        self._told = {**about, "phases": [], "steps": [], "failed": 0}
        with self._or_without():
            make_folder(self._own)
            self._alive = locks.take(self._own / "alive")

    def _write(self, at_most_every: float = 0.0) -> None:
        now = time.monotonic()
        if not self._told or self._is_broken or now - self._written < at_most_every:
            return
        self._written = now
        self._phase["seconds"] = round(now - self._since, 1)
        with self._or_without():
            write_private(self._own / "progress.json", json.dumps(self._told))

    @contextmanager
    def _or_without(self) -> Iterator[None]:
        """Suppress what keeps the files from being written; from then on nothing is written."""
        try:
            yield
        except (OSError, NotPrivate):
            self._is_broken = True


def under_way(folder: Path) -> list[dict[str, Any]]:
    """Return what the runs tell that move rows just now, the eldest first. What killed runs left is removed."""
    told = []
    for own in sorted(folder.iterdir()) if folder.is_dir() else []:
        try:
            if locks.is_held(own / "alive"):
                told.append(json.loads(read_private(own / "progress.json")))
            elif (own / "alive").exists():
                shutil.rmtree(own, ignore_errors=True)
        except (OSError, NotPrivate, ValueError):
            continue
    return told
