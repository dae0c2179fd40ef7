"""Slices: moved in this process, chosen by their rows; and why one has no facts, Spark's long answers in one line."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from kit.one_process import OneProcess
from tidegate.errors import LakeError, SparkUnavailable
from tidegate.spark.engine import Engine
from tidegate.spark.session import cores_of, warm_up
from tidegate.spark.slices import Facts, Nearby, _reason, _Told, run_slices, shares_of
from tidegate.spark.worker import Worker

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
def test_the_reason_is_what_python_raised_or_the_first_line(problem: Exception | None, reason: str):
    assert _reason(problem) == reason


# In this process


class Counted:
    """A slice that says who it is, or fails by its number."""

    def __init__(self, number: int, together: threading.Barrier | None = None) -> None:
        self.number, self.together = number, together

    def move(self, worker: Worker) -> Facts:
        if self.together is not None:
            self.together.wait(timeout=10)
        if self.number == 2:
            raise LakeError("no room")
        if self.number == 3:
            raise ZeroDivisionError("a mistake")
        worker.progress.add(10)
        return {"rows": self.number}


def moved(
    slices: Sequence[Counted], workspace: Path, mover: Nearby | None = None, at_once: int = 4
) -> dict[int, Facts]:
    found: dict[int, Facts] = {}

    def finished(number: int, facts: Facts) -> None:
        assert number not in found, "told twice"
        assert threading.current_thread() is threading.main_thread()
        found[number] = facts

    run_slices(mover or Nearby(), slices, workspace, finished, at_once=at_once)
    return found


def test_every_slice_is_told_of_once_whether_it_fails_or_not(tmp_path: Path):
    found = moved([Counted(number) for number in range(5)], tmp_path)
    assert {number: facts["outcome"] for number, facts in found.items()} == {
        0: "done",
        1: "done",
        2: "failed",
        3: "failed",
        4: "done",
    }
    assert (found[4]["rows"], found[2]["kind"]) == (4, "LakeError")
    assert found[3]["error"].startswith("Unexpected ZeroDivisionError: a mistake (slices.py, line ")


def test_what_was_left_behind_is_told_once_and_no_failure_before_its_last_attempt(tmp_path: Path):
    told = _Told(tmp_path)
    (tmp_path / "0.1.facts").write_text('{"outcome": "failed", "moved": 6}')
    (tmp_path / "0.1.rows").write_text("5")
    assert (list(told.since_last()), told.rows) == ([], 5)

    done = {"outcome": "done", "moved": 7}
    (tmp_path / "0.2.facts").write_text(json.dumps(done))
    assert list(told.since_last()) == [(0, done)]
    told.end(0, done)
    assert (list(told.since_last()), told.rows) == ([], 7)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core runs one slice at a time")
def test_slices_run_beside_each_other(tmp_path: Path):
    both = threading.Barrier(2)  # neither goes on before the other has begun
    assert len(moved([Counted(0, both), Counted(1, both)], tmp_path)) == 2


# Until Spark is there


class Timed(Counted):
    """A slice that tells when it runs, and lets Spark arrive after some of them. Spark's copies cannot: it is there."""

    def __init__(self, number: int, arrives: Callable[[], None] | None = None) -> None:
        super().__init__(number * 10)
        self.arrives = arrives

    def move(self, worker: Worker) -> Facts:
        if self.arrives is not None:
            self.arrives()
        return {**super().move(worker), "by": worker.attempt, "thread": threading.current_thread().name}

    def __reduce__(self) -> tuple[type[Timed], tuple[int]]:
        return Timed, (self.number // 10,)


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_this_process_begins_and_spark_takes_what_is_left(tmp_path: Path, at_once: int):
    spark: Future[Any] = Future()
    nearby = Nearby(spark)
    slices = [Timed(0), Timed(1, lambda: spark.set_result(OneProcess())), Timed(2), Timed(3)]
    with one_core():
        found = moved(slices, tmp_path, nearby, at_once)

    assert {number: facts["rows"] for number, facts in found.items()} == {0: 0, 1: 10, 2: 20, 3: 30}
    here = [number for number, facts in found.items() if facts["thread"].startswith("tidegate slice ")]
    assert (sorted(here), nearby.was_joined) == ([0, 1], True)


@pytest.mark.parametrize(
    ("cores", "at_once", "tasks"), [(1, 1, 5), (2, 4, 10), (4, 4, 3), (8, 4, 3), (8, 1, 1), (2, 2, 1), (8, 16, 22)]
)
def test_spark_has_the_connections_that_this_process_does_not_use(
    tmp_path: Path, cores: int, at_once: int, tasks: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    spark, asked, is_asked = Future[Any](), list[int](), threading.Event()

    class Asked(OneProcess):
        def range(self, start: int, end: int, step: int, tasks: int) -> OneProcess:
            asked.append(tasks)
            is_asked.set()
            return super().range(start, end, step, tasks)

    def arrives() -> None:
        spark.set_result(Asked())
        if at_once > 1:  # it is still at work when Spark begins
            assert is_asked.wait(timeout=10)

    slices = [Timed(0, arrives), *(Timed(number) for number in range(1, 30))]
    assert (len(moved(slices, tmp_path, Nearby(spark), at_once)), asked) == (30, [tasks])


@pytest.mark.parametrize(
    ("slices", "cores", "at_once", "sizes"),
    [
        (10, 2, 4, [3, 2, 2, 1, 1, 1]),
        (3, 2, 2, [1, 1, 1]),
        (1, 8, 8, [1]),
        (10, 1, 1, [5, 3, 1, 1]),
        (10, 8, 4, [3, 3, 2, 2]),
        (10, None, 4, [3, 3, 2, 2]),
        (2, None, 4, [1, 1]),
    ],
    ids=["few cores", "as many cores", "one", "one core", "more cores", "a cluster", "few slices"],
)
def test_whoever_is_done_first_takes_what_is_left_and_no_more_run_than_may(
    slices: int, cores: int | None, at_once: int, sizes: list[int]
):
    numbered = [(number, Counted(number)) for number in range(slices)]
    shares = shares_of(numbered, cores, at_once)
    assert [len(share) for share in shares] == sizes
    assert sorted(number for share in shares for number, _ in share) == list(range(slices))
    assert len(shares) <= at_once or (cores or 99) <= at_once


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
def test_how_many_tasks_run_at_the_same_time_is_known_of_local_masters(master: str, cores: int | None):
    assert cores_of(cast(Any, OneProcess(master))) == cores


def test_a_spark_that_cannot_run_its_first_job_is_one_error():
    class Broken(OneProcess):
        def collect(self) -> list[dict[str, Any]]:
            raise RuntimeError("Python worker exited unexpectedly\n\tat org.apache.spark")

    warm_up(cast(Any, OneProcess()))
    with pytest.raises(SparkUnavailable, match="could not run a job: Python worker exited unexpectedly\n"):
        warm_up(cast(Any, Broken()))


def test_spark_is_not_waited_for_when_all_is_moved(tmp_path: Path):
    nearby = Nearby(Future())
    assert len(moved([Timed(number) for number in range(3)], tmp_path, nearby)) == 3
    assert not nearby.was_joined


def test_a_spark_that_does_not_start_fails_what_is_left_and_nothing_else(tmp_path: Path):
    spark: Future[Any] = Future()
    no_java = SparkUnavailable("There is no Java.", "Nothing was read or written.", "Install one.")
    slices = [Timed(0), Timed(1, lambda: spark.set_exception(no_java)), Timed(2)]
    with one_core():
        found = moved(slices, tmp_path, Nearby(spark))

    assert [found[number]["outcome"] for number in range(3)] == ["done", "done", "failed"]
    assert found[2]["error"] == "There is no Java.\nWhat was committed before stands.\nInstall one."


def test_a_spark_that_did_not_start_after_rows_were_moved_does_not_say_that_none_were(
    monkeypatch: pytest.MonkeyPatch,
):
    is_there = threading.Event()

    def made(self: Engine) -> object:
        self._is_launching.set()
        is_there.wait(timeout=10)
        raise SparkUnavailable("It died.", "Nothing was read or written.", "Give it room.")

    monkeypatch.setattr(Engine, "_made", made)
    engine = Engine(None, None, {}, from_rows=100)
    moving = engine.mover([60, 40])
    assert isinstance(moving, Nearby)
    is_there.set()
    with pytest.raises(SparkUnavailable):
        engine.session()
    with pytest.raises(SparkUnavailable) as told:
        engine.mover([60, 40])
    assert str(told.value) == "It died.\nWhat was committed before stands.\nGive it room."
    assert engine.name == "this process"


@contextmanager
def one_core() -> Iterator[None]:
    """One thread here: slices come one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: 1)
        yield


def test_a_session_that_is_still_starting_is_begun_without_and_closed_when_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
):
    session, is_there, closed = object(), threading.Event(), threading.Event()

    def made(self: Engine) -> object:
        self._is_launching.set()
        is_there.wait(timeout=10)
        return session

    monkeypatch.setattr(Engine, "_made", made)
    monkeypatch.setattr("tidegate.spark.session.close_session", lambda one: closed.set() if one is session else None)
    engine = Engine(None, None, {}, from_rows=100)
    mover = engine.mover([60, 40])
    assert isinstance(mover, Nearby)
    assert (engine.name, mover.spark is not None) == ("this process", True)
    engine.close()
    assert not closed.is_set()
    is_there.set()
    assert closed.wait(timeout=10)


def test_a_session_that_was_closed_while_it_started_is_gone_before_the_next_one_starts(
    monkeypatch: pytest.MonkeyPatch,
):
    happened: list[str] = []
    is_there = threading.Event()

    def made(self: Engine) -> str:
        self._is_launching.set()
        is_there.wait(timeout=10)
        happened.append("made")
        return f"session {len(happened)}"

    monkeypatch.setattr(Engine, "_made", made)
    monkeypatch.setattr("tidegate.spark.session.close_session", lambda one: happened.append(f"closed {one}"))
    first, second = (Engine(None, None, {}, from_rows=100) for _ in range(2))
    first.mover([60, 40])
    first.close()
    second.start()
    is_there.set()
    assert (str(second.session()), happened) == ("session 3", ["made", "closed session 1", "made"])


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
    session = object()
    monkeypatch.setattr(Engine, "_made", lambda self: session)
    engine = Engine(**{"master": None, "remote": None, "options": {}, **settings})  # type: ignore[arg-type]
    assert engine.name is None
    engine.expect(counts)
    mover = engine.mover(counts)
    assert isinstance(mover, Nearby) is few
    assert (engine.name == "this process") is few


def test_once_it_was_started_spark_moves_everything(monkeypatch: pytest.MonkeyPatch):
    session = object()
    monkeypatch.setattr(Engine, "_made", lambda self: session)
    engine = Engine(None, None, {}, from_rows=100)
    engine.expect([99])
    engine.expect([99, 1])
    assert engine.mover([1]) is session
