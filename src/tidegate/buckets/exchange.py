"""An exchange: readers divide the rows of several sides into buckets, and each bucket is compared by itself.

Whoever compares describes an exchange once. It runs as Spark tasks with a shuffle between them
(`spark/exchange.py`), or here, with a temporary file instead of the shuffle. Either way a task holds one bucket at a
time, so its memory does not grow with the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidegate.errors import TidegateError
from tidegate.interfaces.worker import SessionCache, Worker

if TYPE_CHECKING:
    import pyarrow as pa

Block: TypeAlias = "tuple[int, int, pa.RecordBatch]"
"""A bucket, a channel, and rows. A channel tells apart what readers read: a side, or rows of a side."""

Channels: TypeAlias = "Mapping[int, Sequence[pa.RecordBatch]]"
"""The rows of one bucket by channel. A channel without rows is left out."""


class Reader(Protocol):
    """Reads rows of one side. It can be repeated: Spark may run a task more than once."""

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, Any]:
        """Yield blocks of rows, and return a note about all of them, such as their receipt."""


class Exchange(ABC):
    """A comparison in buckets. It is a split, too: with one bucket it runs as one task."""

    buckets: int

    @property
    @abstractmethod
    def readers(self) -> Sequence[Reader]: ...

    @abstractmethod
    def compare(self, rows: Channels) -> Any:
        """Return what one bucket tells: small and picklable. A bucket without rows is left out."""

    @abstractmethod
    def combine(self, notes: Sequence[Any], compared: Sequence[Any]) -> Any:
        """Return the result: from the note of every reader, in their order, and from every bucket in any order."""

    def after(self, problem: TidegateError) -> Exchange | None:
        """Return what is to be done instead; None where the problem stays one."""
        return None

    def more(self, result: Any) -> Exchange | None:
        """Return what is still to be done once the result is known; None where that was all."""
        return None

    def run(self, worker: Worker) -> Any:
        """Run inside of one task, or in this process."""
        return completed(self, lambda exchange: _run_here(exchange, worker))


def completed(exchange: Exchange, run: Callable[[Exchange], Any]) -> Any:
    """Run an exchange, and what follows from its result or its problem, and return the last result."""
    while True:
        try:
            result = run(exchange)
        except TidegateError as problem:
            following = exchange.after(problem)
            if following is None:
                raise
        else:
            following = exchange.more(result)
            if following is None:
                return result
        exchange = following


class _Ended(Exception):
    """Another reader failed: what this one still reads is not needed."""


def _run_here(exchange: Exchange, worker: Worker) -> Any:
    from tidegate.buckets.spill import Spill

    with Spill(in_memory=exchange.buckets == 1) as spill:
        if exchange.buckets == 1:
            notes = [_spilled(reader, worker, 1, spill, []) for reader in exchange.readers]
        else:
            notes = _read_at_once(exchange, worker, spill)
        compared = [exchange.compare(spill.channels(bucket)) for bucket in spill.buckets()]
    return exchange.combine(notes, compared)


def _read_at_once(exchange: Exchange, worker: Worker, spill: Any) -> list[Any]:
    """Let all readers read at the same time: one waits for its server while the other decodes."""
    failed: list[bool] = []

    def read(reader: Reader) -> Any:
        with closing(SessionCache()) as sessions:
            try:
                return _spilled(reader, replace(worker, sessions=sessions), exchange.buckets, spill, failed)
            except BaseException:
                failed.append(True)
                raise

    with ThreadPoolExecutor(len(exchange.readers), "tidegate reader") as threads:
        reading = [threads.submit(read, reader) for reader in exchange.readers]
    problems = [problem for one in reading if (problem := one.exception()) is not None]
    for problem in problems:
        if not isinstance(problem, _Ended):
            raise problem
    return [one.result() for one in reading]


def _spilled(reader: Reader, worker: Worker, buckets: int, spill: Any, failed: list[bool]) -> Any:
    """Keep all blocks of a reader and return its note."""
    blocks = reader.read(worker, buckets)
    with closing(blocks):
        while True:
            try:
                bucket, channel, rows = next(blocks)
            except StopIteration as end:
                return end.value
            if failed:
                raise _Ended
            spill.add(bucket, channel, rows)
