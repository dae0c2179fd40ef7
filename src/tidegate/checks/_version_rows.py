"""Read versions of one side as hashes, in buckets of their business key."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.buckets.assign import in_buckets
from tidegate.buckets.exchange import Block
from tidegate.history.version_task import VersionTask
from tidegate.interfaces.database import Database
from tidegate.interfaces.load import Batches
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Progress, Worker
from tidegate.model.columns import Column
from tidegate.model.receipt import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.hashing.rows import Words

INSIDE, BEYOND, HELD, KEYS, LOG = range(5)
"""Versions of the source that are loaded, and later ones; versions of the target; all keys of the source; version keys
that were ever extracted."""

HASH = ("hash1", "hash2")


@dataclass(frozen=True)
class VersionReader:
    """Reads versions of one side, and the keys of all rows where they are asked for, on one snapshot."""

    database: Database
    snapshot: str
    requests: Mapping[int, ReadRequest]
    """By channel."""
    form: VersionTask
    columns: tuple[Column, ...]
    """The columns of a version, as the target has them."""
    text_columns: tuple[str, ...]
    keys: ReadRequest | None = None

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, dict[int, Receipt]]:
        receipts: dict[int, Receipt] = {}
        with worker.sessions.session(self.database, "verify", read_only=True) as session:
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            for channel, request in self.requests.items():
                receipts[channel] = Receipt.EMPTY
                rows = self._hashed(_counted(session, request.with_text(self.text_columns), worker.progress))
                for bucket, block in in_buckets(_added(rows, receipts, channel), buckets):
                    yield bucket, channel, block
            if self.keys is not None:
                batches = _counted(session, self.keys.with_text(self.text_columns), worker.progress)
                for bucket, block in in_buckets(_key_hashes(batches, self.form.keys, self.form.keys), buckets):
                    yield bucket, KEYS, block
        return receipts

    def _hashed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.Table, Words, Receipt]]:
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.blocks import as_table
        from tidegate.history.versions import hash_versions

        schema, columns = arrow_schema(self.columns, self.text_columns), self.form.scd2_columns
        is_plain = self.form.generated is not None and HELD not in self.requests
        for batch in self._generated(batches) if is_plain else batches:
            versions = hash_versions([batch], schema, columns)
            table, keys = as_table(versions, columns)
            yield table, keys, versions.receipt

    def _generated(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of a plain source as versions; since when they are so does not count here."""
        from tidegate.hashing.arrow import arrow_schema
        from tidegate.history.generated import add_validity_columns

        assert self.form.generated is not None
        schema = arrow_schema(self.form.generated.columns)
        for batch in batches:
            yield add_validity_columns(batch, schema, self.form.generated.cursor, "1970-01-01T00:00:00")


@dataclass(frozen=True)
class LogReader:
    """Reads the version keys that were ever extracted. Its note is False where they cannot be compared."""

    log: Batches
    names: tuple[str, ...]
    """The columns of a version key, as the lake has them."""
    keys: tuple[str, ...]
    schema: Sequence[Column]
    text_columns: tuple[str, ...]

    def read(self, worker: Worker, buckets: int) -> Generator[Block, None, bool]:
        from tidegate.hashing.arrow import arrow_schema

        types = arrow_schema(self.schema, self.text_columns).types
        for batch in self.log():
            if batch.schema.types != types:
                return False
            # Rows with a version key of its own are not divided, so that it need not hold the business key.
            by = self.keys if buckets > 1 else self.names
            for bucket, block in in_buckets(_key_hashes(iter([batch]), self.names, by), buckets):
                yield bucket, LOG, block
        return True


def _added(
    rows: Iterator[tuple[pa.Table, Words, Receipt]], receipts: dict[int, Receipt], channel: int
) -> Iterator[tuple[pa.Table, Words]]:
    for table, keys, receipt in rows:
        receipts[channel] += receipt
        yield table, keys


def _counted(session: Session, request: ReadRequest, progress: Progress) -> Iterator[pa.RecordBatch]:
    for batch in session.read(request):
        progress.add(batch.num_rows)
        yield batch


def _key_hashes(
    batches: Iterator[pa.RecordBatch], names: Sequence[str], by: Sequence[str]
) -> Iterator[tuple[pa.Table, Words]]:
    """Yield the hashes of the columns `names` of each row, and those that divide the rows."""
    import pyarrow as pa

    from tidegate.hashing.rows import hash_rows

    for batch in batches:
        hashes = hash_rows(batch.select(list(names)))
        table = pa.table({name: pa.array(hashes[:, word]) for word, name in enumerate(HASH)})
        yield table, hashes if tuple(names) == tuple(by) else hash_rows(batch.select(list(by)))


def hashes_of(blocks: Sequence[pa.RecordBatch]) -> pa.Array:
    """Return the hashes of such blocks, each once, as `history.keys` has them."""
    import numpy as np
    import pyarrow as pa

    from tidegate.history.keys import to_binary

    if not blocks:
        return pa.array([], pa.binary(16))
    table = pa.Table.from_batches(blocks)
    return to_binary(np.stack([table[name].to_numpy() for name in HASH], axis=1)).unique()
