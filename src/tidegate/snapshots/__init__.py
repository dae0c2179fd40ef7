"""Snapshots of frames: a table of hashes that finds changes, and an archive of the whole rows in PostgreSQL.

frame ──▶ hashes ──▶ snapshot table ──▶ archive ──▶ cross reference        save
frame ──▶ hashes ──▶ join with the last snapshot ──▶ changes               detect
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from tidegate import plugins
from tidegate.config.snapshots import SnapshotSettings, snapshot_settings
from tidegate.errors import ConfigError, MissingObject
from tidegate.interfaces.archive import Migration
from tidegate.model.connection import Connection
from tidegate.model.snapshots import Archive, Problem, Snapshot
from tidegate.snapshots import compare, load
from tidegate.snapshots.archive import ArchiveStore
from tidegate.snapshots.compare import CellChanges, Comparison
from tidegate.snapshots.detect import Changes, Delta, detect
from tidegate.snapshots.frames import Frame, Hashing, open_frame
from tidegate.snapshots.layout import create_statements, procedure_migrations, table_columns
from tidegate.snapshots.overview import overview
from tidegate.snapshots.register import register_statements
from tidegate.snapshots.save import Boundary, Save, SaveRequest, remove_old
from tidegate.snapshots.sources import TableRows, rows_of_file
from tidegate.snapshots.store import SnapshotTable, open_table
from tidegate.sql.text import Sql

__all__ = ["Changes", "Comparison", "Snapshots", "snapshot_ddl"]


class Snapshots:
    """Snapshots of one table. Every call opens the connections that it needs, and closes them."""

    def __init__(self, settings: SnapshotSettings, *, spark: Any = None, boundary: Boundary | None = None) -> None:
        table_columns(settings)  # raises for names that the table has already
        self.settings = settings
        self._database = plugins.database(settings.database)
        self._store = None if settings.archive is None else ArchiveStore(plugins.database(settings.archive))
        self._spark = spark
        self.boundary: Boundary = boundary or (lambda place: None)

    @classmethod
    def open(cls, *, database: Any = None, archive: Any = None, spark: Any = None, **settings: Any) -> Snapshots:
        """Return snapshots by arguments; what is not given comes from environment variables."""
        return cls(snapshot_settings(database=database, archive=archive, **settings), spark=spark)

    @property
    def has_archive(self) -> bool:
        return self._store is not None

    @property
    def archive_name(self) -> str:
        """Return the name of the snapshot table in the archive, which several databases may share."""
        table = self.settings.table.within(self._database.default_schema)
        return f"{self.settings.database.database}.{table}"

    # Saving and finding changes

    def save(
        self,
        frame: Any,
        customer_filter: str,
        batch_id: str | None = None,
        tags: Mapping[str, Any] | None = None,
        retention_until: date | None = None,
    ) -> Snapshot:
        """Save all rows of a frame as the newest snapshot of a filter. Saving a batch again changes nothing."""
        request = SaveRequest.of(customer_filter, batch_id, tags, retention_until)
        rows = open_frame(frame)
        with self._table() as table:
            return Save(table, self._store, self.archive_name, self.boundary).run(rows, request)

    def detect(self, frame: Any, customer_filter: str) -> Changes:
        """Compare a frame with the last snapshot of a filter. Nothing is written."""
        rows = open_frame(frame)
        hashing = self._hashing(rows)
        with self._table() as table:
            delta = detect(table, rows, hashing, customer_filter)
        return _changes(rows, hashing, delta)

    def changed_cells(self, frame: Any, customer_filter: str) -> CellChanges:
        """Return which cells of the changed rows differ from the last snapshot, which the archive must have."""
        rows = open_frame(frame)
        hashing = self._hashing(rows)
        with self._table() as table:
            delta = detect(table, rows, hashing, customer_filter)
        if delta.last is None or delta.last.archive_id is None:
            raise MissingObject(
                f"The last snapshot of {customer_filter} is not in the archive.",
                "Nothing was written.",
                "Its rows are needed to say which columns changed; `detect` says which rows changed.",
            )
        archive = self._archives.archive(delta.last.archive_id)
        after, _ = compare.rows_with_keys(rows.batches(hashing), delta.changed, rows.schema)
        with self._archives.open(archive) as file:
            schema = file.schema_arrow
        stored = compare.hashed_archive(
            self._archives, archive, self.settings.business_key, self.settings.ignore_columns
        )
        before, _ = compare.rows_with_keys(stored, delta.changed, schema)
        return compare.cell_changes(_without(before, self), _without(after, self), self.settings.business_key)

    # Reading

    def rows_of_file(self, path: Path) -> Any:
        """Return the rows of a Parquet, CSV or Feather file as a frame that is read batch by batch."""
        return rows_of_file(path)

    def rows_of_table(self, table: str, condition: str = "") -> Any:
        """Return the rows of a table beside the snapshot table, as a frame that is read batch by batch."""
        return TableRows(self._database, table, condition)

    def snapshots(self, customer_filter: str | None = None) -> list[Snapshot]:
        """Return what the snapshot table holds, the newest first."""
        with self._table() as table:
            return table.register.snapshots(customer_filter)

    def archives(self, customer_filter: str | None = None) -> list[Archive]:
        """Return what the archive holds of this table, the newest first."""
        return self._archives.archives(self.archive_name, customer_filter)

    def find_archive(
        self,
        archive_id: int | None = None,
        *,
        customer_filter: str | None = None,
        at: str | date | datetime | None = None,
        batch_id: str | None = None,
    ) -> Archive:
        """Return one archive: by its id, or the newest that fits."""
        return load.choose(
            self._archives,
            self.archive_name,
            archive_id=archive_id,
            customer_filter=customer_filter,
            at=at,
            batch_id=batch_id,
        )

    def load(self, archive: Archive, kind: str = "pandas", columns: Sequence[str] | None = None) -> Any:
        """Return the rows of an archive as a frame of pandas, Polars, Arrow or Spark."""
        return load.load(self._archives, archive, kind, columns, self._spark)

    def export(self, archive: Archive, path: str | Path) -> int:
        """Write an archive as a Parquet file; return its size in bytes."""
        return load.export(self._archives, archive, Path(path))

    def compare(self, before: int, after: int) -> Comparison:
        """Compare two archives: rows that are new, changed and deleted, and the cells that changed."""
        store, settings = self._archives, self.settings
        pair = [store.archive(number) for number in (before, after)]
        return compare.compare_archives(store, pair[0], pair[1], settings.business_key, settings.ignore_columns)

    def history(self, key: Any, customer_filter: str | None = None) -> list[dict[str, Any]]:
        """Return one record as each archive has it. `key` is a value, several values, or a mapping."""
        archives = self.archives(customer_filter)
        return compare.record_history(self._archives, archives, self._key(key), self.settings.ignore_columns)

    # Keeping house

    def statistics(self, days_back: int = 30, customer_filter: str | None = None) -> list[dict[str, Any]]:
        """Return numbers of the archive, per filter, over the last days."""
        names = ("customer_filter", "archives", "rows", "bytes", "uncompressed_bytes")
        found = self._archives.statistics(customer_filter, _days(days_back, "days_back"))
        return [
            {
                **dict(zip(names, row[:5], strict=True)),
                "average_compression_ratio": None if row[5] is None else float(str(row[5])),
                "oldest": row[6],
                "newest": row[7],
            }
            for row in found
        ]

    def clean_archive(self, keep_days: int | None = None, *, dry_run: bool = True) -> list[dict[str, Any]]:
        """Remove archives beyond their retention, or only list them. References to them are removed as well."""
        days = _days(self.settings.retention_days if keep_days is None else keep_days, "keep_days")
        expired = [
            {"archive_id": int(str(row[0])), "snapshot_date": row[1], "customer_filter": row[2], "bytes": row[3]}
            for row in self._archives.remove_expired(days, dry_run=dry_run)
        ]
        if not dry_run and expired:
            with self._table() as table:
                _forget_archives(table, {int(str(archive["archive_id"])) for archive in expired})
        return expired

    def clean_table(self, customer_filter: str | None = None, keep: int | None = None) -> list[Snapshot]:
        """Remove all but the newest snapshots of each filter from the snapshot table."""
        count = self.settings.keep if keep is None else keep
        if count < 1:
            raise ConfigError("At least one snapshot must be kept.", "Nothing was removed.", "Keep 1 or more.")
        with self._table() as table:
            return remove_old(table, count, customer_filter)

    def problems(self, archive_id: int | None = None) -> dict[int, list[Problem]]:
        """Validate one archive or all: bytes, number of chunks, columns and rows. Every archive has a list."""
        found: dict[int, list[Problem]] = {}
        for number, problem in self._archives.problems(archive_id).items():
            found[number] = [Problem(number, problem)] if problem else []
            if not problem:
                damage = self._archives.schema_problem(self._archives.archive(number))
                found[number] += [damage] if damage else []
        return found

    def clean(self, *, dry_run: bool) -> int:
        """Remove archives beyond their retention and snapshots beyond the table's window; return how many archives."""
        archives = self.clean_archive(dry_run=dry_run) if self.has_archive else []
        if not dry_run:
            self.clean_table()
        return len(archives)

    def overview(self) -> list[dict[str, Any]]:
        """Return facts about every filter, for reports."""
        return overview(self.snapshots(), self.archives() if self.has_archive else [])

    def install(self) -> None:
        """Create what is missing in both databases: tables, indexes, functions and procedures."""
        with self._table():
            pass
        if self._store is not None:
            with self._store.session():
                pass

    # Shared

    @property
    def _archives(self) -> ArchiveStore:
        if self._store is None:
            raise ConfigError(
                "No archive of snapshots is configured.",
                "Nothing was read or written.",
                "Pass its URL as `archive`, or set SNAPSHOT_ARCHIVE_URL or KESTRA_POSTGRES_HOST.",
            )
        return self._store

    @contextmanager
    def _table(self) -> Iterator[SnapshotTable]:
        with open_table(self._database, self.settings) as table:
            yield table

    def _hashing(self, frame: Frame) -> Hashing:
        return frame.hashing(self.settings.business_key, self.settings.ignore_columns)

    def _key(self, key: Any) -> dict[str, Any]:
        names = self.settings.business_key
        if isinstance(key, Mapping):
            values = dict(key)
        else:
            parts = [key] if isinstance(key, str) or not isinstance(key, Sequence) else list(key)
            values = dict(zip(names, parts, strict=False)) if len(parts) == len(names) else {}
        if set(values) != set(names):
            raise ConfigError(
                f"The business key is {', '.join(names)}.", "Nothing was read.", "Give a value for each of its columns."
            )
        return values


def snapshot_ddl(kind: str, *, archive: bool = False, **settings: Any) -> list[str]:
    """Return the statements that create the snapshot table, or the archive, on a database of this kind."""
    place = Connection(kind, "localhost", 0, "snapshots")
    database = plugins.database(place)
    if archive:
        return [database.render(each) for each in _statements(database.snapshot_archive().migrations())]
    chosen = snapshot_settings(database=place, archive=False, **settings)
    table = chosen.table.within(database.default_schema)
    statements = [*create_statements(database, table, chosen), *register_statements(database)]
    statements += _statements(procedure_migrations(database, table))
    return [database.render(statement) for statement in statements]


def _statements(migrations: Sequence[Migration]) -> list[Sql]:
    return [statement for migration in migrations for statement in migration.statements]


def _changes(frame: Frame, hashing: Hashing, delta: Delta) -> Changes:
    new, changed, unchanged = frame.split(hashing, delta.new, delta.changed)
    last, counts = delta.last, delta.counts
    before = set(last.columns) if last is not None and last.columns else set(hashing.columns)
    since = None
    if last is not None:
        since = {"snapshot_date": last.snapshot_date, "batch_id": last.batch_id, "archive_id": last.archive_id}
    return Changes(
        new=new,
        changed=changed,
        unchanged=unchanged,
        deleted=frame.from_arrow(delta.deleted),
        rows={name: getattr(counts, name) for name in ("new", "changed", "unchanged", "deleted")},
        since=since,
        columns_added=tuple(sorted(set(hashing.columns) - before)),
        columns_removed=tuple(sorted(before - set(hashing.columns))),
    )


def _without(table: Any, snapshots: Snapshots) -> Any:
    ignored = snapshots.settings.ignore_columns
    return table.select([name for name in table.schema.names if name not in ignored])


def _forget_archives(table: SnapshotTable, removed: set[int]) -> None:
    """Remove the references to archives that are gone."""
    from tidegate.sql import snapshots as statements

    for snapshot in table.register.snapshots():
        if snapshot.archive_id in removed:
            with table.session.transaction():
                table.session.execute(statements.refer_to_archive(table.rows_of(snapshot), None))
                table.register.set_archive(replace(snapshot, archive_id=None), None)


def _days(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"`{name}` must be 0 or more days.", "Nothing was read or removed.", "Correct the number.")
    return value
