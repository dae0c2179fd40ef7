"""Runs without a JVM: the real engine, with its tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

Work = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]


class OneProcess:
    """Stands where a Spark session stands. Each task travels through pickle, as it does on its way to a worker."""

    def __init__(self, master: str = "local[*]") -> None:
        self.conf = {"spark.master": master}

    def range(self, start: int, end: int, step: int, tasks: int) -> OneProcess:
        self._numbers = pa.record_batch({"id": pa.array(range(start, end, step), pa.int64())})
        return self

    def mapInArrow(self, work: Work, schema: str) -> OneProcess:
        from pyspark import cloudpickle

        self._work = cloudpickle.loads(cloudpickle.dumps(work))
        return self

    def collect(self) -> list[dict[str, Any]]:
        return [row for batch in self._work(iter([self._numbers])) for row in batch.to_pylist()]
