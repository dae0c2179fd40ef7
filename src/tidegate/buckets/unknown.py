"""Find rows of a target that nobody extracted: after a lost ledger they are somebody else's, and must not be lost.

Rows are compared by their hashes in the columns that target and entries have alike. First with all entries of the lake;
where rows are left over, also with the source, since a lake may keep only its newest entries.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.compare import keyed_hashes, readable
from tidegate.buckets.exchange import Block, Channels, Exchange
from tidegate.errors import NotNative, TidegateError
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake, LakeTable
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import Worker

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

_TARGET, _KNOWN = 0, 1
_EXAMPLES = 3


@dataclass(frozen=True)
class UnknownRows:
    """How many rows of the target nobody extracted, and the keys of some of them."""

    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Side:
    """Reads the rows of one side, in the columns that are compared."""

    channel: int
    request: ReadRequest
    keys: tuple[str, ...]
    database: Database | None = None
    lake: Lake | None = None
    table: LakeTable | None = None
    entries: tuple[str, ...] = ()

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, None]:
        rows = (self._hashed(batch, worker) for batch in self._batches(worker))
        for bucket, block in in_buckets(rows, buckets):
            yield bucket, self.channel, block

    def _hashed(self, batch: pa.RecordBatch, worker: Worker) -> tuple[pa.Table, Words]:
        names = [column.name for column in self.request.columns]
        table, _, hashes = keyed_hashes(batch.select(names), self.keys)
        worker.progress.add(batch.num_rows)
        # Equal rows meet in one bucket; only the target's are shown to people.
        return table if self.channel == _TARGET else table.drop_columns("key"), hashes

    def _batches(self, worker: Worker) -> Iterator[pa.RecordBatch]:
        names = [column.name for column in self.request.columns]
        if self.database is None:
            assert self.lake is not None and self.table is not None
            for entry in self.entries:
                facts = self.lake.entry(self.table, entry)
                # An older entry may lack a column, or have it as text: its rows cannot be compared.
                if not facts.broken and {*names} <= {*facts.columns} - {*facts.text_columns}:
                    yield from self.lake.read(self.table, entry, self.request.batch, names)
            return
        with worker.sessions.session(self.database, "compare", read_only=True) as session:
            yield from session.read(self.request)


@dataclass(frozen=True)
class FindUnknownRows(Exchange):
    """Finds the rows of the target that neither the lake's entries nor, where rows are left over, the source has."""

    target: Database
    request: ReadRequest
    """How the target's rows are read, in the columns that all entries have alike."""
    source: Database
    source_request: ReadRequest
    lake: Lake
    table: LakeTable
    entries: tuple[str, ...]
    keys: tuple[str, ...]
    buckets: int = 1
    asks_source: bool = False

    @property
    def readers(self) -> list[_Side]:
        keys = tuple(key for key in self.keys if key in self._names) or self._names[:1]
        sides = [
            _Side(_TARGET, self.request, keys, database=self.target),
            _Side(_KNOWN, self.request, keys, lake=self.lake, table=self.table, entries=self.entries),
        ]
        if self.asks_source:
            request = replace(self.source_request.only(self._names), text_columns=())
            sides.append(_Side(_KNOWN, request, keys, database=self.source))
        return sides

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.request.columns)

    def compare(self, rows: Channels) -> UnknownRows:
        import pyarrow as pa

        hashes = [("hash1", pa.uint64()), ("hash2", pa.uint64())]
        target, known = (
            pa.Table.from_batches(rows.get(channel, ()), schema=pa.schema(columns))
            for channel, columns in ((_TARGET, [("key", pa.string()), *hashes]), (_KNOWN, hashes))
        )
        unknown = target.join(known, ["hash1", "hash2"], join_type="left anti")["key"]
        return UnknownRows(len(unknown), tuple(sorted(unknown.to_pylist())[:_EXAMPLES]))

    def combine(self, notes: Sequence[None], compared: Sequence[UnknownRows]) -> UnknownRows:
        examples = sorted(example for found in compared for example in found.examples)[:_EXAMPLES]
        return UnknownRows(sum(found.count for found in compared), tuple(map(readable, examples)))

    def after(self, problem: TidegateError) -> FindUnknownRows | None:
        """A column with a value that Arrow has no room for is left out: fewer edits are found, never too many."""
        left = tuple(column for column in self.request.columns if column.name != getattr(problem, "column", ""))
        if not isinstance(problem, NotNative) or len(left) in (0, len(self.request.columns)):
            return None
        return replace(self, request=replace(self.request, columns=left))

    def more(self, result: UnknownRows) -> FindUnknownRows | None:
        return replace(self, asks_source=True) if result.count and not self.asks_source else None
