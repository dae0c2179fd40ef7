"""As a program: save a large archive, export it, read it, and print the most memory that the process had, in MiB.

python stream_snapshot.py DATABASE ARCHIVE MEBIBYTES FOLDER
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidegate.api import Snapshots

ROW_BYTES, BATCH_ROWS = 4096, 1000


class Stream:
    """A frame of random bytes, which no compression makes smaller. Every pass gives the same rows."""

    schema = pa.schema([("id", pa.int64()), ("data", pa.binary())])

    def __init__(self, mebibytes: int) -> None:
        self._batches = mebibytes * 2**20 // (ROW_BYTES * BATCH_ROWS)

    def to_batches(self, batch_size: int) -> Iterator[pa.RecordBatch]:
        for number in range(self._batches):
            content = np.random.default_rng(number).bytes(ROW_BYTES * BATCH_ROWS)
            rows = [content[start : start + ROW_BYTES] for start in range(0, len(content), ROW_BYTES)]
            ids = np.arange(number * BATCH_ROWS, (number + 1) * BATCH_ROWS)
            yield pa.RecordBatch.from_arrays([pa.array(ids), pa.array(rows, pa.binary())], schema=self.schema)


def main(database: str, archive_url: str, mebibytes: str, folder: str) -> None:
    snapshots = Snapshots.open(database=database, archive=archive_url, table="large", business_key=["id"])
    stream = Stream(int(mebibytes))
    saved = snapshots.save(stream, "x")
    archive = snapshots.find_archive(saved.archive_id)
    assert archive.parquet_size > int(mebibytes) * 2**20 * 0.95, archive
    assert snapshots.export(archive, Path(folder) / "large.parquet") == archive.parquet_size
    assert snapshots.problems() == {archive.archive_id: []}
    assert snapshots.detect(stream, "x").rows["unchanged"] == saved.rows
    (Path(folder) / "large.parquet").unlink()
    sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


if __name__ == "__main__":
    main(*sys.argv[1:])
