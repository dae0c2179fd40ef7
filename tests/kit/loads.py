"""Rows from a table into its copy through a load alone: sessions and stages, without a lake, a ledger and Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa

from kit.copies import database_at
from tidegate.interfaces import ReadRequest, Session
from tidegate.loads import merge, scd2
from tidegate.loads._unit import Loaded, Unit
from tidegate.loads._version_load import VersionLoad
from tidegate.loads.merge import Merge
from tidegate.model.columns import Shape
from tidegate.model.evidence import LedgerEntry
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.model.values import Kind, Value
from tidegate.rows.hashing import receipt_of
from tidegate.runs.landing import read_receipt, with_text_where_needed

RUN = "the only run"


@dataclass(frozen=True)
class OnePage:
    """A ledger that was never written to, in the hands of one run."""

    def newest(self) -> None:
        return None

    def newest_run(self) -> str:
        return RUN

    def record(self, entry: LedgerEntry) -> None:
        """Nobody asks for it."""


class Loads:
    """An open session on each side, and every load as often as it is asked for."""

    def __init__(self, source: str, target: str, tables: Sequence[str]) -> None:
        with ExitStack() as stack:
            self._reading: Session = stack.enter_context(database_at(source).connect("test", read_only=True))
            self._writing: Session = stack.enter_context(database_at(target).connect("test"))
            self._stack = stack.pop_all()
        schema = self._reading.database.default_schema
        names = {table: TableName(schema, table) for table in tables}
        shapes = self._reading.shapes(list(names.values()))  # of all at once: a catalog is slow to answer
        self._copies = {table: self._copied(shapes[name]) for table, name in names.items()}

    def merge(self, table: str, key: str) -> Loaded:
        """What the source holds is in the target by this key, and nothing else."""
        work, batches = self._work(table)
        unit = Merge(**vars(work), keys=(key,), deletes=True)
        return merge.merge(self._writing, unit, OnePage(), lambda: iter(batches), self._receipt_of)

    def versions(self, table: str, key: str, mark: str, flag: str) -> Loaded:
        work, batches = self._work(table)
        unit = VersionLoad(**vars(work), keys=(key,), mark=mark, flag=flag)
        return scd2.load(self._writing, unit, OnePage(), lambda: iter(batches), self._receipt_of)

    def _work(self, table: str) -> tuple[Unit, list[pa.RecordBatch]]:
        source, target = self._copies[table]
        found: list[tuple[ReadRequest, list[pa.RecordBatch]]] = []

        def read(request: ReadRequest) -> dict[str, object]:
            found[:] = [(request, list(self._reading.read(request)))]
            return {}

        with_text_where_needed(source, read)
        ((request, batches),) = found
        receipt = receipt_of(batches)
        unit = Unit(
            table=table,
            request=replace(target, text_columns=request.text_columns),
            value=Value.of("all rows", Kind.TEXT),
            entry=LedgerEntry(1, "loaded", receipt.rows, receipt.hash, run=RUN),
        )
        return unit, batches

    def _copied(self, shape: Shape) -> tuple[ReadRequest, ReadRequest]:
        """The table and its copy, which is made now."""
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
