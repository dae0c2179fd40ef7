"""Slices of work as Spark tasks, or as threads of this process: rows stay inside of them, facts come back.

The slices travel in the closure, credentials with them: neither a DataFrame nor Spark's configuration ever shows them.
While the job runs, tasks leave their facts and their progress as small files in the run's workspace, which driver and
executors share; the driver acts on each finished slice at once, so that a run that is killed keeps what was finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidegate.errors import SparkUnavailable, TidegateError
from tidegate.spark.worker import Progress, Sessions, Worker

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.1
COMMITTED_STANDS = "What was committed before stands."

Facts = dict[str, Any]


class Slice(Protocol):
    """The part of a window that one task moves. Must be repeatable: a task may run more than once."""

    def move(self, worker: Worker) -> Facts:
        """Do the work; what is to be known of it."""


Numbered: TypeAlias = tuple[int, Slice]


@dataclass
class Nearby:
    """Moves slices in this process: all of them where they are too few for a JVM, else those that it gets to before
    Spark is there, which then takes what is left."""

    spark: Future[SparkSession] | None = None
    was_joined: bool = False
    """Whether something was left for Spark."""


def run_slices(
    mover: SparkSession | Nearby,
    slices: Sequence[Slice],
    workspace: Path,
    finished: Callable[[int, Facts], None],
    progressed: Callable[[int], None] = lambda rows: None,
    at_once: int = 4,
) -> None:
    """Runs every slice once to success or failure. `finished` is called in this thread, once per slice, as soon as it
    is done; `progressed` with the rows moved so far by all of them.
    Never more than `at_once` run at a time, however large the cluster is."""
    workspace.mkdir(parents=True, exist_ok=True)
    job, told = _Job(mover, slices, workspace, at_once), _Told(workspace)
    seen: set[int] = set()
    while True:
        ended = not job.is_alive()
        for number, facts in chain(told.since_last(), job.since_last()):
            if number not in seen:
                seen.add(number)
                told.end(number, facts)
                finished(number, facts)
        progressed(told.rows)
        if ended:
            break
        job.join(_POLL_SECONDS)
    for number in sorted(set(range(len(slices))) - seen):
        finished(number, job.why_missing())


class _Job(threading.Thread):
    """The job, waited for in a thread of its own."""

    def __init__(self, mover: SparkSession | Nearby, slices: Sequence[Slice], workspace: Path, at_once: int) -> None:
        super().__init__(daemon=True, name="tidegate slices")
        self._mover, self._slices, self._workspace, self._at_once = mover, slices, workspace, at_once
        self._left = iter(range(len(slices)))  # whose next number is taken in one step, by whichever thread asks
        self._results: queue.SimpleQueue[tuple[int, Facts]] = queue.SimpleQueue()
        self._problem: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            if isinstance(self._mover, Nearby):
                self._move_here(self._mover)
            else:
                self._move_by_spark(self._mover, self._at_once)
        except BaseException as problem:
            self._problem = problem

    def _move_here(self, nearby: Nearby) -> None:
        cores = os.cpu_count() or 1
        if nearby.spark is None:
            for one in self._threads(cores, lambda: False):
                one.join()
            return
        # One alone: Python's lock lets several do little more, and Spark has the other connections when it is there.
        [thread] = self._threads(1, nearby.spark.done)
        try:
            while not nearby.spark.done() and thread.is_alive():
                time.sleep(_POLL_SECONDS)
            if nearby.spark.done():
                if self._at_once == 1:
                    thread.join()
                self._move_by_spark(nearby.spark.result(), self._at_once - thread.is_alive(), nearby)
        finally:
            thread.join()

    def _threads(self, most: int, is_over: Callable[[], bool]) -> list[threading.Thread]:
        """Threads that take one slice after the other until none is left, or it is over."""

        def take() -> None:
            with closing(Sessions()) as sessions:
                while not is_over() and (number := next(self._left, None)) is not None:
                    attempt = f"p{os.getpid()}"
                    facts = _outcome(self._slices[number], number, self._workspace, attempt, sessions)
                    self._results.put((number, facts))

        # Daemons: a process that is interrupted ends, and what they had open is rolled back.
        threads = [
            threading.Thread(target=take, daemon=True, name=f"tidegate slice {number}")
            for number in range(min(len(self._slices), self._at_once, most))
        ]
        for thread in threads:
            thread.start()
        return threads

    def _move_by_spark(self, session: SparkSession, at_once: int, joining: Nearby | None = None) -> None:
        left = [(number, self._slices[number]) for number in self._left]
        if left:
            from tidegate.spark.session import cores_of

            if joining is not None:
                joining.was_joined = True
            shares = shares_of(left, cores_of(session), at_once)
            places = session.range(0, len(shares), 1, len(shares))
            work = _task(shares, str(self._workspace))
            for row in places.mapInArrow(work, "slice bigint, facts string").collect():
                self._results.put((row["slice"], json.loads(row["facts"])))

    def since_last(self) -> Iterator[tuple[int, Facts]]:
        """What came back: of threads as soon as it is there, of Spark when its job has ended."""
        while not self._results.empty():
            yield self._results.get()

    def why_missing(self) -> Facts:
        happened, remedy = f"Spark ended before this slice did: {_reason(self._problem)}.", ""
        if isinstance(self._problem, TidegateError):
            happened, remedy = self._problem.happened, self._problem.remedy
        again = "Run again: it completes what is missing."
        return _failed(SparkUnavailable(happened, COMMITTED_STANDS, remedy or again))


def shares_of(slices: Sequence[Numbered], cores: int | None, at_once: int) -> list[Sequence[Numbered]]:
    """The slices of each task. So many tasks as may run at once; where there are no more cores than that, further ones
    that become smaller, for whoever is done first: a task costs as much as some thousand rows, and to wait for the one
    that got the longest slices costs more."""
    if cores is None or cores > at_once:
        tasks = min(at_once, len(slices))
        return [slices[task::tasks] for task in range(tasks)]
    shares, taken = list[Sequence[Numbered]](), 0
    while taken < len(slices):
        size = -(-(len(slices) - taken) // (2 * cores))
        shares.append(slices[taken : taken + size])
        taken += size
    return shares


def _reason(problem: BaseException | None) -> str:
    """What a worker's Python raised, which stands at the end of its stack trace; else the first line."""
    lines = [line.strip() for line in str(problem or "no answer").strip().split("\n")]
    raised = [line for line in lines if re.match(r"(\w+\.)*\w+(Error|Exception): ", line)]
    return (raised or lines)[0][:300].rstrip(".")


def _task(
    shares: list[Sequence[Numbered]], workspace: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """A task is told which of the shares is its own."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = f"{context.taskAttemptId()}" if context is not None else f"p{os.getpid()}"
        with closing(Sessions()) as sessions:
            for batch in batches:
                for number, slice_ in chain.from_iterable(shares[place] for place in batch.column(0).to_pylist()):
                    facts = _outcome(slice_, number, Path(workspace), attempt, sessions)
                    _leave(Path(workspace), f"{number}.{attempt}", facts)
                    yield pa.RecordBatch.from_pydict({"slice": [number], "facts": [json.dumps(facts)]})

    return work


def _outcome(slice_: Slice, number: int, workspace: Path, attempt: str, sessions: Sessions) -> Facts:
    """One slice's facts. A failure is a fact too: it must not end the job of the others."""
    started = time.monotonic()
    worker = Worker(attempt, Progress(workspace / f"{number}.{attempt}.rows"), sessions)
    try:
        facts = {"outcome": "done", **slice_.move(worker)}
    except TidegateError as problem:
        facts = _failed(problem)
    except Exception as problem:
        facts = _failed(TidegateError(f"Unexpected {type(problem).__name__}: {problem} ({_where(problem)})"))
    facts["seconds"] = round(time.monotonic() - started, 3)
    facts["moved"] = worker.progress.rows
    return facts


# A clone may stand in a folder of the package's own name.
_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def _where(problem: Exception) -> str:
    """The last line of ours that it went through: nobody sees a stack trace of a task."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(_PACKAGE)] or frames
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}"


def _failed(problem: TidegateError) -> Facts:
    return {"outcome": "failed", "error": str(problem), "kind": type(problem).__name__, "seconds": 0.0, "moved": 0}


def _leave(workspace: Path, stem: str, facts: Facts) -> None:
    with contextlib.suppress(OSError):
        temporary = workspace / f"{stem}.writing"
        temporary.write_text(json.dumps(facts))
        temporary.rename(workspace / f"{stem}.facts")


class _Told:
    """What tasks have left in the workspace. There may be thousands: no file is read again once it is final."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._known: set[str] = set()
        self._moved: dict[int, int] = {}
        self._ended: set[int] = set()

    def since_last(self) -> Iterator[tuple[int, Facts]]:
        """Facts of slices that were done. A failure is not taken from here: Spark may still repeat the task."""
        names = os.listdir(self._workspace)
        for name in names:
            if name.endswith(".facts") and name not in self._known:
                facts = json.loads((self._workspace / name).read_text())
                if facts["outcome"] == "done":
                    self._known.add(name)
                    yield _number(name), facts
        for name in names:
            if name.endswith(".rows") and _number(name) not in self._ended:
                with contextlib.suppress(OSError, ValueError):
                    rows = int((self._workspace / name).read_text())
                    self._moved[_number(name)] = max(self._moved.get(_number(name), 0), rows)

    def end(self, number: int, facts: Facts) -> None:
        """This slice moves no more rows."""
        self._ended.add(number)
        self._moved[number] = facts["moved"]

    @property
    def rows(self) -> int:
        """How many were moved so far."""
        return sum(self._moved.values())


def _number(name: str) -> int:
    """Whose file it is."""
    return int(name.split(".")[0])
