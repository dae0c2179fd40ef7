"""How a JVM for Spark is started here: its configuration, its environment, and what is put back afterwards.

Facts that shape this file
 * The JVM of a local master only schedules: rows stay inside the Python tasks. So it gets the quick compiler, the
   smallest collector and, where one was made, an archive of its classes (`archive.py`).
 * Time zones: the zone of the JVM counts as well as the session's, on executors as well as here.
 * pyspark hands settings to the JVM through the environment of this process; they are taken back once it runs.
 * pyspark answers Ctrl-C with a call into the JVM, in the middle of another one, which breaks both. The handler that
   was there before is put back: then the interrupt arrives as KeyboardInterrupt, and closing the session ends the job.
 * At its first call into the JVM pyspark imports pandas, by way of its helpers for tests. That takes half a second, in
   which the JVM would stand idle; while the JVM starts, this process does.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidegate.spark.startup import ENABLED
from tidegate.spark.startup.archive import archive_options
from tidegate.spark.startup.daemon import MODULES, worth_importing

SQL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_STARTED = {
    **SQL,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "false",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",  # as in log4j2.properties, and again after a session that was closed in this JVM
}
_LOCAL = {
    "spark.sql.shuffle.partitions": "8",
    **({"spark.python.daemon.module": "tidegate.spark.startup.daemon"} if ENABLED else {}),
}

_UTC = ["-Duser.timezone=UTC"]
_QUIET = ["-Xlog:disable", "-Xlog:all=error:stderr"]  # the JVM's own warnings would land in our standard output
_QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
_JVM_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def configuration(where: str, java_home: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings. `options` win, except that options of the JVM are joined, ours first."""
    local = where.startswith("local")
    logs = (Path(__file__).parent / "log4j2.properties").as_uri()
    executor = [*_UTC, *(_QUICK if local else [])]
    driver = [*executor, *_QUIET, f"-Dlog4j2.configurationFile={logs}", *(archive_options(java_home) if local else [])]
    joined = {
        name: " ".join([*ours, options.get(name, "")]).strip()
        for name, ours in zip(_JVM_OPTIONS, (driver, executor), strict=True)
    }
    return {**_STARTED, **(_LOCAL if local else {}), **_executor_memory(where), **options, **joined}


@contextlib.contextmanager
def starting(where: str, java_home: Path) -> Iterator[None]:
    """The block in which the JVM starts. What it changes in this process is as it was, afterwards."""
    threading.Thread(target=_import_meanwhile, daemon=True, name="tidegate imports").start()
    with _environment(_variables(where, java_home)), interrupts_kept(), warnings.catch_warnings():
        # A private Connect server has taken its settings when it started; pyspark sends them again and warns of each.
        warnings.filterwarnings("ignore", message="Failed to set spark")
        yield


def without_fork_handlers() -> None:
    """Keep gRPC out of forks, before it is imported. It stops at each fork until its threads rest, and was seen to wait
    for ever, in a process that used Spark Connect and then started a JVM. Nobody here uses a session after a fork."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


def _import_meanwhile() -> None:
    with contextlib.suppress(ImportError):  # whoever needs it says so himself
        importlib.import_module("pyspark.testing.utils")


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():  # pyspark, too, sets it only there
            signal.signal(signal.SIGINT, before)


def _executor_memory(where: str) -> dict[str, str]:
    """`local-cluster[executors,cores,megabytes]` refuses executors that ask for more than those megabytes."""
    match = re.fullmatch(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]", where)
    return {"spark.executor.memory": f"{match[1]}m"} if match else {}


def _variables(where: str, java_home: Path) -> dict[str, str]:
    """What the JVM must find in its environment. A cluster's own Python and addresses are the cluster's business."""
    if not where.startswith("local"):
        return {"JAVA_HOME": str(java_home)}
    import pyspark

    return {
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),  # another Spark on this machine would be of another version
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,  # otherwise `python3` of the PATH, which lacks our packages
        MODULES: worth_importing(list(sys.modules)),
    }


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
