"""Files that only this user can read, in folders that only this user can enter.

What lies here is a token, and whoever has it runs code as this user. So nothing is trusted that somebody else could
have written or read.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = 0o077


class NotPrivate(Exception):
    """A file or folder is not of this user alone. The message says which, and why."""


def make_folder(folder: Path) -> None:
    """Create a private folder, and its parents. Raises NotPrivate when there is one that is not private."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except PermissionError:
        raise NotPrivate(f"{folder} cannot be entered by this user") from None
    require_private_folder(folder)


def require_private_folder(folder: Path) -> None:
    """Raise NotPrivate unless the folder is a real one, of this user, and closed to everybody else."""
    try:
        found = folder.lstat()
    except PermissionError:
        raise NotPrivate(f"{folder} cannot be entered by this user") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{folder} is not a folder")
    _require_own(folder, found)


def write_private(path: Path, text: str) -> None:
    """Write a file that appears whole, with mode 0600."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(draft, path)


def read_private(path: Path) -> str:
    """Return the text of a file. Raises NotPrivate, also for a link; FileNotFoundError when there is none."""
    require_private_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise NotPrivate(f"{path} cannot be opened: {problem.strerror}") from None
    with os.fdopen(handle) as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise NotPrivate(f"{path} is not a plain file")
        _require_own(path, found)
        return file.read()


def _require_own(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"{path} belongs to another user")
    if found.st_mode & _OTHERS:
        raise NotPrivate(f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):04o})")
