"""The folder of the demo, which the next demo may empty."""

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
    """Yield an empty folder, locked against other demos inside of the block. Its files stay after the block.

    None means `./tidegate-demo`, or a temporary folder where the current folder is read-only. The folder of a former
    demo is emptied. Raises ConfigError for a folder with other files, or in which another demo runs.
    """
    folder = (wanted or _default()).absolute()
    _refuse_other_folders(folder)
    _create(folder)
    marker = os.open(folder / _MARKER, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(marker, folder)
        _empty(folder)
        yield folder
    finally:
        os.close(marker)


def server_folder(folder: Path) -> Path | None:
    """Return the folder of the server's data. None: a temporary one, where root's server account cannot enter."""
    return folder / _SERVER if os.geteuid() != 0 or _is_open_to_all(folder) else None


def remove_server(folder: Path) -> None:
    """Remove the data of the stopped server: about a gigabyte that nobody needs after the demo."""
    shutil.rmtree(folder / _SERVER, ignore_errors=True)


def _default() -> Path:
    here = Path.cwd()
    return here / _NAME if os.access(here, os.W_OK | os.X_OK) else Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))


def _refuse_other_folders(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder.", "It was not changed.", "Name another one with `--folder`.")
    if folder.is_dir() and not (folder / _MARKER).exists() and any(folder.iterdir()):
        raise ConfigError(
            f"{folder} contains files that no demo made.",
            "They were not changed.",
            "Name another folder with `--folder`.",
        )


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise ConfigError(
            f"{folder} cannot be created: {reason}.", "Nothing was written.", "Name another folder."
        ) from None


def _lock(marker: int, folder: Path) -> None:
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(
            f"Another demo runs in {folder}.", "It goes on.", "Wait for it, or name another folder."
        ) from None


def _empty(folder: Path) -> None:
    """Remove the files of a former demo, its server first: a killed demo may have left it running."""
    server = folder / _SERVER
    if (server / "data" / "postmaster.pid").exists():
        with EmbeddedPostgres(data=server):
            pass
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _MARKER:
            path.unlink()


def _is_open_to_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))
