"""Tricks that make commands and Spark start sooner, all of them behind one switch.

`TIDEGATE_FAST_START=0` in the environment switches them off: what they do is unusual, and whoever looks for a strange
fault can rule them out. Nothing depends on them.

Measured on 2 cores, all of them on against all of them off, median of three:

| trick                          | where                             | gain                                        |
| ------------------------------ | --------------------------------- | ------------------------------------------- |
| an archive of Spark's classes  | `archive.py`                      | a session starts in 2.6 s instead of 5.0 s  |
| workers forked with imports    | `daemon.py`                       | with the archive, a first job: 1.5 s, not 4.0 s |
| no wait for accumulators       | `end_accumulators_in_background`  | a session stops in 0.07 s instead of 0.96 s |
| a process ends at once         | `exit_now`                        | with the next one, 0.05 s of a command      |
| pyarrow does without pandas    | `without_pandas.py`               | not measured alone                          |
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any, NoReturn

ENABLED = os.environ.get("TIDEGATE_FAST_START", "1") != "0"


def end_accumulators_in_background(server: Any) -> None:
    """Let pyspark's accumulator server end by itself: it looks once a second whether it is to end, and `stop` waits."""
    if ENABLED and server is not None:
        server.handle_error = lambda request, address: None  # it would print that the JVM has hung up
        server.shutdown = threading.Thread(target=server.shutdown, daemon=True, name="tidegate accumulators").start


def exit_now(code: int) -> NoReturn:
    """End the process without taking its modules apart: what had to be closed is closed by now."""
    if not ENABLED:
        sys.exit(code)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
