"""A run with many rows: this process begins, Spark goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

# Slices that take their time in the process that asks for them, so that Spark is there before the last of them. A JVM
# of its own needs a process of its own.
SCRIPT = """
import json, os, sys, time
from pathlib import Path
from tidegate.spark.engine import Engine
from tidegate.spark.slices import run_slices

class Waits:
    def __init__(self):
        self.asked_by = os.getpid()
    def move(self, worker):
        is_here = os.getpid() == self.asked_by
        time.sleep(is_here)
        return {"is_here": is_here}

count, workspace = int(sys.argv[1]), Path(sys.argv[2])
engine, found = Engine(None, None, {}, from_rows=1), {}
run_slices(engine.mover([1] * count), [Waits() for _ in range(count)], workspace, found.__setitem__)
engine.close()
print(json.dumps([engine.name, len(found), sum(facts["is_here"] for facts in found.values())]))
"""


def moved(slices: int, workspace: Path) -> tuple[str, int, int]:
    """By whom, how many, and how many of them by the process itself."""
    command = [sys.executable, "-c", SCRIPT, str(slices), str(workspace)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    name, count, here = json.loads(done.stdout)
    return name, count, here


def test_slices_are_moved_while_spark_starts_and_by_spark_afterwards(tmp_path: Path):
    name, count, here = moved(40, tmp_path)
    assert (name, count) == ("local", 40)
    assert 0 < here < 40


def test_a_process_that_is_done_before_spark_is_there_ends_in_peace(tmp_path: Path):
    assert moved(1, tmp_path) == ("this process", 1, 1)
