"""Boundaries that remember or kill; as a program, a run that dies at a boundary.

    python crash.py CONFIGURATION PLACE NTH TALLY VICTIM [VERB]

`VICTIM` is `process` (the one that reaches the place: the driver, or a worker of Spark's), `session` (everybody that
the program started) or `all in one` (the run has no JVM, and its tasks no process of their own). A run that comes to
its end prints its report as JSON. `VERB` is `run`, unless it is said to be `adopt`.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from kit import processes
from kit.one_process import OneProcess
from tidegate import Tidegate
from tidegate.runs.listener import Boundary


class Recorder(Boundary):
    """Writes every place down, also those that workers of Spark's reach."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def __call__(self, place: str) -> None:
        with open(self._path, "a") as log:
            log.write(f"{place}\n")

    def times(self) -> dict[str, int]:
        """How often each place was reached."""
        return dict(Counter(self._path.read_text().splitlines()))


class Killer(Boundary):
    """Kills when the place is reached for the nth time, whoever reaches it. `tally` counts over all processes."""

    def __init__(self, place: str, nth: int, tally: Path, victim: str) -> None:
        self._place, self._nth, self._tally, self._victim = place, nth, tally, victim

    def __call__(self, place: str) -> None:
        if place == self._place and self._count() == self._nth:
            self._strike()

    def _strike(self) -> None:
        if self._victim == "session":
            processes.kill_session(os.getsid(0))
        processes.kill(os.getpid())

    def _count(self) -> int:
        with open(self._tally, "a+b") as tally:
            fcntl.flock(tally, fcntl.LOCK_EX)
            tally.write(b".")
            tally.flush()
            return os.fstat(tally.fileno()).st_size


class Interrupter(Killer):
    """Interrupts instead, as Ctrl-C does: the process lives, and what was open is closed."""

    def __init__(self, place: str, nth: int, tally: Path) -> None:
        super().__init__(place, nth, tally, "")

    def _strike(self) -> None:
        raise KeyboardInterrupt


# The folder of the tests is not on the path of Spark's workers.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
cloudpickle.register_pickle_by_value(processes)


def main(configuration: str, place: str, nth: str, tally: str, victim: str, verb: str = "run") -> None:
    session: Any = OneProcess() if victim == "all in one" else None
    with Tidegate.from_file(configuration, spark=session) as tidegate:
        tidegate.boundary = Killer(place, int(nth), Path(tally), victim)
        report = (tidegate.adopt if verb == "adopt" else tidegate.run)(check=False)
    sys.stdout.write(json.dumps(report.to_dict()))
    sys.exit(report.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
