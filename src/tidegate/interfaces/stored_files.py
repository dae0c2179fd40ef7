"""Files in object storage, as a server loads them by itself (COPY ... FROM 's3://...')."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class StoredFile:
    """A file at an address that the server can open, with its size."""

    url: str
    bytes: int


class ObjectStore(Protocol):
    """A place for files that a server is to load. Holds no connection, so that tasks can carry it."""

    def output(self, path: str) -> pa.NativeFile:
        """Return a new file to write into; `flush` puts it."""

    def flush(self, path: str) -> int:
        """Put a written file and return its size."""

    def write_text(self, path: str, text: str) -> None: ...

    def delete_folder(self, folder: str) -> None: ...

    def full_path(self, path: str) -> str:
        """Return the address of a file."""
