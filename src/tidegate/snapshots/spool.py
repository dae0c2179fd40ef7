"""One Parquet file on its way into the archive or out of it, with bounded memory.

Facts that shape this file
 * A Parquet file ends with its list of columns and row groups, so a reader seeks and a writer does not.
 * Rows are seen once: a Spark frame that is computed twice may give other rows. So the file is written to a temporary
   file without a name while the rows go to the snapshot table. A killed process leaves nothing behind.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from tidegate.errors import LakeError, ValueProblem

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_BYTES = 8 * 2**20
GROUP_ROWS, GROUP_BYTES = 100_000, 64 * 2**20
_CHUNKS_IN_MEMORY = 8


def schema_hash(schema: pa.Schema) -> str:
    """Return a hash of the names and types of the columns, in their order."""
    lines = "\n".join(f"{field.name!r} {field.type}" for field in schema)
    return hashlib.sha256(lines.encode()).hexdigest()


class Spool:
    """A Parquet file that is being written, then read chunk by chunk."""

    def __init__(self, schema: pa.Schema, compression: str = "zstd") -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.schema, self.rows, self.memory_size, self.size = schema, 0, 0, 0
        self.chunk_bytes = CHUNK_BYTES
        self._file = tempfile.TemporaryFile(prefix="tidegate-snapshot-")  # noqa: SIM115 - closed by __exit__
        self._rows: list[pa.RecordBatch] = []
        self._group_rows = self._group_bytes = 0
        try:
            self._writer = pq.ParquetWriter(pa.PythonFile(self._file, mode="w"), schema, compression=compression)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as problem:
            self._file.close()
            raise ValueProblem(
                f"The archive cannot keep a column of the frame: {problem}.",
                "Nothing was written.",
                "Convert the column to text, or leave it out.",
            ) from None

    def add(self, rows: pa.RecordBatch) -> None:
        self._rows.append(rows)
        self.rows += rows.num_rows
        self.memory_size += rows.nbytes
        self._group_rows += rows.num_rows
        self._group_bytes += rows.nbytes
        if self._group_rows >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        """Complete the file. `size` is its length from now on."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._write_group()
        self._writer.close()
        self.size = self._file.seek(0, io.SEEK_END)
        # As readers get it: Parquet has its own names for the parts of a list.
        self.schema = pq.ParquetFile(pa.PythonFile(self._file, mode="r")).schema_arrow

    def chunk(self, number: int) -> bytes:
        """Return the bytes of a chunk; chunk 0 is the first."""
        self._file.seek(number * self.chunk_bytes)
        return self._file.read(self.chunk_bytes)

    @property
    def chunks(self) -> int:
        return -(-self.size // self.chunk_bytes)

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._rows:
            group = pa.Table.from_batches(self._rows, self.schema)
            self._writer.write_table(group, row_group_size=max(group.num_rows, 1))
        self._rows, self._group_rows, self._group_bytes = [], 0, 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.close()  # or it would write to a closed file when it is collected
        self._file.close()


class ChunkedFile(io.RawIOBase):
    """A file that lies in chunk rows. Reads fetch the chunks that they need; a few stay in memory."""

    def __init__(self, size: int, chunk_bytes: int, fetch: Callable[[int], bytes]) -> None:
        self._size, self._chunk_bytes, self._fetch, self._position = size, chunk_bytes, fetch, 0
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        wanted = self._size - self._position if size is None or size < 0 else size
        end, parts = min(self._position + wanted, self._size), []
        while self._position < end:
            number, start = divmod(self._position, self._chunk_bytes)
            part = self._chunk(number)[start : start + end - self._position]
            if not part:
                raise LakeError(
                    f"Chunk {number} of the archive is shorter than it was.",
                    "Nothing was changed.",
                    "Validate the archive; take the snapshot again if the source still has the rows.",
                )
            parts.append(part)
            self._position += len(part)
        return b"".join(parts)

    def _chunk(self, number: int) -> bytes:
        if number not in self._kept:
            self._kept[number] = self._fetch(number)
            if len(self._kept) > _CHUNKS_IN_MEMORY:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]
