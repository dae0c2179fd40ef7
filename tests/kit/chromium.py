"""Chromium for the tests: the machine's own, or the one of its distribution's packages. No installation, no root.

Facts that shape this file
 * Playwright's wheel drives a browser and contains none; what it would download is not a package.
 * Debian's package has the program and libraries in two folders, and a few libraries without a version in their name.
 * Ubuntu's package is an empty one that asks for a snap. Its machines for CI have Google's build instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kit.packages import NoPackage, unpacked

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_INSIDE = Path("usr/lib/chromium/chromium")


class NoChromium(Exception):
    """There is no browser. The text is one sentence: the reason and the remedy."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"There is no Chromium here and none could be fetched ({why}): run `apt-get install chromium`, "
            "or set TIDEGATE_TEST_CHROMIUM to the path of one."
        )


@dataclass(frozen=True)
class Chromium:
    """A browser, and the folders of libraries that the machine lacks."""

    program: Path
    libraries: tuple[Path, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        folders = [*map(str, self.libraries), os.environ.get("LD_LIBRARY_PATH", "")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}

    def runs(self) -> bool:
        command = [str(self.program), "--version", "--no-sandbox"]
        try:
            return subprocess.run(command, env=self.environment, capture_output=True, timeout=60).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def chromium() -> Chromium:
    """Return a browser that works. Raises NoChromium."""
    given = os.environ.get("TIDEGATE_TEST_CHROMIUM")
    found = [Path(given)] if given else [Path(path) for name in _NAMES if (path := shutil.which(name))]
    for program in found:
        if Chromium(program).runs():
            return Chromium(program)
    if given:
        raise NoChromium(f"{given} does not run")
    try:
        return _inside(unpacked("chromium", "chromium", lambda tree: _inside(tree).runs()))
    except NoPackage as absence:
        raise NoChromium(absence) from None


def _inside(tree: Path) -> Chromium:
    return Chromium(tree / _INSIDE, tuple(sorted({library.parent for library in tree.rglob("*.so*")})))
