"""A local or mounted folder.

Facts that shape this file
 * A rename inside one file system is atomic: a reader sees the old file or the new one, never half of it. It replaces
   a file, but no folder that has files. So a folder that is replaced leaves first: a kill in between leaves nothing in
   its place, and the next run writes it again.
 * A rename survives a power failure once the folder was synced.
 * flock serialises writers of one machine, and of several where the mounted file system passes it on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.storage.door import Storage

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LocalFolder(Storage):
    """Files below one folder, known by their path relative to it."""

    renames = True
    spark_reads = True

    root: Path

    @property
    def place(self) -> str:
        return str(self.root)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none when there is no such folder. Raises LakeError."""
        try:
            return sorted(os.listdir(self.root / folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as problem:
            raise self.unusable(problem) from None

    def etag(self, path: str) -> str:
        """Return size and modification time; empty when there is no such file, or a folder."""
        try:
            found = (self.root / path).stat()
        except OSError:
            return ""
        return f"{found.st_size}-{found.st_mtime_ns}" if stat.S_ISREG(found.st_mode) else ""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 when there is none."""
        try:
            return (self.root / path).stat().st_size
        except OSError:
            return 0

    def input(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        return pa.OSFile(str(self.root / path), "rb")

    def output(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return pa.OSFile(str(place), "wb")

    def flush(self, path: str) -> int:
        """Make a written file durable and return its size."""
        with open(self.root / path, "rb") as file:
            os.fsync(file.fileno())
        return (self.root / path).stat().st_size

    def read_text(self, path: str) -> str:
        """Return the text of a small file; empty when there is none."""
        try:
            return (self.root / path).read_text()
        except OSError:
            return ""

    def write_text(self, path: str, text: str) -> None:
        """Replace a small file at once."""
        place = self.root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            written = place.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            written.write_text(text)
            os.replace(written, place)
        except OSError as problem:
            raise self.unusable(problem) from None

    def publish(self, written: str, path: str) -> None:
        """Move a finished file to its place. A folder that is there leaves: a rename replaces a file alone."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            os.rename(place, self.root / f"{written}.replaced")
        os.replace(self.root / written, place)
        _sync_folder(place.parent)

    def publish_folder(self, written: Mapping[str, str], last: tuple[str, str], path: str, replaces: str = "") -> bool:
        """Fill a folder beside the written files and rename it. What it replaces goes there too, and leaves with the
        run. The caller holds the lock, so nobody else was first."""
        place = self.root / path
        staged = (self.root / next(iter(written.values()))).parent / place.name
        staged.mkdir()
        for name, file in written.items():
            os.rename(self.root / file, staged / name)
        with open(staged / last[0], "w") as opened:
            opened.write(last[1])
            opened.flush()
            os.fsync(opened.fileno())
        _sync_folder(staged)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            os.rename(place, staged.with_name(f"{staged.name}.replaced"))
        os.rename(staged, place)
        _sync_folder(place.parent)
        return True

    def put_text(self, path: str, text: str, replaces: str = "") -> bool:
        """Write a file beside its place, make it durable, and rename it. The caller holds the lock."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        written = place.with_name(f".{place.name}.{os.getpid()}")
        with open(written, "w") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(written, place)
        _sync_folder(place.parent)
        return True

    def delete(self, path: str) -> None:
        """Delete a file, and its folder when that was the last file in it."""
        place = self.root / path
        try:
            place.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                place.parent.rmdir()
        except OSError as problem:
            raise self.unusable(problem) from None

    def discard(self, path: str) -> None:
        """Delete a file that was never published. Its folder stays: other tasks may be about to write there."""
        with contextlib.suppress(OSError):
            (self.root / path).unlink()

    def delete_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    def delete_published_folder(self, folder: str, last: str) -> None:
        """Delete a folder, first the file without which it does not count; and its parent when that is empty then."""
        self.delete(f"{folder}/{last}")
        self.delete_folder(folder)
        with contextlib.suppress(OSError):
            (self.root / folder).parent.rmdir()

    def make_folder(self, folder: str) -> None:
        """Make a folder, and find out early whether it can be written at all. Raises LakeError."""
        place = self.root / folder
        try:
            place.mkdir(parents=True, exist_ok=True)
            probe = place / "probe"
            probe.write_bytes(b"tide")
            probe.unlink()
        except OSError as problem:
            raise self.unusable(problem) from None

    def folders_older_than(self, folder: str, seconds: float) -> list[str]:
        limit = time.time() - seconds
        names = [f"{folder}/{name}" for name in self.names(folder)]
        return [name for name in names if (self.root / name).stat().st_mtime <= limit]

    @contextlib.contextmanager
    def alone(self, lock: str) -> Iterator[None]:
        """Hold a lock against other writers of this lake. Raises LakeError for whatever goes wrong inside."""
        try:
            with open(self.root / lock, "a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
        except OSError as problem:
            raise self.unusable(problem) from None

    def full_path(self, path: str) -> str:
        """Return the path that Spark and people use."""
        return str(self.root / path)

    def unusable(self, problem: OSError) -> LakeError:
        return LakeError(
            f"The lake {self.root} cannot be used: {problem.strerror or problem}.",
            "Files that were published before are complete; the target keeps what it had.",
            "Make room or correct the rights of the folder, then run again.",
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
