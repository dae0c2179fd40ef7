"""The snapshot table of one database: created when it is missing, with its register, its locks and its rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.config.snapshots import SnapshotSettings
from tidegate.errors import DatabaseError, Locked, Transient
from tidegate.interfaces import Database, Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.snapshots import Snapshot
from tidegate.model.types import Type
from tidegate.snapshots.layout import (
    OWN_COLUMNS,
    REGISTER,
    create_statements,
    index_statements,
    missing_columns,
    portable,
    procedure_migrations,
    table_columns,
)
from tidegate.snapshots.migrations import install
from tidegate.snapshots.register import Register, register_statements
from tidegate.sql import snapshots as statements
from tidegate.sql.contents import has_rows
from tidegate.sql.snapshots import SnapshotRows
from tidegate.sql.text import IsOneOf, Literal, Name, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

LOGGER = logging.getLogger("tidegate.snapshots")
LOCK_SECONDS = 300.0
_SECONDS_BETWEEN = 0.1


@dataclass(frozen=True)
class SnapshotTable:
    """The snapshot table as one session sees it."""

    session: Session
    settings: SnapshotSettings
    schema: TableSchema

    @property
    def name(self) -> TableName:
        return self.schema.name

    @property
    def register(self) -> Register:
        return Register(self.session, self.name)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns that a snapshot writes, as the table has them."""
        found = [self.schema.column(column.name) for column in table_columns(self.settings)]
        return tuple(column for column in found if column is not None)

    @property
    def record_columns(self) -> tuple[Column, ...]:
        """Return the columns that describe a row to people: business key, attributes, dates and hash."""
        hidden = {"record_uuid", "key_hash", "parquet_archive_id"}
        shown = [column for column in self.columns if column.name not in OWN_COLUMNS]
        return (
            *shown,
            *(column for column in self.columns if column.name in OWN_COLUMNS and column.name not in hidden),
        )

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Return the columns that have texts of the frame: business key and attributes."""
        return tuple(column.name for column in self.columns if column.name not in OWN_COLUMNS)

    def widen(self, lengths: Mapping[str, int]) -> None:
        """Change columns to texts of any length where a text would not fit."""
        database = self.session.database
        for column in self.columns:
            size = column.logical_type.size
            if size is not None and lengths.get(column.name, 0) > size:
                wide = database.declare(portable(column.name, Type("string"), nullable=column.nullable))
                self.session.execute(database.widen_column(self.name, wide))

    def rows_of(self, snapshot: Snapshot) -> SnapshotRows:
        """Return the rows of a snapshot, for statements."""
        return SnapshotRows(
            self.name,
            self.session.database.dialect.encode_key(snapshot.customer_filter),
            snapshot.batch_id,
            self._type("customer_filter"),
            self._type("batch_id"),
        )

    def newest(self, customer_filter: str) -> Snapshot | None:
        """Return the newest snapshot of a filter. A register that was lost is written anew."""
        found = self.register.newest(customer_filter)
        if found is None and self._has_rows_of(customer_filter):
            self.rebuild_register()
            found = self.register.newest(customer_filter)
        return found

    def rebuild_register(self) -> None:
        with self.session.transaction():
            self.session.lock_in_transaction("tidegate snapshot register")
            found = self.register.rebuild()
        if found:
            LOGGER.warning("%s: the register lacked %d snapshots, which were written down again", self.name, len(found))

    def next_date(self, last: Snapshot | None) -> str:
        """Return the time of the server's clock, or a moment after the last snapshot where that is later."""
        now = datetime.fromisoformat(self.session.now()).replace(tzinfo=None)
        if last is not None:
            now = max(now, datetime.fromisoformat(last.snapshot_date) + timedelta(microseconds=1))
        return now.isoformat(" ", "microseconds")

    @contextmanager
    def alone(self, customer_filter: str) -> Iterator[None]:
        """Hold the filter against other writers. The lock ends with the session. Raises Locked."""
        name = f"tidegate snapshot {self.name} {customer_filter}"
        until = time.monotonic() + LOCK_SECONDS
        while not self.session.try_lock(name):
            if time.monotonic() >= until:
                raise Locked(
                    f"Another process has saved a snapshot of {customer_filter} for {LOCK_SECONDS:.0f} seconds.",
                    "Nothing was written.",
                    "Wait for it to end, then save again. A process that died frees its lock by itself.",
                )
            time.sleep(_SECONDS_BETWEEN)
        yield

    @contextmanager
    def staged(self, batches: Iterator[pa.RecordBatch]) -> Iterator[TableName]:
        """Yield a stage of key hashes and row hashes, with an index on the keys."""
        columns = [self._column("key_hash"), self._column("row_hash")]
        with self.session.staging_table(self.name, columns, batches) as stage:
            self.session.execute(statements.create_index(f"ix_{stage.name[-20:]}", stage, ("tidegate_0",)))
            yield stage

    def _column(self, name: str) -> Column:
        column = self.schema.column(name)
        assert column is not None
        return column

    def _type(self, name: str) -> str:
        return self._column(name).type

    def _has_rows_of(self, customer_filter: str) -> bool:
        stored = self.session.database.dialect.encode_key(customer_filter)
        found = IsOneOf(Name.of("customer_filter"), (Literal(stored, self._type("customer_filter")),))
        return bool(int(str(self.session.query(has_rows(self.name, sql("{rows}", rows=found)))[0][0])))


@contextmanager
def open_table(database: Database, settings: SnapshotSettings) -> Iterator[SnapshotTable]:
    """Yield the snapshot table on a new connection. Create what is missing."""
    name = settings.table.within(database.default_schema)
    with database.connect("snapshot") as session:
        register = database.own_table(REGISTER)
        found = session.table_schemas([name, register])
        if name not in found or register not in found or missing_columns(settings, found[name]):
            with session.transaction():
                session.lock_in_transaction(f"tidegate snapshot table {name}")
                _create(session, settings, name, session.table_schemas([name, register]))
            found = session.table_schemas([name, register])
        _install_procedures(session, name)
        yield SnapshotTable(session, settings, found[name])


def _install_procedures(session: Session, name: TableName) -> None:
    """Install the procedures. Nothing here needs them: a login that may not create any is no reason to stop."""
    try:
        install(session, f"procedures of {name}", procedure_migrations(session.database, name))
    except Transient:
        raise
    except DatabaseError as problem:
        LOGGER.warning("%s: its procedures are not installed (%s); `tidegate snapshot ddl` prints them", name, problem)


def _create(session: Session, settings: SnapshotSettings, name: TableName, found: dict[TableName, TableSchema]) -> None:
    database, register = session.database, session.database.own_table(REGISTER)
    ddl: list[Sql] = []
    if name not in found:
        ddl += create_statements(database, name, settings)
    elif added := missing_columns(settings, found[name]):
        # A table by the documented DDL. Its old rows get no hash of their key, and count as no snapshot.
        ddl += [database.add_column(name, database.declare(column)) for column in added]
        ddl += index_statements(name) if any(column.name == "key_hash" for column in added) else []
    if register not in found:
        ddl += register_statements(database)
    for statement in ddl:
        session.execute(statement)
