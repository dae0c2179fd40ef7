"""Install tables, functions and procedures of snapshots, version by version."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.errors import Unsupported
from tidegate.interfaces import Session
from tidegate.interfaces.archive import Migration
from tidegate.model.types import Type
from tidegate.snapshots.layout import portable
from tidegate.sql.snapshots import migration_record, migration_version

_VERSIONS = "snapshot_versions"
_COLUMNS = (
    portable("component", Type("string", 200), nullable=False),
    portable("version", Type("int32"), nullable=False),
    portable("at", Type("string", 40), nullable=False),
)


def install(session: Session, component: str, migrations: Sequence[Migration]) -> None:
    """Apply the migrations that this database does not have yet, in one transaction where the database can."""
    newest = migrations[-1].version if migrations else 0
    if _installed(session, component) == newest:
        return
    with session.transaction():
        session.lock_in_transaction("tidegate snapshot versions")
        _create_versions(session)
        installed = _installed(session, component)
        for migration in migrations:
            if migration.version > installed:
                for statement in migration.statements:
                    session.execute(statement)
                versions = session.database.own_table(_VERSIONS)
                session.execute(migration_record(versions, component, migration.version, session.now()))
        if installed > newest:
            raise Unsupported(
                f"{component} has version {installed} here; this Tidegate knows {newest}.",
                "Nothing was written.",
                "Use the newer version of Tidegate that installed it.",
            )


def _create_versions(session: Session) -> None:
    database, name = session.database, session.database.own_table(_VERSIONS)
    if name not in session.existing_tables([name]):
        declared = [database.declare(column) for column in _COLUMNS]
        for statement in database.create_table(name, declared, ("component", "version"), ""):
            session.execute(statement)


def _installed(session: Session, component: str) -> int:
    name = session.database.own_table(_VERSIONS)
    if name not in session.existing_tables([name]):
        return 0
    rows = session.query(migration_version(name, component))
    return int(str(rows[0][0])) if rows else 0
