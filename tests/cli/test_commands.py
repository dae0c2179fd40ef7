"""The command line: what it prints, its exit codes, and what it never prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from click.testing import CliRunner, Result

from tidegate.cli.main import main

PASSWORD = "p@ss w/rd:%"
OTHER_TABLES = """
CREATE TABLE customers (id int, name text, last_modified timestamp, is_latest boolean, PRIMARY KEY (id, last_modified));
CREATE TABLE prices (id int, valid_from date, valid_to date, PRIMARY KEY (id, valid_from));
CREATE TABLE numbered (id int PRIMARY KEY, last_modified timestamptz NOT NULL, is_latest smallint);
CREATE TABLE contacts (id int, last_modified timestamp, is_latest boolean);
CREATE TABLE notes (words text);
"""


@pytest.fixture
def project(postgres, database, tmp_path, monkeypatch):
    """A source with twelve days of ten rows, an empty target, and a configuration in the current folder."""
    target = postgres.create_database("cli_target")
    with psycopg.connect(database) as connection:
        connection.execute(
            'CREATE TABLE trades ("COBID" int NOT NULL, id int, amount numeric(38,18), PRIMARY KEY ("COBID", id))'
        )
        connection.execute(
            "INSERT INTO trades SELECT 20240101 + g % 12, g, g * 1.000000000000000001 FROM generate_series(1, 120) g"
        )
        connection.execute("CREATE TABLE currencies (code text PRIMARY KEY, name text)")
    monkeypatch.setenv("PROD_URL", database)
    monkeypatch.setenv("UAT_URL", target)
    monkeypatch.chdir(tmp_path)
    Path("tidegate.yml").write_text(
        "source: ${PROD_URL}\ntarget: ${UAT_URL}\nlake: ./lake\n"
        "tables:\n  trades: {kind: partition, partition_column: COBID}\n"
    )
    yield Path("tidegate.yml")
    postgres.drop_database("cli_target")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def answer(*arguments: str):
    result = call(*arguments, "--json")
    return json.loads(result.stdout)


@pytest.mark.spark
def test_the_whole_day_through_the_command_line(project, spark):
    planned = call("plan")
    assert planned.exit_code == 0
    assert "extract 20240112, 10 rows: new in the source" in planned.stdout
    assert 'CREATE TABLE "public"."trades"' in planned.stdout

    first = call("run")
    assert first.exit_code == 0, first.output
    assert "run: done, 100 rows extracted, 100 loaded" in first.stdout

    second = call("run")
    assert second.exit_code == 0
    assert "nothing to do" in second.stdout

    assert "trades  in sync" in call("status").stdout
    assert "out of scope" in call("explain", "trades").stdout
    described = call("describe", "trades")
    assert (described.exit_code, described.stdout.count("    COBID  ")) == (0, 2), described.output
    assert "the target equals the source within its scope" in call("verify").stdout

    report = call("report", "-o", "page.html")
    assert Path(report.stdout.strip()).read_text().lower().startswith("<!doctype html>")
    assert [run["verb"] for run in answer("history")["runs"]] == ["verify", "run", "run"]


def test_the_page_shows_no_password_wherever_it_comes_from(project):
    password = urlsplit(_target()).password
    project.write_text(project.read_text().replace("./lake", f"./{password}"))

    page = Path(call("report", "-o", "page.html").stdout.strip()).read_text()

    assert f"{Path.cwd()}/***" in page
    assert password not in page


@pytest.mark.spark
def test_differences_exit_with_three_and_are_repaired(project, spark):
    assert call("run", "-q").exit_code == 0
    with psycopg.connect(_target()) as connection:
        connection.execute('UPDATE trades SET amount = 0 WHERE "COBID" = 20240105 AND id = 16')
    found = call("verify", "--deep", "-q")
    assert found.exit_code == 3
    assert "trades 20240105: equal counts, other content; the target was changed after it was loaded" in found.stdout
    assert "1 changed (20240105, 16)" in found.stdout
    assert call("repair", "--yes", "-q").exit_code == 0
    assert call("verify", "-q").exit_code == 0


@pytest.mark.spark
def test_backfill_adopt_forget_and_clean(project, spark):
    assert call("run", "-q").exit_code == 0
    assert "10 rows extracted" in call("backfill", "trades", "--from", "20240102", "--to", "20240102", "-q").stdout
    assert call("forget", "trades", "--value", "20240102", "--yes").stdout.strip() == (
        "trades: scope is now from 20240103 and 20240102, without 20240102"
    )
    assert answer("clean", "--dry-run")["dry_run"] is True
    with psycopg.connect(_target()) as connection:
        connection.execute("DROP SCHEMA tidegate CASCADE")
    assert call("adopt", "--yes", "-q").exit_code == 0
    assert {step["step"] for step in answer("history", "--last", "1")["runs"][0]["steps"]} == {"adopt"}


def test_init_proposes_what_plan_understands(project, database):
    with psycopg.connect(database) as connection:
        connection.execute(OTHER_TABLES)
    proposed = call("init", "--source", "${PROD_URL}", "--target", "${UAT_URL}", "-o", "new.yml")
    assert proposed.exit_code == 0, proposed.output
    text = Path("new.yml").read_text()
    assert "partition_column: COBID" in text
    assert "# COBID (integer) is a usual name for a reporting day; an index starts with it" in text
    assert "  currencies:\n" in text
    assert "    kind: static" in text
    assert (
        "  # contacts:\n  #   # a comment until you fill in `business_keys`, the columns that identify an entity"
        in text
    )
    planned = call("plan", "-c", "new.yml")
    assert planned.exit_code == 0, planned.output
    assert [table["table"] for table in answer("plan", "-c", "new.yml")["tables"]] == [
        "trades",
        "customers",
        "numbered",
        "prices",
        "contacts",
        "currencies",
        "notes",
    ]


def test_init_keeps_a_password_out_of_the_file(project, database):
    call("init", "--source", database, "--target", "${UAT_URL}", "-o", "new.yml")
    assert "${TIDEGATE_SOURCE_URL}" in Path("new.yml").read_text()
    assert str(urlsplit(database).password) not in Path("new.yml").read_text()


def test_init_does_not_overwrite(project):
    """Every line that somebody wrote stays."""
    before = Path("tidegate.yml").read_text().splitlines()
    assert call("init", "--source", "${PROD_URL}", "--target", "${UAT_URL}").exit_code == 0
    after = Path("tidegate.yml").read_text().splitlines()
    assert [line for line in before if line not in after] == []


@pytest.mark.parametrize(
    ("arguments", "exit_code", "says"),
    [
        (["plan", "trade"], 2, "Did you mean trades?"),
        (["plan", "-c", "nowhere.yml"], 2, "tidegate init"),
        (["forget", "trades", "--value", "20240105", "--yes"], 2, "is not in the scope"),
        (["backfill", "trades", "--from", "x", "--to", "y"], 2, "COBID is integer"),
        (["run", "--reload"], 2, "--yes"),
        (["repair"], 2, "--yes"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_wrong_use_gives_a_remedy(project, arguments, exit_code, says):
    result = call(*arguments)
    assert result.exit_code == exit_code, result.output
    assert says in result.output


@pytest.mark.parametrize(
    "command", [["plan"], ["status"], ["history"], ["plugins"], ["explain", "trades"], ["describe", "trades"]]
)
def test_json_is_one_document(project, command):
    result = call(*command, "--json")
    assert json.loads(result.stdout)


def test_describe_of_a_missing_table_says_so(project):
    result = call("describe", "trades")
    assert result.exit_code == 1
    assert "in the source\n\n  columns\n    column" in result.stdout
    assert "in the target: it does not exist, or this login may not see it" in result.stdout


def test_an_error_as_json_has_its_three_parts(project):
    error = answer("plan", "-c", "nowhere.yml")
    assert error["exit_code"] == 2
    assert set(error["error"]) == {"kind", "happened", "safe", "remedy"}


def test_a_table_that_fails_is_named_and_exits_with_one(project):
    Path("tidegate.yml").write_text(project.read_text() + "  tradez: {kind: partition, partition_column: COBID}\n")
    result = call("plan")
    assert result.exit_code == 1
    assert "Did you mean public.trades?" in result.output
    assert "extract 20240112" in result.stdout


def test_no_command_prints_a_password(postgres, project, monkeypatch):
    parts = urlsplit(_target())
    monkeypatch.setenv("WRONG", PASSWORD)
    text = project.read_text().replace(
        "${UAT_URL}", f"postgresql://{parts.username}:${{WRONG}}@127.0.0.1:{parts.port}/cli_target"
    )
    Path("tidegate.yml").write_text(text)
    for command in (["plan"], ["run"], ["status", "--json"], ["history"], ["verify"]):
        result = call(*command)
        assert result.exit_code == 1
        assert "Check user and password" in result.output
        assert PASSWORD not in result.output
        assert "Traceback" not in result.output


def _target() -> str:
    return os.environ["UAT_URL"]
