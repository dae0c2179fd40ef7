"""`make demo-iceberg` as a user starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "iceberg" / "demo.py"


def demo(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


@pytest.mark.postgres
@pytest.mark.thorough
def test_demo_shows_a_sync_and_its_past(tmp_path: Path):
    """The demo syncs, changes, syncs again, verifies and travels in time. A second demo takes its warehouse."""
    for _ in range(2):
        shown = demo("--warehouse", tmp_path / "warehouse", "--engine", "process")
        assert shown.returncode == 0, shown.stderr
    lines = [line.strip() for line in shown.stdout.splitlines()]
    assert any(line.startswith("1,000 rows extracted, 1,000 imported") for line in lines)
    assert any("150 imported" in line for line in lines)
    assert any("0 imported" in line for line in lines)
    assert lines[-2] == "then: 1,000 customers, all in Bern"
    assert (tmp_path / "warehouse" / "default" / "customers" / "metadata" / "version-hint.text").exists()


def test_folder_that_no_demo_made_is_left_alone(tmp_path: Path):
    """A folder with other files is neither emptied nor written to."""
    (tmp_path / "mine.txt").write_text("mine")

    refused = demo("--warehouse", tmp_path)

    assert refused.returncode == 2
    assert "no demo made it" in refused.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
