"""Executors: every split gets one outcome, failures included. Engines: the user chooses which executor there is."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any, cast

import pytest

from kit.one_process import OneProcess
from tidegate.errors import ConfigError, LakeError, SparkUnavailable, Transient
from tidegate.interfaces.worker import Worker, retried
from tidegate.spark.counters import CounterAddress, Counters
from tidegate.spark.engine import engine_of
from tidegate.spark.executor import (
    ROWS_OF_A_JOB,
    Executor,
    LocalExecutor,
    SparkExecutor,
    SplitOutcome,
    _Shares,
    reason_of,
)
from tidegate.spark.place import Opened, Place
from tidegate.spark.session import cores_of

IN_A_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "session.py", line 18, in <module>
    import psycopg
ModuleNotFoundError: No module named 'psycopg'

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
"""
IN_THE_JVM = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: Python worker exited unexpectedly.
	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:624)
"""


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (None, "no answer"),
        (Exception(IN_A_WORKER), "ModuleNotFoundError: No module named 'psycopg'"),
        (
            Exception(IN_THE_JVM),
            "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: Python worker exited unexpectedly",
        ),
        (ConnectionError("[Errno 111] Connection refused"), "[Errno 111] Connection refused"),
    ],
    ids=["nothing", "in a worker", "in the JVM", "on the way"],
)
def test_reason_is_what_python_raised_or_the_first_line(problem: Exception | None, reason: str):
    assert reason_of(problem) == reason


class Counted:
    """A split that returns its number, or fails by it."""

    def __init__(self, number: int, together: threading.Barrier | None = None) -> None:
        self.number, self.together = number, together

    def run(self, worker: Worker) -> int:
        if self.together is not None:
            self.together.wait(timeout=10)
        if self.number == 2:
            raise LakeError("no room")
        if self.number == 3:
            raise ZeroDivisionError("a mistake")
        worker.progress.add(10)
        return self.number


def outcomes(executor: Executor, splits: Sequence[Any], at_once: int = 4) -> dict[int, SplitOutcome]:
    found: dict[int, SplitOutcome] = {}
    rows: list[int] = []

    def finished(outcome: SplitOutcome) -> None:
        assert outcome.number not in found, "told twice"
        assert threading.current_thread() is threading.main_thread()
        found[outcome.number] = outcome

    executor.run(splits, finished, rows.append, at_once)
    # A split that fails takes back the rows that it had counted while it ran.
    assert rows == sorted(rows) or any(outcome.error for outcome in found.values())
    assert rows[-1] == sum(outcome.rows for outcome in found.values())
    return found


def spark(session: Any = None) -> SparkExecutor:
    return SparkExecutor(cast(Any, session or OneProcess()), "local")


@pytest.mark.parametrize("executor", [LocalExecutor(), spark()], ids=["threads", "spark"])
def test_every_split_has_one_outcome(executor: Executor):
    found = outcomes(executor, [Counted(number) for number in range(5)])

    assert {number: outcome.result for number, outcome in found.items()} == {0: 0, 1: 1, 2: None, 3: None, 4: 4}
    assert isinstance(found[2].error, LakeError)
    told = str(found[3].error)
    assert told.startswith("Unexpected ZeroDivisionError: a mistake (")
    assert ", line " in told


class Long:
    """A split that says how far it came, and ends when it is allowed to."""

    may_end = threading.Event()

    def run(self, worker: Worker) -> int:
        worker.progress.add(70)
        assert self.may_end.wait(timeout=20)
        worker.progress.add(30)
        return 1


@pytest.mark.parametrize("executor", [LocalExecutor(), spark()], ids=["threads", "spark"])
def test_rows_of_a_running_task_are_counted(executor: Executor, monkeypatch: pytest.MonkeyPatch):
    """A large load is one task: its rows are told before it ends, and not twice when it ended."""
    monkeypatch.setattr(Long, "may_end", threading.Event())
    told: list[int] = []

    def progressed(rows: int) -> None:
        told.append(rows)
        if rows == 70:
            Long.may_end.set()

    executor.run([Long()], lambda outcome: None, progressed)

    assert (70 in told, told[-1]) == (True, 100)


def test_counts_of_strangers_are_not_believed():
    """Whoever sends to the port needs the token. A count that comes late is not added to what ended."""
    with closing(Counters(are_sent=True)) as counters:
        address = counters.address
        assert address is not None
        address.progress("1").add(50)
        CounterAddress(address.port, "guessed").progress("2").add(1_000)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for told in (b"{", b"[]", b'["x", "3", 0, 7]', b"\xff"):
                stranger.sendto(told, ("127.0.0.1", address.port))
        assert (counters.rows(), address.token in repr(address)) == (50, False)
        counters.end("1", 60)
        address.progress("1").add(55)
        assert counters.rows() == 60


def test_error_names_a_line_of_the_package(monkeypatch: pytest.MonkeyPatch):
    """A clone in a folder named `tidegate` does not make every file of it a file of the package."""

    class Broken:
        def run(self, worker: Worker) -> None:
            worker.sessions.session(cast(Any, None), "load").__enter__()

    [outcome] = outcomes(LocalExecutor(), [Broken()]).values()
    assert "(worker.py, line " in str(outcome.error)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core runs one split at a time")
def test_splits_run_beside_each_other():
    both = threading.Barrier(2)  # neither goes on before the other has begun
    assert len(outcomes(LocalExecutor(), [Counted(0, both), Counted(1, both)])) == 2


def test_a_job_that_dies_fails_its_splits_and_no_others():
    class Dies(OneProcess):
        def collect(self) -> list[dict[str, Any]]:
            raise RuntimeError("Python worker exited unexpectedly\n\tat org.apache.spark")

    found = outcomes(spark(Dies()), [Counted(0), Counted(1)])
    for outcome in found.values():
        assert isinstance(outcome.error, SparkUnavailable)
        assert outcome.error.happened == "Spark ended before this split did: Python worker exited unexpectedly."


def test_a_python_without_tidegate_is_named():
    """Spark's tasks run in the first `python3` of the path: the error says how to choose another."""

    class Misses(OneProcess):
        def collect(self) -> list[dict[str, Any]]:
            raise RuntimeError("An error\nModuleNotFoundError: No module named 'tidegate'\n\tat org.apache.spark")

    (outcome,) = outcomes(spark(Misses()), [Counted(0)]).values()
    assert outcome.error is not None and "set PYSPARK_PYTHON" in outcome.error.remedy


@pytest.mark.parametrize(
    ("splits", "width", "sizes"),
    [(10, 2, [3, 2, 2, 1, 1, 1]), (3, 2, [1, 1, 1]), (1, 8, [1]), (10, 1, [5, 3, 1, 1]), (0, 1, [])],
    ids=["few cores", "as many", "one", "one core", "none"],
)
def test_shares_become_smaller_towards_the_end(splits: int, width: int, sizes: list[int]):
    shares = _Shares([Counted(number) for number in range(splits)], width)
    taken = list(iter(shares.next, []))
    assert [len(share) for share in taken] == sizes
    assert [number for share in taken for number, _ in share] == list(range(splits))


def test_large_splits_have_jobs_of_their_own():
    """Two splits that together exceed the rows of a job are two jobs; small ones share one."""
    rows = [ROWS_OF_A_JOB // 2] * 2 + [ROWS_OF_A_JOB + 1] * 2 + [10] * 4
    shares = _Shares([Counted(number) for number in range(len(rows))], 1, rows)
    taken = [[number for number, _ in share] for share in iter(shares.next, [])]
    assert taken == [[0, 1], [2], [3], [4, 5], [6], [7]]


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[*]", os.cpu_count()),
        ("local[*,3]", os.cpu_count()),
        ("local[2, 3]", 2),
        ("local-cluster[2,1,1024]", None),
        ("spark://there:7077", None),
        ("", None),
    ],
)
def test_cores_of_local_masters_are_known(master: str, cores: int | None):
    assert cores_of(cast(Any, OneProcess(master))) == cores


def test_transient_errors_are_repeated():
    tried: list[int] = []

    def work() -> str:
        tried.append(1)
        if len(tried) < 3:
            raise Transient("a deadlock")
        return "done"

    assert (retried(work, first_wait=0.0), len(tried)) == ("done", 3)


# The engine


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sessions that were opened or closed, in this order. None of them is real."""
    happened: list[str] = []

    def open_one(place: Place) -> Opened:
        happened.append("opened")
        return Opened(cast(Any, object()), place.master or "local", lambda: happened.append("closed"))

    monkeypatch.setattr("tidegate.spark.engine.open_place", open_one)
    return happened


@pytest.mark.parametrize(
    ("place", "given", "name"),
    [
        (Place(), None, "local"),
        (Place(master="local[2]"), None, "local[2]"),
        (Place(), cast(Any, object()), "session given"),
    ],
    ids=["by default", "with a master", "with a session"],
)
def test_spark_moves_the_rows(place: Place, given: Any, name: str, opened: list[str]):
    engine = engine_of("spark", place, given)
    assert engine.name is None
    executor = engine.executor()
    assert isinstance(executor, SparkExecutor)
    assert (engine.name, executor.name) == (name, name)


def test_engine_process_moves_rows_by_threads(opened: list[str]):
    """Its name is in every report, also of a run that moved nothing."""
    engine = engine_of("process", Place())
    assert engine.name == "process"
    engine.prewarm()
    assert isinstance(engine.executor(), LocalExecutor)
    engine.close()
    assert opened == []


def test_session_and_engine_process_are_refused():
    """Neither silently wins."""
    with pytest.raises(ConfigError, match="A Spark session was passed in, and the project has `engine: process`"):
        engine_of("process", Place(), cast(Any, object()))


def test_engine_names_nothing_before_rows_move(opened: list[str]):
    """A Spark that was started in the background and not needed did not move anything."""
    engine = engine_of("spark", Place())
    engine.prewarm()
    assert engine.name is None


def test_one_session_is_opened(opened: list[str]):
    engine = engine_of("spark", Place())
    engine.prewarm()
    engine.prewarm()
    engine.executor()
    engine.executor()
    engine.close()
    engine.close()
    assert opened == ["opened", "closed"]


def test_session_closed_while_starting_is_stopped(monkeypatch: pytest.MonkeyPatch):
    """It is stopped before the next one is opened."""
    happened: list[str] = []
    is_there = threading.Event()

    def open_one(place: Place) -> Opened:
        is_there.wait(timeout=10)
        happened.append("opened")
        return Opened(cast(Any, object()), "local", lambda: happened.append("closed"))

    monkeypatch.setattr("tidegate.spark.engine.open_place", open_one)
    first, second = engine_of("spark", Place()), engine_of("spark", Place())
    first.prewarm()
    first.close()
    second.prewarm()
    is_there.set()
    second.executor()
    assert happened == ["opened", "closed", "opened"]
