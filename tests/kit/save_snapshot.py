"""As a program: a save of a snapshot that is killed at a place.

    python save_snapshot.py DATABASE ARCHIVE PLACE BATCH ROWS

`PLACE` is a boundary of a save, `half of the archive`, or empty: then the save ends. Chunks are small, so that the
archive of a few rows has many.
"""

from __future__ import annotations

import os
import signal
import sys

import pyarrow as pa

from tidegate.api import Snapshots
from tidegate.snapshots import archive, spool


def rows(count: int) -> pa.Table:
    """Return a frame; the same for the same number of rows."""
    numbers = range(count)
    return pa.table(
        {"id": pa.array(numbers, pa.int64()), "text": [f"{number * 7919 % 10_007} text" for number in numbers]}
    )


def main(database: str, archive_url: str, place: str, batch: str, count: str) -> None:
    spool.CHUNK_BYTES, archive.INLINE_BYTES = 4096, 4096
    snapshots = Snapshots.open(
        database=database, archive=archive_url or False, table="crashes", business_key=["id"], keep=2
    )

    def strike(reached: str) -> None:
        if reached == place:
            os.kill(os.getpid(), signal.SIGKILL)

    snapshots.boundary = strike
    if place == "half of the archive":
        whole = spool.Spool.chunk

        def chunk(self: spool.Spool, number: int) -> bytes:
            if number == 3:
                strike(place)
            return whole(self, number)

        spool.Spool.chunk = chunk  # type: ignore[method-assign]
    snapshots.save(rows(int(count)), "x", batch)


if __name__ == "__main__":
    main(*sys.argv[1:])
