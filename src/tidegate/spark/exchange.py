"""An exchange as Spark tasks: one task per reader, a shuffle by bucket, one task per bucket.

Only blocks go through the JVM: some thousand rows as one binary value. A task's error travels as a value, too, so that
the driver gets it as it was raised.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from tidegate.buckets.exchange import Exchange, completed
from tidegate.errors import TidegateError
from tidegate.interfaces.worker import Progress, SessionCache, Worker
from tidegate.spark.counters import CounterAddress, Counters

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_NOTE, _ERROR = -1, -2
"""Channels of what is no block: a reader's note, and the error that ended it."""

_BLOCKS = "bucket int, channel int, reader int, block binary"


@dataclass(frozen=True)
class ExchangeOnSpark:
    """An exchange as a split of the driver: it waits for the tasks, and moves no rows itself."""

    session: SparkSession
    exchange: Exchange
    name: str
    """Tells its counts from those of other splits."""
    counters: Counters

    def run(self, worker: Worker) -> Any:
        rounds = count()
        return completed(self.exchange, lambda exchange: self._run(exchange, f"{self.name}.{next(rounds)}", worker))

    def _run(self, exchange: Exchange, group: str, worker: Worker) -> Any:
        rows = 0
        try:
            result, rows = _run(self.session, exchange, group, self.counters.address)
        finally:
            self.counters.end(group, rows)
        worker.progress.add(rows)
        return result


def _run(session: SparkSession, exchange: Exchange, group: str, address: CounterAddress | None) -> tuple[Any, int]:
    """Return the result, and how many rows were read."""
    readers = len(exchange.readers)
    blocks = session.range(0, readers, 1, readers).mapInArrow(_reading(exchange, group, address), _BLOCKS)
    shuffled = blocks.repartitionById(exchange.buckets, blocks["bucket"])
    found: dict[int, list[Any]] = {}
    for row in shuffled.mapInArrow(_comparing(exchange), "channel int, reader int, result binary").collect():
        found.setdefault(row["channel"], []).append((row["reader"], pickle.loads(row["result"])))
    for _, problem in found.get(_ERROR, []):
        raise problem
    notes = dict(found.get(_NOTE, []))
    compared = [result for _, result in found.get(0, [])]
    result = exchange.combine([notes[reader][1] for reader in range(readers)], compared)
    return result, sum(rows for rows, _ in notes.values())


def _reading(
    exchange: Exchange, group: str, address: CounterAddress | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = f"{context.taskAttemptId()}" if context is not None else f"p{os.getpid()}"
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            with closing(SessionCache()) as sessions:
                worker = Worker(attempt, address.progress(group, number) if address else Progress(), sessions)
                try:
                    note = yield from _sent(exchange, number, worker)
                except TidegateError as problem:
                    yield _row(_ERROR, number, pickle.dumps(problem))
                else:
                    yield _row(_NOTE, number, pickle.dumps((worker.progress.rows, note)))

    return work


def _sent(exchange: Exchange, number: int, worker: Worker) -> Generator[pa.RecordBatch, None, Any]:
    """Yield the blocks of a reader as rows of Spark, and return its note."""
    import pyarrow as pa

    blocks = exchange.readers[number].read(worker, exchange.buckets)
    while True:
        try:
            bucket, channel, rows = next(blocks)
        except StopIteration as end:
            return end.value
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        yield _row(channel, number, sink.getvalue().to_pybytes(), bucket)


def _row(channel: int, reader: int, block: bytes, bucket: int = 0) -> pa.RecordBatch:
    import pyarrow as pa

    numbers = [pa.array([number], pa.int32()) for number in (bucket, channel, reader)]
    return pa.RecordBatch.from_arrays([*numbers, pa.array([block], pa.binary())], schema=_schema())


def _schema() -> pa.Schema:
    import pyarrow as pa

    numbers = [(name, pa.int32()) for name in ("bucket", "channel", "reader")]
    return pa.schema([*numbers, ("block", pa.binary())])


def _comparing(exchange: Exchange) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        channels: dict[int, list[pa.RecordBatch]] = {}
        results: list[tuple[int, int, bytes]] = []
        for batch in batches:
            for channel, reader, block in zip(*(batch.column(name) for name in batch.schema.names[1:]), strict=True):
                data = block.as_buffer()
                if channel.as_py() < 0:
                    results.append((channel.as_py(), reader.as_py(), data.to_pybytes()))
                else:
                    channels.setdefault(channel.as_py(), []).extend(pa.ipc.open_stream(data))
        if channels:
            try:
                results.append((0, 0, pickle.dumps(exchange.compare(channels))))
            except TidegateError as problem:
                results.append((_ERROR, 0, pickle.dumps(problem)))
        for channel, reader, result in results:
            names = {"channel": pa.int32(), "reader": pa.int32(), "result": pa.binary()}
            values = zip((channel, reader, result), names.values(), strict=True)
            yield pa.RecordBatch.from_arrays([pa.array([value], of) for value, of in values], list(names))

    return work
