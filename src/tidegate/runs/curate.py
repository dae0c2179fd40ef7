"""Curate: rows of a raw entry through the transform of their table, into a curated entry that is loaded.

The chain of receipts: the raw entry has the hash of the source's rows, the curated entry has that of the target's. The
token of the curated entry carries the hash of its raw entry, and the ledger keeps both with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import TidegateError, Unsupported
from tidegate.frames.given import GivenRows
from tidegate.frames.lake import LakeSource, entries_frame
from tidegate.interfaces.lake import EntryFacts
from tidegate.model.plan import Extract
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import PartitionToken, Token
from tidegate.runs.run import Run
from tidegate.spark.executor import reason_of
from tidegate.tables.planned import PlannedTable
from tidegate.tables.transform import Transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAFE = "The raw rows are in the lake; the target keeps what it had."


def curate(run: Run, planned: PlannedTable, step: Extract, raw: LakeEntry, facts: EntryFacts) -> tuple[LakeEntry, bool]:
    """Commit what the transform makes of a raw entry. Return the entry, and False where somebody's newer one is there.

    `facts` are those of the raw entry."""
    from tidegate.hashing.arrow import arrow_schema

    table, lake, transform = planned.table, run.pipeline.lake, planned.table.transform
    assert transform is not None and table.raw_lake_table is not None
    columns = table.found.extracted_columns
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
        written = write(ordered, prepared, table.lake_table, schema, facts, of_rows, table.change.divided_by)
    if written.receipt.rows != raw.rows:
        raise Unsupported(
            f"{planned.key} {step.value}: `transform` makes {written.receipt.rows:,} rows of {raw.rows:,}.",
            SAFE,
            "Each row must stay one row: filter with `values`, and aggregate in a view of the target.",
        )
    values = {table.change.value(str(value)) for value in (written.least, written.greatest) if value is not None}
    if values - {step.value}:
        raise Unsupported(
            f"{planned.key} {step.value}: `transform` changes the partition column {table.change.divided_by}.",
            SAFE,
            "Leave this column as it is.",
        )
    facts = written.in_facts(facts, of_rows)
    return lake.commit(table.lake_table, step.value.text, written.parts, step.replaces, facts)


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
