"""The door to the bytes of a lake: files of a folder, or objects of a bucket, by their path below one place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import LakeError

if TYPE_CHECKING:
    import pyarrow as pa


class Storage(ABC):
    """Reads and writes below one place. Holds no connection, so that Spark tasks can carry it."""

    renames: ClassVar[bool]
    """Whether a written file can be moved to its place at once. Without renames, commit files carry conditions."""
    spark_reads: ClassVar[bool]
    """Whether Spark opens the paths of `full_path` by itself, with no further jars and credentials."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the lake is, for people. Holds no secrets."""

    def listed(self, folder: str) -> Storage:
        """Return this storage as it is now below a folder, for many questions in a row.

        A bucket lists its objects once; a local folder answers each question as fast."""
        return self

    # Reading

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; none when there is no such folder. Raises LakeError."""

    @abstractmethod
    def etag(self, path: str) -> str:
        """Return what changes with the file; empty when there is no such file, or a folder."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 when there is none."""

    @abstractmethod
    def input(self, path: str) -> pa.NativeFile: ...

    @abstractmethod
    def read_text(self, path: str) -> str:
        """Return the text of a small file; empty when there is none."""

    # Writing

    @abstractmethod
    def output(self, path: str) -> pa.NativeFile:
        """Return a new file to write into; `flush` makes it durable."""

    @abstractmethod
    def flush(self, path: str) -> int:
        """Make a written file durable and return its size."""

    @abstractmethod
    def write_text(self, path: str, text: str) -> None:
        """Replace a small file at once."""

    @abstractmethod
    def publish(self, written: str, path: str) -> None:
        """Bring a finished file to its place."""

    @abstractmethod
    def publish_folder(self, written: Mapping[str, str], last: tuple[str, str], path: str, replaces: str = "") -> bool:
        """Bring finished files into one folder, in the place of what is there.

        `written` are the files by their names in the folder. `last` is the name and the text of the file without which
        the folder does not count. `replaces` is the etag that this file had, empty where there was none. Return False
        when another one is there meanwhile; nothing is published then."""

    @abstractmethod
    def put_text(self, path: str, text: str, replaces: str = "") -> bool:
        """Write a small file durably, in the place of the one with this etag; without, where there is none.

        Return False when another one is there. Where writers hold a lock they have asked before."""

    @abstractmethod
    def alone(self, lock: str) -> AbstractContextManager[None]:
        """Hold a lock against other writers of this lake, where there are locks. Raises LakeError for whatever goes
        wrong inside."""

    # Deleting

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, and its folder when that was the last file in it."""

    @abstractmethod
    def discard(self, path: str) -> None:
        """Delete a file that was never published."""

    @abstractmethod
    def delete_folder(self, folder: str) -> None: ...

    @abstractmethod
    def delete_published_folder(self, folder: str, last: str) -> None:
        """Delete a folder, first the file without which it does not count."""

    @abstractmethod
    def make_folder(self, folder: str) -> None:
        """Find out early whether the place can be written at all. Raises LakeError."""

    @abstractmethod
    def folders_older_than(self, folder: str, seconds: float) -> list[str]: ...

    # For people

    @abstractmethod
    def full_path(self, path: str) -> str:
        """Return the path that people use."""

    @abstractmethod
    def unusable(self, problem: OSError) -> LakeError: ...
