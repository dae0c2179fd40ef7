"""Extract: windows from a database into the lake, each inside of a task; the driver commits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidegate.errors import Differences, LakeError, TidegateError, Transient
from tidegate.hashing.receipts import answer_as_text, read_receipt, with_text_where_needed
from tidegate.interfaces.change import Extraction
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.database import Database, ReadRequest, Session
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, Lake, LakeTable, Part, PartWriter
from tidegate.interfaces.load import Load
from tidegate.model.columns import fingerprint
from tidegate.model.plan import Extract
from tidegate.model.receipt import Receipt
from tidegate.model.report import StepOutcome
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import Token, with_keys
from tidegate.model.values import Value
from tidegate.runs.order import in_order
from tidegate.runs.run import Job, Run, snapshot_of
from tidegate.spark.executor import SplitOutcome
from tidegate.spark.worker import Progress, Worker
from tidegate.state.ledger import Ledger
from tidegate.tables.planned import PlannedTable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Extracted:
    """What a task wrote: the parts to commit, and the receipt of the rows."""

    parts: tuple[Part, ...]
    receipt: Receipt
    token: Token
    """What the next plan compares."""

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts if part.role == ROWS)


@dataclass(frozen=True)
class ExtractSplit:
    """Reads one window on one snapshot, hashes its rows on the way, and writes them with their facts."""

    database: Database
    extraction: Extraction
    snapshot: Snapshot
    lake: Lake
    table: LakeTable
    load: Load
    """Refuses rows that it must not load, before they are committed."""
    name: str
    run_id: str
    window: str
    why: str
    scope: str

    def run(self, worker: Worker) -> Extracted:
        return with_text_where_needed(self.extraction.request, partial(self._extract, worker=worker))

    def _extract(self, request: ReadRequest, worker: Worker) -> Extracted:
        extraction = self.extraction
        with worker.sessions.session(self.database, "extract", read_only=True) as session:
            # Before the snapshot is taken: an entry must not claim to be newer than what it shows.
            read_at = self.snapshot.taken_at or session.now()
            session.use_snapshot(self.snapshot.name) if self.snapshot.name else session.export_snapshot()
            compared = self._fingerprint(session, request.text_columns)
            before = self._unchanged(session)
            parts = []
            if extraction.keys is not None:
                keys = extraction.keys.with_text(request.text_columns)
                token = extraction.token.read(compared, read_at)
                part, receipt, _ = self._write(keys, session.read(keys), worker, read_at, token, KEYS)
                parts.append(part)
                compared = with_keys(compared, receipt)
            token = extraction.token.read(compared, read_at)
            part, receipt, token = self._write(request, session.read(request), worker, read_at, token, ROWS)
            if self._unchanged(session) != before:
                raise Transient(
                    f"{request.table}: rows came or went while they were read, and it cannot be read in a snapshot.",
                    "Nothing was published.",
                    "Run again when nobody writes to it, or allow snapshots: a transactional engine in MySQL,"
                    " ALLOW_SNAPSHOT_ISOLATION in SQL Server.",
                )
        self.load.require_loadable(request, lambda: self.lake.read(self.table, part.id, request.batch))
        return Extracted((*parts, part), receipt, token)

    def _fingerprint(self, session: Session, text_columns: tuple[str, ...]) -> str | None:
        """Return what the next plan compares, as far as it is known before the rows are read."""
        extraction = self.extraction
        if extraction.lookback is not None:
            return read_receipt(session, extraction.lookback.with_text(text_columns)).as_text()
        if extraction.fingerprint is not None:
            return answer_as_text(session.query(extraction.fingerprint)[0])
        return None

    def _unchanged(self, session: Session) -> object:
        return session.query(self.extraction.unchanged) if self.extraction.unchanged is not None else None

    def _write(
        self,
        request: ReadRequest,
        batches: Iterator[pa.RecordBatch],
        worker: Worker,
        read_at: str,
        token: Token,
        role: str,
    ) -> tuple[Part, Receipt, Token]:
        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        try:
            writer = self.lake.writer(self.table, self.run_id, f"{self.name}.{worker.attempt}", schema, role)
            try:
                watched = self.extraction.watched if role == ROWS else ()
                receipt, content = _copy(batches, writer, worker.progress, request, watched)
                token = token.read(content.as_text(), read_at) if content is not None else token
                return writer.close(self._facts(request, receipt, token, read_at)), receipt, token
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


# In the driver


@dataclass(frozen=True)
class ExtractStep:
    """One step of one table."""

    planned: PlannedTable
    step: Extract


Entries = dict[tuple[str, Value], LakeEntry]
"""What this run extracted, by table and window."""


def extract(run: Run, ledger: Ledger, planned: Sequence[PlannedTable]) -> tuple[Entries, set[tuple[str, Value]]]:
    """Extract on one snapshot of the source for all tables. Return the new entries, and what could not be extracted."""
    steps = [
        ExtractStep(table, step) for table in planned if table.key not in run.failed for step in table.steps(Extract)
    ]
    entries: Entries = {}
    failed: set[tuple[str, Value]] = set()
    if not steps:
        return entries, failed
    run.pipeline.lake.begin(run.id)

    def finished(job: Job[ExtractStep], result: SplitOutcome) -> None:
        outcome = _committed(run, ledger, job.about, result, entries)
        run.note(outcome)
        if outcome.outcome == "failed":
            failed.add((job.about.planned.key, job.about.step.value))

    # A single reader needs no snapshot that others can read, and no session to hold it.
    with snapshot_of(run.pipeline.source) if len(steps) > 1 else nullcontext(Snapshot()) as snapshot:
        for group in in_order(steps, _priority, backwards=True):
            jobs = [
                Job(
                    about,
                    _split(run, about, snapshot, f"{about.planned.table.load_priority}-{number}"),
                    about.step.rows,
                )
                for number, about in enumerate(group)
            ]
            run.run_jobs("extract", jobs, finished)
    return entries, failed


def _priority(about: ExtractStep, number: int) -> tuple[int, int]:
    return about.planned.table.load_priority, number if about.planned.table.change.serial_loads else 0


def _split(run: Run, about: ExtractStep, snapshot: Snapshot, name: str) -> ExtractSplit:
    planned, step, pipeline = about.planned, about.step, run.pipeline
    extraction = planned.table.change.extraction(planned.state, planned.plan.scope, step)
    return ExtractSplit(
        database=pipeline.target if extraction.from_target else pipeline.source,
        extraction=extraction,
        snapshot=Snapshot() if extraction.from_target else snapshot,
        lake=pipeline.lake,
        table=planned.table.lake_table,
        load=planned.table.load,
        name=name,
        run_id=run.id,
        window=step.value.text,
        why=step.why,
        scope=planned.plan.scope.to_json(),
    )


def _committed(run: Run, ledger: Ledger, about: ExtractStep, result: SplitOutcome, entries: Entries) -> StepOutcome:
    """Commit what a task wrote, and remember its etag where no load will."""
    planned, step = about.planned, about.step
    outcome = StepOutcome(
        planned.key, "extract", step.value.text, step.why, "failed" if result.error else "done", seconds=result.seconds
    )
    if result.error is not None:
        return replace(outcome, error=str(result.error))
    extracted: Extracted = result.result
    outcome = replace(outcome, rows=extracted.receipt.rows, bytes=extracted.bytes)
    if not extracted.receipt.rows and step.rows:
        return replace(outcome, outcome="failed", error=str(_rows_left(about)))
    try:
        table = planned.table
        entry, is_ours = run.pipeline.lake.commit(table.lake_table, step.value.text, extracted.parts, step.replaces)
        entries[planned.key, step.value] = entry
        run.boundary("published")
        known = planned.state.ledger.get(step.value)
        if is_ours and known is not None and known.is_active and known.hash == entry.hash:
            described = ("etag", "token", "columns", "columns_id", "storage_types")
            changes = {name: getattr(entry, name) for name in described}
            ledger.update_etag(table.ledger_name, step.value.text, replace(known, **changes))
    except TidegateError as problem:
        return replace(outcome, outcome="failed", error=str(problem))
    return outcome


def _rows_left(about: ExtractStep) -> Differences:
    key, step = about.planned.key, about.step
    return Differences(
        f"{key} {step.value}: the source counted {step.rows:,} rows and none arrived: they left.",
        "The lake and the target keep what they had.",
        "Run again: a value that the source purged stays as it is.",
    )
