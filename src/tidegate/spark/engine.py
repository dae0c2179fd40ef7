"""The engine of a project: Spark, started in the background as soon as it is known that rows must move.

A JVM takes seconds to start, in which this process could move a million rows or two. So on this machine, where nobody
named a master, few rows are moved by threads of this process.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from tidegate.spark.executor import Executor, LocalExecutor, SparkExecutor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ONE_START = threading.RLock()


class Engine:
    """At most one Spark session. A session that was handed in is used as it is and never closed."""

    def __init__(
        self,
        master: str | None,
        remote: str | None,
        options: Mapping[str, str],
        given: SparkSession | None = None,
        from_rows: int = 0,
    ) -> None:
        self._master, self._remote, self._options, self._given = master, remote, options, given
        self._from_rows = 0 if master or remote or given is not None else from_rows
        self._future: Future[SparkSession] | None = None
        self._lock = threading.Lock()
        self._imports_arrow = False
        self.name: str | None = None
        """What moved rows, for the report; None while nothing was moved."""

    def expect_rows(self) -> None:
        """Import what moves rows, in the background: rows will move, and nobody knows yet how many."""
        with self._lock:
            is_first, self._imports_arrow = not self._imports_arrow, True
        if is_first and self._from_rows:
            threading.Thread(target=_import_arrow, name="tidegate imports").start()

    def prewarm(self, counts: Sequence[int | None]) -> None:
        """Start Spark in the background if so many rows are worth it; None stands for a window that was not counted."""
        if not self._are_few(counts):
            self._start()

    def executor_for(self, counts: Sequence[int | None]) -> Executor:
        """Return what is to move windows of so many rows. Waits for Spark. Raises SparkUnavailable."""
        executor: Executor = LocalExecutor()
        if self._future is not None or not self._are_few(counts):
            executor = SparkExecutor(self.session(), self._spark_name)
        self.name = executor.name
        return executor

    @property
    def _spark_name(self) -> str:
        return "session given" if self._given is not None else self._remote or self._master or "local"

    def _are_few(self, counts: Sequence[int | None]) -> bool:
        """Return whether this process moves the rows sooner. One window is moved by one thread wherever that runs."""
        if not self._from_rows:
            return False
        return len(counts) < 2 or sum(self._from_rows if rows is None else rows for rows in counts) < self._from_rows

    def session(self) -> SparkSession:
        """Return the session, started now if it was not. Raises SparkUnavailable."""
        return self._start().result()

    def close(self) -> None:
        with self._lock:
            future, self._future = self._future, None
        if future is not None and self._given is None:
            future.add_done_callback(_close)  # a session that still starts is closed when it is there

    def _start(self) -> Future[SparkSession]:
        with self._lock:
            if self._future is None:
                self._future = Future()
                threading.Thread(target=self._open, args=[self._future], daemon=True, name="tidegate spark").start()
            return self._future

    def _open(self, future: Future[SparkSession]) -> None:
        with _ONE_START:  # a session that was closed meanwhile is stopped before another one could share its JVM
            try:
                future.set_result(self._given if self._given is not None else self._opened())
            except BaseException as problem:
                future.set_exception(problem)

    def _opened(self) -> SparkSession:
        from tidegate.spark.session import open_session

        return open_session(master=self._master, remote=self._remote, options=self._options)


def _close(opened: Future[SparkSession]) -> None:
    if opened.exception() is None:
        from tidegate.spark.session import close_session

        with _ONE_START:
            close_session(opened.result())


def _import_arrow() -> None:
    """Import pyarrow with its kernels, which takes four tenths of a second."""
    for name in ("pyarrow.compute", "pyarrow.parquet"):
        importlib.import_module(name)
    importlib.import_module("pyarrow").array([0])
