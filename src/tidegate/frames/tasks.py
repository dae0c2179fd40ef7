"""Work inside of Spark tasks: rows out of a table, and rows of a frame into a table.

A function of this module travels to the task with a database and its login in its closure: neither a plan nor Spark's
configuration ever shows them.
"""

from __future__ import annotations

import base64
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tidegate.errors import NotNative, TidegateError, ValueProblem
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import retried
from tidegate.model.columns import Column
from tidegate.sql.staged import key_is_staged

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.frames.load import FrameLoad

Result = TypeVar("Result")
_MARK = "tidegate-error:"


def rows_of(spark: SparkSession, database: Database, request: ReadRequest, timeout: float | None = None) -> DataFrame:
    """Return the rows of a table as a DataFrame; one task reads them when an action needs them."""
    from tidegate.frames.carried import spark_schema
    from tidegate.hashing.arrow import arrow_schema

    schema = arrow_schema(request.columns, request.text_columns)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        with errors_for_driver(), database.connect("extract", read_only=True, query_timeout=timeout) as session:
            yield from plain_batches(session.read(request))

    return spark.range(0, 1, 1, 1).mapInArrow(read, spark_schema(schema))


def rows_with_keys(keys: DataFrame, database: Database, request: ReadRequest, columns: list[Column]) -> DataFrame:
    """Return the rows of a table whose key is among these keys. `columns` are the key's columns in the table."""
    from tidegate.frames.carried import cast_exactly, spark_schema, stored
    from tidegate.hashing.arrow import arrow_schema

    schema, key_schema = arrow_schema(request.columns, request.text_columns), arrow_schema(columns)
    table = str(request.table)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        def named() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found = cast_exactly(stored(pa.Table.from_batches([batch])), key_schema, table)
                yield from found.to_batches()

        with (
            errors_for_driver(),
            database.connect("extract") as session,
            session.staging_table(request.table, columns, named()) as stage,
        ):
            yield from plain_batches(session.read(replace(request, rows=key_is_staged(stage, columns))))

    return keys.repartition(1).mapInArrow(read, spark_schema(schema))


def plain_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches as Spark takes them."""
    from tidegate.frames.carried import for_spark

    try:
        yield from map(for_spark, batches)
    except NotNative as problem:
        raise ValueProblem(
            f"Column {problem.column} holds a value that its type in a frame cannot hold, such as NaN in a decimal.",
            "Nothing was written.",
            f"Name it in `text_columns`: [{problem.column}]. It then comes as text.",
        ) from None


def load(frame: DataFrame, job: FrameLoad) -> Any:
    """Load the rows in one task and one transaction, and return what was done."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.frames.spill import spilled

        with spilled(iter(batches)) as again:
            try:
                outcome: Any = retried(lambda: job.run(again))
            except TidegateError as problem:
                outcome = problem
        yield pa.RecordBatch.from_pydict({"outcome": [pickle.dumps(outcome)]})

    def in_tasks() -> Any:
        rows = frame.repartition(1).mapInArrow(work, "outcome binary").collect()
        if not rows:  # a frame without rows has no partition
            alone = frame.sparkSession.range(0, 1, 1, 1)
            rows = alone.mapInArrow(lambda none: work(_drained(none)), "outcome binary").collect()
        outcome = pickle.loads(rows[0]["outcome"])
        if isinstance(outcome, TidegateError):
            raise outcome
        return outcome

    return in_driver(in_tasks)


def _drained(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    return iter(())


@contextmanager
def errors_for_driver() -> Iterator[None]:
    """Raise an error of Tidegate so that the driver can raise it again as it was."""
    try:
        yield
    except TidegateError as problem:
        pickled = base64.b64encode(pickle.dumps(problem)).decode()
        raise RuntimeError(f"{problem}\n{_MARK}{pickled}:") from None


def in_driver(action: Callable[[], Result]) -> Result:
    """Run an action of Spark; what a task raised is raised here as it was."""
    try:
        return action()
    except TidegateError:
        raise
    except Exception as problem:
        pickled = re.search(_MARK + r"([A-Za-z0-9+/=]+):", str(problem))
        if pickled is None:
            raise
        raise pickle.loads(base64.b64decode(pickled[1])) from None
