"""The demo as a person starts it, with few rows, and what it leaves behind looked at by somebody else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tidegate.demo.data import business_days
from tidegate.demo.embedded import EmbeddedPostgres

SOURCE = Path(__file__).parents[2] / "src"
FIRST_IN_SCOPE = 20260109


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that every account can reach: root's server runs as another one, to which pytest's folders are closed."""
    made = Path(tempfile.mkdtemp(prefix="tidegate-test-demo-", dir="/var/tmp"))
    made.chmod(0o711)
    yield made / "demo"
    shutil.rmtree(made)


def start(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate.cli.main", "demo", *map(str, words)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)


def rows_of(server: EmbeddedPostgres, database: str) -> Counter[tuple[object, ...]]:
    with psycopg.connect(server.url(database)) as connection:
        statement = "SELECT * FROM daily_transactions WHERE cobid >= %s"
        return Counter(connection.execute(statement, [FIRST_IN_SCOPE]).fetchall())


@pytest.fixture(scope="module")
def told(folder: Path) -> subprocess.CompletedProcess[str]:
    return start("--rows", "20000", "--folder", folder)


pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_story_ends_well_and_its_last_line_is_the_report(told, folder):
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.splitlines()[-1] == str(folder / "tidegate-report.html")
    assert (folder / "tidegate-report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_story_says_what_was_proven(told):
    assert "verify: the target equals the source within its scope (16 values, 23,0" in told.stdout
    assert "on each of the 16 days" in " ".join(told.stdout.split())


def test_a_run_with_nothing_to_do_needs_no_java(told):
    chapter = told.stdout.partition("4  The same again")[2].partition("5  A new business day")[0]
    assert re.search(
        r"run: nothing to do \([0-9.]+ s, no Spark\)\n +[0-9.]+ s from start to exit, no java process", chapter
    )


def test_the_run_was_killed_before_its_end(told):
    assert "The run was killed." in told.stdout


def test_another_look_at_both_sides_finds_the_same_rows(told, folder):
    with EmbeddedPostgres(data=folder / "postgres", durable=False) as server:
        source, target = rows_of(server, "prod"), rows_of(server, "uat")
    assert target == source
    assert len(target) == 23_063
    assert set(target.values()) == {1}


def test_the_server_is_gone_and_no_password_was_told(told, folder):
    assert not (folder / "postgres" / "data" / "postmaster.pid").exists()
    password = (folder / "postgres" / "password").read_text()
    assert password not in told.stdout + told.stderr


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")

    refused = start("--folder", tmp_path)

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[0] == f"{tmp_path} holds files that no demo made."
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_business_days_leave_weekends_out():
    from datetime import date

    assert list(business_days(date(2026, 1, 8), 4)) == [20260108, 20260109, 20260112, 20260113]
