"""The commands of the story, run as a person would: each its own process, in the demo's folder, on this terminal."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tidegate.errors import TidegateError

_LOOK_SECONDS = 0.1
_WATCH_SECONDS = 0.02
_SECONDS_TO_END = 10


@dataclass(frozen=True)
class Took:
    """How long a command ran, as measured around its process, and whether a Java process was seen below it."""

    seconds: float
    java: bool

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s from start to exit, {'with Spark' if self.java else 'no java process'}"


@dataclass(frozen=True)
class Commands:
    """`tidegate ...` in one folder. `variables` are what the configuration asks of the environment."""

    folder: Path
    variables: Mapping[str, str]

    def run(self, *words: str) -> Took:
        """Raises TidegateError unless the command ends with 0."""
        started = time.monotonic()
        process = self._start(words)
        try:
            java = _saw_java(process)
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        _require_success(words, code)
        return Took(time.monotonic() - started, java)

    def answer(self, *words: str) -> str:
        """What the command prints on standard output, without the last line end. Raises TidegateError as `run` does."""
        with self._start(words, stdout=subprocess.PIPE) as process:
            printed, _ = process.communicate()
        _require_success(words, process.returncode)
        return str(printed).rstrip("\n")

    def kill_when(self, is_time: Callable[[], bool], *words: str) -> bool:
        """Ends the command with SIGKILL as soon as `is_time`: the driver and its JVM get no chance to tidy up.

        False when it ended by itself before that. Raises TidegateError when it did so with another code than 0.
        """
        # In a session of its own it leads a process group, which can be killed as one.
        process = self._start(words, start_new_session=True)
        try:
            while process.poll() is None and not is_time():
                time.sleep(_WATCH_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if code != -signal.SIGKILL:
            _require_success(words, code)
        return code == -signal.SIGKILL

    def _start(self, words: tuple[str, ...], **how: Any) -> subprocess.Popen[str]:
        click.secho(f"\n$ {' '.join(('tidegate', *words))}", fg="cyan")
        sys.stdout.flush()
        command = [sys.executable, "-m", "tidegate.cli.main", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL, text=True, **how
        )

    def _environment(self) -> dict[str, str]:
        """Ours, the variables, and the way to this package: a relative PYTHONPATH leads elsewhere from there."""
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        return {**os.environ, **self.variables, "PYTHONPATH": path}


def _require_success(words: tuple[str, ...], code: int) -> None:
    if code != 0:
        raise TidegateError(
            f"`tidegate {' '.join(words)}` ended with {code} where the story needs 0.",
            "The demo has databases of its own; no other one was touched.",
            "What it printed above says why.",
        )


def _saw_java(process: subprocess.Popen[str]) -> bool:
    """Whether Java runs below this process, now or before it ends. Returns as soon as that is known."""
    while process.poll() is None:
        if _has_java(process.pid):
            return True
        time.sleep(_LOOK_SECONDS)
    return False


def _has_java(pid: int) -> bool:
    psutil: Any = importlib.import_module("psutil")  # ships no types; the embedded server's wheel brings it
    try:
        return any(child.name() == "java" for child in psutil.Process(pid).children(recursive=True))
    except psutil.Error:  # it ended while we looked
        return False


def _end(process: subprocess.Popen[str]) -> None:
    """After Ctrl-C, which a terminal sends to the command as well: time to end in order, then less and less of it."""
    for push in (process.terminate, process.kill):
        try:
            process.wait(_SECONDS_TO_END)
            return
        except subprocess.TimeoutExpired:
            push()
    process.wait()
