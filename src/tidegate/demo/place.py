"""The folder of the demo: what it makes lies there, and a later demo may replace it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.demo.embedded import EmbeddedPostgres
from tidegate.errors import ConfigError

_NAME = "tidegate-demo"
_MARKER = ".made-by-tidegate-demo"
_SERVER = "postgres"


@contextmanager
def fresh_folder(wanted: Path | None) -> Iterator[Path]:
    """An empty folder, ours alone inside of the block. What is in it stays.

    None means `./tidegate-demo`, or a temporary folder where nothing may be written here. A former demo's folder is
    emptied. Raises ConfigError for a folder that holds anything else, or in which another demo is at work.
    """
    folder = (wanted or _default()).absolute()
    _refuse_what_is_not_ours(folder)
    _make(folder)
    marker = os.open(folder / _MARKER, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _claim(marker, folder)
        _empty(folder)
        yield folder
    finally:
        os.close(marker)


def server_folder(folder: Path) -> Path | None:
    """Where the server keeps its data; None, a temporary place, where root's server account could not reach it."""
    return folder / _SERVER if os.geteuid() != 0 or _is_open_to_all(folder) else None


def remove_server(folder: Path) -> None:
    """Removes the data of a server that was stopped: a gigabyte that nobody needs once the story is told."""
    shutil.rmtree(folder / _SERVER, ignore_errors=True)


def _default() -> Path:
    here = Path.cwd()
    return here / _NAME if os.access(here, os.W_OK | os.X_OK) else Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))


def _refuse_what_is_not_ours(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is no folder.", "It was left as it is.", "Name another one with `--folder`.")
    if folder.is_dir() and not (folder / _MARKER).exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} holds files that no demo made.",
            "They were left as they are.",
            "Name another folder with `--folder`.",
        )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise ConfigError(
            f"{folder} cannot be made: {reason}.", "Nothing was written.", "Name another folder."
        ) from None


def _claim(marker: int, folder: Path) -> None:
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(
            f"Another demo is at work in {folder}.", "It was not disturbed.", "Wait for it, or name another folder."
        ) from None


def _empty(folder: Path) -> None:
    """Removes what a former demo left, its server first: a demo that was killed may have left it running."""
    server = folder / _SERVER
    if (server / "data" / "postmaster.pid").exists():
        with EmbeddedPostgres(data=server):
            pass
    for left in folder.iterdir():
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        elif left.name != _MARKER:
            left.unlink()


def _is_open_to_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))
