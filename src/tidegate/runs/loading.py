"""Load: one value from its file in the lake into the target, inside of one task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.errors import LakeError, NotNative, OutcomeUnknown, Transient, ValueProblem
from tidegate.interfaces import Database, ReadRequest, Session
from tidegate.lakes.parquet import ParquetLake
from tidegate.loads._unit import Batches, Book, Loaded
from tidegate.model.columns import Column, fingerprint_of
from tidegate.model.evidence import LakeFile, LedgerEntry, types_when_extracted
from tidegate.model.names import TableName
from tidegate.model.receipt import Receipt
from tidegate.runs.landing import read_receipt
from tidegate.runs.listener import Boundary
from tidegate.runs.retry import retried
from tidegate.spark.slices import Facts
from tidegate.spark.worker import Progress, Worker
from tidegate.state.ledger import Ledger
from tidegate.state.lock import newest_run

if TYPE_CHECKING:
    import pyarrow as pa


Way: TypeAlias = Callable[[Session, Any, Book, Batches, Callable[[ReadRequest], Receipt]], Loaded]


@dataclass(frozen=True)
class ValueBook:
    """The ledger of one value, as the load asks for it."""

    ledger: Ledger
    table: str
    value: str
    boundary: Boundary

    def newest(self) -> LedgerEntry | None:
        return self.ledger.newest(self.table, self.value)

    def newest_run(self) -> str:
        return newest_run(self.ledger.session, self.table)

    def record(self, entry: LedgerEntry) -> None:
        self.ledger.record(self.table, self.value, entry)
        self.boundary("task about to commit")


@dataclass(frozen=True)
class LoadSlice:
    """Replaces one value in the target. Repeating it is harmless: its generation is written once."""

    database: Database
    way: Way
    """The load, which does `work` in one transaction."""
    work: Any
    """Its entry carries generation and run; rows, hash and stamp come from the file that is really opened."""
    lake: ParquetLake
    path: Path
    lake_table: TableName
    lake_column: str
    boundary: Boundary = field(default_factory=Boundary)
    keys: Path | None = None
    """A file beside it, with the keys that the source had."""

    def move(self, worker: Worker) -> Facts:
        return retried(lambda: self._load(worker))

    def _load(self, worker: Worker) -> Facts:
        work = self.prepared()
        with worker.sessions.session(self.database, "load") as session:
            try:
                loaded = self._apply(session, work, worker.progress)
                self.boundary("task committed")
            except OutcomeUnknown:
                loaded = self.look(work)
            except NotNative as met:
                raise ValueProblem(
                    f"{work.table}: column {met.column} of the target holds a value that the source's cannot have.",
                    "The load was rolled back; the target keeps what it had.",
                    f"Correct these rows of the target, or let it rest as text: `columns: {{{met.column}: text}}`.",
                ) from None
        return facts_of(work, loaded)

    def prepared(self) -> Any:
        """The work, with what the footer of the file says."""
        return self._about(self._file())

    def _file(self) -> LakeFile:
        _, _, file = self.lake.footer(self.path, self.lake_table, self.lake_column)
        if file.broken:
            raise LakeError(
                f"{self.path} cannot be used: {file.broken}.",
                "The target keeps what it had.",
                "Run again: it is extracted anew.",
            )
        return file

    def _about(self, file: LakeFile) -> Any:
        # Read back what the file holds, in its order: the hash was taken over exactly that.
        request = replace(self.work.request.only(file.columns), text_columns=file.text_columns)
        copied = tuple(column.name for column in request.columns)
        known = file if copied == file.columns else self._without_dropped_columns(file, copied)
        entry = replace(
            self.work.entry,
            kind="loaded",
            rows=known.rows,
            hash=known.hash,
            text_columns=known.text_columns,
            newest=_known_of(known),
            columns=known.columns,
            columns_id=known.columns_id,
            storage_types=known.storage_types,
            stamp=known.stamp,
        )
        work = replace(self.work, entry=entry, request=request, restored_columns=self._restored(file))
        return work if self.keys is None else replace(work, there=self._keys_there)

    def _restored(self, file: LakeFile) -> tuple[Column, ...]:
        """The target's own columns that an older file has, in the same type: they left the source since."""
        held = types_when_extracted(file)
        own: tuple[Column, ...] = self.work.own_columns
        return tuple(column for column in own if held.get(column.name) == column.rests_as)

    def _without_dropped_columns(self, file: LakeFile, copied: tuple[str, ...]) -> LakeFile:
        """What the file says of itself, in the columns that are copied now: its own hash covers more."""
        from tidegate.rows.hashing import ReceiptBuilder

        size, receipts = self.work.request.batch, ReceiptBuilder()
        for batch in self.lake.batches(self.path, size.rows, size.bytes):
            receipts.add(batch.select(list(copied)))
        held = types_when_extracted(file)
        types = {name: held[name] for name in copied if name in held}
        return replace(
            file,
            hash=receipts.receipt().hash,
            text_columns=tuple(name for name in file.text_columns if name in copied),
            columns=copied,
            columns_id=fingerprint_of(types) if types else file.columns_id,
            storage_types=tuple(types.values()),
        )

    def _keys_there(self) -> Iterator[pa.RecordBatch]:
        assert self.keys is not None
        return self.lake.batches(self.keys, self.work.request.batch.rows, self.work.request.batch.bytes)

    def _apply(self, session: Session, work: Any, progress: Progress) -> Loaded:
        return self.way(
            session,
            work,
            self.book(session),
            lambda: self.batches(work, progress),
            lambda request: receipt_or_other(session, request),
        )

    def book(self, session: Session) -> ValueBook:
        return ValueBook(Ledger(session), self.work.table, self.work.value.text, self.boundary)

    def batches(self, work: Any, progress: Progress) -> Iterator[pa.RecordBatch]:
        """The rows in the columns that are written: an older file may have others besides."""
        size, written = work.request.batch, [column.name for column in work.written_columns]
        for batch in self.lake.batches(self.path, size.rows, size.bytes):
            _require_nulls_to_be_taken(work.request, batch)
            progress.add(batch.num_rows)
            yield batch if batch.schema.names == written else batch.select(written)

    def look(self, work: Any) -> Loaded:
        """The commit got no answer: the ledger knows whether it happened. If not, the whole unit may be repeated."""
        with self.database.connect("look") as session:
            last = Ledger(session).newest(work.table, work.value.text)
        if last is not None and (last.run, last.hash) == (work.entry.run, work.entry.hash):
            return Loaded("loaded", work.entry.rows)
        raise Transient(
            f"{work.table} {work.value}: the connection was lost before the commit.",
            "The target keeps what it had.",
            "Run again: it completes what is missing.",
        )


def facts_of(work: Any, loaded: Loaded) -> Facts:
    """What the driver is told of a load that ended well."""
    entry = work.entry
    return {
        "hash": entry.hash,
        "stamp": entry.stamp,
        "text_columns": list(entry.text_columns),
        "result": loaded.result,
        "rows": loaded.rows,
        "detail": loaded.detail,
    }


def _known_of(file: LakeFile) -> str | None:
    """What planning asks the ledger for: what it compares next time, or the marks by which a file was read."""
    if not file.window:
        return file.newest
    return json.dumps({**json.loads(file.window), "tail": file.newest, "read_at": file.read_at})


def _require_nulls_to_be_taken(request: ReadRequest, batch: pa.RecordBatch) -> None:
    """Servers word it each in its way, and one fills in a number of its own where a column counts by itself."""
    strict = {column.name for column in request.columns if not column.nullable}
    for name, cells in zip(batch.schema.names, batch.columns, strict=True):
        if cells.null_count and name in strict:
            raise ValueProblem(
                f"{request.table}: column {name} came with a null, which the target's column does not take.",
                "The load was rolled back; the target keeps what it had.",
                f"Allow nulls in {name} of the target and run again, or correct the source's rows and `run --reload`.",
            )


def receipt_or_other(session: Session, request: ReadRequest) -> Receipt:
    """What cannot be read as the file was read is not what the file holds."""
    try:
        return read_receipt(session, request)
    except NotNative as met:
        return Receipt(0, f"unlike in {met.column}")
