"""Executors: they run splits, as Spark tasks or as threads of this process. Rows stay inside; results come back.

A split travels in the closure of its task, credentials with it: neither a DataFrame nor Spark's configuration ever
shows them. Small splits share short Spark jobs, and several jobs run at a time. Each job returns its results through
Spark, so driver and executors need no common disk, and the driver acts on them as soon as the job ends: a killed run
keeps what was finished.
"""

from __future__ import annotations

import os
import pickle
import queue
import re
import resource
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tidegate
from tidegate.buckets.exchange import Exchange
from tidegate.errors import SparkUnavailable, TidegateError
from tidegate.interfaces.worker import Progress, SessionCache, Split, Worker, retried
from tidegate.spark.counters import CounterAddress, Counters
from tidegate.spark.exchange import ExchangeOnSpark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.1
ROWS_OF_A_JOB = 200_000
"""Splits share a job up to so many rows, which take a second or less."""
COMMITTED_STANDS = "What was committed before stands."


@dataclass(frozen=True)
class SplitOutcome:
    """How a split ended: with a result, or with an error."""

    number: int
    result: Any = None
    error: TidegateError | None = None
    seconds: float = 0.0
    rows: int = 0
    """How many rows it moved."""
    cpu_seconds: float = 0.0
    """The processor time of its thread. The rest of `seconds` is waiting: for servers, files, other tasks."""
    memory: int = 0
    """The most bytes that its process ever had in memory, whatever else ran in it."""


class Executor(ABC):
    """Runs every split once to success or failure. A failed split does not end the others."""

    name: str
    """What the report calls it."""

    def run(
        self,
        splits: Sequence[Split],
        finished: Callable[[SplitOutcome], None],
        progressed: Callable[[int], None] = lambda rows: None,
        at_once: int = 4,
        rows: Sequence[int] = (),
        label: str = "",
    ) -> None:
        """Call `finished` in this thread, once per split, as soon as its outcome is known, and `progressed` with the
        rows moved so far. Never more than `at_once` splits run at a time, however large the cluster is. `rows` is about
        how many rows each split moves, where that is known. `label` is shown where Spark shows its jobs."""
        outcomes: queue.SimpleQueue[SplitOutcome] = queue.SimpleQueue()
        counters = Counters(are_sent=self.has_tasks_here())
        shares = _Shares(splits, self.width(len(splits), at_once), rows)
        threads = [
            threading.Thread(
                target=self._take, args=(shares, outcomes, counters, label), daemon=True, name=f"tidegate {name}"
            )
            for name in range(shares.width)
        ]
        # Daemons: a process that is interrupted ends, and what they had open is rolled back.
        for thread in threads:
            thread.start()
        with closing(counters):
            for _ in splits:
                while (outcome := _next(outcomes)) is None:
                    progressed(counters.rows())
                progressed(counters.rows())
                finished(outcome)

    def _take(self, shares: _Shares, outcomes: queue.SimpleQueue[SplitOutcome], counters: Counters, label: str) -> None:
        """Run one share after the other until none is left."""
        while share := shares.next():
            left = {number for number, _ in share}
            try:
                with self._labelled(label):
                    for outcome in self._run(share, counters):
                        left.discard(outcome.number)
                        outcomes.put(outcome)
            except BaseException as problem:
                for number in sorted(left):
                    counters.end(f"{number}", 0)
                    outcomes.put(SplitOutcome(number, error=_lost(problem)))

    def has_tasks_here(self) -> bool:
        """Return whether its tasks are other processes of this machine."""
        return False

    def _labelled(self, label: str) -> AbstractContextManager[None]:
        """Return a block in which the work of this thread carries the label."""
        return nullcontext()

    @abstractmethod
    def width(self, splits: int, at_once: int) -> int:
        """Return how many shares run at the same time."""

    @abstractmethod
    def _run(self, share: Sequence[Numbered], counters: Counters) -> Iterable[SplitOutcome]: ...


Numbered = tuple[int, Split]


class LocalExecutor(Executor):
    """Threads of this process. No Java is needed."""

    name = "process"

    def width(self, splits: int, at_once: int) -> int:
        return min(splits, at_once, os.cpu_count() or 1)

    def _run(self, share: Sequence[Numbered], counters: Counters) -> Iterator[SplitOutcome]:
        with closing(SessionCache()) as sessions:
            for number, split in share:
                yield outcome_of(number, split, Worker(f"p{os.getpid()}", Progress(counters.ended), sessions))


class SparkExecutor(Executor):
    """Tasks of a Spark session, classic or Connect."""

    def __init__(self, session: SparkSession, name: str, cores: int | None = None, *, is_warm: bool = False) -> None:
        self.session, self.name, self._cores, self._is_warm = session, name, cores, is_warm

    def has_tasks_here(self) -> bool:
        from tidegate.spark.session import is_local

        return self._is_warm or is_local(self.session)

    @contextmanager
    def _labelled(self, label: str) -> Iterator[None]:
        """Jobs carry the label as a tag, classic and on Connect: the event log has it, and Spark's pages."""
        if not label:
            yield
            return
        self.session.addTag(label)
        try:
            yield
        finally:
            with suppress(Exception):  # a session that is gone has no tags
                self.session.removeTag(label)

    def width(self, splits: int, at_once: int) -> int:
        from tidegate.spark.session import cores_of

        return min(splits, at_once, self._cores or cores_of(self.session) or at_once)

    def _run(self, share: Sequence[Numbered], counters: Counters) -> Iterator[SplitOutcome]:
        in_one_task = [(number, split) for number, split in share if not _has_buckets(split)]
        if in_one_task:
            task = self.session.range(0, 1, 1, 1).mapInArrow(_task(in_one_task, counters.address), "outcome binary")
            for row in task.collect():
                outcome: SplitOutcome = pickle.loads(row["outcome"])
                counters.end(f"{outcome.number}", outcome.rows)
                yield outcome
        for number, split in share:
            if isinstance(split, Exchange) and _has_buckets(split):
                with closing(SessionCache()) as sessions:
                    waiting = Worker(f"p{os.getpid()}", Progress(), sessions)
                    yield outcome_of(number, ExchangeOnSpark(self.session, split, f"{number}", counters), waiting)


def _has_buckets(split: Split) -> bool:
    """Return whether a split is worth several tasks, with a shuffle between them."""
    return isinstance(split, Exchange) and split.buckets > 1


class _Shares:
    """Splits on their way to whoever is free. Shares become smaller towards the end: a job costs as much as some
    thousand rows, and waiting for the one with the longest splits costs more. A large split has a job of its own: the
    driver learns of rows, and commits them, when a job ends."""

    def __init__(self, splits: Sequence[Split], width: int, rows: Sequence[int] = ()) -> None:
        self.width = width
        self._left = list(enumerate(splits))
        self._rows = rows or [0] * len(splits)
        self._lock = threading.Lock()

    def next(self) -> Sequence[Numbered]:
        """Return the next share; none when all are taken."""
        with self._lock:
            size = -(-len(self._left) // (2 * self.width)) if self._left else 0
            sums = accumulate(self._rows[number] for number, _ in self._left[:size])
            size = min(size, 1 + sum(rows <= ROWS_OF_A_JOB for rows in list(sums)[1:]))
            share, self._left = self._left[:size], self._left[size:]
            return share


def _next(outcomes: queue.SimpleQueue[SplitOutcome]) -> SplitOutcome | None:
    try:
        return outcomes.get(timeout=_POLL_SECONDS)
    except queue.Empty:
        return None


def _task(
    share: Sequence[Numbered], address: CounterAddress | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        for _ in batches:
            pass
        context = TaskContext.get()
        attempt = f"{context.taskAttemptId()}" if context is not None else f"p{os.getpid()}"
        with closing(SessionCache()) as sessions:
            for number, split in share:
                progress = address.progress(f"{number}") if address else Progress()
                outcome = outcome_of(number, split, Worker(attempt, progress, sessions))
                yield pa.RecordBatch.from_pydict({"outcome": [pickle.dumps(outcome)]})

    return work


def outcome_of(number: int, split: Split, worker: Worker) -> SplitOutcome:
    """Run a split, repeating it after transient errors. A failure is an outcome: it must not end the other splits."""
    started, cpu = time.monotonic(), time.thread_time()
    try:
        result, error = retried(lambda: split.run(worker)), None
    except TidegateError as problem:
        result, error = None, problem
    except Exception as problem:
        result, error = None, TidegateError(f"Unexpected {type(problem).__name__}: {problem} ({_where(problem)})")
    seconds = round(time.monotonic() - started, 3)
    used = round(time.thread_time() - cpu, 3)
    return SplitOutcome(number, result, error, seconds, worker.progress.rows, used, _peak_memory())


def _peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB


_PACKAGE = str(Path(tidegate.__file__).parent) + os.sep


def _where(problem: Exception) -> str:
    """Return the last line of the package that the error went through: nobody sees a stack trace of a task."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(_PACKAGE)] or frames
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}"


def _lost(problem: BaseException) -> TidegateError:
    """Return the error of a split whose job ended before it did."""
    if isinstance(problem, TidegateError):
        return SparkUnavailable(problem.happened, COMMITTED_STANDS, problem.remedy)
    reason = reason_of(problem)
    remedy = "Run again: it completes what is missing."
    if re.search(r"No module named '(tidegate|pyarrow)\b", reason):
        # Spark takes the first `python3` of the path, whatever Python the session was opened in.
        remedy = (
            "The Python of Spark's tasks is another one. Before the session is opened, set PYSPARK_PYTHON to the Python"
            f" that has Tidegate, here {sys.executable}; on a cluster, install it on the workers. Then run again."
        )
    return SparkUnavailable(f"Spark ended before this split did: {reason}.", COMMITTED_STANDS, remedy)


def reason_of(problem: BaseException | None) -> str:
    """Return what a worker's Python raised, which stands at the end of its stack trace; else the first line."""
    lines = [line.strip() for line in str(problem or "no answer").strip().split("\n")]
    raised = [line for line in lines if re.match(r"(\w+\.)*\w+(Error|Exception): ", line)]
    return (raised or lines)[0][:300].rstrip(".")
