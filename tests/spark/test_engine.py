"""Spark tasks run splits and return their results through Spark, without a shared disk."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

# A separate JVM needs a separate process.
SCRIPT = """
import json, os, sys
from tidegate.spark.engine import engine_of
from tidegate.spark.place import Place

class Where:
    def __init__(self):
        self.asked_by = os.getpid()
    def run(self, worker):
        worker.progress.add(1)
        return os.getpid() != self.asked_by

count = int(sys.argv[1])
engine, found = engine_of(sys.argv[2], Place()), []
engine.executor().run([Where() for _ in range(count)], found.append)
engine.close()
print(json.dumps([engine.name, len(found), sum(one.result for one in found), sum(one.rows for one in found)]))
"""


@pytest.mark.parametrize(
    ("splits", "engine", "name", "elsewhere"),
    [
        (40, "spark", "local", 40),
        pytest.param(1, "spark", "local", 1, marks=pytest.mark.thorough),
        (5, "process", "process", 0),
    ],
)
def test_splits_run_where_the_report_says(splits: int, engine: str, name: str, elsewhere: int):
    """Many splits and a single one run in Spark workers; with `engine: process`, in the process itself."""
    command = [sys.executable, "-c", SCRIPT, str(splits), engine]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [name, splits, elsewhere, splits]
