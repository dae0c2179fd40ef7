"""Save a snapshot: rows of hashes into the snapshot table, the whole rows into the archive, the cross reference last.

Every step can be repeated: the batch id says what is there already. Where a save was interrupted, saving the same batch
again does the rest; any other save of the filter completes the cross reference, and says which archive is missing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, DuplicateKey, TidegateError, ValueProblem
from tidegate.model.names import pluralize
from tidegate.model.snapshots import ARCHIVED, TABLE_ONLY, Snapshot
from tidegate.snapshots.archive import ArchivedRows, ArchiveStore
from tidegate.snapshots.frames import Frame, HashedBatch, Hashing
from tidegate.snapshots.layout import SnapshotFacts, table_rows
from tidegate.snapshots.spool import Spool
from tidegate.snapshots.store import SnapshotTable
from tidegate.sql import snapshots as statements

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

LOGGER = logging.getLogger("tidegate.snapshots")
Boundary = Callable[[str], None]
LONGEST_FILTER = 255


@dataclass(frozen=True)
class SaveRequest:
    """What somebody asks to be saved."""

    customer_filter: str
    batch_id: str
    tags: Mapping[str, Any] = field(default_factory=dict)
    retention_until: date | None = None

    @classmethod
    def of(
        cls,
        customer_filter: str,
        batch_id: str | None,
        tags: Mapping[str, Any] | None = None,
        retention_until: date | None = None,
    ) -> SaveRequest:
        """Return the request. Raises ConfigError for a filter or a batch id that cannot be stored."""
        if not isinstance(customer_filter, str) or not 0 < len(customer_filter) <= LONGEST_FILTER:
            raise ConfigError(
                "The customer filter must be a text of 1 to 255 characters.", "Nothing was written.", "Name the filter."
            )
        try:
            batch = uuid.uuid4() if batch_id is None else uuid.UUID(str(batch_id))
        except ValueError:
            raise ConfigError(
                f"The batch id {batch_id!r} is no UUID.", "Nothing was written.", "Pass str(uuid.uuid4())."
            ) from None
        return cls(customer_filter, str(batch), dict(tags or {}), retention_until)


class _Totals:
    """Counts and sums up the rows on their way."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum: npt.NDArray[np.uint64] | None = None

    def add(self, batch: HashedBatch) -> None:
        from tidegate.hashing.sha256 import sum_digests

        self.rows += batch.rows.num_rows
        total = sum_digests(batch.hashes)
        self._sum = total if self._sum is None else self._sum + total

    @property
    def content_hash(self) -> str:
        import numpy as np

        from tidegate.hashing.sha256 import content_hash

        return content_hash(np.zeros(4, np.uint64) if self._sum is None else self._sum)


@dataclass
class Save:
    """One save, on a session that holds the filter."""

    table: SnapshotTable
    archive: ArchiveStore | None
    archive_name: str
    """The name of the snapshot table in the archive."""
    boundary: Boundary

    def run(self, frame: Frame, request: SaveRequest) -> Snapshot:
        """Save the frame. Return its snapshot, with the archive id if there is an archive."""
        settings = self.table.settings
        hashing = frame.hashing(settings.business_key, settings.ignore_columns)
        with self.table.alone(request.customer_filter):
            self._complete_earlier(request)
            existing = self.table.register.find(request.customer_filter, request.batch_id)
            if existing is None:
                frame.refuse_duplicates(hashing)
                self.table.widen({name: frame.longest_text(name) for name in self.table.text_columns})
            with nullcontext() if self.archive is None else Spool(frame.schema) as spool:
                snapshot = (
                    self._write_table(frame, hashing, request, spool)
                    if existing is None
                    else self._read_again(frame, hashing, existing, spool)
                )
                self.boundary("table written")
                if self.archive is not None and spool is not None:
                    snapshot = self._write_archive(self.archive, snapshot, request, spool)
            self._roll(request.customer_filter)
            self.boundary("window rolled")
            return snapshot

    def _write_table(self, frame: Frame, hashing: Hashing, request: SaveRequest, spool: Spool | None) -> Snapshot:
        """Write rows and register in one transaction. The spool gets the whole rows on the way."""
        table, totals = self.table, _Totals()
        date = table.next_date(table.newest(request.customer_filter))
        stored = table.session.database.dialect.encode_key(request.customer_filter)
        facts = SnapshotFacts(stored, request.batch_id, date)

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in frame.batches(hashing):
                totals.add(batch)
                if spool is not None:
                    spool.add(batch.rows)
                yield table_rows(batch, facts, table.settings, table.columns)

        try:
            with table.session.bulk_insert(table.name, table.columns, rows) as write, table.session.transaction():
                written = write()
                self.boundary("rows written")
                snapshot = Snapshot(
                    customer_filter=request.customer_filter,
                    batch_id=request.batch_id,
                    snapshot_date=date,
                    rows=totals.rows,
                    content_hash=totals.content_hash,
                    columns={field.name: str(field.type) for field in frame.schema if field.name in hashing.columns},
                )
                _require_equal(totals.rows, written)
                table.register.add(snapshot)
        except DuplicateKey:
            raise ValueProblem(
                "A business key occurs in several rows of the frame.",
                "Nothing was written.",
                "Leave the repeated rows out, or add a column to the business key.",
            ) from None
        if spool is not None:
            spool.finish()
        return snapshot

    def _read_again(self, frame: Frame, hashing: Hashing, existing: Snapshot, spool: Spool | None) -> Snapshot:
        """Return the snapshot that is there already. Raises ConfigError if the frame has other rows."""
        totals = _Totals()
        for batch in frame.batches(hashing):
            totals.add(batch)
            if spool is not None:
                spool.add(batch.rows)
        known = (existing.rows, existing.content_hash or totals.content_hash)
        if known != (totals.rows, totals.content_hash):
            raise ConfigError(
                f"Batch {existing.batch_id} of {existing.customer_filter} was saved with other rows.",
                "Nothing was written.",
                "Save these rows under a new batch id.",
            )
        if spool is not None:
            spool.finish()
        return existing

    def _write_archive(self, archive: ArchiveStore, snapshot: Snapshot, request: SaveRequest, spool: Spool) -> Snapshot:
        rows = ArchivedRows(
            snapshot_table=self.archive_name,
            customer_filter=snapshot.customer_filter,
            batch_id=snapshot.batch_id,
            snapshot_date=snapshot.snapshot_date,
            tags=request.tags,
            retention_days=self.table.settings.retention_days,
            retention_until=request.retention_until,
        )
        try:
            archived = archive.save(spool, rows)
        except TidegateError as problem:
            raise type(problem)(
                f"The archive did not take the snapshot: {problem.happened}",
                "The snapshot table has it, and changes are found against it.",
                f"Save batch {snapshot.batch_id} again with the same rows: {problem.remedy}",
            ) from None
        self.boundary("archive written")
        return self._refer(snapshot, archived.archive_id)

    def _refer(self, snapshot: Snapshot, archive_id: int) -> Snapshot:
        """Write the archive id into the rows and the register."""
        if snapshot.archive_id == archive_id and snapshot.state == ARCHIVED:
            return snapshot
        with self.table.session.transaction():
            self.table.session.execute(statements.refer_to_archive(self.table.rows_of(snapshot), archive_id))
            return self.table.register.set_archive(snapshot, archive_id)

    def _complete_earlier(self, request: SaveRequest) -> None:
        """Complete the cross references of earlier saves of this filter, and say which archives are missing."""
        if self.archive is None:
            return
        for snapshot in self.table.register.snapshots(request.customer_filter):
            if snapshot.state != TABLE_ONLY or snapshot.batch_id == request.batch_id:
                continue
            found = self.archive.of_batch(self.archive_name, snapshot.customer_filter, snapshot.batch_id)
            if found is not None:
                self._refer(snapshot, found.archive_id)
                LOGGER.warning("%s: the cross reference to archive %d was completed", self.table.name, found.archive_id)
            else:
                LOGGER.warning(
                    "%s: batch %s of %s, %s, is not in the archive; save it again with the same rows to complete it",
                    self.table.name,
                    snapshot.batch_id,
                    snapshot.customer_filter,
                    pluralize(snapshot.rows, "row"),
                )

    def _roll(self, customer_filter: str) -> None:
        remove_old(self.table, self.table.settings.keep, customer_filter)


def remove_old(table: SnapshotTable, keep: int, customer_filter: str | None = None) -> list[Snapshot]:
    """Remove all but the newest snapshots of each filter from the snapshot table; return those that were removed."""
    kept: dict[str, int] = {}
    removed = []
    for snapshot in table.register.snapshots(customer_filter):
        kept[snapshot.customer_filter] = kept.get(snapshot.customer_filter, 0) + 1
        if kept[snapshot.customer_filter] > keep:
            with table.session.transaction():
                table.session.execute(statements.delete_snapshot(table.rows_of(snapshot)))
                table.register.remove(snapshot)
            removed.append(snapshot)
    return removed


def _require_equal(read: int, written: int) -> None:
    from tidegate.errors import ProofFailed

    if read != written:
        raise ProofFailed(
            f"The frame has {pluralize(read, 'row')}, and the snapshot table took {written:,}.",
            "The transaction was rolled back.",
            "Save again; report this if it repeats.",
        )
