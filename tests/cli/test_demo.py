"""`tidegate demo` as a user starts it, with few rows; what it leaves is checked without Tidegate."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import psycopg
import pytest

from tidegate.demo.data import Calendar, business_days, create

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
ROWS = 20_000
IN_SCOPE = list(business_days(date(2026, 1, 9), 16))


def start(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate.cli.main", "demo", *map(str, words)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("story") / "demo"


@pytest.fixture(scope="module")
def story(folder) -> subprocess.CompletedProcess[str]:
    return start("--rows", str(ROWS), "--folder", folder)


@pytest.fixture
def made(database) -> Iterator[psycopg.Connection]:
    """The same data again, in a database that no demo and no Tidegate has seen."""
    calendar = Calendar.of(ROWS)
    with psycopg.connect(database, autocommit=True) as connection:
        create([connection], [*calendar.at_first, calendar.new, *calendar.late])
        yield connection


whole_story = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.thorough, pytest.mark.timeout(600)]


class TestTheStory:
    pytestmark = whole_story

    def test_ends_well_with_the_report_as_last_line(self, story, folder):
        assert story.returncode == 0, story.stdout + story.stderr
        assert story.stdout.splitlines()[-1] == str(folder / "tidegate-report.html")
        assert (folder / "tidegate-report.html").read_text().startswith("<!DOCTYPE html>")

    def test_proves_equality_and_checks_it_without_tidegate(self, story):
        proof = "verify: the target equals the source within its scope (16 values and 2 whole tables, 33,314 rows"
        assert proof in story.stdout
        assert "PostgreSQL's own hashes of all 23,055 rows agree" in in_one_line(story.stdout)

    def test_nothing_to_do_needs_no_spark(self, story):
        chapter = story.stdout.partition("4  The same again")[2].partition("5  A new business day")[0]
        assert re.search(r"run: nothing to do \([0-9.]+ s, no Spark\)\n.* exit, nothing to move, no Spark\n", chapter)

    def test_says_that_spark_moved_the_rows_of_the_first_run(self, story):
        chapter = story.stdout.partition("3  The first run")[2].partition("4  The same again")[0]
        assert re.search(r"\n +[0-9.]+ s from start to exit, rows moved by Spark \(warm engine\)\n", chapter)

    def test_stops_the_warm_engine(self, story, folder):
        """The demo has an engine of its own. Others of the user are not touched."""
        chapter = story.stdout.partition("3  The first run")[2].partition("4  The same again")[0]
        assert "$ tidegate engine start" in chapter
        [log] = folder.glob(".engine/*/log")
        assert log.read_text().splitlines()[-1].endswith(" stopped")
        assert list(folder.glob(".engine/*/engine.json")) == []

    def test_the_run_is_killed_before_its_end(self, story):
        chapter = story.stdout.partition("7  A run is killed half-way")[2]
        left = re.search(r"of 5 days: 5 in the lake, ([0-9]) complete in `uat`, none in part", in_one_line(chapter))
        assert "The run was killed." in chapter
        assert int(left[1]) < 5

    def test_the_lake_has_the_rows_of_the_source(self, story, folder, made):
        import pyarrow.parquet as pq

        files = sorted((folder / "lake" / "organized").glob("cobid_*/*.parquet"))
        in_lake = Counter(tuple(row.values()) for file in files for row in pq.ParquetFile(file).read().to_pylist())
        rows = made.execute("SELECT * FROM daily_transactions WHERE cobid = ANY(%s)", [IN_SCOPE]).fetchall()

        assert len(files) == 16
        assert in_lake == Counter(rows)

    def test_reference_tables_change_and_heal(self, story):
        new, lost = (story.stdout.partition(title)[2] for title in ("5  A new business day", "6  Somebody deletes"))
        assert "customers and currencies are equal on both sides" in in_one_line(new)
        assert "load the whole table, 8 rows as generation 3: the target holds 7 of 8 rows" in lost

    def test_wrong_flags_are_repaired(self, story):
        proof = story.stdout.partition("8  The proof")[2]
        assert "repair: done" in proof
        assert "0 versions inserted, 0 changed, 3 superseded" in story.stderr

    def test_leaves_no_server_and_no_password(self, story, folder):
        assert sorted(path.name for path in folder.iterdir() if path.name[0] != ".") == [
            "lake",
            "tidegate-report.html",
            "tidegate.yml",
        ]
        assert "reader:${PROD_PASSWORD}@" in (folder / "tidegate.yml").read_text()


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")

    refused = start("--folder", tmp_path)

    assert refused.returncode == 2
    assert refused.stderr.splitlines()[0] == f"{tmp_path} contains files that no demo made."
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


SHORT_STORY = """
import subprocess
from pathlib import Path
import click
from tidegate.cli.main import main
from tidegate.demo import story

def tell(rows, folder, ended):
    click.echo("chapter 1")
    subprocess.run(["echo", "run: nothing to do"], check=True)
    ended(Path("report.html"))
    return 0

story.tell = tell
main(["demo", "--json"])
"""


def test_with_json_the_story_goes_to_standard_error():
    story = subprocess.run([sys.executable, "-c", SHORT_STORY], env=ENVIRONMENT, capture_output=True, text=True)

    assert story.returncode == 0, story.stderr
    assert json.loads(story.stdout) == {"report": "report.html", "exit_code": 0}
    assert story.stderr.splitlines() == ["chapter 1", "run: nothing to do"]


def test_business_days_leave_weekends_out():
    assert list(business_days(date(2026, 1, 8), 4)) == [20260108, 20260109, 20260112, 20260113]


def in_one_line(text: str) -> str:
    return " ".join(text.split())
