"""The same run on other Spark setups: separate executors, Spark Connect, and workers that die."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from kit import processes
from kit.processes import wait_until
from kit.project import FIVE_DAYS, FRIDAY, THURSDAY, Story, child
from kit.sides import ask

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tidegate load %' AND wait_event_type = 'Lock'
"""


def executors(session: int) -> list[int]:
    return [
        pid for pid in processes.of_session(session) if "CoarseGrainedExecutorBackend" in processes.command_line(pid)
    ]


@pytest.mark.thorough
def test_killed_executor_is_replaced(story: Story, tmp_path: Path):
    """When an executor is killed while it loads, another takes its task and each day is loaded once."""
    story.settings["hold_back"] = 2
    story.run()
    story.settings.clear()
    story.project["spark"] = {"master": "local-cluster[2,1,1024]"}
    configuration = story.file(tmp_path / "tidegate.yml")

    # A table lock stops both loads, each on its own executor. One executor is killed there.
    with closing(psycopg.connect(story.target)) as holder:
        holder.execute("LOCK TABLE trades IN SHARE MODE")
        run = child("-m", "tidegate.cli.main", "run", "--json", "-c", configuration)
        try:
            wait_until(lambda: run.poll() is not None or ask(story.target, WAITING) == [(2,)], "two tasks load", 120)
            assert run.poll() is None, run.communicate()
            before = executors(run.pid)
            processes.kill(before[0])
            wait_until(lambda: set(executors(run.pid)) - set(before), "an executor takes its place", 60)
            holder.rollback()
            output, errors = run.communicate(timeout=120)
        finally:
            processes.kill_session(run.pid)

    assert run.returncode == 0, errors
    report = json.loads(output)
    assert report["engine"] == "local-cluster[2,1,1024]"
    assert {step["value"] for step in report["steps"]} == {str(THURSDAY), str(FRIDAY)}
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, 1)
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_task_retry_after_commit_loads_nothing_twice(story: Story, tmp_path: Path):
    """When a worker dies after its commit, Spark repeats the task, which finds its rows loaded."""
    configuration = story.file(tmp_path / "tidegate.yml")

    with child("-m", "kit.crash", configuration, "task committed", 2, tmp_path / "tally", "process") as run:
        output, errors = run.communicate(timeout=200)

    assert run.returncode == 0, errors
    assert len((tmp_path / "tally").read_text()) > len(FIVE_DAYS)
    report = json.loads(output)
    assert report["failures"] == []
    assert sorted(step["value"] for step in report["steps"] if step["step"] == "load") == list(map(str, FIVE_DAYS))
    assert {day: generation for day, (generation, _, _) in story.ledger().items()} == dict.fromkeys(FIVE_DAYS, 1)
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_run_and_verify_over_spark_connect(story: Story, tmp_path: Path):
    """`run` and `verify` work in a Spark Connect session."""
    python = {"PYSPARK_PYTHON": sys.executable}  # the owner of a session chooses the Python of its workers

    with child("-m", "kit.connected", story.file(tmp_path / "tidegate.yml"), environment=python) as run:
        output, errors = run.communicate(timeout=200)

    assert run.returncode == 0, errors
    assert json.loads(output) == {
        "session": "pyspark.sql.connect.session",
        "outcomes": ["done", "equal", "nothing to do"],
    }
    story.assert_in_step(*FIVE_DAYS)
