"""What a task of an extraction does: reads a window or a part of it, hashes its rows on the way, writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import TYPE_CHECKING

from tidegate.errors import LakeError, Transient
from tidegate.hashing.receipts import answer_as_text, read_receipt, with_text_where_needed
from tidegate.hashing.refused_rows import row_that_does_not_fit
from tidegate.interfaces.change import ChangeReader, Extraction
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, Lake, LakeTable, Part, PartWriter
from tidegate.interfaces.load import Load
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.interfaces.worker import Progress, Worker
from tidegate.model.columns import fingerprint
from tidegate.model.receipt import Receipt
from tidegate.model.tokens import Token, with_keys

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Extracted:
    """What a task wrote: parts to commit, and what it learned of the rows."""

    parts: tuple[Part, ...]
    receipt: Receipt
    facts: EntryFacts
    compared: str | None = None
    """What the next plan compares, where that is not the content of columns."""
    watched: Receipt | None = None
    """The receipt of the columns whose content the next plan compares."""

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts if part.role == ROWS)

    @property
    def text_columns(self) -> frozenset[str]:
        return frozenset(self.facts.text_columns)


def joined(extracted: Sequence[Extracted], planned: Token) -> Extracted:
    """Return what several tasks wrote as one. The first of them read what is read once in a window."""
    first = extracted[0]
    receipt = reduce(Receipt.__add__, (one.receipt for one in extracted))
    watched = [one.watched for one in extracted if one.watched is not None]
    compared = reduce(Receipt.__add__, watched).as_text() if watched else first.compared
    # The entry must not claim to be newer than the oldest of what it shows.
    read_at = min(one.facts.read_at for one in extracted)
    token = planned.read(compared, read_at)
    facts = replace(first.facts, rows=receipt.rows, hash=receipt.hash, read_at=read_at, token=token)
    return Extracted(tuple(part for one in extracted for part in one.parts), receipt, facts)


@dataclass(frozen=True)
class ExtractSplit:
    """Reads rows of one window on one snapshot, hashes them on the way, and writes them with their facts."""

    database: Database
    extraction: Extraction
    request: ReadRequest
    """The rows that this task reads: all of the window, or a part."""
    snapshot: Snapshot
    lake: Lake
    table: LakeTable
    load: Load
    """The load of the table: it may refuse the rows before they are committed to the lake."""
    name: str
    run_id: str
    window: str
    why: str
    scope: str
    part: int = 1
    parts: int = 1
    naming_keys: tuple[str, ...] = ()
    """The columns that name a row in a message."""

    def run(self, worker: Worker) -> Extracted:
        work = partial(self._extract, worker=worker)
        return with_text_where_needed(self.request, work, partial(self._row_that_does_not_fit, worker))

    def _row_that_does_not_fit(self, worker: Worker, name: str) -> str:
        with worker.sessions.session(self.database, "extract", read_only=True) as session:
            session.use_snapshot(self.snapshot.name) if self.snapshot.name else session.export_snapshot()
            return row_that_does_not_fit(session, self.request, self.naming_keys, name)

    def _extract(self, request: ReadRequest, worker: Worker) -> Extracted:
        if self.extraction.feed is not None:
            return self._extract_changes(self.extraction.feed, request, worker)
        extraction = self.extraction
        parts = []
        with worker.sessions.session(self.database, "extract", read_only=True) as session:
            # Before the snapshot is taken: an entry must not claim to be newer than what it shows.
            read_at = self.snapshot.taken_at or session.now()
            session.use_snapshot(self.snapshot.name) if self.snapshot.name else session.export_snapshot()
            compared = self._fingerprint(session, request.text_columns) if self.part == 1 else None
            before = self._unchanged(session)
            if extraction.keys is not None and self.part == 1:
                keys = extraction.keys.with_text(request.text_columns)
                token = extraction.token.read(compared, read_at)
                part, receipt, _, _ = self._write(keys, session.read(keys), worker, read_at, token, KEYS)
                parts.append(part)
                compared = with_keys(compared, receipt)
            token = extraction.token.read(compared, read_at)
            part, receipt, watched, facts = self._write(request, session.read(request), worker, read_at, token, ROWS)
            if self._unchanged(session) != before:
                raise Transient(
                    f"{request.table}: rows came or went while they were read, and it cannot be read in a snapshot.",
                    "Nothing was published.",
                    "Run again when nobody writes to it, or allow snapshots: a transactional engine in MySQL,"
                    " ALLOW_SNAPSHOT_ISOLATION in SQL Server.",
                )
        if self.parts == 1:
            self.load.require_loadable(request, lambda: self.lake.read(self.table, part.id, request.batch))
        return Extracted((*parts, part), receipt, facts, compared, watched)

    def _extract_changes(self, feed: ChangeReader, request: ReadRequest, worker: Worker) -> Extracted:
        """Write the changes of a feed, and then the rows as they are since."""
        with worker.sessions.session(self.database, "extract", read_only=True) as session:
            read_at = session.now()
            token = self.extraction.token.read(None, read_at)
            with feed.open(session, request) as window:
                changes = self._written(feed.schema(request), window.changes(), worker, request, token, read_at, KEYS)
                part, receipt, _, facts = self._write(request, window.rows(), worker, read_at, token, ROWS)
        self.load.require_loadable(request, lambda: self.lake.read(self.table, part.id, request.batch))
        return Extracted((changes[0], part), receipt, facts)

    def _fingerprint(self, session: Session, text_columns: tuple[str, ...]) -> str | None:
        """Return what the next plan compares, as far as it is known before the rows are read."""
        extraction = self.extraction
        if extraction.lookback is not None:
            return read_receipt(session, extraction.lookback.with_text(text_columns)).as_text()
        if extraction.fingerprint is not None:
            return answer_as_text(session.query(extraction.fingerprint)[0])
        return None

    def _unchanged(self, session: Session) -> object:
        """Return what must be the same before and after; of several parts whoever started them asks for all."""
        question = self.extraction.unchanged if self.parts == 1 else None
        return session.query(question) if question is not None else None

    def _write(
        self,
        request: ReadRequest,
        batches: Iterator[pa.RecordBatch],
        worker: Worker,
        read_at: str,
        token: Token,
        role: str,
    ) -> tuple[Part, Receipt, Receipt | None, EntryFacts]:
        """Write one part. Return it with its receipt, that of the watched columns, and its facts."""
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        return self._written(schema, batches, worker, request, token, read_at, role)

    def _written(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        worker: Worker,
        request: ReadRequest,
        token: Token,
        read_at: str,
        role: str,
    ) -> tuple[Part, Receipt, Receipt | None, EntryFacts]:
        try:
            writer = self.lake.writer(self.table, self.run_id, f"{self.name}.{worker.attempt}", schema, role)
            try:
                watched = self.extraction.watched if role == ROWS else ()
                receipt, content = _copy(batches, writer, worker.progress, request, watched)
                token = token.read(content.as_text(), read_at) if content is not None else token
                facts = self._facts(request, receipt, token, read_at)
                return writer.close(facts), receipt, content, facts
            except BaseException:
                writer.abandon()
                raise
        except OSError as problem:
            raise LakeError(
                f"{self.lake.place} cannot be written: {problem.strerror or problem}.",
                "No half file was published; the target keeps what it had.",
                "Make room or correct the rights of the folder, then run again.",
            ) from None

    def _facts(self, request: ReadRequest, receipt: Receipt, token: Token, read_at: str) -> EntryFacts:
        proven_by = self.extraction.proven_by
        return EntryFacts(
            window=self.window,
            rows=receipt.rows,
            hash=receipt.hash,
            columns=tuple(column.name for column in request.columns),
            columns_id=fingerprint(request.columns),
            storage_types=tuple(column.storage_type for column in request.columns),
            text_columns=request.text_columns,
            token=token,
            run=self.run_id,
            why=self.why,
            read_at=read_at,
            scope=self.scope,
            unproven=bool(proven_by) and proven_by != receipt.hash,
        )


def _copy(
    batches: Iterator[pa.RecordBatch],
    writer: PartWriter,
    progress: Progress,
    request: ReadRequest,
    watched: Sequence[str],
) -> tuple[Receipt, Receipt | None]:
    """Write the rows and return their receipt, and that of the watched columns; None where none are watched."""
    from tidegate.hashing.rows import ReceiptBuilder

    receipts, of_watched = ReceiptBuilder(), ReceiptBuilder()
    all_watched = tuple(watched) == tuple(column.name for column in request.columns)
    for batch in batches:
        receipts.add(batch)
        if watched and not all_watched:
            of_watched.add(batch.select(list(watched)))
        writer.write(batch)
        progress.add(batch.num_rows)
    receipt = receipts.receipt()
    return receipt, receipt if all_watched else of_watched.receipt() if watched else None


@dataclass(frozen=True)
class RequireLoadable:
    """Asks the load whether it accepts the rows of a window that several tasks wrote, before they are committed."""

    lake: Lake
    table: LakeTable
    load: Load
    request: ReadRequest
    parts: tuple[Part, ...]

    def run(self, worker: Worker) -> None:
        self.load.require_loadable(self.request, self._batches)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        ids = (part.id for part in self.parts if part.role == ROWS)
        return chain.from_iterable(self.lake.read(self.table, part_id, self.request.batch) for part_id in ids)
