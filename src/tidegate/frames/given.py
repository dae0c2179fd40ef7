"""Rows that a program passes in, on their way into a lake: those of Spark in its tasks, others in this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from tidegate.frames import carried
from tidegate.frames.tasks import errors_for_driver, in_driver
from tidegate.interfaces.lake import EntryFacts, Lake, LakeTable, Part
from tidegate.model.receipt import Receipt
from tidegate.model.tokens import Token

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_OF_A_BATCH = 10_000
TokenOf = Callable[[str | None, str | None, str], Token]
"""Returns the token of rows with these smallest and greatest cursor values, that came at this time."""


@dataclass(frozen=True)
class WrittenRows:
    """What became of the rows of a frame, or of those of one task."""

    parts: tuple[Part, ...] = ()
    receipt: Receipt = field(default_factory=lambda: Receipt.of_sum(0, 0))
    least: Any = None
    """The smallest cursor value; None without any."""
    greatest: Any = None
    nulls: dict[str, int] = field(default_factory=dict)

    def in_facts(self, facts: EntryFacts, token_of: TokenOf) -> EntryFacts:
        """Return the facts of an entry with these rows."""
        least, greatest = (None if value is None else str(value) for value in (self.least, self.greatest))
        token = token_of(least, greatest, facts.read_at)
        return replace(facts, rows=self.receipt.rows, hash=self.receipt.hash, token=token)

    def __add__(self, other: WrittenRows) -> WrittenRows:
        names = {*self.nulls, *other.nulls}
        return WrittenRows(
            (*self.parts, *other.parts),
            self.receipt + other.receipt,
            min((one for one in (self.least, other.least) if one is not None), default=None),
            max((one for one in (self.greatest, other.greatest) if one is not None), default=None),
            {name: self.nulls.get(name, 0) + other.nulls.get(name, 0) for name in names},
        )


class GivenRows:
    """Writes frames of Spark, pandas, polars and Arrow into parts of a lake."""

    def names(self, frame: Any) -> list[str]:
        return list(frame.columns) if carried.is_spark(frame) else list(carried.to_arrow(frame).column_names)

    def __call__(
        self,
        frame: Any,
        lake: Lake,
        table: LakeTable,
        schema: pa.Schema,
        facts: EntryFacts,
        token_of: TokenOf,
        cursor: str | None,
    ) -> WrittenRows:
        task = _WriteTask(lake, table, schema, facts, token_of, cursor)
        if not carried.is_spark(frame):
            return task.write(carried.to_arrow(frame).to_batches(max_chunksize=ROWS_OF_A_BATCH), "frame")
        rows = in_driver(lambda: frame.mapInArrow(task, "written binary").collect())
        return reduce(WrittenRows.__add__, (pickle.loads(row["written"]) for row in rows), WrittenRows())


@dataclass(frozen=True)
class _WriteTask:
    lake: Lake
    table: LakeTable
    schema: pa.Schema
    facts: EntryFacts
    token_of: TokenOf
    cursor: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        name = "frame" if context is None else f"frame-{context.partitionId()}-{context.taskAttemptId()}"
        with errors_for_driver():
            written = self.write(batches, name)
        yield pa.RecordBatch.from_pydict({"written": [pickle.dumps(written)]})

    def write(self, batches: Iterable[pa.RecordBatch], name: str) -> WrittenRows:
        """Write the rows as one part, if there are any. Raises ValueProblem where a value would change."""
        from tidegate.hashing.rows import ReceiptBuilder

        receipts, nulls, ends = ReceiptBuilder(), dict.fromkeys(self.schema.names, 0), list[Any]()
        writer = None
        try:
            for batch in self._in_columns(batches):
                writer = writer or self.lake.writer(self.table, self.facts.run, name, self.schema)
                receipts.add(batch)
                writer.write(batch)
                for column in self.schema.names:
                    nulls[column] += batch.column(column).null_count
                ends += self._ends(batch)
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise
        if writer is None:
            return WrittenRows()
        receipt = receipts.receipt()
        written = WrittenRows((), receipt, min(ends, default=None), max(ends, default=None), nulls)
        # An entry of one part has the facts of its part.
        part = writer.close(written.in_facts(self.facts, self.token_of))
        return replace(written, parts=(part,))

    def _in_columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                found = carried.stored(pa.Table.from_batches([batch]))
                yield from carried.cast_exactly(found, self.schema, str(self.table.name)).to_batches()

    def _ends(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the smallest and the greatest cursor value of a batch."""
        import pyarrow.compute as pc

        if self.cursor is None:
            return []
        found = pc.min_max(batch.column(self.cursor)).as_py()
        return [value for value in found.values() if value is not None]
