"""Keep blocks of rows until they are needed: in a temporary file, or in memory where they are few."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    import pyarrow as pa


class Spill:
    """Blocks of rows by bucket and channel. The file has no name, so it is gone when this process ends, however."""

    def __init__(self, *, in_memory: bool = False) -> None:
        self._file = None if in_memory else tempfile.TemporaryFile(prefix="tidegate-")  # noqa: SIM115
        self._places: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._held: dict[tuple[int, int], list[pa.RecordBatch]] = defaultdict(list)
        self._schemas: dict[int, pa.Schema] = {}
        self._end = 0
        self._lock = threading.Lock()

    def add(self, bucket: int, channel: int, rows: pa.RecordBatch) -> None:
        """Keep a block. Several threads may add."""
        if self._file is None:
            with self._lock:
                self._held[bucket, channel].append(rows)
            return
        data = memoryview(rows.serialize())
        with self._lock:
            start, self._end = self._end, self._end + len(data)
            self._schemas.setdefault(channel, rows.schema)
            self._places[bucket, channel].append((start, len(data)))
        self._write(data, start)

    def _write(self, data: memoryview, start: int) -> None:
        assert self._file is not None
        try:
            while data:
                written = os.pwrite(self._file.fileno(), data, start)
                data, start = data[written:], start + written
        except OSError as problem:
            raise TidegateError(
                f"Rows that are compared did not fit into the folder {tempfile.gettempdir()}: {problem.strerror}.",
                "Nothing was written to the target by this step.",
                "Make room there, or name another folder in the environment variable TMPDIR, and run again.",
            ) from None

    def buckets(self) -> list[int]:
        """Return the buckets that have rows."""
        return sorted({bucket for bucket, _ in (*self._places, *self._held)})

    def channels(self, bucket: int) -> dict[int, list[pa.RecordBatch]]:
        """Return the blocks of one bucket by channel."""
        if self._file is None:
            return {channel: blocks for (number, channel), blocks in self._held.items() if number == bucket}
        found = [channel for number, channel in list(self._places) if number == bucket]
        return {channel: list(self.blocks(channel, bucket)) for channel in sorted(found)}

    def blocks(self, channel: int, bucket: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield the blocks of one channel of a bucket, in the order in which they came, one at a time."""
        import pyarrow as pa

        if self._file is None:
            yield from self._held[bucket, channel]
            return
        for start, length in self._places[bucket, channel]:
            block = os.pread(self._file.fileno(), length, start)
            yield pa.ipc.read_record_batch(pa.py_buffer(block), self._schemas[channel])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._held.clear()

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
