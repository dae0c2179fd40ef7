"""Verify a table whose rows go through a transform: the source by the raw entries, the target by the curated ones.

A table that comes as a whole has the receipts in its entries. Of a log, a Spark job makes the state (of each key the
row that was read last) and its receipt; no row reaches this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.buckets.compare import Compared
from tidegate.frames import carried
from tidegate.frames.lake import LakeSource, state_frame
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.model.receipt import Receipt
from tidegate.model.report import Comparison, Finding
from tidegate.model.state import LakeEntry
from tidegate.model.values import Value
from tidegate.runs.run import Run
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_RECEIPT = "rows bigint, hash string"


def evaluate_derived(
    run: Run, planned: PlannedTable, window: Value, result: Compared
) -> tuple[Comparison, list[Finding]]:
    """Return what the receipts of both sides say, each compared with the lake."""
    table, state = planned.table, planned.state
    comparison = Comparison(planned.key, window.text, result.source, result.target, "", "")
    lost = [one for one, entry in state.ledger.items() if entry.kind == "loaded" and one not in state.lake]
    if table.lake_table.layout is Layout.LOG and lost:
        text = f"the lake no longer has {len(lost):,} windows (`retain: lake`): what they brought cannot be proved"
        return replace(comparison, derived=True), [Finding(planned.key, "receipt", text, window.text, "warning")]
    assert table.raw_lake_table is not None
    raw = run.pipeline.lake.entries(table.raw_lake_table, {}).by_window
    then, now = (
        _state_of(run, planned, place, entries, result.text_columns)
        for place, entries in (
            (table.raw_lake_table, dict(sorted(raw.items()))),
            (table.lake_table, {one.text: entry for one, entry in sorted(state.lake.items())}),
        )
    )
    findings = [*_of_source(planned, window, result.source, then), *_of_target(planned, window, result.target, now)]
    is_right = not any(finding.severity == "error" for finding in findings)
    return (replace(comparison, derived=True) if is_right else comparison), findings


def _of_source(planned: PlannedTable, window: Value, found: Receipt | None, then: Receipt) -> Iterator[Finding]:
    if found is None or found.same_as(then):
        return
    if not planned.table.load.needs.deletes and found.rows < then.rows:
        text = f"the source has {then.rows - found.rows:,} rows less than were extracted: rows that left stay"
        yield Finding(planned.key, "receipt", f"{text}, so its other rows are not proved", window.text, "warning")
        return
    yield Finding(planned.key, "receipt", "the source changed after it was extracted", window.text)


def _of_target(planned: PlannedTable, window: Value, found: Receipt | None, now: Receipt) -> Iterator[Finding]:
    loaded = planned.state.ledger.get(window)
    # The load of a whole table also knows what stays that the source no longer has.
    left = loaded.target_receipt if loaded is not None else None
    if found is not None and not found.same_as(left or now):
        yield Finding(planned.key, "receipt", "the target differs from what was loaded", window.text)


def _state_of(
    run: Run, planned: PlannedTable, place: LakeTable, entries: dict[str, LakeEntry], text_columns: tuple[str, ...]
) -> Receipt:
    """Return the receipt of the rows that the entries make together."""
    if not entries:
        return Receipt.EMPTY
    rules, newest = planned.table.load.log_rules, list(entries.values())[-1]
    if place.layout is not Layout.LOG or rules.newest_window:
        return Receipt(newest.rows, newest.hash)
    columns = planned.table.found.extracted_columns
    source = LakeSource(run.pipeline.lake, place, list(entries.values()), columns, planned.table.found.batch)
    from tidegate.hashing.arrow import arrow_schema

    schema = arrow_schema(columns, text_columns)
    frame = state_frame(run.engine.session(), source, rules)
    return receipt_of_frame(frame.select(*(f"`{name.replace('`', '``')}`" for name in schema.names)), schema)


def receipt_of_frame(frame: DataFrame, schema: pa.Schema) -> Receipt:
    """Return the receipt of the rows of a frame, in these types. They are hashed inside of tasks."""
    parts = [Receipt(row["rows"], row["hash"]) for row in frame.mapInArrow(_Hashed(schema), _RECEIPT).collect()]
    return sum(parts, Receipt.EMPTY)


@dataclass(frozen=True)
class _Hashed:
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.hashing.rows import receipt_of

        found = receipt_of(self._exact(batches))
        yield pa.RecordBatch.from_pydict({"rows": [found.rows], "hash": [found.hash]})

    def _exact(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                found = carried.stored(pa.Table.from_batches([batch]))
                yield from carried.cast_exactly(found, self.schema, "the state of the log").to_batches()
