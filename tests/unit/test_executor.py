"""Executors: every split gets one outcome, failures included; and which executor moves how many rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest

from kit.one_process import OneProcess
from tidegate.errors import LakeError, SparkUnavailable, Transient
from tidegate.spark.engine import Engine
from tidegate.spark.executor import Executor, LocalExecutor, SparkExecutor, SplitOutcome, _Shares, reason_of
from tidegate.spark.session import cores_of
from tidegate.spark.worker import Worker, retried

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
    assert rows == sorted(rows)
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


@pytest.mark.parametrize(
    ("settings", "counts", "few"),
    [
        ({"from_rows": 100}, [], True),
        ({"from_rows": 100}, [60, 39], True),
        ({"from_rows": 100}, [60, 40], False),
        ({"from_rows": 100}, [1, None], False),
        ({"from_rows": 100}, [5000], True),
        ({"from_rows": 100}, [None], True),
        ({"from_rows": 0}, [0], False),
        ({"from_rows": 100, "master": "local[2]"}, [1], False),
        ({"from_rows": 100, "remote": "sc://host"}, [1], False),
        ({"from_rows": 100, "given": object()}, [1], False),
    ],
)
def test_few_rows_are_moved_here_and_others_by_spark(
    settings: dict[str, object], counts: list[int | None], few: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Engine, "_opened", lambda self: object())
    engine = Engine(**{"master": None, "remote": None, "options": {}, **settings})  # type: ignore[arg-type]
    assert engine.name is None
    engine.prewarm(counts)
    executor = engine.executor_for(counts)
    assert isinstance(executor, LocalExecutor) is few
    assert (engine.name == "this process") is few


def test_once_spark_was_started_it_moves_everything(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Engine, "_opened", lambda self: object())
    engine = Engine(None, None, {}, from_rows=100)
    engine.prewarm([99])
    engine.prewarm([99, 1])
    assert isinstance(engine.executor_for([1]), SparkExecutor)


def test_engine_names_nothing_before_rows_move(monkeypatch: pytest.MonkeyPatch):
    """A Spark that was started in the background and not needed did not move anything."""
    monkeypatch.setattr(Engine, "_opened", lambda self: object())
    engine = Engine(None, None, {}, from_rows=100)
    engine.prewarm([99, 1])
    assert engine.name is None


def test_a_session_closed_while_it_starts_is_stopped_before_the_next(monkeypatch: pytest.MonkeyPatch):
    happened: list[str] = []
    is_there = threading.Event()

    def opened(self: Engine) -> str:
        is_there.wait(timeout=10)
        happened.append("made")
        return f"session {len(happened)}"

    monkeypatch.setattr(Engine, "_opened", opened)
    monkeypatch.setattr("tidegate.spark.session.close_session", lambda one: happened.append(f"closed {one}"))
    first, second = (Engine(None, None, {}, from_rows=100) for _ in range(2))
    first.prewarm([60, 40])
    first.close()
    second.prewarm([60, 40])
    is_there.set()
    assert (str(second.session()), happened) == ("session 3", ["made", "closed session 1", "made"])
