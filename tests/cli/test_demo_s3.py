"""`make demo-s3` as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.postgres
@pytest.mark.mysql
@pytest.mark.thorough
def test_demo_tells_the_story_and_names_the_double():
    command = [sys.executable, str(ROOT / "examples" / "redshift" / "demo.py"), "--engine", "process"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "a DOUBLE of Redshift, not Redshift" in shown.stdout
    assert "COPY read 1 files of the lake itself" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("Done: every row was read back")
