"""What moves the rows: Spark, started at the first need and in the background, while planning still goes on.

A JVM takes seconds to start, in which this process could have moved a million rows or two. So on this machine, where
nobody named a master, few rows are moved by threads of its own, through the same slices; and of many the first ones,
until Spark is there.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from tidegate.errors import SparkUnavailable, TidegateError
from tidegate.spark.slices import COMMITTED_STANDS, Nearby

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_ONE_START = threading.RLock()


class Engine:
    """At most one session. A session that was handed in is used as it is and never closed."""

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
        self._nearby: Nearby | None = None
        self._future: Future[SparkSession] | None = None
        self._is_used = False
        self._is_launching = threading.Event()
        self._lock = threading.Lock()
        self._is_foreseen = False
        self.seconds_to_start = 0.0

    @property
    def name(self) -> str | None:
        """What the report shows; None while nothing was to be moved."""
        if self._is_used or (self._nearby is not None and self._nearby.was_joined):
            return "session given" if self._given is not None else self._remote or self._master or "local"
        return "this process" if self._nearby is not None else None

    def foresee(self) -> None:
        """Rows will have to be moved, nobody knows yet how many. Returns at once. Calling it again does nothing."""
        with self._lock:
            is_news, self._is_foreseen = not self._is_foreseen, True
        if is_news and self._from_rows:
            threading.Thread(target=_import_what_moves_rows, name="tidegate imports").start()

    def expect(self, counts: Sequence[int | None]) -> None:
        """So many rows are to be moved, as far as is known by now; None where nobody counted."""
        if not self._are_few(counts):
            self.start()

    def mover(self, counts: Sequence[int | None]) -> SparkSession | Nearby:
        """What is to move these. Waits for Spark where it alone may. Raises SparkUnavailable."""
        if self._future is not None or not self._are_few(counts):
            self.start()
            self._is_launching.wait()  # a machine without Java says so before anything is moved
            if not self._from_rows or (self._future and self._future.done()):
                return self._used_session()
        self._nearby = self._nearby or Nearby()
        self._nearby.spark = self._future
        return self._nearby

    def _used_session(self) -> SparkSession:
        try:
            session = self.session()
        except TidegateError as problem:
            if self._nearby is None:
                raise
            raise SparkUnavailable(problem.happened, COMMITTED_STANDS, problem.remedy) from problem
        self._is_used = True
        return session

    def _are_few(self, counts: Sequence[int | None]) -> bool:
        """A single slice, however long, is moved by one thread wherever that runs."""
        if not self._from_rows:
            return False
        return len(counts) < 2 or sum(self._from_rows if one is None else one for one in counts) < self._from_rows

    def start(self) -> None:
        """Returns at once. Calling it again does nothing."""
        with self._lock:
            if self._future is None:
                self._future = Future()
                threading.Thread(
                    target=self._open, args=[self._future], daemon=True, name="tidegate spark start"
                ).start()

    def session(self) -> SparkSession:
        """Waits for the start. Raises SparkUnavailable."""
        self.start()
        assert self._future is not None
        return self._future.result()

    def close(self) -> None:
        if self._future is not None and self._given is None:
            self._future.add_done_callback(_closed)  # one that still starts is closed when it is there
            self._future = None

    def _open(self, future: Future[SparkSession]) -> None:
        started = time.monotonic()
        if self._given is not None:
            future.set_result(self._given)
        else:
            self._make(future)
        self._is_launching.set()
        self.seconds_to_start = time.monotonic() - started

    def _make(self, future: Future[SparkSession]) -> None:
        with _ONE_START:  # what was closed meanwhile is stopped in here, too, before another one could share it
            try:
                future.set_result(self._made())
            except BaseException as problem:
                future.set_exception(problem)

    def _made(self) -> SparkSession:
        from tidegate.spark.session import open_session, warm_up

        session = open_session(
            master=self._master, remote=self._remote, options=self._options, launching=self._is_launching.set
        )
        if self._from_rows:  # this process goes on meanwhile
            warm_up(session)
        return session


def _closed(opened: Future[SparkSession]) -> None:
    if opened.exception() is None:
        from tidegate.spark.session import close_session

        with _ONE_START:
            close_session(opened.result())


def _import_what_moves_rows() -> None:
    """It takes four tenths of a second, half of them for pandas, which pyarrow takes along with the first list."""
    for name in ("pyarrow.compute", "pyarrow.parquet"):
        importlib.import_module(name)
    importlib.import_module("pyarrow").array([0])
