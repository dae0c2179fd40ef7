"""A few open sessions, shared by the threads that look at many tables at once."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.interfaces import Database, Session


class SessionPool:
    """A pool of at most `limit` sessions. It opens a session when one is first needed, and reuses it."""

    def __init__(self, database: Database, limit: int, *, read_only: bool, query_timeout: float | None) -> None:
        self._database, self._read_only, self._timeout = database, read_only, query_timeout
        self._idle: queue.LifoQueue[Session | None] = queue.LifoQueue()
        for _ in range(limit):
            self._idle.put(None)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session. After an error in the block the session is closed, because its state is unknown."""
        idle = self._idle.get()
        session = None
        try:
            session = idle or self._database.connect("inspect", read_only=self._read_only, query_timeout=self._timeout)
            yield session
        except BaseException:
            if session is not None:
                session.close()
            self._idle.put(None)
            raise
        self._idle.put(session)

    def close(self) -> None:
        while not self._idle.empty():
            session = self._idle.get_nowait()
            if session is not None:
                session.close()
