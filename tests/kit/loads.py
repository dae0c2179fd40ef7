"""Copy rows into a target table through a load only: sessions and staging tables, no lake, no ledger, no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa

from kit.copies import database_at
from tidegate.hashing.receipts import read_receipt, with_text_where_needed
from tidegate.hashing.rows import receipt_of
from tidegate.history.version_task import VersionTask
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.load import Loaded, LoadTask
from tidegate.loads._merge_whole import merge_whole_table
from tidegate.loads._merge_writes import MergeTask
from tidegate.loads._timeline import apply_versions
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.state import LedgerEntry
from tidegate.model.windows import WHOLE_TABLE

RUN = "the only run"


@dataclass(frozen=True)
class OnePage:
    """An empty ledger that belongs to one run."""

    def newest(self) -> None:
        return None

    def newest_run(self) -> str:
        return RUN

    def record(self, entry: LedgerEntry) -> None:
        """Ignore the entry: no test reads it."""


class Loads:
    """An open session on each side, to merge rows or to load versions any number of times."""

    def __init__(self, source: str, target: str, tables: Sequence[str]) -> None:
        with ExitStack() as stack:
            self._reading: Session = stack.enter_context(database_at(source).connect("test", read_only=True))
            self._writing: Session = stack.enter_context(database_at(target).connect("test"))
            self._stack = stack.pop_all()
        schema = self._reading.database.default_schema
        names = {table: TableName(schema, table) for table in tables}
        table_schemas = self._reading.table_schemas(list(names.values()))  # one query: the catalog is slow
        self._copies = {table: self._copied(table_schemas[name]) for table, name in names.items()}

    def merge(self, table: str, key: str) -> Loaded:
        """Make the target equal to the source by this key, with deletes."""
        task, batches = self._task(table)
        merging = MergeTask(**vars(task), keys=(key,), deletes=True)
        return merge_whole_table(self._writing, merging, OnePage(), lambda: iter(batches), self._receipt_of)

    def versions(self, table: str, key: str, cursor: str, flag: str) -> Loaded:
        task, batches = self._task(table)
        versions = VersionTask(**vars(task), keys=(key,), cursor=cursor, flag=flag)
        return apply_versions(self._writing, versions, OnePage(), lambda: iter(batches))

    def _task(self, table: str) -> tuple[LoadTask, list[pa.RecordBatch]]:
        source, target = self._copies[table]
        found: list[tuple[ReadRequest, list[pa.RecordBatch]]] = []

        def read(request: ReadRequest) -> dict[str, object]:
            found[:] = [(request, list(self._reading.read(request)))]
            return {}

        with_text_where_needed(source, read)
        ((request, batches),) = found
        receipt = receipt_of(batches)
        task = LoadTask(
            table=table,
            request=replace(target, text_columns=request.text_columns),
            window=WHOLE_TABLE,
            entry=LedgerEntry(1, "loaded", receipt.rows, receipt.hash, run=RUN),
        )
        return task, batches

    def _copied(self, shape: TableSchema) -> tuple[ReadRequest, ReadRequest]:
        """Create the target table. Return the read requests of source and target."""
        database = self._writing.database
        columns = tuple(database.declare(column) for column in shape.columns)
        copy = TableName(database.default_schema, shape.name.name)
        for statement in database.create_table(copy, columns, (), ""):
            self._writing.execute(statement)
        return ReadRequest(shape.name, shape.columns), ReadRequest(copy, columns)

    def _receipt_of(self, request: ReadRequest) -> Receipt:
        return read_receipt(self._writing, request)

    def close(self) -> None:
        self._stack.close()
