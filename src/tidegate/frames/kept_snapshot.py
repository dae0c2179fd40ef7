"""A snapshot of a database that outlives the process which asked for it.

Spark plans a read of a Python data source in a process that ends with the plan; its tasks run later. So a child of that
process holds the snapshot: for as long as Spark's driver lives, and no longer than the time that was asked for.
"""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tidegate.errors import Unreachable

if TYPE_CHECKING:
    from tidegate.interfaces.database import Database

_LOOK_SECONDS = 1.0


def keep_snapshot(database: Database, seconds: float) -> str:
    """Return the name of a snapshot that is kept for so long by a process of its own. Raises Unreachable."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    assert keeper.stdin is not None and keeper.stdout is not None
    asked = base64.b64encode(pickle.dumps((database, seconds, os.getppid())))
    keeper.stdin.write(asked + b"\n")
    keeper.stdin.close()
    name = keeper.stdout.readline().decode().strip()
    keeper.stdout.close()
    if not name:
        raise Unreachable(
            "The process that keeps the snapshot of the source ended.", "Nothing was read.", "Read again."
        )
    return name


def _keep() -> None:
    """Export a snapshot, print its name, and hold it until its time is over or the driver is gone."""
    database, seconds, driver = pickle.loads(base64.b64decode(sys.stdin.readline()))
    with database.connect("snapshot", read_only=True) as session:
        sys.stdout.write(session.export_snapshot() + "\n")
        sys.stdout.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        until = time.monotonic() + seconds
        while time.monotonic() < until and _lives(driver):
            time.sleep(_LOOK_SECONDS)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    _keep()
