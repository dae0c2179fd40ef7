"""The statements of snapshots: on every database that has a snapshot table, and on the one that has the archive."""

from __future__ import annotations

from collections.abc import Sequence

from sql.statements import Statement
from tidegate.config.snapshots import SnapshotSettings
from tidegate.interfaces import Session
from tidegate.interfaces.archive import Migration
from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.snapshots import Archive, Snapshot
from tidegate.snapshots.layout import create_statements, procedure_migrations, table_columns
from tidegate.snapshots.migrations import install
from tidegate.snapshots.register import Register
from tidegate.snapshots.store import SnapshotTable
from tidegate.sql import snapshots
from tidegate.sql.text import Sql

BATCH = "0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57"
TABLE = TableName("odd schema", "snap's")
STAGE = TableName("", "stage")
SNAPSHOT = Snapshot("it's", BATCH, "2026-01-31 07:00:00.123456", 7, "0f", {"a": "int64"}, 3, "archived")
ARCHIVE = Archive(3, "db.snap", "it's", BATCH, "2026-01-31 07:00:00.123456", 7, 10, 40, 0, "0f", "0e", {"it's": 1})
MIGRATIONS = (Migration(1, "first", (snapshots.create_index("ix", TABLE, ("a",)),)),)


def settings(session: Session) -> SnapshotSettings:
    return SnapshotSettings(
        database=session.database.connection,
        table=TABLE,
        business_key=("AAG ORDER NUMBER", 'line]"`'),
        attributes=("CUSTOMER NAME",),
    )


def table(session: Session) -> SnapshotTable:
    columns = tuple(session.database.declare(column) for column in table_columns(settings(session)))
    return SnapshotTable(session, settings(session), TableSchema(TABLE, columns))


def execute(session: Session, statements: Sequence[Sql]) -> None:
    for statement in statements:
        session.execute(statement)


def comparisons(session: Session) -> None:
    """The join of a stage with the last snapshot."""
    rows = table(session).rows_of(SNAPSHOT)
    session.query(snapshots.count_matches(rows, STAGE))
    for condition in (
        snapshots.is_new(rows),
        snapshots.is_changed(rows),
        snapshots.is_deleted(rows, STAGE),
    ):
        session.query(
            snapshots.sql("SELECT 1 FROM {stage} WHERE {rows}", stage=snapshots.Name.of(STAGE), rows=condition)
        )


def changes(session: Session) -> None:
    rows = table(session).rows_of(SNAPSHOT)
    session.query(snapshots.count_rows(rows))
    session.execute(snapshots.refer_to_archive(rows, 3))
    session.execute(snapshots.refer_to_archive(rows, None))
    session.execute(snapshots.delete_snapshot(rows))


def register(session: Session) -> None:
    found = Register(session, TABLE)
    found.snapshots()
    found.snapshots("it's")
    found.find("it's", BATCH)
    found.newest("it's")
    found.add(SNAPSHOT)
    found.set_archive(SNAPSHOT, 4)
    found.set_archive(SNAPSHOT, None)
    found.remove(SNAPSHOT)


def archive(session: Session) -> None:
    statements = session.database.snapshot_archive()
    session.query(statements.next_id())
    session.execute(statements.describe(ARCHIVE, "2026-05-01"))
    session.query(statements.find(archive_id=3))
    session.query(statements.find(table="db.snap", customer_filter="it's", batch_id=BATCH))
    session.query(statements.with_id(3, 1))
    session.query(statements.statistics(None, 30))
    session.query(statements.statistics("it's", 30))
    session.query(statements.expired(90, dry_run=True))
    session.query(statements.expired(90, dry_run=False))
    session.query(statements.validate(None))
    session.query(statements.validate(3))


def migrations_of_archive(session: Session) -> None:
    for migration in session.database.snapshot_archive().migrations():
        execute(session, migration.statements)


def procedures(session: Session) -> None:
    for table_name in (TABLE, TableName("dbo", "ORDERS_UNIFIED_SNAPSHOT")):
        for migration in procedure_migrations(session.database, table_name):
            execute(session, migration.statements)


def partitioned_table(session: Session) -> None:
    chosen = settings(session).model_copy(update={"partition_by_filter": True})
    execute(session, create_statements(session.database, TABLE, chosen))


SNAPSHOT_PARTITIONS: dict[str, Statement] = {"snapshot_table_partitioned": Statement(partitioned_table)}
SNAPSHOTS: dict[str, Statement] = {
    "snapshot_table": Statement(
        lambda session: execute(session, create_statements(session.database, TABLE, settings(session)))
    ),
    "snapshot_compare": Statement(comparisons),
    "snapshot_change": Statement(changes),
    "snapshot_register": Statement(register),
    "snapshot_register_rebuild": Statement(
        lambda session: Register(session, TABLE).rebuild(),
        answers={"GROUP BY customer_filter": [("it's", BATCH, "2026-01-31 07:00:00", None, 7)]},
    ),
    "snapshot_migrations": Statement(lambda session: install(session, "it's", MIGRATIONS)),
    "snapshot_installed": Statement(lambda session: session.query(snapshots.migration_version(TABLE, "it's"))),
}
SNAPSHOT_ARCHIVES: dict[str, Statement] = {
    "snapshot_archive": Statement(archive, answers={"nextval": [(1,)]}),
    "snapshot_archive_migrations": Statement(migrations_of_archive),
}
SNAPSHOT_PROCEDURES: dict[str, Statement] = {"snapshot_procedures": Statement(procedures)}
