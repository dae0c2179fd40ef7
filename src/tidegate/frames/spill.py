"""Keep the rows of a task in a file without a name, so that a load can read them more than once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Again = tuple["pa.Schema | None", "Callable[[], Iterator[pa.RecordBatch]]"]


@contextmanager
def spilled(batches: Iterator[pa.RecordBatch]) -> Iterator[Again]:
    """Yield the schema of the rows, None where there are none, and a function that yields all of them each time."""
    import pyarrow as pa

    first = next(batches, None)
    if first is None:
        yield None, lambda: iter(())
        return
    with tempfile.TemporaryFile(prefix="tidegate-") as file:
        with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
        file.flush()

        def again() -> Iterator[pa.RecordBatch]:
            file.seek(0)
            yield from pa.ipc.open_stream(pa.PythonFile(file, mode="r"))

        yield first.schema, again
