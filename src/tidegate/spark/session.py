"""The Spark session: found or started here, and nowhere else.

Facts that shape this file
 * One process has one SparkContext and one JVM, whose options are fixed by its first session.
 * The JVM of a local master only schedules: rows stay inside the Python tasks. So it gets the quick compiler, the
   smallest collector and, where one was made, an archive of its classes (`archive.py`).
 * pyspark hands settings to the JVM through the environment of this process; they are taken back once it runs.
 * Time zones: the zone of the JVM counts as well as the session's, on executors as well as here.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from tidegate.errors import ConfigError, SparkUnavailable, TidegateError
from tidegate.spark.archive import archive_options
from tidegate.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = ("4.0", "4.1")
_DEFAULT_MASTER = "local[*,3]"  # every core; a task may fail twice, as on a cluster

_SQL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
_STARTED = {
    **_SQL,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.speculation": "false",
    "spark.driver.memory": "1g",
}
_LOCAL = {"spark.sql.shuffle.partitions": "8", "spark.python.daemon.module": "tidegate.spark.daemon"}

_UTC = ["-Duser.timezone=UTC"]
_QUIET = [
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
]  # the JVM's own warnings would land in our standard output
_QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]

# The sessions that this process opened here, and may therefore stop. Spark's own state is one per process, too.
_OPENED: WeakSet[SparkSession] = WeakSet()


def open_session(
    master: str | None = None,
    remote: str | None = None,
    options: Mapping[str, str] | None = None,
    app_name: str = "tidegate",
) -> SparkSession:
    """A session in UTC. `remote` is a Spark Connect address (`sc://…`), or `local[…]` for a private server.

    A session that this process already has (a notebook's, a test's) is shared: it keeps its master, and
    `close_session` leaves it alone. Under spark-submit the submitted master stands. With neither `master` nor
    `remote`, all cores of this machine. `options` win over every default. Raises SparkUnavailable.
    """
    if master and remote:
        raise ConfigError(
            f"Spark has both a master ({master}) and a remote ({remote}).",
            "Nothing was started.",
            "Keep one of them.",
        )
    _require_known_line()
    logging.getLogger().addFilter(_is_worth_saying)
    try:
        return _shared(remote) or _started(master, remote, {"spark.app.name": app_name, **(options or {})})
    except TidegateError:
        raise
    except Exception as problem:
        raise SparkUnavailable(
            f"Spark did not start on {remote or master or _DEFAULT_MASTER}: {_reason(problem)}",
            "Nothing was read or written.",
            "Correct `spark:` in the configuration, or leave it out to run on this machine alone.",
        ) from problem


def close_session(session: SparkSession) -> None:
    """Stops what `open_session` started; a shared session stays open. Closing twice does nothing."""
    if session not in _OPENED:
        return
    _OPENED.discard(session)
    with contextlib.suppress(Exception):  # a JVM that is gone must not hide the error that came first
        session.stop()
    if is_connect(session):
        # pyspark leaves it behind, and would refuse every classic session after this one.
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def is_connect(session: SparkSession) -> bool:
    """True when the session speaks Spark Connect: there is no `sparkContext`, no RDD and no JVM to ask."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _require_known_line() -> None:
    try:
        from pyspark import __version__ as version
    except ImportError:
        version = "none"
    if version.rpartition(".")[0] not in _LINES:
        raise SparkUnavailable(
            f"This Python has pyspark {version}; Tidegate runs on {' and '.join(_LINES)}.",
            "Nothing was read or written.",
            "Install it with `pip install 'pyspark>=4.1.4,<4.2'`.",
        )


def _shared(remote: str | None) -> SparkSession | None:
    """A session beside the one that this process already has; None when there is none, or it is of the other sort."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        found = SparkSession.active()
    except PySparkRuntimeError:
        return None
    if is_connect(found):
        return None if remote and remote.startswith("sc:") else found
    if remote:
        return None
    beside = found.newSession()  # its own SQL settings: ours must not show in a notebook
    for name, value in _SQL.items():
        beside.conf.set(name, value)
    return beside


def _started(master: str | None, remote: str | None, options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if remote:
        builder = builder.remote(remote)
    session: SparkSession
    if remote and remote.startswith("sc:"):
        session = builder.config(map={**_SQL, **options}).create()
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        session = builder.config(map={**_SQL, **options}).getOrCreate()
    else:
        where = remote or master or _DEFAULT_MASTER
        java_home = find_java()
        settings = _settings(where, java_home, options)
        with _environment(_variables(where, java_home)):
            session = builder.config(map={**settings, **({} if remote else {"spark.master": where})}).getOrCreate()
    _OPENED.add(session)
    return session


def _settings(where: str, java_home: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Spark's configuration for a JVM that is started here. Options of the JVM are joined, ours first."""
    local = where.startswith("local")
    logs = (Path(__file__).parent / "log4j2.properties").as_uri()
    quick = _QUICK if local else []
    driver = [
        *_UTC,
        *_QUIET,
        *quick,
        f"-Dlog4j2.configurationFile={logs}",
        *(archive_options(java_home) if local else []),
    ]
    ours = {
        **_STARTED,
        **(_LOCAL if local else {}),
        **_executor_memory(where),
        **options,
        "spark.driver.extraJavaOptions": " ".join(driver),
        "spark.executor.extraJavaOptions": " ".join([*_UTC, *quick]),
    }
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        ours[name] = f"{ours[name]} {options.get(name, '')}".strip()
    return ours


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


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """Ctrl-C is answered by the command line; py4j would print a stack trace of its own through the root logger."""
    return not (record.module == "java_gateway" and str(record.msg).startswith("KeyboardInterrupt"))


def _reason(problem: Exception) -> str:
    """The first line of what Java or pyspark said, without the stack of the JVM."""
    said = str(getattr(problem, "java_exception", problem)).strip()
    return said.splitlines()[0] if said else type(problem).__name__
