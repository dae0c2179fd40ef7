"""Compare the source with a table that a load keeps in the lake."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.buckets.assign import buckets_for
from tidegate.buckets.compare import ChannelReader, Compared, CompareSplit, hashed_rows
from tidegate.buckets.exchange import Block
from tidegate.checks._compare import comparison_of, difference_in_words
from tidegate.checks._windows import was_loaded
from tidegate.interfaces.check import Check, Sides
from tidegate.interfaces.lake import Lake, LakeTable
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import Worker
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.values import Value
from tidegate.model.windows import WHOLE_TABLE
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa

_TARGET = 1


@dataclass(frozen=True)
class KeptReader:
    """Reads a table of the lake once: its receipt, and the key and hash of each row where keys are asked for."""

    lake: Lake
    place: LakeTable
    request: ReadRequest
    """The columns to read, and which of them as text."""
    keys: tuple[str, ...]
    channel: int = _TARGET
    flag: str = ""
    """Only rows for which this column is true; empty for all rows."""

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, Receipt]:
        receipt = yield from hashed_rows(self._batches(), self.keys, buckets, self.channel, worker.progress)
        return receipt

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(self.request.columns, self.request.text_columns)
        wanted = schema if not self.flag else schema.append(pa.field(self.flag, pa.bool_()))
        for file in self.lake.kept(self.place).files:
            for batch in self.lake.kept_rows(file, wanted, self.request.batch):
                yield batch.filter(batch.column(self.flag)).select(schema.names) if self.flag else batch


@dataclass(frozen=True)
class KeptSplit(CompareSplit):
    """Compares the source with a table of the lake."""

    reader: KeptReader | None = None

    @property
    def readers(self) -> Sequence[ChannelReader]:
        assert self.reader is not None
        request = replace(self.reader.request, text_columns=self.text_columns)
        keys = self.keys if self.names_keys else ()
        return [*super().readers, replace(self.reader, request=request, keys=keys)]


class KeptCheck(Check):
    """Compares the source with a table that is kept in the lake, by the hash of its rows and by keys."""

    compares_content = True

    def windows(self, planned: PlannedTable) -> tuple[list[Value], list[Finding]]:
        if not was_loaded(planned):
            return [], [Finding(planned.key, "scope", "nothing was loaded yet: there is nothing to verify")]
        return [WHOLE_TABLE], []

    def split(self, sides: Sides, planned: PlannedTable, window: Value) -> CompareSplit:
        found, place = planned.table.found, planned.table.found.kept
        assert place is not None
        request = planned.table.change.source_request(window)
        kept, flag = sides.lake.kept(place), self.flag(planned)
        return KeptSplit(
            source=sides.source,
            source_request=request,
            snapshot=sides.snapshot.name,
            target=None,
            target_request=None,
            text_columns=kept.text_columns,
            keys=planned.table.row_names if planned.table.transform is None else (),
            buckets=buckets_for(kept.rows),
            reader=KeptReader(sides.lake, place, replace(request, table=found.target_name, rows=None), (), flag=flag),
        )

    def flag(self, planned: PlannedTable) -> str:
        """Return the column that tells which rows of the table count; empty where all do."""
        return ""

    def evaluate(self, planned: PlannedTable, window: Value, result: Compared) -> tuple[Comparison, list[Finding]]:
        comparison = comparison_of(planned, window, result.source, result.target)
        if comparison.equal:
            return comparison, []
        may_stay = {"only in the target"} if not planned.table.load.needs.deletes else set()
        if result.keys and set(result.keys) <= may_stay:
            more = result.keys["only in the target"].count
            text = f"every row of the source is in the lake's table, which holds {more:,} more (`deletes: ignore`)"
            return replace(comparison, contained=True), [Finding(planned.key, "receipt", text, window.text, "note")]
        return comparison, [Finding(planned.key, "receipt", difference_in_words(comparison, result.keys), window.text)]
