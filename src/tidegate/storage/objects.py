"""A bucket of an object store: S3 and what speaks its protocol, Google Cloud Storage, Azure.

Facts that shape this file
 * An object appears whole when its PUT ends, and every listing after that shows it. There is no rename.
 * A PUT can carry a condition: no object is there (`create`), or the one that was read is still there (`swap`).
   Some stores accept the condition and overwrite all the same, so the store is asked before it is trusted (`probe`).
 * A PUT without an answer may have been done, and the client repeats it by itself. A refusal is then our own object:
   its bytes tell.
 * A stream into an object that ends with an error may publish what was written so far. So a file is written on the
   local disk, and put whole. One PUT takes up to 5 GiB, and a killed process leaves no unfinished upload behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import mmap
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, Unsupported
from tidegate.storage.bucket_settings import Pairs, opened_store, read_settings
from tidegate.storage.door import Storage

if TYPE_CHECKING:
    import pyarrow as pa

_READ_AHEAD = 1024 * 1024
_SECRETS = re.compile(r"(?i)(secret|token|password|credential|key)[^\s=:]*[=:]\s*\S+")


@dataclass(frozen=True)
class Bucket(Storage):
    """Objects below one prefix, known by their path relative to it. Holds no connection, so that tasks can carry it."""

    renames = False
    spark_reads = False

    url: str
    """`s3://bucket/prefix`, `gs://…` or `az://…`."""
    options: Pairs = field(default=(), repr=False)
    """Settings of the store by the names of obstore: endpoint, region, credentials."""
    client: Pairs = field(default=(), repr=False)
    """Settings of the HTTP client."""

    @classmethod
    def of(cls, url: str, settings: Mapping[str, str]) -> Bucket:
        """Return the bucket of a URL, with the settings of `lake: {store: …}`. Raises Unsupported without obstore."""
        if importlib.util.find_spec("obstore") is None:
            raise Unsupported(
                f"The lake {url} needs the package obstore, which is not installed.",
                "Nothing was opened.",
                "Install it: `pip install 'tidegate[s3]'`, also on the machines of a cluster.",
            )
        return cls(url.rstrip("/"), *read_settings(url, settings))

    @property
    def place(self) -> str:
        return self.url

    def listed(self, folder: str) -> Storage:
        """Return the bucket as it is now below a prefix: one listing answers many questions. A commit carries a
        condition, so what came meanwhile is noticed."""
        import obstore

        with self._reported():
            metas = [meta for batch in obstore.list(self._store, f"{folder}/") for meta in batch]
        objects = {meta["path"]: (_tag(meta), int(meta["size"])) for meta in metas}
        return ListedBucket(self.url, self.options, self.client, objects, _children(objects))

    # Reading

    def names(self, folder: str) -> list[str]:
        """Return the names below a prefix, of objects and of further prefixes. Raises LakeError."""
        import obstore

        with self._reported():
            found = obstore.list_with_delimiter(self._store, f"{folder}/" if folder else None)
            paths = [*found["common_prefixes"], *(meta["path"] for meta in found["objects"])]
            return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def etag(self, path: str) -> str:
        """Return the tag that changes with every PUT; empty when there is no such object."""
        import obstore

        with self._reported():
            try:
                meta = obstore.head(self._store, path)
            except FileNotFoundError:
                return ""
            return _tag(meta)

    def size(self, path: str) -> int:
        import obstore

        with self._reported():
            try:
                return int(obstore.head(self._store, path)["size"])
            except FileNotFoundError:
                return 0

    def input(self, path: str) -> pa.NativeFile:
        import obstore
        import pyarrow as pa

        return pa.PythonFile(_Reader(obstore.open_reader(self._store, path, buffer_size=_READ_AHEAD)), mode="r")

    def read_text(self, path: str) -> str:
        """Return the text of a small object; empty when there is none."""
        import obstore

        with self._reported():
            try:
                return bytes(obstore.get(self._store, path).bytes()).decode()
            except FileNotFoundError:
                return ""

    # Writing

    def output(self, path: str) -> pa.NativeFile:
        """Return a local file, which `flush` puts under this path."""
        import pyarrow as pa

        return pa.OSFile(str(self._local(path)), "wb")

    def flush(self, path: str) -> int:
        """Put a written file as one object and return its size."""
        import obstore

        local = self._local(path)
        with (
            self._reported(),
            open(local, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            view = memoryview(content)
            try:
                obstore.put(self._store, path, view, use_multipart=False)
                size = len(view)
            finally:
                view.release()
        local.unlink()
        return size

    def _local(self, path: str) -> Path:
        """Return where a file of this process is written before it is put."""
        name = hashlib.sha256(f"{self.url} {path} {os.getpid()}".encode()).hexdigest()[:24]
        return Path(tempfile.gettempdir()) / f"tidegate-{name}"

    def write_text(self, path: str, text: str) -> None:
        """Replace a small object at once."""
        import obstore

        with self._reported():
            obstore.put(self._store, path, text.encode(), use_multipart=False)

    def publish(self, written: str, path: str) -> None:
        """Copy a finished object to its place, on the server. The written one leaves with its run."""
        import obstore

        with self._reported():
            obstore.copy(self._store, written, path)

    def publish_folder(self, written: Mapping[str, str], last: tuple[str, str], path: str, replaces: str = "") -> bool:
        """Copy the objects below a prefix, then put the last one on condition. The names must be new ones: what is
        there stays readable until the last object is replaced."""
        for name, object_path in written.items():
            self.publish(object_path, f"{path}/{name}")
        commit = f"{path}/{last[0]}"
        if not self.put_text(commit, last[1], replaces):
            for name in written:
                self.delete(f"{path}/{name}")
            return False
        for name in self.names(path):
            if name not in written and name != last[0]:
                self.delete(f"{path}/{name}")
        return True

    def put_text(self, path: str, text: str, replaces: str = "") -> bool:
        return self.swap(path, text, replaces) if replaces else self.create(path, text)

    @contextlib.contextmanager
    def alone(self, lock: str) -> Iterator[None]:
        """A bucket has no locks: its commit files carry conditions."""
        with self._reported():
            yield

    def create(self, path: str, text: str) -> bool:
        """Put a small object where there is none. Return False when another one is there."""
        return self._put_if(path, text, "create")

    def swap(self, path: str, text: str, etag: str) -> bool:
        """Replace a small object that still has this tag. Return False when another one is there."""
        return self._put_if(path, text, {"e_tag": etag})

    def _put_if(self, path: str, text: str, condition: Any) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError

        with self._reported():
            try:
                obstore.put(self._store, path, text.encode(), mode=condition)
            except (AlreadyExistsError, PreconditionError, NotFoundError):
                return self.read_text(path) == text
            except BaseError:
                # Unknown: the PUT may have been done although its answer was lost.
                if self.read_text(path) != text:
                    raise
            return True

    # Deleting

    def delete(self, path: str) -> None:
        import obstore

        with self._reported(), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, path)

    def discard(self, path: str) -> None:
        """Delete an object that was never published, and the local file before it."""
        self._local(path).unlink(missing_ok=True)
        with contextlib.suppress(LakeError):
            self.delete(path)

    def delete_folder(self, folder: str) -> None:
        import obstore

        with contextlib.suppress(LakeError), self._reported():
            paths = [meta["path"] for metas in obstore.list(self._store, f"{folder}/") for meta in metas]
            if paths:
                obstore.delete(self._store, paths)

    def delete_published_folder(self, folder: str, last: str) -> None:
        self.delete(f"{folder}/{last}")
        self.delete_folder(folder)

    def folders_older_than(self, folder: str, seconds: float) -> list[str]:
        """Return the prefixes below a prefix in which nothing was put for so long."""
        import obstore

        newest: dict[str, datetime] = {}
        with self._reported():
            for metas in obstore.list(self._store, f"{folder}/"):
                for meta in metas:
                    name = meta["path"].removeprefix(f"{folder}/").partition("/")[0]
                    newest[name] = max(newest.get(name, meta["last_modified"]), meta["last_modified"])
        now = datetime.now(UTC)
        return [f"{folder}/{name}" for name, at in sorted(newest.items()) if (now - at).total_seconds() >= seconds]

    # Whether the store can be trusted

    def make_folder(self, folder: str) -> None:
        """Find out early whether the store takes objects. A prefix needs no making. Raises LakeError."""
        path = f"{folder}/probe-{secrets.token_hex(4)}"
        self.write_text(path, "tide")
        self.delete(path)

    def probe(self, folder: str) -> bool:
        """Return whether the store honours conditions: two writers then never overwrite each other."""
        path = f"{folder}/probe-{secrets.token_hex(4)}"
        try:
            first = self.create(path, "first") and not self.create(path, "second")
            tag = self.etag(path)
            changed = self.swap(path, "third", tag) and not self.swap(path, "fourth", tag)
            return first and changed and self.read_text(path) == "third"
        finally:
            self.delete(path)

    def full_path(self, path: str) -> str:
        """Return the address that people use."""
        return f"{self.url.rstrip('/')}/{path}"

    def unusable(self, problem: BaseException) -> LakeError:
        return LakeError(
            f"The lake {self.url} cannot be used: {_reason(problem)}.",
            "Entries that were published before are complete; the target keeps what it had.",
            "Correct the bucket, its endpoint, region or credentials (`lake: {store: …}`), then run again.",
        )

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn whatever the store answers into an error of the lake."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as problem:
            raise self.unusable(problem) from None

    @property
    def _store(self) -> Any:
        return opened_store(self.url, self.options, self.client)


@dataclass(frozen=True)
class ListedBucket(Bucket):
    """A bucket, and what a listing said of it. Reads objects, and asks the listing for all else."""

    objects: Mapping[str, tuple[str, int]] = field(default_factory=dict, repr=False)
    """Tag and size of each object."""
    children: Mapping[str, set[str]] = field(default_factory=dict, repr=False)
    """The names below each prefix."""

    def names(self, folder: str) -> list[str]:
        return sorted(self.children.get(folder, ()))

    def etag(self, path: str) -> str:
        return self.objects.get(path, ("", 0))[0]

    def size(self, path: str) -> int:
        return self.objects.get(path, ("", 0))[1]


def _children(objects: Iterable[str]) -> dict[str, set[str]]:
    """Return the names below each prefix of these paths."""
    children: dict[str, set[str]] = {}
    for path in objects:
        folder, _, name = path.rpartition("/")
        while name not in children.setdefault(folder, set()):
            children[folder].add(name)
            if not folder:
                break
            folder, _, name = folder.rpartition("/")
    return children


def _tag(meta: Any) -> str:
    return str(meta["e_tag"] or f"{meta['size']}-{meta['last_modified'].timestamp()}")


class _Reader:
    """An object as the file that pyarrow reads: obstore's reader does not know whether it is closed."""

    def __init__(self, reader: Any) -> None:
        self._reader, self.closed = reader, False

    def read(self, size: int = -1) -> bytes:
        # obstore reads nothing for a negative size.
        return bytes(self._reader.readall() if size is None or size < 0 else self._reader.read(size))

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def size(self) -> int:
        return int(self._reader.size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._reader.close()


def _reason(problem: BaseException) -> str:
    """Return the first sentence of an error of the store, without what could be a secret."""
    first = str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
    return _SECRETS.sub(r"\1=…", first)[:300]
