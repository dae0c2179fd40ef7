"""The process that owns a warm engine: it starts the server, tells commands how to reach it, and ends it.

The JVM is a child of this process and ends with it, however it ends: pyspark's JVM reads a pipe from its parent until
the end. The supervisor ends the engine when nobody used it for a while, when it gets SIGTERM, and when the JVM died.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import secrets
import signal
import socket
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from tidegate._version import __version__
from tidegate.spark.warm import locks
from tidegate.spark.warm.folder import Address, EngineFolder

TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
"""Spark reads the token from this variable; a setting would stand in the command line of the JVM, for all to see."""
_WATCH_SECONDS = 0.5
_PARTS = ("databases", "changes", "loads", "lakes", "checks", "hashing", "history", "runs")
_NOT_BEFORE_A_FORK = "tidegate.databases.sqlserver"  # its driver opens an ODBC environment when it is imported
_TASKS = 8  # per core: tasks mostly wait for databases, and several runs share the engine

_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # What a killed command left running is interrupted; the client of a living one is never away for so long.
    "spark.connect.execute.manager.detachedTimeout": "30s",
    "spark.connect.session.manager.defaultSessionTimeout": "10m",
    # Tasks take environment and folder of their run, and import its plug-ins: no worker serves two of them.
    "spark.python.worker.reuse": "false",
}


class Stopped(Exception):
    """SIGTERM arrived."""


def supervise(folder: EngineFolder, options: Mapping[str, str], idle: int) -> None:
    """Run one engine until it ends. Raises TidegateError when Spark does not start."""
    alive = locks.take(folder.alive, wait=_WATCH_SECONDS)  # a command that looks holds it for a moment
    if alive is None:
        return  # another supervisor has this folder
    signal.signal(signal.SIGTERM, _stop)
    session = None
    try:
        from tidegate.spark.session import close_session, open_session

        _import_what_moves_rows()
        token, port = secrets.token_urlsafe(32), _free_port()
        os.environ[TOKEN] = token
        settings = {**options, **_SERVER, "spark.connect.grpc.binding.port": str(port)}
        session = open_session(
            f"local[{_TASKS * (os.cpu_count() or 1)},3]", options=settings, app_name="tidegate engine"
        )
        started_at = datetime.now(UTC).isoformat(timespec="seconds")
        address = Address(port, token, os.getpid(), started_at, idle, folder.path.name, __version__, sys.executable)
        _rehearse(address)
        folder.publish(address)
        _watch(folder, idle)
    except Stopped:
        _say("stopped")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        folder.clear()
        if session is not None:
            close_session(session)
        alive.close()


def _import_what_moves_rows() -> None:
    """Import what any run may need. Workers are forks of a process that imports the same, so no task waits for it."""
    importlib.import_module("pyarrow.dataset")
    for part in _PARTS:
        package = importlib.import_module(f"tidegate.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith(_NOT_BEFORE_A_FORK):
                continue
            with contextlib.suppress(ImportError):  # a driver that is not installed
                importlib.import_module(module.name)


def _watch(folder: EngineFolder, idle: int) -> None:
    """Return when the engine was not used for `idle` seconds, or when its JVM died."""
    started = time.time()
    _say("ready")
    while True:
        time.sleep(_WATCH_SECONDS)
        if _jvm_died():
            _say("the JVM ended")
            return
        lock = locks.take(folder.in_use)
        if lock is None:
            started = time.time()
            continue
        with contextlib.suppress(OSError):
            started = max(started, lock.last_used)
        if time.time() - started >= idle:
            _say(f"ended after {idle} s without use")
            folder.clear()  # while nobody can begin to use it
            lock.close()
            return
        lock.close(used=False)


def _jvm_died() -> bool:
    """Return whether a child of this process ended; its only child is the JVM."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _rehearse(address: Address) -> None:
    """Run a job as a command does: only an engine that works is published, and the first command finds it warm."""
    from tidegate.spark.warm.client import connect, disconnect

    session = connect(address)
    session.range(0, 1, 1, 1).mapInArrow(lambda batches: batches, "id bigint").collect()
    disconnect(session)
    gc.freeze()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def _say(what: str) -> None:
    sys.stderr.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {what}\n")
    sys.stderr.flush()


def main(folder: str) -> None:
    """Read options and idle time from standard input, which nobody else sees, and supervise."""
    from tidegate.errors import TidegateError

    wanted = json.loads(sys.stdin.read())
    try:
        supervise(EngineFolder(Path(folder)), wanted["options"], wanted["idle"])
    except TidegateError as problem:
        _say(f"failed: {problem}")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
