"""Curate: rows of a raw entry through the transform of their table, into a curated entry that is loaded.

The chain of receipts: the raw entry has the hash of the source's rows, the curated entry has that of the target's. The
token of the curated entry carries the hash of its raw entry, and the ledger keeps both with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError, Unsupported
from tidegate.frames.given import GivenRows
from tidegate.frames.lake import LakeSource, entries_frame
from tidegate.interfaces.lake import KEYS, EntryFacts, Lake, LakeTable, Part, PartWriter
from tidegate.model.plan import Extract
from tidegate.model.receipt import Receipt
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import PartitionToken, Token
from tidegate.runs.run import Run
from tidegate.spark.executor import reason_of
from tidegate.tables.planned import PlannedTable
from tidegate.tables.transform import Transform

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SAFE = "The raw rows are in the lake; the target keeps what it had."


def curate(run: Run, planned: PlannedTable, step: Extract, raw: LakeEntry, facts: EntryFacts) -> tuple[LakeEntry, bool]:
    """Commit what the transform makes of a raw entry. Return the entry, and False where somebody's newer one is there.

    `facts` are those of the raw entry."""
    from tidegate.hashing.arrow import arrow_schema

    table, lake, transform = planned.table, run.pipeline.lake, planned.table.transform
    assert transform is not None and table.raw_lake_table is not None
    keys = _keys(run, planned, step, raw, facts)
    if not raw.rows:
        return lake.commit(table.lake_table, step.value.text, [_empty(run, planned, raw, facts), *keys], facts=facts)
    columns, by_value = table.found.extracted_columns, isinstance(facts.token, PartitionToken)
    source = LakeSource(lake, table.raw_lake_table, [raw], columns, table.found.batch)
    schema = arrow_schema(columns, raw.text_columns)
    token = with_raw(facts.token, raw.hash)
    facts = replace(facts, token=token, why=f"{facts.why}; transformed")
    prepared, spark = lake.prepared(table.lake_table, schema), run.engine.session()
    with _explained(transform):
        rows = transformed(spark, entries_frame(spark, source), transform)
        _require_columns(transform, rows.columns, schema.names)
        ordered = rows.select(*(f"`{name.replace('`', '``')}`" for name in schema.names))
        write, of_rows = GivenRows(), partial(_keep_token, token)
        cursor = table.change.divided_by if by_value else None
        written = write(ordered, prepared, table.lake_table, schema, facts, of_rows, cursor)
    if written.receipt.rows != raw.rows:
        raise Unsupported(
            f"{planned.key} {step.value}: `transform` makes {written.receipt.rows:,} rows of {raw.rows:,}.",
            SAFE,
            "Each row must stay one row: filter with `values`, and aggregate in a view of the target.",
        )
    if by_value:
        _require_value(planned, step, [written.least, written.greatest])
    _require_same(planned, lake, raw, written.parts)
    facts = written.in_facts(facts, of_rows)
    return lake.commit(table.lake_table, step.value.text, [*written.parts, *keys], step.replaces, facts)


def _require_value(planned: PlannedTable, step: Extract, ends: list[object]) -> None:
    change = planned.table.change
    if {change.value(str(value)) for value in ends if value is not None} - {step.value}:
        raise Unsupported(
            f"{planned.key} {step.value}: `transform` changes the partition column {change.divided_by}.",
            SAFE,
            "Leave this column as it is.",
        )


def _require_same(planned: PlannedTable, lake: Lake, raw: LakeEntry, parts: Sequence[Part]) -> None:
    """Raise Unsupported where the columns that rows are known by are not those of the source any more."""
    from tidegate.hashing.rows import receipt_of

    table = planned.table
    names = [name for name in raw.columns if name in table.fixed_columns]
    if not names or table.raw_lake_table is None:
        return

    def read(place: LakeTable, ids: Sequence[str]) -> Receipt:
        rows = (batch for one in ids for batch in lake.read(place, one, table.found.batch, names))
        return receipt_of(batch.select(names) for batch in rows)

    if read(table.raw_lake_table, [raw.id]) != read(table.lake_table, [part.id for part in parts]):
        raise Unsupported(
            f"{planned.key}: `transform` changes one of the columns by which rows are known: {', '.join(names)}.",
            SAFE,
            "Leave these columns as they are.",
        )


def _keys(run: Run, planned: PlannedTable, step: Extract, raw: LakeEntry, facts: EntryFacts) -> list[Part]:
    """Return a copy of the keys that were extracted beside the rows: they tell which rows left the source."""
    table, lake = planned.table, run.pipeline.lake
    if not raw.has_keys or table.raw_lake_table is None:
        return []
    writer: PartWriter | None = None
    rows = 0
    for batch in lake.read(table.raw_lake_table, raw.id, table.found.batch, None, KEYS):
        writer = writer or lake.writer(table.lake_table, run.id, _name(step, "keys"), batch.schema, KEYS)
        writer.write(batch)
        rows += batch.num_rows
    if writer is None:
        schema = _schema_of(planned, table.load.needs.keys)
        writer = lake.writer(table.lake_table, run.id, _name(step, "keys"), schema, KEYS)
    return [writer.close(replace(facts, rows=rows))]


def _empty(run: Run, planned: PlannedTable, raw: LakeEntry, facts: EntryFacts) -> Part:
    """Return a part without rows."""
    table, lake = planned.table, run.pipeline.lake
    schema = _schema_of(planned, [column.name for column in table.found.extracted_columns])
    prepared = lake.prepared(table.lake_table, schema)
    return prepared.writer(table.lake_table, run.id, f"empty-{raw.hash}-{facts.window}", schema).close(facts)


def _schema_of(planned: PlannedTable, names: Sequence[str]) -> pa.Schema:
    from tidegate.hashing.arrow import arrow_schema

    by_name = {column.name: column for column in planned.table.found.extracted_columns}
    return arrow_schema([by_name[name] for name in names])


def _name(step: Extract, word: str) -> str:
    return f"{word}-{step.value.text}"


def transformed(spark: SparkSession, rows: DataFrame, transform: Transform) -> DataFrame:
    if transform.is_function:
        made: DataFrame = transform.function()(rows)
        return made
    escaped = transform.select_list.replace("{", "{{").replace("}", "}}")  # the user's own SQL, with its braces
    return spark.sql(" ".join(["SELECT", escaped, "FROM {rows}"]), rows=rows)


@contextmanager
def _explained(transform: Transform) -> Iterator[None]:
    """Raise TidegateError with what Spark or the function said."""
    try:
        yield
    except TidegateError:
        raise
    except Exception as problem:
        raise Unsupported(
            f"{transform.table}: `transform` failed: {reason_of(problem)}.", SAFE, "Correct it, then run again."
        ) from None


def _keep_token(token: Token, least: str | None, greatest: str | None, read_at: str) -> Token:
    return token


def with_raw(token: Token, raw_hash: str) -> Token:
    """Return the token with the hash of the raw entry."""
    return replace(token, raw_hash=raw_hash) if isinstance(token, PartitionToken) else token


def _require_columns(transform: Transform, made: list[str], wanted: list[str]) -> None:
    unlike = sorted(set(made) ^ set(wanted))
    if unlike or len(made) != len(wanted):
        raise Unsupported(
            f"{transform.table}: `transform` makes other columns than the table has:"
            f" {', '.join(unlike) or 'one of them twice'}.",
            SAFE,
            f"Let it make exactly these: {', '.join(wanted)}.",
        )
