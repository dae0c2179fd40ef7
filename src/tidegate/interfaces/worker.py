"""What a split gets from whoever runs it: a name for its attempt, a counter of rows, sessions, and a second chance."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tidegate.errors import TidegateError, Transient, Unreachable

if TYPE_CHECKING:
    from tidegate.interfaces.database import Database
    from tidegate.interfaces.session import Session
    from tidegate.model.connection import Connection

Result = TypeVar("Result")


@dataclass
class Progress:
    """How many rows were moved so far, by one split or, as the `total`, by all of them."""

    total: Progress | None = None
    rows: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, rows: int) -> None:
        with self._lock:
            self.rows += rows
        if self.total is not None:
            self.total.add(rows)


class SessionCache:
    """Open sessions of one task or thread. A split reuses those of the splits before it: a login takes longer than
    moving a few rows. A session whose user raised an error is closed, since its state is not known."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Connection, str, bool], Session] = {}

    @contextmanager
    def session(self, database: Database, purpose: str, *, read_only: bool = False) -> Iterator[Session]:
        key = (database.connection, purpose, read_only)
        session = self._idle.pop(key, None) or database.connect(purpose, read_only=read_only)
        is_kept = False
        try:
            yield session
            with contextlib.suppress(TidegateError):  # the work is done, whatever becomes of the session
                is_kept = key not in self._idle and session.reset()
        finally:
            if is_kept:
                self._idle[key] = session
            else:
                session.close()

    def close(self) -> None:
        while self._idle:
            self._idle.popitem()[1].close()


@dataclass(frozen=True)
class Worker:
    """The surroundings of a split that runs: its attempt, the progress to report to, and sessions to reuse."""

    attempt: str
    """Names this attempt of the split. Files of two attempts have different names."""
    progress: Progress
    sessions: SessionCache


class Split(Protocol):
    """The part of a window that one task moves. It can be repeated: Spark may run a task more than once."""

    def run(self, worker: Worker) -> Any:
        """Do the work and return what the driver needs to know. The result must be picklable."""


def back_off(attempt: int, first_wait: float = 0.1, longest: float = 5.0) -> float:
    """Return how many seconds to wait after this attempt, from 1 on: longer each time, with jitter."""
    return min(first_wait * 2.0 ** (attempt - 1), longest) * random.uniform(0.5, 1.5)


def retried(work: Callable[[], Result], tries: int = 4, first_wait: float = 0.5) -> Result:
    """Repeat `work` after a Transient error, waiting longer each time, with jitter; the last error is raised.

    `work` is a whole idempotent unit. A server that was there and restarts refuses connections for a while: that is
    waited for too."""
    was_there = False
    for attempt in range(1, tries):
        try:
            return work()
        except (Transient, Unreachable) as problem:
            was_there = was_there or isinstance(problem, Transient)
            if not was_there:
                raise
            time.sleep(first_wait * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    return work()
