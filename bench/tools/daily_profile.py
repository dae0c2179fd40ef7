"""One daily run of Tidegate, and where its time goes: every step without those inside of it, on whichever thread."""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from bench.tools.tidegate_tool import project
from tidegate.interfaces import Session

STEPS = ("look", "wire and decode", "hash", "file", "decide", "stage", "apply", "verify")


class Steps:
    """Seconds by step. What runs inside of another step counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open = threading.local()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        above, started = getattr(self._open, "inside", None), time.monotonic()
        self._open.inside = inside = [0.0]
        try:
            yield
        finally:
            took = time.monotonic() - started
            self.seconds[name] += took - inside[0]
            self._open.inside = above
            if above is not None:
                above[0] += took

    def watch(self, owner: Any, name: str, step: str) -> None:
        inner = getattr(owner, name)

        @wraps(inner)
        def watched(*arguments: Any, **named: Any) -> Any:
            with self.step(step):
                return inner(*arguments, **named)

        setattr(owner, name, watched)

    def watch_rows(self, owner: Any, name: str, step: Callable[[], str]) -> None:
        """Of what is read batch by batch: the time until each of them is there."""
        inner = getattr(owner, name)

        @wraps(inner)
        def watched(*arguments: Any, **named: Any) -> Iterator[Any]:
            rows, told = inner(*arguments, **named), step()
            while True:
                with self.step(told):
                    batch = next(rows, None)
                if batch is None:
                    return
                yield batch

        setattr(owner, name, watched)


def watched(session: Any) -> Steps:
    """The seams between the parts of a run, of sessions of this class."""
    from tidegate.hashing import differences
    from tidegate.hashing import rows as hashing
    from tidegate.history import keys, versions
    from tidegate.lakes._files import FileWriter
    from tidegate.lakes.parquet import ParquetLake
    from tidegate.runs.load_split import LoadSplit
    from tidegate.runs.plan import Planner

    steps = Steps()
    _watch_writing(steps, session)
    steps.watch_rows(ParquetLake, "_batches", lambda: "file")
    for name in ("write", "close"):
        steps.watch(FileWriter, name, "file")
    for module in (hashing, differences, keys, versions):
        steps.watch(module, "hash_rows", "hash")
    steps.watch(Planner, "plan", "look")
    steps.watch(LoadSplit, "_apply", "decide")
    return steps


def _watch_writing(steps: Steps, session: Any) -> None:
    """What is read in a transaction after rows were written is read to prove them; what is written outside of one is
    a stage."""
    now = threading.local()
    transaction = session.transaction

    @contextmanager
    def inside(self: Any) -> Iterator[None]:
        now.is_inside = True
        try:
            with transaction(self):
                yield
        finally:
            now.is_inside = now.has_written = False

    session.transaction = inside
    for name in ("execute", "write"):
        inner = getattr(session, name)

        def written(self: Any, *arguments: Any, inner: Any = inner) -> Any:
            is_inside = getattr(now, "is_inside", False)
            with steps.step("apply" if is_inside else "stage"):
                result = inner(self, *arguments)
            now.has_written = is_inside
            return result

        setattr(session, name, written)
    steps.watch_rows(session, "read", lambda: "verify" if getattr(now, "has_written", False) else "wire and decode")


def _sessions_of(database: str) -> Any:
    module = importlib.import_module(f"tidegate.databases.{database}.session")
    classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Session)]
    return next(one for one in classes if one.__module__ == module.__name__)


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    steps = watched(_sessions_of(job["database"]))
    with project(job) as tidegate:
        started = time.monotonic()
        report = tidegate.run()
        total = time.monotonic() - started
    seconds = {step: round(steps.seconds[step], 3) for step in STEPS}
    print(json.dumps({"total": round(total, 3), "outcome": report.outcome, "steps": seconds}))
