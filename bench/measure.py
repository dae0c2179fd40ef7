"""Time and memory of whole processes, in rounds in which every contender has its turn."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_EVERY = 0.1


@dataclass(frozen=True)
class Measured:
    """One process and all that it started."""

    wall: float
    cpu: float
    """User and system time of all of them, as far as they were seen: a JVM that nobody waited for too."""
    peak: int
    """Bytes of memory that are not shared with others, of all of them together, at most."""
    facts: Mapping[str, Any]
    """What it printed last, a line of JSON."""


class Failed(Exception):
    """A contender did not do it. The reason is its last lines."""


def run(argv: Sequence[str], timeout: float) -> Measured:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen(argv, stdout=out, stderr=err, start_new_session=True)
        watch = _Watch(process.pid)
        try:
            _wait(process, started + timeout)
        finally:
            watch.stop()
        wall = time.monotonic() - started
        out.seek(0)
        err.seek(0)
        lines = out.read().decode(errors="replace").strip().splitlines()
        if process.returncode:
            told = err.read().decode(errors="replace").strip().splitlines()
            raise Failed(" | ".join([*lines[-3:], *told[-3:]])[-800:] or f"exit code {process.returncode}")
    facts = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return Measured(wall, watch.cpu, watch.peak, facts)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> None:
    """Looks often: Popen's own wait sleeps for up to a twentieth of a second."""
    while process.poll() is None:
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
            raise Failed("it took too long and was ended")
        time.sleep(0.005)


class _Watch:
    """Looks at the memory and the time of a process and its descendants now and then."""

    def __init__(self, pid: int) -> None:
        self.peak, self._pid, self._over = 0, pid, threading.Event()
        self._spent: dict[int, float] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(_LOOK_EVERY):
            family = _family(self._pid)
            self.peak = max(self.peak, sum(_private(pid) for pid in family))
            self._spent.update((pid, _spent(pid)) for pid in family)

    @property
    def cpu(self) -> float:
        return sum(self._spent.values())

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def _family(pid: int) -> list[int]:
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _family(int(child))
    return found


def _private(pid: int) -> int:
    """Resident less shared pages: workers that were forked share most of theirs."""
    with contextlib.suppress(OSError, ValueError):
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(resident) - int(shared)) * _PAGE
    return 0


def _spent(pid: int) -> float:
    with contextlib.suppress(OSError, ValueError):
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / _TICKS
    return 0.0


@dataclass
class Series:
    """What one contender needed, round by round; or why it could not."""

    name: str
    is_warm: bool = False
    runs: list[Measured] = field(default_factory=list)
    failed: str = ""
    wrong: str = ""
    """What of its result is not as it should be. It is shown as wrong, not as fast."""

    @property
    def counts(self) -> bool:
        return bool(self.runs) and not self.failed and not self.wrong

    @property
    def seconds(self) -> list[float]:
        """Of whole processes; of the work alone where the session was there before."""
        return [float(one.facts["seconds"]) if self.is_warm else one.wall for one in self.runs]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def work(self) -> float | None:
        """The work alone, where it says so."""
        told = [float(one.facts["seconds"]) for one in self.runs if "seconds" in one.facts]
        return statistics.median(told) if told else None

    def median_of(self, what: str) -> float:
        return statistics.median(getattr(one, what) for one in self.runs)

    @property
    def spread(self) -> float:
        """The slowest round over the fastest."""
        return max(self.seconds) / min(self.seconds)
