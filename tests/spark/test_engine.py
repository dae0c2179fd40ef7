"""Spark tasks run the splits of large runs and return their results through Spark, without a shared disk."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

# A separate JVM needs a separate process.
SCRIPT = """
import json, os, sys
from tidegate.spark.engine import Engine

class Where:
    def __init__(self):
        self.asked_by = os.getpid()
    def run(self, worker):
        worker.progress.add(1)
        return os.getpid() != self.asked_by

count = int(sys.argv[1])
engine, found = Engine(None, None, {}, from_rows=2), []
engine.executor_for([1] * count).run([Where() for _ in range(count)], found.append)
engine.close()
print(json.dumps([engine.name, len(found), sum(one.result for one in found), sum(one.rows for one in found)]))
"""


@pytest.mark.parametrize(("splits", "name", "elsewhere"), [(40, "local", 40), (1, "this process", 0)])
def test_splits_run_where_the_report_says(splits: int, name: str, elsewhere: int):
    """Many splits run in Spark workers, and a single split runs in the process itself. The engine's name says which."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(splits)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [name, splits, elsewhere, splits]
