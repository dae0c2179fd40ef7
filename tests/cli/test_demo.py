"""The demo as a person starts it, with few rows, and what it leaves behind looked at by somebody else."""

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
    return tmp_path_factory.mktemp("told") / "demo"


@pytest.fixture(scope="module")
def told(folder) -> subprocess.CompletedProcess[str]:
    return start("--rows", str(ROWS), "--folder", folder)


@pytest.fixture
def made(database) -> Iterator[psycopg.Connection]:
    """The same data again, in a database that no demo and no Tidegate has seen."""
    calendar = Calendar.of(ROWS)
    with psycopg.connect(database, autocommit=True) as connection:
        create([connection], [*calendar.at_first, calendar.new, *calendar.late])
        yield connection


whole_story = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(600)]


class TestTheStory:
    pytestmark = whole_story

    def test_it_ends_well_and_its_last_line_is_the_report(self, told, folder):
        assert told.returncode == 0, told.stdout + told.stderr
        assert told.stdout.splitlines()[-1] == str(folder / "tidegate-report.html")
        assert (folder / "tidegate-report.html").read_text().startswith("<!DOCTYPE html>")

    def test_it_proves_that_the_target_equals_the_source_and_asks_for_a_second_opinion(self, told):
        proof = "verify: the target equals the source within its scope (16 values and 2 whole tables, 33,314 rows"
        assert proof in told.stdout
        assert "PostgreSQL's own hashes of all 23,055 rows agree" in in_one_line(told.stdout)

    def test_a_run_with_nothing_to_do_needs_no_java(self, told):
        chapter = told.stdout.partition("4  The same again")[2].partition("5  A new business day")[0]
        assert re.search(r"run: nothing to do \([0-9.]+ s, no Spark\)\n.* start to exit, no java process\n", chapter)

    def test_the_run_is_killed_before_its_end(self, told):
        chapter = told.stdout.partition("7  A run is killed half-way")[2]
        left = re.search(r"of 5 days: 5 in the lake, ([0-9]) whole in `uat`, none in part", in_one_line(chapter))
        assert "The run was killed." in chapter
        assert int(left[1]) < 5

    def test_the_lake_holds_what_was_made_in_the_source(self, told, folder, made):
        import pyarrow.parquet as pq

        files = sorted((folder / "lake" / "organized").glob("cobid_*/*.parquet"))
        held = Counter(tuple(row.values()) for file in files for row in pq.ParquetFile(file).read().to_pylist())
        rows = made.execute("SELECT * FROM daily_transactions WHERE cobid = ANY(%s)", [IN_SCOPE]).fetchall()

        assert len(files) == 16
        assert held == Counter(rows)

    def test_customers_and_currencies_change_with_the_day_and_heal(self, told):
        new, lost = (told.stdout.partition(title)[2] for title in ("5  A new business day", "6  Somebody deletes"))
        assert "customers and currencies are equal on both sides" in in_one_line(new)
        assert "load the whole table, 8 rows as generation 3: the target holds 7 of 8 rows" in lost

    def test_flags_that_somebody_set_are_found_and_repaired(self, told):
        proof = told.stdout.partition("8  The proof")[2]
        assert "repair: done" in proof
        assert "0 versions inserted, 0 changed, 3 superseded" in told.stderr

    def test_neither_the_server_nor_a_password_is_left(self, told, folder):
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
    assert refused.stderr.splitlines()[0] == f"{tmp_path} holds files that no demo made."
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


def test_as_json_it_is_told_on_standard_error_with_what_its_commands_say():
    told = subprocess.run([sys.executable, "-c", SHORT_STORY], env=ENVIRONMENT, capture_output=True, text=True)

    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == {"report": "report.html", "exit_code": 0}
    assert told.stderr.splitlines() == ["chapter 1", "run: nothing to do"]


def test_business_days_leave_weekends_out():
    assert list(business_days(date(2026, 1, 8), 4)) == [20260108, 20260109, 20260112, 20260113]


def in_one_line(text: str) -> str:
    return " ".join(text.split())
