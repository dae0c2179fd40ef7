"""The engine of a project: what moves its rows. Spark, unless the user chose threads of this process.

A JVM takes seconds to start. So Spark starts in the background, as soon as it is known that rows must move, and a run
without rows to move starts none.
"""

from __future__ import annotations

import importlib
import os
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING

from tidegate.errors import ConfigError
from tidegate.spark.executor import Executor, LocalExecutor, SparkExecutor
from tidegate.spark.place import CONNECT_MODE, WARM, Opened, Place, open_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GIVEN = "session given"
"""What the report calls a session that was handed in."""

_ONE_START = threading.RLock()


class Engine(ABC):
    """What moves the rows of one project."""

    name: str | None = None
    """What the report calls it; None while it moved nothing."""
    notice: str = ""
    """What the report warns of."""

    @abstractmethod
    def prewarm(self) -> None:
        """Prepare in the background: rows must move, and it is not known yet how many."""

    @abstractmethod
    def executor(self) -> Executor:
        """Return what runs splits. Waits until it is ready. Raises SparkUnavailable."""

    @abstractmethod
    def session(self) -> SparkSession:
        """Return the Spark session, for DataFrames. Raises ConfigError without Spark, or SparkUnavailable."""

    @abstractmethod
    def close(self) -> None:
        """End what this engine started."""


class ProcessEngine(Engine):
    """Threads of this process. Nothing chooses them but the user, so every report names them."""

    name = LocalExecutor.name

    def __init__(self) -> None:
        self._imports = threading.Event()

    def prewarm(self) -> None:
        if not self._imports.is_set():
            self._imports.set()
            threading.Thread(target=_import_arrow, name="tidegate imports").start()

    def executor(self) -> Executor:
        return LocalExecutor()

    def session(self) -> SparkSession:
        raise ConfigError(
            "A DataFrame needs Spark, and the project has `engine: process`.",
            "Nothing was read.",
            'Pass `engine="spark"`, or a Spark session.',
        )

    def close(self) -> None:
        return None


class SparkEngine(Engine):
    """At most one Spark session. A session that was handed in is used as it is and never closed."""

    def __init__(self, place: Place, given: SparkSession | None = None) -> None:
        self._place, self._given = place, given
        self._future: Future[Opened] | None = None
        self._lock = threading.Lock()

    def prewarm(self) -> None:
        self._start()

    def executor(self) -> Executor:
        opened = self._start().result()
        self.name, self.notice = opened.name, opened.notice
        session = opened.for_tasks or opened.session
        return SparkExecutor(session, opened.name, opened.cores, is_warm=opened.name == WARM)

    def session(self) -> SparkSession:
        opened = self._start().result()
        if opened.name == WARM:
            os.environ[CONNECT_MODE] = "1"  # the functions of pyspark.sql ask it of which sort a column is to be
        return opened.session

    def close(self) -> None:
        with self._lock:
            future, self._future = self._future, None
        if future is not None:
            future.add_done_callback(_close)  # a session that still starts is closed when it is there

    def _start(self) -> Future[Opened]:
        with self._lock:
            if self._future is None:
                self._future = Future()
                threading.Thread(target=self._open, args=[self._future], daemon=True, name="tidegate spark").start()
            return self._future

    def _open(self, future: Future[Opened]) -> None:
        with _ONE_START:  # a session that was closed meanwhile is stopped before another one could share its JVM
            try:
                future.set_result(Opened(self._given, GIVEN) if self._given is not None else open_place(self._place))
            except BaseException as problem:
                future.set_exception(problem)


def engine_of(name: str, place: Place, given: SparkSession | None = None) -> Engine:
    """Return the engine that the user chose: `spark` or `process`. Raises ConfigError for a session and `process`."""
    if name != "process":
        return SparkEngine(place, given)
    if given is not None:
        raise ConfigError(
            "A Spark session was passed in, and the project has `engine: process`, which would not use it.",
            "Nothing was read or written.",
            'Pass `engine="spark"` as well, or leave the session out.',
        )
    return ProcessEngine()


def _close(opened: Future[Opened]) -> None:
    if opened.exception() is None:
        with _ONE_START:
            opened.result().close()


def _import_arrow() -> None:
    """Import pyarrow with its kernels, which takes four tenths of a second."""
    for name in ("pyarrow.compute", "pyarrow.parquet"):
        importlib.import_module(name)
    importlib.import_module("pyarrow").array([0])
