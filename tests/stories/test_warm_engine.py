"""Runs on a warm engine: found by every command, shared, killed, and replaced by a Spark of the run's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
import yaml

from kit import processes
from kit.processes import wait_until
from kit.project import FIVE_DAYS, SATURDAY, SUNDAY, Stories, Story, child, cli
from kit.sides import ask
from tidegate.spark.warm.client import connect, disconnect
from tidegate.spark.warm.folder import EngineFolder

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.skipif(not processes.CAN_SEE, reason="finds processes through /proc"),
]

LOADING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tidegate load %' AND wait_event_type = 'Lock'
"""

WORKER = """
SELECT split_part(application_name, ':', 2)::int FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tidegate load %' AND wait_event_type = 'Lock'
"""


def engine(*words: object, **environment: str) -> dict[str, Any]:
    """Return what `tidegate engine` answers."""
    code, output, errors = cli("engine", *words, "--json", environment=environment)
    assert code == 0, output + errors
    return json.loads(output)


@pytest.fixture
def warm(shared: dict[str, str]) -> dict[str, str]:
    """The environment of commands that find a warm engine. One that a test has killed is started again."""
    engine("start", "--idle", "10m", **shared)
    return shared


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    environment = {"TIDEGATE_ENGINE_FOLDER": str(tmp_path_factory.mktemp("engines") / "here")}
    yield environment
    engine("stop", "--all", **environment)


def file(story: Story, path: Path, **settings: object) -> Path:
    """Write a configuration without a master: then the warm engine is used."""
    path.write_text(yaml.safe_dump({**story.configuration(), "spark": {}, **settings}))
    return path


def run(configuration: Path, environment: dict[str, str], verb: str = "run") -> dict[str, Any]:
    code, output, errors = cli(verb, "--json", "-c", configuration, environment=environment)
    assert code == 0, output + errors
    return json.loads(output)


def test_commands_find_the_engine(story: Story, tmp_path: Path, warm: dict[str, str]):
    """Runs and comparisons use it and leave it running. A second `start` does nothing."""
    configuration = file(story, tmp_path / "tidegate.yml")
    assert run(configuration, warm)["engine"] == "warm engine"
    assert run(configuration, warm, "verify")["engine"] == "warm engine"
    assert run(configuration, warm)["engine"] is None
    story.assert_in_step(*FIVE_DAYS)

    [found] = engine("status", **warm)["engines"]
    assert (found["trusted"], found["used_here"], found["in_use"]) == (True, True, False)
    again = engine("start", **warm)
    assert (again["started"], again["pid"]) == (False, found["pid"])
    assert "token" not in json.dumps(found)
    assert oct(Path(found["folder"], "engine.json").stat().st_mode) == oct(0o100600)
    assert "ready" in engine("logs", **warm)["lines"][-1]


def test_workers_have_imported_what_moves_rows(warm: dict[str, str]):
    """A worker is a fork, and serves one task: what it had to import, every task would wait for."""
    [found] = engine("status", **warm)["engines"]
    address = EngineFolder(Path(found["folder"])).address()
    assert address is not None

    def imported(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        before = set(sys.modules)
        pa.array([0])
        names = sorted(sys.modules)
        yield pa.record_batch({"module": names, "is_late": [name not in before for name in names]})

    session = connect(address)
    try:
        rows = session.range(0, 1, 1, 1).mapInArrow(imported, "module string, is_late boolean").collect()
    finally:
        disconnect(session)
    assert {row.module for row in rows if not row.is_late} >= {
        "psycopg",
        "pymysql",
        "pyarrow.dataset",
        "tidegate.checks.content",
        "tidegate.databases.postgresql.session",
        "tidegate.loads.merge",
        "tidegate.runs.extract_split",
        "tidegate.runs.load_split",
    }
    assert [row.module for row in rows if row.is_late] == []


def test_token_is_in_no_command_line(warm: dict[str, str]):
    """Everybody on the machine can read command lines."""
    [found] = engine("status", **warm)["engines"]
    token = json.loads(Path(found["folder"], "engine.json").read_text())["token"]
    commands = [processes.command_line(pid) for pid in [found["pid"], *processes.below(found["pid"])]]
    assert any("java" in command for command in commands)
    assert not any(token in command for command in commands)


def test_wrong_token_is_refused(warm: dict[str, str]):
    [found] = engine("status", **warm)["engines"]
    address = EngineFolder(Path(found["folder"])).address()
    assert address is not None
    for token, refusal in ((address.token, nullcontext()), ("x" * 43, pytest.raises(Exception, match="Invalid auth"))):
        session = connect(replace(address, token=token))
        try:
            with refusal:
                assert session.range(3).count() == 3
        finally:
            disconnect(session)


def test_dataframes_work_on_the_engine(warm: dict[str, str]):
    """What asks for a session gets a whole one, with the functions of pyspark.sql. Afterwards all is as it was."""
    script = """
import os
from tidegate.spark.engine import engine_of
from tidegate.spark.place import Place
from pyspark.sql import functions as F
engine = engine_of("spark", Place(warm="use"))
frame = engine.session().range(3).select((F.col("id") * 2).alias("twice"))
print(sum(row.twice for row in frame.collect()), type(frame).__module__)
engine.close()
assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ
"""
    with child("-c", script, environment=warm) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (0, "6 pyspark.sql.connect.dataframe\n"), errors


@pytest.mark.thorough
def test_two_projects_share_the_engine(stories: Stories, tmp_path: Path, warm: dict[str, str]):
    """Both runs are under way at the same time, each with an environment and a folder of its own."""
    both = [stories(), stories()]
    children = []
    with closing(psycopg.connect(both[0].target)) as holder:
        both[0].settings["hold_back"] = 1
        assert run(file(both[0], tmp_path / "0.yml"), warm)["engine"] == "warm engine"
        both[0].settings.clear()
        holder.execute("LOCK TABLE trades IN SHARE MODE")
        for number, story in enumerate(both):
            password = {"TRADES_TARGET": story.target}  # only this run's environment has it
            path = file(story, tmp_path / f"{number}.yml", target="${TRADES_TARGET}")
            children.append(child("-m", "tidegate.cli.main", "run", "--json", "-c", path, environment=warm | password))
        wait_until(lambda: ask(both[0].target, LOADING) == [(1,)], "the first run loads")
        output, errors = children[1].communicate(timeout=120)
        assert children[1].returncode == 0, output + errors
        assert engine("status", **warm)["engines"][0]["in_use"]
        code, _, errors = cli("engine", "stop", environment=warm)
        assert (code, "is in use" in errors) == (1, True)
        holder.rollback()
    output, errors = children[0].communicate(timeout=120)
    assert children[0].returncode == 0, output + errors
    for story in both:
        story.assert_in_step(*FIVE_DAYS)


def start_and_hold(story: Story, configuration: Path, environment: dict[str, str]) -> Any:
    """Start a run that waits in the middle of a load: yields the process and a connection that holds the lock."""
    holder = psycopg.connect(story.target)
    holder.execute("LOCK TABLE trades IN SHARE MODE")
    process = child("-m", "tidegate.cli.main", "run", "--json", "-c", configuration, environment=environment)
    wait_until(lambda: process.poll() is not None or ask(story.target, LOADING) != [(0,)], "a task loads")
    assert process.poll() is None, process.communicate()
    return process, holder


@pytest.mark.thorough
def test_killed_run_leaves_the_engine(story: Story, tmp_path: Path, warm: dict[str, str]):
    """The driver gets SIGKILL while a task loads. The task may still end well; the next run does what is missing."""
    configuration = file(story, tmp_path / "tidegate.yml")
    run(configuration, warm)
    [before] = engine("status", **warm)["engines"]
    story.fill(SATURDAY, SUNDAY)

    process, holder = start_and_hold(story, configuration, warm)
    processes.kill_session(process.pid)
    process.communicate()
    holder.close()

    assert run(configuration, warm)["engine"] in ("warm engine", None)
    [after] = engine("status", **warm)["engines"]
    assert (after["pid"], after["in_use"]) == (before["pid"], False)
    story.assert_in_step(*FIVE_DAYS, SATURDAY, SUNDAY)


@pytest.mark.thorough
def test_killed_worker_costs_no_row(story: Story, tmp_path: Path, warm: dict[str, str]):
    """The worker of a load gets SIGKILL. Spark repeats the task, and the run never notices."""
    configuration = file(story, tmp_path / "tidegate.yml")
    run(configuration, warm)
    story.fill(SATURDAY)

    process, holder = start_and_hold(story, configuration, warm)
    [(worker,)] = ask(story.target, WORKER)
    assert "pyspark.worker" in processes.command_line(worker)
    processes.kill(worker)
    wait_until(lambda: ask(story.target, WORKER) not in ([], [(worker,)]), "another worker loads")
    holder.close()
    output, errors = process.communicate(timeout=120)

    assert process.returncode == 0, output + errors
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


def test_killed_engine_fails_the_run_clearly(story: Story, tmp_path: Path, warm: dict[str, str]):
    """Supervisor and JVM get SIGKILL while a task loads. The run says what happened; the next one heals on a Spark of
    its own."""
    configuration = file(story, tmp_path / "tidegate.yml")
    run(configuration, warm)
    story.fill(SATURDAY)
    [found] = engine("status", **warm)["engines"]

    process, holder = start_and_hold(story, configuration, warm)
    below = processes.below(found["pid"])
    processes.kill(found["pid"])
    wait_until(lambda: not any("java" in processes.command_line(pid) for pid in below), "the JVM ends with it")
    output, _ = process.communicate(timeout=60)
    holder.close()

    assert process.returncode == 1
    report = json.loads(output)
    [(_, problem)] = report["failures"]
    assert problem.startswith("Spark ended before this split did: ")
    assert engine("status", **warm)["engines"] == []
    story.project["engine"] = "process"
    run(file(story, tmp_path / "tidegate.yml"), warm)
    del story.project["engine"]
    story.assert_in_step(*FIVE_DAYS, SATURDAY)


@pytest.mark.thorough
def test_auto_leaves_an_engine_behind(story: Story, tmp_path: Path):
    """The first run that needs Spark starts the engine. It ends by itself when nobody uses it."""
    environment = {"TIDEGATE_ENGINE_FOLDER": str(tmp_path / "engines")}
    configuration = file(story, tmp_path / "tidegate.yml", engine={"warm": "auto", "idle": "2s"})
    try:
        assert run(configuration, environment)["engine"] == "warm engine"
        folder = engine("status", **environment)["engines"][0]["folder"]
        wait_until(lambda: engine("status", **environment)["engines"] == [], "it ends", 30)
        assert "ended after 2 s without use" in Path(folder, "log").read_text()
    finally:
        engine("stop", "--all", **environment)
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
@pytest.mark.slow
def test_untrusted_engine_is_not_used(story: Story, tmp_path: Path, warm: dict[str, str]):
    """Its file can be read by others. The run warns, and a Spark of its own moves the rows."""
    [found] = engine("status", **warm)["engines"]
    secret = Path(found["folder"], "engine.json")
    secret.chmod(0o644)
    try:
        report = run(file(story, tmp_path / "tidegate.yml"), warm)
        assert report["engine"] == "local"
        [warning] = [finding for finding in report["findings"] if finding["check"] == "engine"]
        assert (warning["severity"], "is open to other users" in warning["what"]) == ("warning", True)
    finally:
        secret.chmod(0o600)
    story.assert_in_step(*FIVE_DAYS)
