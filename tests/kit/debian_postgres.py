"""The PostgreSQL of the Linux distribution: the installed one, or its unpacked package.

Unlike the PostgreSQL in the wheel, it is built with XML, ICU, systemd, PAM and the locales of the machine.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from kit.packages import NoPackage, libraries, unpacked

_INSTALLED = Path("/usr/lib/postgresql")
_PROGRAMS = ("postgres", "initdb", "pg_ctl")
# The account that runs the server has another environment than the tests.
_WITH_LIBRARIES = """\
#!/bin/sh
export LD_LIBRARY_PATH={}
exec {} "$@"
"""


class NoPostgres(Exception):
    """No server of the distribution is available. The text is one sentence: the reason and the remedy."""


def find(installed: Path = _INSTALLED, cache: Path | None = None) -> Path:
    """Return the folder with its programs. Raises NoPostgres."""
    found = _programs(installed)
    if found is None:
        try:
            tree = unpacked("postgresql", "postgresql", lambda tree: _programs(_lib(tree)) is not None, cache)
        except NoPackage as why:
            raise NoPostgres(
                f"There is no PostgreSQL of the distribution here and none could be fetched ({why}): "
                "run `apt-get install postgresql`."
            ) from why
        found = _programs(_lib(tree))
    assert found is not None
    return found


def _lib(tree: Path) -> Path:
    return tree / "usr" / "lib" / "postgresql"


def _programs(lib: Path) -> Path | None:
    """Return the folder of the newest version that starts, or None."""
    for version in sorted(lib.glob("*/bin/initdb"), key=_number, reverse=True):
        folder = version.parent if lib == _INSTALLED else _with_libraries(version.parent, lib.parents[2])
        if subprocess.run([folder / "postgres", "--version"], capture_output=True).returncode == 0:
            return folder
    return None


def _number(path: Path) -> int:
    return int(re.sub(r"\D", "", path.parents[1].name) or 0)


def _with_libraries(programs: Path, tree: Path) -> Path:
    """Return a folder of scripts that start the programs with the libraries that were unpacked with them."""
    folder = programs.with_name("with-libraries")
    folder.mkdir(exist_ok=True)
    path = ":".join(map(str, libraries(tree)))
    for name in _PROGRAMS:
        script = _WITH_LIBRARIES.format(shlex.quote(path), shlex.quote(str(programs / name)))
        draft = folder / f".{name}-{os.getpid()}"
        draft.write_text(script)
        draft.chmod(0o755)
        draft.replace(folder / name)
    return folder
