"""What a database product can do, stated by its plug-in and asked before work starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a database can do. Every plug-in states every field: a capability has no default.

    These are facts about the product. What one server or login allows (snapshot isolation, LOAD DATA LOCAL, bulk copy)
    is asked of the session.
    """

    transactional_ddl: bool
    """CREATE and ALTER TABLE join a transaction, and a rollback undoes them."""
    enforced_keys: bool
    """The server refuses a second row with the same primary key."""
    session_locks: bool
    """`try_lock` takes a lock by name that lives as long as the session and ends with it, also after a crash."""
    streams_into_transaction: bool
    """`write` sends rows straight into the open transaction. Without it, rows are staged before the transaction."""
    exported_snapshots: bool
    """Several sessions can read one snapshot (`export_snapshot`, `use_snapshot`)."""
    read_only_sessions: bool
    """The server itself refuses writes in a session that was opened with `read_only`."""
    native_partitions: bool
    """The server can partition a table, and the catalog tells by what (`TableSchema.partitioned_by`)."""
    row_versions: bool
    """A column type exists that the server raises by itself with every change of a row (SQL Server's rowversion)."""
    bulk_from_files: bool
    """The server can load files that lie in object storage (COPY ... FROM 's3://...')."""
    schemas_are_databases: bool
    """What others call a schema is a database of its own here."""
    updates_identity: bool
    """UPDATE may change the value of an identity (auto-increment) column."""
    surrogate_keys: bool
    """`add_surrogate` can add a column in which the server numbers the rows."""
    alters_columns: bool
    """`widen_column` can change the type of a column that has rows."""


CAPABILITY_NAMES = {
    "transactional_ddl": "DDL in transactions",
    "enforced_keys": "enforced primary keys",
    "session_locks": "locks of a session",
    "streams_into_transaction": "bulk protocol that joins a transaction",
    "exported_snapshots": "snapshot that several sessions share",
    "read_only_sessions": "read-only sessions",
    "native_partitions": "partitioned tables",
    "row_versions": "row versions",
    "bulk_from_files": "bulk load from files in object storage",
    "schemas_are_databases": "schemas that are databases",
    "updates_identity": "updates of identity columns",
    "surrogate_keys": "columns that number rows by themselves",
    "alters_columns": "ALTER of a column's type",
}
"""What users read in place of a field's name: "MySQL has no ..."."""
