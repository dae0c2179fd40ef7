"""Rows of tables of a table format: as batches in tasks, and as DataFrames of any version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, LakeTable
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes._commits import Commit, live
from tidegate.lakes._frames import read_in_tasks
from tidegate.lakes._resting import as_extracted, original_name
from tidegate.lakes._table_format import KEY_FOLDER, TableFormat, first_line

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class TableReads(TableFormat):
    """Reads entries, logs and versions of tables."""

    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        # A part that is not committed yet is known by its path.
        if entry_id.endswith(".parquet"):
            paths = [entry_id]
        else:
            commit = self._commit(table, entry_id, self.commits(table))
            paths = self._paths(table, commit, role)
        for path in paths:
            yield from self.batches(path, batch, columns)

    def _paths(self, table: LakeTable, commit: Commit, role: str) -> list[str]:
        if role == KEYS:
            return [f"{KEY_FOLDER}/{self.folder(table)}/{name}" for name in commit.keys]
        return [f"{self.folder(table)}/data/{name}" for name in commit.files]

    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for commit in live(self.commits(table), table.layout).values():
            for path in self._paths(table, commit, ROWS):
                for rows in self.batches(path, batch, columns):
                    yield rows.select(list(columns))

    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        return self.dataframe_at(spark, table, None, None)

    def dataframe_at(self, spark: SparkSession, table: LakeTable, version: str | None, after: str | None) -> DataFrame:
        if not self.commits(table):
            raise LakeError(f"The lake {self.place} holds nothing of {table.name}.", "", "Run `tidegate run` first.")
        before = set(self.files_at(table, after)) if after is not None else set()
        return self._frame(spark, table, [file for file in self.files_at(table, version) if file not in before])

    def _frame(self, spark: SparkSession, table: LakeTable, files: Sequence[str]) -> DataFrame:
        schema = self.spark_schema(table)
        if not files:
            return spark.createDataFrame([], schema)
        if self.storage.spark_reads:
            return spark.read.schema(schema).parquet(*map(self.storage.full_path, files))
        return read_in_tasks(spark, self.storage, files, schema)

    def changes_between(self, spark: SparkSession, table: LakeTable, after: str, version: str) -> DataFrame:
        from pyspark.sql import functions

        # Files that both states have hold nothing that changed.
        before, now = set(self.files_at(table, after)), set(self.files_at(table, version))
        left, came = (self._frame(spark, table, sorted(files)) for files in (before - now, now - before))
        inserted = came.exceptAll(left).withColumn("_change", functions.lit("insert"))
        return inserted.unionAll(left.exceptAll(came).withColumn("_change", functions.lit("delete")))

    def batches(self, path: str, batch: BatchSize, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file as they were extracted, within both bounds."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.storage.input(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
                fields = file.schema_arrow
                wanted = None
                if columns is not None:
                    wanted = [field.name for field in fields if original_name(field) in columns]
                for number in range(file.num_row_groups):
                    group = file.metadata.row_group(number)
                    fitting = batch.bytes * group.num_rows // max(group.total_byte_size, 1)
                    size = max(1, min(batch.rows, fitting))
                    for rows in file.iter_batches(size, row_groups=[number], columns=wanted):
                        yield as_extracted(rows, fields)
        except (pa.ArrowException, OSError) as problem:
            raise LakeError(
                f"{self.storage.full_path(path)} cannot be read: {first_line(problem)}.",
                "The target keeps what it had.",
                "Run with `--reload` for this table: it is extracted anew.",
            ) from None
