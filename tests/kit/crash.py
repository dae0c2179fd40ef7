"""Boundaries that record or kill. As a program: a run that is killed at a boundary.

    python crash.py CONFIGURATION PLACE NTH TALLY VICTIM [VERB]

`VICTIM` is `process` (the process that reaches the boundary: the driver or a Spark worker), `session` (every process
that the program started) or `all in one` (the run has no JVM, and its tasks run in the driver). A run that is not
killed prints its report as JSON. `VERB` is `run` (the default) or `adopt`.
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
    """Records every boundary that is reached, also in Spark workers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def __call__(self, place: str) -> None:
        with open(self._path, "a") as log:
            log.write(f"{place}\n")

    def times(self) -> dict[str, int]:
        """Return how often each boundary was reached."""
        return dict(Counter(self._path.read_text().splitlines()))


class Killer(Boundary):
    """Kills when a boundary is reached for the nth time in any process. The file `tally` counts over all processes."""

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
    """Raises KeyboardInterrupt instead, like Ctrl-C: the process lives and closes its resources."""

    def __init__(self, place: str, nth: int, tally: Path) -> None:
        super().__init__(place, nth, tally, "")

    def _strike(self) -> None:
        raise KeyboardInterrupt


# Spark workers do not have the tests' folder on their path.
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
