"""Find what changed since the last snapshot: a join by hash in the database that has the snapshot table.

The frame goes there as two hashes per row, and only the hashes of new and changed rows come back. So the memory that is
needed depends on the changes, not on the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.errors import ProofFailed
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName, pluralize
from tidegate.model.snapshots import Snapshot
from tidegate.snapshots.frames import Frame, Hashing
from tidegate.snapshots.layout import binary, hexadecimal
from tidegate.snapshots.store import SnapshotTable
from tidegate.sql import snapshots as statements
from tidegate.sql.contents import count_rows
from tidegate.sql.text import Sql

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Counts:
    """How many rows are new, changed, unchanged and deleted."""

    new: int
    changed: int
    unchanged: int
    deleted: int

    def __len__(self) -> int:
        return self.new + self.changed + self.unchanged + self.deleted


@dataclass(frozen=True)
class Delta:
    """What the join found. `new` and `changed` are hashes of business keys; `deleted` has rows of the table."""

    last: Snapshot | None
    counts: Counts
    new: pa.Array
    changed: pa.Array
    deleted: pa.Table


@dataclass(frozen=True)
class Changes:
    """Rows that are new, changed, unchanged and deleted since the last snapshot.

    The first three are frames of the kind that was handed in. `deleted` has what the snapshot table knows of rows that
    are gone: business key, attributes and hash."""

    new: Any
    changed: Any
    unchanged: Any
    deleted: Any
    rows: Mapping[str, int]
    """The number of rows, by the names above."""
    since: Mapping[str, Any] | None
    """The snapshot that was compared: its date, batch id and archive id. None for the first one."""
    columns_added: tuple[str, ...] = ()
    columns_removed: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"<Changes {', '.join(f'{name}: {count:,}' for name, count in self.rows.items())}>"


def detect(table: SnapshotTable, frame: Frame, hashing: Hashing, customer_filter: str) -> Delta:
    """Compare a frame with the last snapshot of a filter. Raises ProofFailed if somebody changed the snapshot."""
    frame.refuse_duplicates(hashing)
    last = table.newest(customer_filter)
    with table.staged(_staged_rows(frame, hashing)) as stage:
        if last is None:
            staged = _keys(table, stage, None)
            return Delta(None, Counts(len(staged), 0, 0, 0), staged, staged[:0], _no_records(table))
        return _joined(table, last, stage)


def _staged_rows(frame: Frame, hashing: Hashing) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in frame.batches(hashing):
        yield pa.RecordBatch.from_arrays([binary(batch.keys), hexadecimal(batch.hashes)], ["key_hash", "row_hash"])


def _joined(table: SnapshotTable, last: Snapshot, stage: TableName) -> Delta:
    rows = table.rows_of(last)
    new = _keys(table, stage, statements.is_new(rows))
    changed = _keys(table, stage, statements.is_changed(rows))
    deleted = _records(table, statements.is_deleted(rows, stage))
    both, same = (int(str(count)) for count in table.session.query(statements.count_matches(rows, stage))[0])
    staged = int(str(table.session.query(count_rows(stage))[0][0]))
    _require_proof(last, staged=staged, matches=(len(new), both), old=both + deleted.num_rows)
    counts = Counts(len(new), len(changed), same, deleted.num_rows)
    return Delta(last, counts, new, changed, deleted)


def _require_proof(last: Snapshot, *, staged: int, matches: tuple[int, int], old: int) -> None:
    """Every row of the frame is new or has a partner; every row of the snapshot has a partner or is deleted."""
    new, both = matches
    if old != last.rows:
        raise ProofFailed(
            f"The last snapshot of {last.customer_filter} had {pluralize(last.rows, 'row')} and has {old:,} now:"
            " somebody changed the snapshot table.",
            "Nothing was written.",
            "Save a new snapshot, and compare it with an archive to see what happened in between.",
        )
    if new + both != staged:
        raise ProofFailed(
            "A business key occurs in several rows of the frame or of the snapshot table.",
            "Nothing was written.",
            "Leave the repeated rows out, or add a column to the business key.",
        )


def _keys(table: SnapshotTable, stage: TableName, rows: Sql | None) -> pa.Array:
    """Return the key hashes of those rows of the stage that meet a condition."""
    import pyarrow as pa

    key = table.schema.column("key_hash")
    assert key is not None
    column = Column("tidegate_0", key.type, key.storage_type, logical_type=key.logical_type, database=key.database)
    found = [batch.column(0) for batch in table.session.read(ReadRequest(stage, (column,), rows))]
    return pa.concat_arrays(found) if found else pa.array([], pa.binary())


def _records(table: SnapshotTable, rows: Sql) -> pa.Table:
    import pyarrow as pa

    from tidegate.hashing.arrow import arrow_schema

    request = ReadRequest(table.name, table.record_columns, rows)
    return pa.Table.from_batches(table.session.read(request), arrow_schema(table.record_columns))


def _no_records(table: SnapshotTable) -> pa.Table:
    from tidegate.hashing.arrow import arrow_schema

    return arrow_schema(table.record_columns).empty_table()
