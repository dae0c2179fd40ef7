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

    def range(self, start: int, end: int, step: int, tasks: int) -> OneProcess:
        made = copy(self)  # several jobs run at a time
        made._numbers = pa.record_batch({"id": pa.array(range(start, end, step), pa.int64())})
        return made

    def mapInArrow(self, work: Work, schema: str) -> OneProcess:
        from pyspark import cloudpickle

        self._work = cloudpickle.loads(cloudpickle.dumps(work))
        return self

    def collect(self) -> list[dict[str, Any]]:
        return [row for batch in self._work(iter([self._numbers])) for row in batch.to_pylist()]
