"""Locks on files. The operating system releases them when their process ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SECONDS = 0.02


class FileLock:
    """One lock that this process holds, until it is closed."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    @property
    def last_used(self) -> float:
        """Return when the lock was last closed after a use, in seconds since 1970."""
        assert self._handle is not None
        return os.fstat(self._handle).st_mtime

    def close(self, *, used: bool = True) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            if used:
                with contextlib.suppress(OSError):
                    os.utime(handle)
            os.close(handle)


def take(path: Path, *, shared: bool = False, wait: float = 0.0) -> FileLock | None:
    """Return the lock on this file; None when others held it for longer than `wait` seconds."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return FileLock(handle)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(handle)
                return None
            time.sleep(_PAUSE_SECONDS)


def is_held(path: Path, *, or_shared: bool = False) -> bool:
    """Return whether some process holds this lock; with `or_shared`, also one that several share. A lock that does not
    exist is held by nobody."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Two processes that look at the same time must not take each other for a holder.
        fcntl.flock(handle, (fcntl.LOCK_EX if or_shared else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def holding(path: Path, wait: float) -> Iterator[bool]:
    """Hold the lock inside the block. Yields False when it was not to be had."""
    lock = take(path, wait=wait)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()
