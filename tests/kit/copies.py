"""Copy rows between tables through the product's sessions only: no lake, no ledger, no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pyarrow as pa

from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.hashing.receipts import with_text_where_needed
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.model.names import TableName
from tidegate.plugins import database

WHOLE = BatchSize()


def database_at(url: str) -> Database:
    return database(parse_connection(url, Variables({}), "test"))


class Copier:
    """An open session on each side. Later copies reuse both sessions, also after a failed copy."""

    def __init__(self, source: str, target: str) -> None:
        with ExitStack() as stack:
            self.reading: Session = stack.enter_context(database_at(source).connect("test", read_only=True))
            self.writing: Session = stack.enter_context(database_at(target).connect("test"))
            self._stack = stack.pop_all()

    def copy(self, table: TableName, batch: BatchSize = WHOLE) -> list[int]:
        """Append the rows to the target. Return the number of rows of each batch."""
        shape = self.reading.table_schemas([table])[table]
        request = ReadRequest(shape.name, shape.columns, batch=batch)
        target = self.writing.table_schemas([table])[table]
        sizes: list[int] = []

        def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for record_batch in batches:
                sizes.append(record_batch.num_rows)
                yield record_batch

        def work(request: ReadRequest) -> dict[str, int]:
            sizes.clear()
            with self.writing.transaction():
                return {"rows": self.writing.write(table, target.columns, counted(self.reading.read(request)))}

        written = with_text_where_needed(request, work)["rows"]
        assert written == sum(sizes)
        return sizes

    def close(self) -> None:
        self._stack.close()
