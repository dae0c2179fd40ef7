"""Servers from Debian and Ubuntu packages, unpacked into a cache folder: no installation, no root.

Facts that shape this file
 * Every release has the servers that the tests need, and `apt-get download` needs no root.
 * Libraries of one release do not work on another, and machines may share a home folder.
 * The machine's package lists may be missing or too old. Separate lists can be downloaded beside them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path


class NoPackage(Exception):
    """The package could not be downloaded. The text gives the reason, without a full stop."""


def unpacked(name: str, package: str, runs: Callable[[Path], bool], cache: Path | None = None) -> Path:
    """Return the folder with the package and its dependencies that the machine lacks. Raises NoPackage.

    Args:
        name: the name of the folder in the cache.
        package: the start of the package name. Of several matches, the alphabetically first is used.
        runs: returns whether the programs in a folder work on this machine.
        cache: the cache folder, which never shows a partly filled folder. None: ~/.cache/tidegate, or for root
            /var/cache/tidegate, which the accounts of servers can read.
    """
    try:
        tree = (cache or _cache()) / f"{name}-{_distribution()}"
        return tree if runs(tree) else _fetched(tree, package, runs)
    except OSError as problem:
        raise NoPackage(str(problem)) from problem


def libraries(tree: Path) -> list[Path]:
    """Return the folders that contain shared libraries."""
    return sorted({library.parent for library in tree.rglob("*.so.*")})


def last_lines(output: str, count: int = 3) -> str:
    return " / ".join(output.strip().splitlines()[-count:])


def _cache() -> Path:
    if os.geteuid() == 0:
        return Path("/var/cache/tidegate")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidegate"


def _distribution() -> str:
    release = platform.freedesktop_os_release()
    return "-".join([release["ID"], release.get("VERSION_ID", "rolling"), platform.machine()])


def _fetched(tree: Path, package: str, runs: Callable[[Path], bool]) -> Path:
    tree.parent.mkdir(parents=True, exist_ok=True)
    # On the same disk, so that renaming the complete folder is atomic.
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".fetching-") as folder:
        Path(folder).chmod(0o755)
        draft = Path(folder) / "tree"
        for archive in _downloaded(Path(folder), package):
            _output_of("dpkg-deb", "-x", str(archive), str(draft))
        if not runs(draft):
            raise NoPackage(f"what apt-get fetched does not run in {tree.parent}")
        if tree.exists() and not runs(tree):
            tree.rename(Path(folder) / "broken")
        with contextlib.suppress(OSError):  # another run was faster: its folder is equivalent
            draft.rename(tree)
    return tree


def _downloaded(folder: Path, package: str) -> list[Path]:
    try:
        return _download(folder, package)
    except NoPackage:
        for made in ("lists/partial", "archives/partial"):
            (folder / made).mkdir(parents=True)
        ours = [f"Dir::State::lists={folder / 'lists'}", f"Dir::Cache={folder}"]
        ours += ["APT::Sandbox::User=root"] if os.geteuid() == 0 else []  # its own user cannot read this folder
        options = [part for option in ours for part in ("-o", option)]
        _output_of("apt-get", *options, "update")
        return _download(folder, package, *options)


def _download(folder: Path, package: str, *options: str) -> list[Path]:
    known = sorted(_output_of("apt-cache", *options, "pkgnames", package).split())
    wanted = known[0] if known else package
    plan = _output_of("apt-get", *options, "--simulate", "--no-install-recommends", "install", wanted)
    needed = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    _output_of("apt-get", *options, "download", *sorted(needed | {wanted}), folder=folder)
    return sorted(folder.glob("*.deb"))


def _output_of(*command: str, folder: Path | None = None) -> str:
    """Return the output of a program. Raises NoPackage with the last line of its errors."""
    if shutil.which(command[0]) is None:
        raise NoPackage(f"no {command[0]} either")
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise NoPackage(f"{command[0]}: {last_lines(done.stderr, 1)}")
    return done.stdout
