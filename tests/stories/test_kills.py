"""Runs are killed again and again at random moments while the source changes, and every row arrives once.

TIDEGATE_KILLS sets the number of kills, TIDEGATE_SEED the days and moments.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import psycopg
import pytest

from kit import processes
from kit.processes import wait_until
from kit.project import FIVE_DAYS, Story, child
from kit.sides import sessions_of

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

KILLS = int(os.environ.get("TIDEGATE_KILLS", "1"))
SEED = int(os.environ.get("TIDEGATE_SEED", "20240105"))


class Life:
    """Random changes of the source between two runs."""

    def __init__(self, story: Story, chance: random.Random) -> None:
        self.days, self._story, self._chance = list(FIVE_DAYS), story, chance

    def go_on(self) -> None:
        if self._chance.random() < 0.7:
            self.days.append(self.days[-1] + 1)
            self._story.fill(self.days[-1], last=self._chance.randint(1, 2000))
        day = self._chance.choice(self.days[-4:])
        match self._chance.choice(["restate", "more", "fewer", "nothing"]):
            case "restate":
                self._story.restate(day)
            case "more":
                self._story.fill(day, first=5001, last=5000 + self._chance.randint(1, 300))
            case "fewer":
                self._story.in_source("DELETE FROM trades WHERE cob = %s AND id %% 7 = 3", day)


@pytest.fixture(params=[pytest.param("without a master", marks=pytest.mark.thorough), "on Spark"])
def story(request: pytest.FixtureRequest, story: Story) -> Story:
    """Runs on a Spark that they start without a master, and on a local master that replaces workers."""
    if request.param == "without a master":
        story.project["spark"] = {}
    return story


@pytest.fixture
def runs() -> Iterator[list[Popen[str]]]:
    """The started processes. They and their child processes are killed after the test."""
    started: list[Popen[str]] = []
    yield started
    for run in started:
        processes.kill_session(run.pid)
        run.communicate()


@pytest.mark.thorough
def test_repeatedly_killed_runs_resume(story: Story, tmp_path: Path, runs: list[Popen[str]]):
    """When runs are killed at random moments while the source changes, the next run completes them."""
    chance = random.Random(SEED)
    life = Life(story, chance)
    story.settings |= {"restatement_column": "load_id", "initial_load_count": 5}
    configuration = story.file(tmp_path / "tidegate.yml")

    def start() -> Popen[str]:
        runs.append(child("-m", "tidegate.cli.main", "run", "--quiet", "-c", configuration))
        return runs[-1]

    begun = time.monotonic()
    start().communicate(timeout=300)
    usual = time.monotonic() - begun

    for number in range(KILLS):
        life.go_on()
        run = start()
        time.sleep(usual * chance.uniform(0.2, 1.0))
        if number % 2:
            processes.kill(run.pid)
        else:
            processes.kill_session(run.pid)
        run.communicate()

    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the last run let go")
    story.run()
    story.assert_in_step(*life.days)


def test_ctrl_c_prints_three_sentences_and_resumes(story: Story, tmp_path: Path, runs: list[Popen[str]]):
    """When a run is interrupted by Ctrl-C, it prints three sentences and exits with 130. The next run completes it."""
    story.settings["hold_back"] = 2
    story.run()
    story.settings.clear()

    with closing(psycopg.connect(story.target)) as holder:
        holder.execute("LOCK TABLE trades IN SHARE MODE")
        run = child("-m", "tidegate.cli.main", "run", "--quiet", "-c", story.file(tmp_path / "tidegate.yml"))
        runs.append(run)
        wait_until(lambda: any(" load " in name for name in sessions_of(story.target)), "rows move", 120)
        os.killpg(run.pid, signal.SIGINT)
        run.wait(timeout=150)
    # Workers may still wait for the lock that was held until here, and keep the output open.
    output, errors = run.communicate(timeout=150)

    assert run.returncode == 130
    assert output == ""
    assert errors.splitlines() == [
        "Interrupted.",
        "Committed values stay, each of them complete.",
        "Run again to continue.",
    ]
    wait_until(lambda: not [name for name in sessions_of(story.target) if " run " in name], "the run let go")
    story.run()
    story.assert_in_step(*FIVE_DAYS)
