"""Which process answers for a server's folder, and which folders nobody answers for any more.

The answer is a lock on the file `owner`. The kernel drops it when the process ends, however it ends; a process number
in a file would outlive its process, and come to mean another one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tidegate.errors import TidegateError

_PREFIX = "tidegate-postgres-"


def temporary_folder() -> Path:
    """A new folder for one server. Root's own TMPDIR may be closed to the account that the server runs as."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_root()))


def require_ours(folder: Path) -> Path:
    """A folder with other things in it is refused: the server would be mixed with them."""
    if (folder / "owner").is_file() or not any(folder.iterdir()):
        return folder
    raise TidegateError(
        f"{folder} holds other files than an embedded PostgreSQL.",
        "Nothing was changed there.",
        "Choose a folder that is empty or does not exist.",
    )


def take(folder: Path) -> int | None:
    """The open, locked `owner` file: the folder is ours until it is closed. None when another process has it."""
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".owner-")
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        # It is locked before it has its name: nobody can find it unlocked and take a new server for an abandoned one.
        os.link(draft, folder / "owner")
    except FileExistsError:
        os.close(handle)
        handle = os.open(folder / "owner", os.O_RDWR)
        if not _lock(handle):
            os.close(handle)
            return None
    finally:
        os.unlink(draft)
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def abandoned() -> Iterator[tuple[Path, int]]:
    """Temporary folders of this user whose owner is gone, each taken over."""
    for folder in _root().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process may be removing it
            if folder.lstat().st_uid == os.geteuid() and (folder / "owner").is_file():
                handle = take(folder)
                if handle is not None:
                    yield folder, handle


def _root() -> Path:
    shared = Path("/var/tmp")
    return shared if os.geteuid() == 0 and shared.is_dir() else Path(tempfile.gettempdir())


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
