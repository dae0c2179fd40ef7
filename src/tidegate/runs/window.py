"""One window on its way from the lake into the target, as a load asks for it inside of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import LakeError, ValueProblem
from tidegate.hashing.refused_rows import row_with_null
from tidegate.interfaces.lake import KEYS, Lake, LakeTable
from tidegate.interfaces.load import Incoming, LoadTask
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.stored_files import StoredFile
from tidegate.interfaces.worker import Progress
from tidegate.model.columns import Column, fingerprint_of
from tidegate.model.state import LakeEntry, LedgerEntry, types_when_extracted
from tidegate.runs.listener import Boundary
from tidegate.state.events import Events
from tidegate.state.ledger import Ledger
from tidegate.state.lock import newest_run
from tidegate.state.rows_aside import Aside
from tidegate.state.stages import Stages

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class WindowLedger:
    """The ledger of one window, as a load asks for it."""

    ledger: Ledger
    table: str
    window: str
    boundary: Boundary
    source: str = ""
    """The table's name in `tidegate.yml`."""

    def newest(self) -> LedgerEntry | None:
        return self.ledger.newest(self.table, self.window)

    def newest_run(self) -> str:
        return newest_run(self.ledger.session, self.table)

    def record(self, entry: LedgerEntry) -> None:
        self.ledger.record(self.table, self.window, entry)
        self.boundary("task about to commit")

    @property
    def stages(self) -> Stages:
        return Stages(self.ledger.session)

    @property
    def aside(self) -> Aside:
        return Aside(self.ledger.session, self.source)

    @property
    def events(self) -> Events:
        return Events(self.ledger.session, self.source)

    def reached(self, place: str) -> None:
        self.boundary(place)


@dataclass(frozen=True)
class WindowLoad:
    """One window on its way from the lake into the target."""

    task: LoadTask
    """Its ledger entry carries generation and run; rows, hash and etag come from the lake entry that is opened."""
    lake: Lake
    table: LakeTable
    entry_id: str
    reads_keys: bool = False
    """The lake keeps the keys that the source had beside the rows."""
    key: str = ""
    """The table's name in `tidegate.yml`."""
    naming_keys: tuple[str, ...] = ()
    """The columns that name a row in a message."""

    def incoming(self, session: Session, boundary: Boundary, progress: Progress) -> Incoming:
        task = self.prepared()
        return Incoming(
            task,
            WindowLedger(Ledger(session), task.table, task.window.text, boundary, self.key),
            partial(self._batches, task, progress),
            files=partial(self._files, task),
            keys=partial(self.lake.read, self.table, self.entry_id, task.request.batch, None, KEYS)
            if self.reads_keys
            else None,
            extracted=lambda names: self.lake.read_log(self.table, names, task.request.batch),
            lake=self.lake,
        )

    def prepared(self) -> LoadTask:
        """Return the task with what the lake entry says of itself."""
        entry = self.lake.entry(self.table, self.entry_id)
        if entry.broken:
            raise LakeError(
                f"{self.entry_id} cannot be used: {entry.broken}.",
                "The target keeps what it had.",
                "Run again: it is extracted anew.",
            )
        # Read back what the entry holds, in its order: the hash was taken over exactly that.
        request = replace(self.task.request.only(entry.columns), text_columns=entry.text_columns)
        copied = tuple(column.name for column in request.columns)
        known = entry if copied == entry.columns else self._without_dropped_columns(entry, copied)
        described = ("rows", "hash", "text_columns", "columns", "columns_id", "storage_types", "token", "etag")
        recorded = replace(self.task.entry, kind="loaded", **{name: getattr(known, name) for name in described})
        return replace(self.task, entry=recorded, request=request, restored_columns=self._restored(entry))

    def _restored(self, entry: LakeEntry) -> tuple[Column, ...]:
        """Return the target's own columns that an older entry has in the same type: they left the source since."""
        held = types_when_extracted(entry)
        return tuple(column for column in self.task.own_columns if held.get(column.name) == column.storage_type)

    def _without_dropped_columns(self, entry: LakeEntry, copied: tuple[str, ...]) -> LakeEntry:
        """Return the entry as if it had only the columns that are copied now: its own hash covers more."""
        from tidegate.hashing.rows import ReceiptBuilder

        receipts = ReceiptBuilder()
        for batch in self.lake.read(self.table, self.entry_id, self.task.request.batch):
            receipts.add(batch.select(list(copied)))
        held = types_when_extracted(entry)
        types = {name: held[name] for name in copied if name in held}
        return replace(
            entry,
            hash=receipts.receipt().hash,
            text_columns=tuple(name for name in entry.text_columns if name in copied),
            columns=copied,
            columns_id=fingerprint_of(types) if types else entry.columns_id,
            storage_types=tuple(types.values()),
        )

    def _batches(self, task: LoadTask, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the columns that are written: an older entry may have others besides."""
        written = [column.name for column in task.written_columns]
        for batch in self.lake.read(self.table, self.entry_id, task.request.batch):
            _require_no_refused_nulls(task.request, batch, self.naming_keys)
            progress.add(batch.num_rows)
            yield batch if batch.schema.names == written else batch.select(written)

    def _files(self, task: LoadTask) -> list[StoredFile]:
        """Return the files of the entry, where their columns are those that are written, in this order."""
        entry = self.lake.entry(self.table, self.entry_id)
        is_whole = entry.columns == tuple(column.name for column in task.written_columns)
        return self.lake.stored_files(self.table, self.entry_id) if is_whole else []

    def cells(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self.lake.read(self.table, self.entry_id, self.task.request.batch, names):
            yield batch.select(list(names))


def _require_no_refused_nulls(request: ReadRequest, batch: pa.RecordBatch, keys: Sequence[str]) -> None:
    """Raise ValueProblem for a null that the target refuses. Servers word it each in its way, and one of them fills in
    a number of its own where a column counts by itself."""
    strict = {column.name for column in request.columns if not column.nullable}
    for name, cells in zip(batch.schema.names, batch.columns, strict=True):
        if cells.null_count and name in strict:
            row = row_with_null(batch, keys, name)
            raise ValueProblem(
                f"{request.table}: column {name} came with a null, which the target's column does not take."
                + (f" The row: {row}." if row else ""),
                "The load was rolled back; the target keeps what it had.",
                f"Allow nulls in {name} of the target and run again, or correct the source's rows and `run --reload`.",
            )
