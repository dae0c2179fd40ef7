"""Starting, finding and stopping warm engines."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tidegate.errors import Locked, SparkUnavailable
from tidegate.spark.java import find_java
from tidegate.spark.warm import locks
from tidegate.spark.warm.folder import Address, EngineFolder, all_engine_folders, engine_folder
from tidegate.spark.warm.private import NotPrivate

_START_SECONDS = 90.0
_STOP_SECONDS = 15.0
_IN_USE_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
FAILED = " failed: "
"""Precedes the reason in the log of an engine that did not start."""
_OF_OUR_SPARK = ("SPARK_CONNECT", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE", "PYSPARK_GATEWAY")


@dataclass(frozen=True)
class Found:
    """One engine of this user."""

    folder: EngineFolder
    address: Address | None
    problem: str = ""
    """Why it is not trusted."""
    fits: bool = False
    """Whether commands with these settings use it."""

    @property
    def is_in_use(self) -> bool:
        return locks.is_held(self.folder.in_use, or_shared=True)


def engines(options: Mapping[str, str]) -> Iterator[Found]:
    """Yield the engines of this user that run, and those that cannot be trusted."""
    own = engine_folder(options)
    try:
        folders = list(all_engine_folders())
    except NotPrivate as problem:
        yield Found(own, None, str(problem), fits=True)
        return
    for folder in folders:
        try:
            address = folder.address()
        except NotPrivate as problem:
            yield Found(folder, None, str(problem), folder == own)
            continue
        if address is not None:
            yield Found(folder, address, fits=folder == own)


def start(options: Mapping[str, str], idle: int) -> tuple[Address, bool]:
    """Return the address of the engine with these options, and whether it was started now. Waits until it is ready.
    Raises SparkUnavailable."""
    folder = engine_folder(options)
    try:
        folder.make()
        with locks.holding(folder.start, wait=_START_SECONDS):
            address = folder.address()
            return (address, False) if address else (_started(folder, options, idle), True)
    except NotPrivate as problem:
        raise not_trusted(folder, problem) from None


def stop(folder: EngineFolder) -> bool:
    """End an engine that nobody uses. Return whether one ran. Raises Locked while a run uses it."""
    try:
        address = folder.address()
    except NotPrivate as problem:
        raise not_trusted(folder, problem) from None
    if address is None:
        return False
    lock = locks.take(folder.in_use, wait=_IN_USE_SECONDS)
    if lock is None:
        raise Locked(
            f"The warm engine (process {address.pid}) is in use.",
            "It was not stopped, and the run goes on.",
            "Stop it when the run has ended. It also ends by itself when nobody uses it.",
        )
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(address.pid, number)
            if _wait(lambda: not locks.is_held(folder.alive), _STOP_SECONDS):
                break
        folder.clear()
    finally:
        lock.close()
    return True


def not_trusted(folder: EngineFolder, problem: NotPrivate) -> SparkUnavailable:
    return SparkUnavailable(
        f"The warm engine is not trusted: {problem}.",
        "It was not used.",
        f"Remove the folder {folder.path} if you did not expect that, then run `tidegate engine start`.",
    )


def _started(folder: EngineFolder, options: Mapping[str, str], idle: int) -> Address:
    find_java()  # its error tells more than the log of a process that found none
    handle = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tidegate.spark.warm.supervisor", str(folder.path)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder.path,
            env=_environment(),
            start_new_session=True,
        )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps({"options": dict(options), "idle": idle}).encode())
    _wait(lambda: process.poll() is not None or folder.address() is not None, _START_SECONDS)
    address = folder.address()
    if address is None:
        if process.poll() is None:
            process.kill()
            process.wait()
        raise SparkUnavailable(
            f"The warm engine did not start: {_reason(folder)}.",
            "Nothing was read or written.",
            f"`tidegate engine logs` shows more, from {folder.log}.",
        )
    process.returncode = 0  # it outlives this process, which is not to wait for it
    return address


def _environment() -> dict[str, str]:
    """Return our environment for a process in another folder, without what belongs to a Spark of our own."""
    path = os.environ.get("PYTHONPATH", "")
    absolute = os.pathsep.join(os.path.abspath(place) for place in path.split(os.pathsep) if place)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OUR_SPARK)}
    return {**kept, "PYTHONPATH": absolute}


def _reason(folder: EngineFolder) -> str:
    """Return what the supervisor gave as the reason, or else the last line that anybody printed."""
    lines = log_lines(folder)
    given = [line.partition(FAILED)[2] for line in lines if FAILED in line]
    return (given or lines or ["its log is empty"])[-1].rstrip(".")


def log_lines(folder: EngineFolder) -> list[str]:
    """Return what supervisor and JVM printed; none where there is no log."""
    try:
        return folder.log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _wait(is_done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True
