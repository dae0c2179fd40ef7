"""Runs without a JVM: the real engine, with its tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import pyarrow as pa

Work = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


class OneProcess:
    """Replaces a Spark session. Each task is pickled and unpickled, as when Spark sends it to a worker."""

    def __init__(self, master: str = "local[*]") -> None:
        self.conf = {"spark.master": master}

    def addTag(self, tag: str) -> None:
        """Do nothing: there is no log of jobs."""

    removeTag = addTag

    def range(self, start: int, end: int, step: int, tasks: int) -> OneProcess:
        numbers = pa.array(range(start, end, step), pa.int64())
        partitions = [[pa.record_batch({"id": numbers.slice(number, 1)})] for number in range(len(numbers))]
        return self._with(partitions)

    def mapInArrow(self, work: Work, schema: str) -> OneProcess:
        from pyspark import cloudpickle

        sent = cloudpickle.dumps(work)
        return self._with([list(cloudpickle.loads(sent)(iter(partition))) for partition in self._partitions])

    def __getitem__(self, name: str) -> str:
        return name

    def repartitionById(self, count: int, column: str) -> OneProcess:
        rows = [row for partition in self._partitions for batch in partition for row in _rows(batch)]
        return self._with([[row for row in rows if row.column(column)[0].as_py() == number] for number in range(count)])

    def collect(self) -> list[dict[str, Any]]:
        return [row for partition in self._partitions for batch in partition for row in batch.to_pylist()]

    def _with(self, partitions: list[list[pa.RecordBatch]]) -> OneProcess:
        made = copy(self)  # several jobs run at a time
        made._partitions = partitions
        return made


def _rows(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(number, 1) for number in range(batch.num_rows)]
