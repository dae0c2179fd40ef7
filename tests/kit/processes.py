"""Other processes, read from /proc: list the processes that a run started, read their arguments, and kill them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

CAN_SEE = Path("/proc/self/stat").exists()

_PARENT, _SESSION = 1, 3  # places in /proc/<pid>/stat, counted after the name in brackets


def _numbers() -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "stat").read_text().rpartition(")")[2].split()


def of_session(session: int) -> list[int]:
    """Return the processes of this session, in any process group. Spark's Python workers have their own group."""
    return [pid for pid, stat in _numbers() if int(stat[_SESSION]) == session and stat[0] != "Z"]


def below(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents = {child: int(stat[_PARENT]) for child, stat in _numbers()}
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


def command_line(pid: int) -> str:
    """Return the arguments of a process, separated by spaces, or an empty text if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_session(session: int) -> None:
    """Kill every process of the session. The calling process is killed last if it is one of them."""
    for pid in sorted(of_session(session), key=lambda pid: pid == os.getpid()):
        kill(pid)


def wait_until(true: Callable[[], object], what: str, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain until {what}"
        time.sleep(0.02)
