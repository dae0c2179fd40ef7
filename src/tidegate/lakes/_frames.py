"""Files of a lake as a Spark DataFrame, read in tasks through the lake's own storage.

Spark needs further jars and credentials of its own to open objects. Tasks that read them as a load does need neither,
and no credentials appear in a query plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.storage.door import Storage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def read_in_tasks(
    spark: SparkSession, storage: Storage, files: Sequence[str], columns_of_table: str | None = None
) -> DataFrame:
    """Return the rows of Parquet files. Columns that only some of them have are null in the others."""
    import pyarrow as pa

    if columns_of_table is None:
        schema = pa.unify_schemas([_schema(storage, file) for file in files], promote_options="permissive")
        columns = spark.createDataFrame(schema.empty_table()).schema
    else:
        columns = spark.createDataFrame([], columns_of_table).schema
        schema = spark.createDataFrame([], columns).toArrow().schema
    paths = spark.createDataFrame([(file,) for file in files], "file string").repartition(len(files))
    return paths.mapInArrow(_reader(storage, schema), columns)


def _schema(storage: Storage, file: str) -> pa.Schema:
    import pyarrow.parquet as pq

    with storage.input(file) as opened:
        return pq.read_schema(opened).remove_metadata()


def _reader(storage: Storage, schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        for batch in batches:
            for file in batch.column("file").to_pylist():
                with storage.input(file) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as parquet:
                    for rows in parquet.iter_batches():
                        yield _completed(rows, schema)

    def _completed(rows: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
        import pyarrow as pa

        columns = [
            rows.column(field.name).cast(field.type)
            if field.name in rows.schema.names
            else pa.nulls(len(rows), field.type)
            for field in wanted
        ]
        return pa.RecordBatch.from_arrays(columns, schema=wanted)

    return read
