"""What a slice has at hand while it moves: who runs it, whom it tells of its rows, and sessions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.interfaces import Database, Session
    from tidegate.model.connection import Connection

_PROGRESS_SECONDS = 0.3


class Progress:
    """How many rows a slice has moved so far, told to the driver now and then."""

    def __init__(self, path: Path) -> None:
        self._path, self._told_at = path, time.monotonic()
        self.rows = 0

    def add(self, rows: int) -> None:
        self.rows += rows
        if time.monotonic() - self._told_at >= _PROGRESS_SECONDS:
            self._told_at = time.monotonic()
            with contextlib.suppress(OSError):
                self._path.write_text(str(self.rows))


class Sessions:
    """Sessions of one task or thread. A slice goes on with those of the slices before it: a login takes longer than
    moving a few rows. One whose user raised an error is closed, since nobody knows what it left behind."""

    def __init__(self) -> None:
        self._idle: dict[tuple[Connection, str, bool], Session] = {}

    @contextmanager
    def session(self, database: Database, purpose: str, *, read_only: bool = False) -> Iterator[Session]:
        key = (database.connection, purpose, read_only)
        session = self._idle.pop(key, None) or database.connect(purpose, read_only=read_only)
        is_kept = False
        try:
            yield session
            with contextlib.suppress(TidegateError):  # what its user did stands, whatever becomes of the session
                is_kept = key not in self._idle and session.renew()
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
    """Whoever runs a slice."""

    attempt: str
    """Tells this try from others of the same slice, so that their files never meet."""
    progress: Progress
    sessions: Sessions
