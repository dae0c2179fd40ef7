"""The archive: whole snapshots as Parquet files in PostgreSQL."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, MissingObject, OutcomeUnknown
from tidegate.interfaces import BatchSize, Database, ReadRequest, Session
from tidegate.interfaces.archive import ArchiveSql
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.model.snapshots import Archive, Problem
from tidegate.snapshots.migrations import install
from tidegate.snapshots.spool import ChunkedFile, Spool, schema_hash
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

INLINE_BYTES = 64 * 2**20
"""Larger files are stored in chunk rows."""
COMPONENT = "snapshot archive"
_ONE_ROW = BatchSize(rows=1, bytes=1)
_DAMAGED = "Validate the archive; take the snapshot again if the source still has the rows."


@dataclass(frozen=True)
class ArchivedRows:
    """What is known of a snapshot before it is archived."""

    snapshot_table: str
    customer_filter: str
    batch_id: str
    snapshot_date: str
    tags: Mapping[str, Any]
    retention_days: int
    retention_until: date | None = None

    @property
    def default_retention(self) -> date:
        return date.fromisoformat(self.snapshot_date[:10]) + timedelta(days=self.retention_days)


class ArchiveStore:
    """Writes, finds, reads and removes archives. Every call has a connection of its own."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.sql: ArchiveSql = database.snapshot_archive()
        self._is_installed = False

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a connection to an archive whose tables and functions are installed."""
        with self.database.connect("snapshot archive") as session:
            if not self._is_installed:
                install(session, COMPONENT, self.sql.migrations())
                self._is_installed = True
            yield session

    # Writing

    def save(self, spool: Spool, rows: ArchivedRows) -> Archive:
        """Store a finished file in one transaction. Return the archive of this batch if there is one already."""
        while True:
            try:
                with self.session() as session:
                    return self._save(session, spool, rows)
            except OutcomeUnknown:
                found = self.of_batch(rows.snapshot_table, rows.customer_filter, rows.batch_id)
                if found is not None:
                    return found

    def _save(self, session: Session, spool: Spool, rows: ArchivedRows) -> Archive:
        with session.transaction():
            session.lock_in_transaction(f"tidegate snapshot archive {rows.batch_id} {rows.customer_filter}")
            found = self._of_batch(session, rows.snapshot_table, rows.customer_filter, rows.batch_id)
            if found is not None:
                return found
            archive = self._new(session, spool, rows)
            is_inline = not archive.chunks
            self._write_row(session, archive, spool.chunks, spool if is_inline else None)
            content = self._write_chunks(session, archive, spool) if archive.chunks else _file_hash(spool)
            archive = replace(archive, content_hash=content)
            session.execute(self.sql.describe(archive, rows.default_retention.isoformat()))
            return archive

    def _new(self, session: Session, spool: Spool, rows: ArchivedRows) -> Archive:
        return Archive(
            archive_id=int(str(session.query(self.sql.next_id())[0][0])),
            snapshot_table=rows.snapshot_table,
            customer_filter=rows.customer_filter,
            batch_id=rows.batch_id,
            snapshot_date=rows.snapshot_date,
            rows=spool.rows,
            parquet_size=spool.size,
            uncompressed_size=spool.memory_size,
            chunks=0 if spool.size <= INLINE_BYTES else spool.chunks,
            content_hash="",
            schema_hash=schema_hash(spool.schema),
            tags=rows.tags,
            retention_until=(rows.retention_until or rows.default_retention).isoformat(),
            chunk_bytes=spool.chunk_bytes,
        )

    def _write_row(self, session: Session, archive: Archive, chunks: int, spool: Spool | None) -> None:
        """Write the row of an archive, with the file in it if a spool is given."""
        from datetime import datetime

        import pyarrow as pa

        data = b"" if spool is None else b"".join(spool.chunk(number) for number in range(chunks))
        values = (
            pa.array([archive.archive_id], pa.int64()),
            pa.array([datetime.fromisoformat(archive.snapshot_date)], pa.timestamp("us")),
            pa.array([archive.customer_filter], pa.string()),
            pa.array([data], pa.binary()),
        )
        self._write(session, self.sql.archives, self.sql.archive_columns, iter([values]))

    def _write_chunks(self, session: Session, archive: Archive, spool: Spool) -> str:
        """Write the file as chunk rows and return the hash of their hashes."""
        import pyarrow as pa

        hashes: list[str] = []

        def rows() -> Iterator[tuple[pa.Array, ...]]:
            for number in range(archive.chunks):
                data = spool.chunk(number)
                hashes.append(hashlib.sha256(data).hexdigest())
                yield (
                    pa.array([archive.archive_id], pa.int64()),
                    pa.array([number], pa.int32()),
                    pa.array([data], pa.binary()),
                    pa.array([hashes[-1]], pa.string()),
                )

        self._write(session, self.sql.chunks, self.sql.chunk_columns, rows())
        return hashlib.sha256("".join(hashes).encode()).hexdigest()

    def _write(
        self, session: Session, table: TableName, columns: Sequence[Column], rows: Iterator[tuple[pa.Array, ...]]
    ) -> None:
        import pyarrow as pa

        names = [column.name for column in columns]
        session.write(table, columns, (pa.RecordBatch.from_arrays(list(row), names) for row in rows))

    # Finding

    def of_batch(self, table: str, customer_filter: str, batch_id: str) -> Archive | None:
        with self.session() as session:
            return self._of_batch(session, table, customer_filter, batch_id)

    def _of_batch(self, session: Session, table: str, customer_filter: str, batch_id: str) -> Archive | None:
        found = self._query(session, self.sql.find(table=table, customer_filter=customer_filter, batch_id=batch_id))
        return found[0] if found else None

    def archives(self, table: str = "", customer_filter: str | None = None) -> list[Archive]:
        """Return archives, the newest first: of a table and a filter, or all."""
        with self.session() as session:
            return self._query(session, self.sql.find(table=table, customer_filter=customer_filter))

    def archive(self, archive_id: int) -> Archive:
        """Return one archive. Raises MissingObject."""
        with self.session() as session:
            found = self._query(session, self.sql.find(archive_id=archive_id))
        if not found:
            raise MissingObject(
                f"There is no archive {archive_id}.", "Nothing was changed.", "`tidegate snapshot list` names them all."
            )
        return found[0]

    def _query(self, session: Session, statement: Sql) -> list[Archive]:
        return [self.sql.read_row(row) for row in session.query(statement)]

    # Reading

    @contextmanager
    def open(self, archive: Archive) -> Iterator[pq.ParquetFile]:
        """Yield the Parquet file of an archive. Only what is read is fetched, chunk by chunk."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self.session() as session:
            source = self._file(session, archive)
            try:
                yield pq.ParquetFile(pa.PythonFile(source, mode="r"))
            except pa.ArrowException as problem:
                raise LakeError(
                    f"Archive {archive.archive_id} cannot be read as Parquet: {problem}.",
                    "Nothing was changed.",
                    _DAMAGED,
                ) from None

    def chunks_of(self, archive: Archive) -> Iterator[bytes]:
        """Yield the bytes of the file in their order. Raises LakeError for bytes that changed."""
        with self.session() as session:
            if not archive.chunks:
                yield self._inline(session, archive)
            for number in range(archive.chunks):
                yield self._chunk(session, archive, number)

    def _file(self, session: Session, archive: Archive) -> io.IOBase:
        if not archive.chunks:
            return io.BytesIO(self._inline(session, archive))
        return ChunkedFile(
            archive.parquet_size, archive.chunk_bytes, lambda number: self._chunk(session, archive, number)
        )

    def _inline(self, session: Session, archive: Archive) -> bytes:
        column = self.sql.archive_columns[-1]
        request = ReadRequest(self.sql.archives, (column,), self.sql.with_id(archive.archive_id), batch=_ONE_ROW)
        data = b"".join(value for batch in session.read(request) for value in batch.column(0).to_pylist())
        if archive.content_hash and hashlib.sha256(data).hexdigest() != archive.content_hash:
            raise _damaged(archive, "its bytes changed")
        return data

    def _chunk(self, session: Session, archive: Archive, number: int) -> bytes:
        columns = self.sql.chunk_columns[2:]
        rows = self.sql.with_id(archive.archive_id, number)
        found = [
            row
            for batch in session.read(ReadRequest(self.sql.chunks, columns, rows, batch=_ONE_ROW))
            for row in batch.to_pylist()
        ]
        if len(found) != 1:
            raise _damaged(archive, f"chunk {number} is missing")
        data: bytes = found[0]["data"]
        if hashlib.sha256(data).hexdigest() != found[0]["sha256"]:
            raise _damaged(archive, f"the bytes of chunk {number} changed")
        return data

    # Keeping house

    def statistics(self, customer_filter: str | None, days_back: int) -> list[tuple[object, ...]]:
        with self.session() as session:
            return session.query(self.sql.statistics(customer_filter, days_back))

    def remove_expired(self, keep_days: int, *, dry_run: bool) -> list[tuple[object, ...]]:
        """Remove archives beyond their retention; return id, date, filter and bytes of each."""
        with self.session() as session:
            return session.query(self.sql.expired(keep_days, dry_run=dry_run))

    def problems(self, archive_id: int | None = None) -> dict[int, str]:
        """Return the problem of each archive, empty if there is none. The server compares the bytes."""
        with self.session() as session:
            rows = session.query(self.sql.validate(archive_id))
        return {int(str(number)): "" if problem is None else str(problem) for number, problem in rows}

    def schema_problem(self, archive: Archive) -> Problem | None:
        """Return what is wrong with the columns or the number of rows in the file of an archive."""
        try:
            with self.open(archive) as file:
                if archive.schema_hash and schema_hash(file.schema_arrow) != archive.schema_hash:
                    return Problem(archive.archive_id, "its columns are not those that were saved")
                if archive.rows and file.metadata.num_rows != archive.rows:
                    return Problem(archive.archive_id, "its number of rows changed")
        except LakeError as damage:
            return Problem(archive.archive_id, damage.happened)
        return None


def _file_hash(spool: Spool) -> str:
    digest = hashlib.sha256()
    for number in range(spool.chunks):
        digest.update(spool.chunk(number))
    return digest.hexdigest()


def _damaged(archive: Archive, what: str) -> LakeError:
    return LakeError(f"Archive {archive.archive_id} is damaged: {what}.", "Nothing was changed.", _DAMAGED)
