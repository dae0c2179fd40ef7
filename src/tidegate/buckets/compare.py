"""Compare the rows of two sides: read both through the same canonicaliser, and find the keys that differ if asked."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.exchange import Block, Channels, Exchange, Reader
from tidegate.errors import NotNative, TidegateError
from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.worker import Progress, Worker
from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

EXAMPLES = 5
QUARANTINED = "in quarantine"
WAYS = ("missing in the target", "only in the target", "changed", QUARANTINED)
_SOURCE, _TARGET = 0, 1
# Characters that no key has: ("a, b", "c") and ("a", "b, c") are two keys, and a null is no text.
_BETWEEN, _NULL = "\x1f", "\x1e"


@dataclass(frozen=True)
class DifferingKeys:
    """Keys of rows that differ in one way."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """The receipts of both sides; None for a side that was left out."""

    source: Receipt | None
    target: Receipt | None
    text_columns: tuple[str, ...] = ()
    """The columns that both sides were read as text in."""
    keys: Mapping[str, DifferingKeys] = field(default_factory=dict)
    """By how they differ, which is one of `WAYS`."""


class ChannelReader(Reader, Protocol):
    """A reader of one side."""

    @property
    def channel(self) -> int: ...


@dataclass(frozen=True)
class SideReader:
    """Reads one side once: its receipt, and the key and hash of each row where keys are asked for."""

    database: Database
    request: ReadRequest
    snapshot: str
    channel: int
    keys: tuple[str, ...] = ()

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, Receipt]:
        with worker.sessions.session(self.database, "verify", read_only=True) as session:
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            rows = session.read(self.request)
            receipt = yield from hashed_rows(rows, self.keys, buckets, self.channel, worker.progress)
            return receipt


def hashed_rows(
    batches: Iterator[pa.RecordBatch], keys: tuple[str, ...], buckets: int, channel: int, progress: Progress
) -> Generator[Block, None, Receipt]:
    """Return the receipt of rows; with keys, yield the key and hash of each row besides."""
    if not keys:
        from tidegate.hashing.rows import receipt_of

        return receipt_of(_counted(batches, progress))
    total = _Total(progress)
    rows = (total.add(keyed_hashes(batch, keys)) for batch in batches)
    for bucket, block in in_buckets(rows, buckets):
        yield bucket, channel, block
    return total.receipt


def _counted(batches: Iterator[pa.RecordBatch], progress: Progress) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        progress.add(batch.num_rows)


@dataclass
class _Total:
    """The receipt of rows whose hashes pass by."""

    progress: Progress
    rows: int = 0
    total: int = 0

    def add(self, hashed: tuple[pa.Table, Words, Words]) -> tuple[pa.Table, Words]:
        from tidegate.hashing.rows import sum_hashes

        table, key_hashes, row_hashes = hashed
        self.rows += table.num_rows
        self.total += sum_hashes(row_hashes)
        self.progress.add(table.num_rows)
        return table, key_hashes

    @property
    def receipt(self) -> Receipt:
        return Receipt.of_sum(self.rows, self.total)


@dataclass(frozen=True)
class CompareSplit(Exchange):
    """Reads the receipts of one window in source and target, then in buckets the keys that differ. Either side may be
    left out."""

    source: Database | None
    source_request: ReadRequest | None
    snapshot: str
    target: Database | None
    target_request: ReadRequest | None
    text_columns: tuple[str, ...] = ()
    """What the lake or the ledger read as text: hashes can be compared only when it is read alike."""
    keys: tuple[str, ...] = ()
    """With keys, rows that differ are named by them."""
    aside: frozenset[str] = frozenset()
    """Hashes of rows of the source that a load kept out of the target."""
    buckets: int = 1
    names_keys: bool = False
    """The receipts were found to differ: the keys are read."""

    @property
    def readers(self) -> Sequence[ChannelReader]:
        keys = self.keys if self.names_keys else ()
        sides = (
            (_SOURCE, self.source, self.source_request, self.snapshot),
            (_TARGET, self.target, self.target_request, ""),
        )
        return [
            SideReader(database, replace(request, text_columns=self.text_columns), snapshot, channel, keys)
            for channel, database, request, snapshot in sides
            if database is not None and request is not None
        ]

    def compare(self, rows: Channels) -> dict[str, DifferingKeys]:
        source, target = (_table_of(rows.get(channel, ())) for channel in (_SOURCE, _TARGET))
        return differing_keys(source, target, self.aside)

    def combine(self, notes: Sequence[Receipt], compared: Sequence[Mapping[str, DifferingKeys]]) -> Compared:
        receipts = {reader.channel: receipt for reader, receipt in zip(self.readers, notes, strict=True)}
        keys = {way: _together([found[way] for found in compared if way in found]) for way in WAYS}
        found = {way: differing for way, differing in keys.items() if differing.count}
        return Compared(receipts.get(_SOURCE), receipts.get(_TARGET), self.text_columns, found)

    def after(self, problem: TidegateError) -> CompareSplit | None:
        """A column with a value that Arrow has no room for (NaN) is read as text, on both sides."""
        if not isinstance(problem, NotNative) or problem.column in self.text_columns:
            return None
        return replace(self, text_columns=(*self.text_columns, problem.column))

    def more(self, result: Compared) -> CompareSplit | None:
        is_asked = self.keys and not self.names_keys
        return replace(self, names_keys=True) if is_asked and result.source != result.target else None


def keyed_hashes(batch: pa.RecordBatch, keys: tuple[str, ...]) -> tuple[pa.Table, Words, Words]:
    """Return the key of each row as text with the hash of the row, then the hashes of the keys, and of the rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from tidegate.hashing.rows import hash_rows

    texts = [pc.fill_null(_as_text(batch.column(key)), _NULL) for key in keys]
    key = pc.binary_join_element_wise(*texts, _BETWEEN) if len(texts) > 1 else texts[0]
    hashes = hash_rows(batch)
    table = pa.table({"key": key, "hash1": pa.array(hashes[:, 0]), "hash2": pa.array(hashes[:, 1])})
    return table, hash_rows(batch.select(list(keys))), hashes


def _table_of(blocks: Sequence[pa.RecordBatch]) -> pa.Table:
    import pyarrow as pa

    schema = pa.schema([("key", pa.string()), ("hash1", pa.uint64()), ("hash2", pa.uint64())])
    return pa.Table.from_batches(blocks, schema=schema)


def differing_keys(source: pa.Table, target: pa.Table, aside: frozenset[str] = frozenset()) -> dict[str, DifferingKeys]:
    """Return the keys of rows whose content is on one side only: missing, added and changed ones, and those of the
    source that were kept aside."""
    content = ["key", "hash1", "hash2"]
    counted = [side.group_by(content).aggregate([([], "count_all")]) for side in (source, target)]
    both = counted[0].join(counted[1], content, join_type="full outer", left_suffix="_s", right_suffix="_t")
    names = [name for name in both.column_names if name.startswith("count_all")]
    in_source, in_target = (both[name].fill_null(0) for name in names)
    on_source, on_target = (
        set(both.filter(is_more)["key"].to_pylist())
        for is_more in (_greater(in_source, in_target), _greater(in_target, in_source))
    )
    kept = _keys_aside(source, aside) & on_source if aside else set()
    ways = (on_source - on_target - kept, on_target - on_source, (on_source & on_target) - kept, kept)
    groups = dict(zip(WAYS, ways, strict=True))
    return {way: DifferingKeys(len(keys), tuple(sorted(keys)[:EXAMPLES])) for way, keys in groups.items() if keys}


def _keys_aside(source: pa.Table, aside: frozenset[str]) -> set[str]:
    columns = (source[name].to_pylist() for name in ("key", "hash1", "hash2"))
    return {key for key, high, low in zip(*columns, strict=True) if f"{high:016x}{low:016x}" in aside}


def _greater(counts: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.greater(counts, others)


def _together(found: Sequence[DifferingKeys]) -> DifferingKeys:
    """Return the keys of all buckets together, as people read them. A key is in one bucket only."""
    examples = sorted(example for one in found for example in one.examples)[:EXAMPLES]
    return DifferingKeys(sum(one.count for one in found), tuple(map(readable, examples)))


def readable(key: str) -> str:
    """Return a key as people read it."""
    return key.replace(_BETWEEN, ", ").replace(_NULL, "NULL")


def _as_text(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())
