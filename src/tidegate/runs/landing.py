"""Land: one value from a database into a Parquet file of the lake, inside of one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, NotNative, Transient
from tidegate.interfaces import Database, ReadRequest, Session
from tidegate.lakes.parquet import FileWriter
from tidegate.model.receipt import Receipt
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts
from tidegate.spark.worker import Progress, Worker
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LandSlice:
    """Reads the rows of one value on one snapshot, hashes them on the way, and writes them with their facts."""

    database: Database
    request: ReadRequest
    snapshot: str
    """Empty when the database has none to share: then the task's own transaction is the snapshot."""
    read_at: str
    """When the snapshot was taken; empty likewise."""
    newest: Sql | None
    folder: Path
    name: str
    about: dict[str, Any] = field(default_factory=dict)
    """Facts for the footer that are known before reading."""
    steady: Sql | None = None
    """Where no snapshot can be had: what must be the same before and after, or rows moved meanwhile."""
    watched: tuple[str, ...] = ()
    """Columns whose content is what planning compares next time, instead of `newest`."""
    proven_by: str = ""
    """A hash that the rows must have to count as proven, where they do not come from the source itself."""
    tail: ReadRequest | None = None
    """Rows whose content is what planning compares next time, instead of `newest`."""
    keys: ReadRequest | None = None
    """What names an entity, of all rows that there are: written into a file of its own, on the same snapshot."""

    check: Callable[[ReadRequest, Path], None] | None = None
    """Asked of the written file before it is published; raises when its rows must not be loaded."""

    def move(self, worker: Worker) -> Facts:
        return retried(lambda: with_text_where_needed(self.request, lambda request: self._land(request, worker)))

    def _land(self, request: ReadRequest, worker: Worker) -> Facts:
        with worker.sessions.session(self.database, "land", read_only=True) as session:
            # Before the snapshot is taken: a file must not claim to be newer than what it shows.
            read_at = self.read_at or session.now()
            session.use_snapshot(self.snapshot) if self.snapshot else session.export_snapshot()
            newest = self._newest(session, request.text_columns)
            before = self._fingerprint(session)
            path = self.folder / f"{self.name}.{worker.attempt}.parquet"
            about = {**self.about, "read_at": read_at, "newest": newest}
            if self.keys is not None:
                keys = self.keys.with_text(request.text_columns)
                beside = _Written(path.with_suffix(".keys"), keys, (), "")
                all_keys, _, _ = beside.write(session.read(keys), worker.progress, about)
                about["newest"] = with_keys(newest, all_keys)
            written = _Written(path, request, self.watched, self.proven_by)
            receipt, newest, size = written.write(session.read(request), worker.progress, about)
            if self._fingerprint(session) != before:
                raise Transient(
                    f"{request.table}: rows came or went while they were read, and it cannot be read in a snapshot.",
                    "Nothing was published.",
                    "Run again when nobody writes to it, or allow snapshots: a transactional engine in MySQL,"
                    " ALLOW_SNAPSHOT_ISOLATION in SQL Server.",
                )
        if self.check is not None:
            self.check(request, path)
        return {
            "file": str(path),
            "rows": receipt.rows,
            "hash": receipt.hash,
            "bytes": size,
            "text_columns": list(request.text_columns),
            "newest": newest,
            "keys": str(path.with_suffix(".keys")) if self.keys is not None else None,
        }

    def _newest(self, session: Session, text_columns: tuple[str, ...]) -> str | None:
        """What planning compares next time."""
        if self.tail is not None:
            return read_receipt(session, self.tail.with_text(text_columns)).as_text()
        return told(session.query(self.newest)[0]) if self.newest is not None else None

    def _fingerprint(self, session: Session) -> object:
        return session.query(self.steady) if self.steady is not None else None


@dataclass(frozen=True)
class _Written:
    """One file, and what is to be known of the rows in it."""

    path: Path
    request: ReadRequest
    watched: tuple[str, ...]
    proven_by: str

    def write(
        self, batches: Iterator[pa.RecordBatch], progress: Progress, about: dict[str, Any]
    ) -> tuple[Receipt, str | None, int]:
        """Its receipt, what planning compares next time, and its size."""
        from tidegate.rows.arrow import arrow_schema

        try:
            writer = FileWriter(self.path, arrow_schema(self.request.columns, self.request.text_columns))
            try:
                receipt, watched = self._moved(batches, writer, progress)
                newest = watched.as_text() if watched else about["newest"]
                return receipt, newest, writer.close({**about, **self._facts(receipt), "newest": newest})
            except BaseException:
                writer.abandon()
                raise
        except OSError as problem:
            raise LakeError(
                f"{self.path.parent} cannot be written: {problem.strerror or problem}.",
                "No half file was published; the target keeps what it had.",
                "Make room or correct the rights of the folder, then run again.",
            ) from None

    def _moved(
        self, batches: Iterator[pa.RecordBatch], writer: FileWriter, progress: Progress
    ) -> tuple[Receipt, Receipt | None]:
        from tidegate.rows.hashing import ReceiptBuilder

        receipts, of_watched = ReceiptBuilder(), ReceiptBuilder()
        all_watched = self.watched == tuple(column.name for column in self.request.columns)
        for batch in batches:
            receipts.add(batch)
            if self.watched and not all_watched:
                of_watched.add(batch.select(list(self.watched)))
            writer.write(batch)
            progress.add(batch.num_rows)
        receipt = receipts.receipt()
        return receipt, receipt if all_watched else of_watched.receipt() if self.watched else None

    def _facts(self, receipt: Receipt) -> dict[str, Any]:
        return {
            "rows": receipt.rows,
            "hash": receipt.hash,
            "text_columns": list(self.request.text_columns),
            "columns": [column.name for column in self.request.columns],
            "storage_types": [column.rests_as for column in self.request.columns],
            "unproven": self.proven_by not in ("", receipt.hash),
        }


def with_keys(tail: str | None, keys: Receipt) -> str:
    """What planning compares next time, of rows by their marks and of all keys."""
    return f"{tail} {keys.as_text()}"


def told(answer: tuple[object, ...]) -> str | None:
    """An answer as one text: of several columns all of them."""
    return " ".join(map(str, answer)) if len(answer) > 1 else None if answer[0] is None else str(answer[0])


def with_text_where_needed(request: ReadRequest, work: Callable[[ReadRequest], Facts]) -> Facts:
    """Starts again with a column as canonical text when it holds a value that Arrow has no room for (NaN, infinity)."""
    while True:
        try:
            return work(request)
        except NotNative as met:
            if met.column in request.text_columns:
                raise
            request = replace(request, text_columns=(*request.text_columns, met.column))


def read_receipt(session: Session, request: ReadRequest, progress: Progress | None = None) -> Receipt:
    """Count and hash of the rows, read and forgotten batch by batch."""
    from tidegate.rows.hashing import ReceiptBuilder

    receipts = ReceiptBuilder()
    for batch in session.read(request):
        receipts.add(batch)
        if progress is not None:
            progress.add(batch.num_rows)
    return receipts.receipt()


def receipt_of(session: Session, request: ReadRequest) -> Receipt:
    """The same, with a column as text where it holds what Arrow has no room for, as extracting it does."""
    while True:
        try:
            return read_receipt(session, request)
        except NotNative as met:
            if met.column in request.text_columns:
                raise
            request = request.with_text((met.column,))
