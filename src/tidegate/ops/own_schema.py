"""Create Tidegate's own tables in a target, or print the statements for an administrator."""

from __future__ import annotations

from tidegate import plugins
from tidegate.interfaces.database import Database
from tidegate.model.connection import Connection
from tidegate.state import own_tables
from tidegate.state.ledger import Ledger


def create_schema(target: Database) -> list[str]:
    """Create the ledger and the other own tables where they are missing; return the names of what was added."""
    with target.connect("schema") as session:
        ledger = Ledger(session)
        added = [] if ledger.exists() else ["ledger"]
        if added:
            ledger.create()
        return [*added, *own_tables.create(session)]


def schema_statements(kind: str) -> list[str]:
    """Return the DDL of the own tables for a kind of database, such as `postgresql`. Nothing is connected."""
    return own_tables.ddl(plugins.database(Connection(kind, "localhost", 0, "database")), qualified=False)
