"""Run `tidegate` commands as a person does: each is a process of its own, in the demo's folder, on this terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tidegate.errors import TidegateError
from tidegate.model.report import engine_in_words

# Verbs whose runs leave a report in the target.
_REPORTED = ("run", "verify", "repair", "backfill", "adopt")
_WATCH_SECONDS = 0.02
_SECONDS_TO_END = 10


@dataclass(frozen=True)
class Finished:
    """A command that ended: how long its process ran, and the report that it left."""

    seconds: float
    report: Mapping[str, Any] | None = None
    """None for a command that leaves no report, such as `plan`."""

    def __str__(self) -> str:
        seconds = f"{self.seconds:.1f} s from start to exit"
        if self.report is None:
            return seconds
        return f"{seconds}, {engine_in_words(self.report['engine'], self.report['verb'], self.report['outcome'])}"


@dataclass(frozen=True)
class Commands:
    """Runs `tidegate ...` in one folder. `variables` are the environment variables of its configuration."""

    folder: Path
    variables: Mapping[str, str]

    def run(self, *words: str) -> Finished:
        """Run a command to its end. Raises TidegateError unless its exit code is 0."""
        started = time.monotonic()
        process = self._start(words)
        try:
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        seconds = time.monotonic() - started
        _require_success(words, code)
        return Finished(seconds, self._newest_report() if words[0] in _REPORTED else None)

    def answer(self, *words: str) -> str:
        """Return what the command prints, without the last line end. Raises TidegateError as `run` does."""
        _show(words)
        return self._printed(words)

    def stop_engine(self) -> None:
        """Stop the warm engine of the demo, if it runs. Never raises: an engine that nobody uses ends by itself."""
        with suppress(TidegateError, OSError):
            self._printed(("engine", "stop", "--all"))

    def _newest_report(self) -> dict[str, Any]:
        """Return the report of the newest run, as the target keeps it."""
        (report,) = json.loads(self._printed(("history", "--last", "1", "--json")))["runs"]
        return dict(report)

    def _printed(self, words: tuple[str, ...]) -> str:
        with self._process(words, stdout=subprocess.PIPE) as process:
            printed, _ = process.communicate()
        _require_success(words, process.returncode)
        return str(printed).rstrip("\n")

    def kill_when(self, is_time: Callable[[], bool], *words: str) -> bool:
        """Start a command and kill it with SIGKILL as soon as `is_time()`. Return whether it was killed.

        SIGKILL leaves the driver and its JVM no time to clean up. Returns False when the command ended by itself before
        that, and raises TidegateError when its exit code was not 0.
        """
        # In a session of its own the command leads a process group, which is killed with its JVM.
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

    def _start(self, words: tuple[str, ...], **options: Any) -> subprocess.Popen[str]:
        _show(words)
        return self._process(words, **options)

    def _process(self, words: tuple[str, ...], **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tidegate.cli.main", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL, text=True, **options
        )

    def _environment(self) -> dict[str, str]:
        """Return our environment with the variables, and with this package in PYTHONPATH."""
        # Our own PYTHONPATH may be relative, and the command runs in another folder.
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        return {**os.environ, **self.variables, "PYTHONPATH": path}


def engine_variables(folder: Path) -> dict[str, str]:
    """Return the variables by which commands in this folder find an engine of their own, and no other."""
    return {"TIDEGATE_ENGINE_FOLDER": str(folder / ".engine")}


def _show(words: tuple[str, ...]) -> None:
    click.secho(f"\n$ {' '.join(('tidegate', *words))}", fg="cyan")
    sys.stdout.flush()


def _require_success(words: tuple[str, ...], code: int) -> None:
    if code != 0:
        raise TidegateError(
            f"`tidegate {' '.join(words)}` ended with exit code {code}; the demo needs 0.",
            "The demo has databases of its own; no other one was touched.",
            "Its output above gives the reason.",
        )


def _end(process: subprocess.Popen[str]) -> None:
    """End the process: wait, then SIGTERM and wait, then SIGKILL."""
    # Ctrl-C in a terminal reaches the command as well, so it may end by itself.
    for signal_it in (process.terminate, process.kill):
        try:
            process.wait(_SECONDS_TO_END)
            return
        except subprocess.TimeoutExpired:
            signal_it()
    process.wait()
