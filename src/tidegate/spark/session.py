"""The Spark session: found or started here, and nowhere else. One process has one SparkContext and one JVM."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakSet

from tidegate.errors import ConfigError, SparkUnavailable, TidegateError
from tidegate.spark.java import find_java
from tidegate.spark.launch import SQL, configuration, interrupts_kept, starting, without_fork_handlers
from tidegate.spark.startup import end_accumulators_in_background

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = ("4.0", "4.1")
_MASTERS = ("local", "spark://", "k8s://", "yarn")
_DEFAULT_MASTER = "local[*,3]"  # every core; a task may fail twice, as on a cluster
_LOCAL = re.compile(r"local(\[(?P<cores>\d+|\*)(,\s*\d+)?\])?")
_CONNECT_PORT = 15002
_CONNECT_SECONDS = 10
_ELSEWHERE = "Correct `spark:` in the configuration, or leave it out to run on this machine alone."
_NO_JVM = (
    "Look whether `java -version` answers, and whether `bash` is on the PATH, which Spark's launcher needs. Or write"
    " `engine: process`: threads of the process then move the rows, without Java."
)

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
    `remote`, all cores of this machine. `options` win over every default. Raises ConfigError or SparkUnavailable.
    """
    _check_place(master, remote)
    _require_known_line()
    _silence_py4j()
    try:
        return _shared(remote) or _started(master, remote, {"spark.app.name": app_name, **(options or {})})
    except TidegateError:
        raise
    except Exception as problem:
        raise SparkUnavailable(
            f"Spark did not start on {remote or master or _DEFAULT_MASTER}: {_reason(problem)}",
            "Nothing was read or written.",
            _NO_JVM if "JAVA_GATEWAY_EXITED" in str(problem) else _ELSEWHERE,
        ) from problem


def is_session_here() -> bool:
    """Return whether this process has a session that `open_session` would share, or was started by spark-submit."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active() is not None
    except PySparkRuntimeError:
        return False


def close_session(session: SparkSession) -> None:
    """Stops what `open_session` started; a shared session stays open. Closing twice does nothing."""
    if session not in _OPENED:
        return
    _OPENED.discard(session)
    with contextlib.suppress(Exception):  # a JVM that is gone must not hide the error that came first
        if not is_connect(session):
            session.sparkContext.setLogLevel("OFF")  # tasks that still run complain of being stopped
            end_accumulators_in_background(getattr(session.sparkContext, "_accumulatorServer", None))
        session.stop()
    if is_connect(session):
        # pyspark leaves it behind, and would refuse every classic session after this one.
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def is_connect(session: SparkSession) -> bool:
    """True when the session speaks Spark Connect: there is no context, no RDD and no JVM to ask."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_local(session: SparkSession) -> bool:
    """Return whether the tasks of a session run on this machine, as far as the session can tell."""
    return not is_connect(session) and (session.conf.get("spark.master", "") or "").startswith("local")


def cores_of(session: SparkSession) -> int | None:
    """How many tasks run at the same time; None where a cluster decides that."""
    local = _LOCAL.fullmatch(session.conf.get("spark.master", "") or "")
    if local is None:
        return None
    cores = local["cores"] or "1"
    if cores == "*":  # of the machine that a Spark Connect server runs on, which need not be this one
        return None if is_connect(session) else os.cpu_count()
    return int(cores)


def _check_place(master: str | None, remote: str | None) -> None:
    if master and remote:
        raise ConfigError(
            f"Spark has both a master ({master}) and a remote ({remote}).",
            "Nothing was started.",
            "Keep one of them.",
        )
    if master and not master.startswith(_MASTERS):
        raise ConfigError(
            f"Spark has no master `{master}`.",
            "Nothing was started.",
            f"A master begins with one of {', '.join(_MASTERS)}; an address of Spark Connect is a `remote`.",
        )


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
    for name, value in SQL.items():
        beside.conf.set(name, value)
    return beside


def _started(master: str | None, remote: str | None, options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if remote:
        without_fork_handlers()
        builder = builder.remote(remote)
    session: SparkSession
    if remote and remote.startswith("sc:"):
        _knock(remote)
        session = builder.config(map={**SQL, **options}).create()
    elif "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        with interrupts_kept():
            session = builder.config(map={**SQL, **options}).getOrCreate()
    else:
        where = remote or master or _DEFAULT_MASTER
        java_home = find_java()
        settings = configuration(where, java_home, options)
        with starting(where, java_home):
            session = builder.config(map={**settings, **({} if remote else {"spark.master": where})}).getOrCreate()
    _OPENED.add(session)
    return session


def _knock(remote: str) -> None:
    """Raises OSError at once where nobody listens: the client itself would try again for many minutes."""
    if urllib.request.getproxies():  # then the way there is not ours to judge
        return
    address = urlsplit(remote)
    with socket.create_connection((address.hostname, address.port or _CONNECT_PORT), timeout=_CONNECT_SECONDS):
        pass


def _silence_py4j() -> None:
    """What goes wrong between Python and the JVM arrives as an exception; py4j would print its stack as well."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_worth_saying)


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """Ctrl-C is answered by the command line; py4j logs it with the root logger, out of reach of its own."""
    return not (record.module == "java_gateway" and str(record.msg).startswith("KeyboardInterrupt"))


def _reason(problem: Exception) -> str:
    """The first line of what Java or pyspark said, without the stack of the JVM."""
    said = str(getattr(problem, "java_exception", problem)).strip()
    return said.splitlines()[0] if said else type(problem).__name__
