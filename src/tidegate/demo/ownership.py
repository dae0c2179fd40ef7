"""Find out which process owns the folder of a server, and which folders have lost their owner.

The owner holds a lock on the file `owner`. The kernel releases it when the process ends, even by SIGKILL. A process id
in a file would outlive its process, and later name another process.
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
    """Create and return a new folder for one server."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_root()))


def require_ours(folder: Path) -> Path:
    """Return the folder. Raises TidegateError when it contains other files than those of an embedded server."""
    if (folder / "owner").is_file() or not any(folder.iterdir()):
        return folder
    raise TidegateError(
        f"{folder} contains other files than an embedded PostgreSQL.",
        "Nothing was changed there.",
        "Choose a folder that is empty or does not exist.",
    )


def lock_folder(folder: Path) -> int | None:
    """Lock the folder until the returned file handle is closed. Return None when another process has locked it."""
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".owner-")
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        # Locked before it has its name: no other process can see it unlocked and remove the new server as abandoned.
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
    """Yield the temporary folders of this user whose owner has ended, each locked by this process now."""
    for folder in _root().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process may be removing it
            if folder.lstat().st_uid == os.geteuid() and (folder / "owner").is_file():
                handle = lock_folder(folder)
                if handle is not None:
                    yield folder, handle


def _root() -> Path:
    # The account that runs the server for root may not be able to enter root's own TMPDIR.
    shared = Path("/var/tmp")
    return shared if os.geteuid() == 0 and shared.is_dir() else Path(tempfile.gettempdir())


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
