"""What a server and its database tell of themselves: who they are, what they can do, and how much room they have.

Facts that shape this file
 * The number of a database in sys.databases need not be DB_ID() on Azure; its name is the same.
 * Of a database in an availability group the number there is the same on every replica, its server's name is not.
 * Room in the log is told to logins with VIEW DATABASE STATE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tidegate.errors import DatabaseError

IDENTITIES = """
SELECT DB_NAME() + N' on ' + CONVERT(nvarchar(36), d.group_database_id),
       DB_NAME() + N' on ' + COALESCE(@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
FROM sys.databases AS d WHERE d.name = DB_NAME()
"""
# May a read see one moment of the database? Does a variable add up over rows, as a bulk copy needs it?
ABILITIES = """
DECLARE @all nvarchar(10) = NULL;
SELECT @all = COALESCE(@all, N'') + v FROM (VALUES (N'a'), (N'b')) AS two (v);
SELECT d.snapshot_isolation_state, d.is_read_committed_snapshot_on, LEN(@all),
       CONVERT(int, SERVERPROPERTY('EngineEdition')), OBJECT_ID(N'sys.security_predicates'),
       HAS_PERMS_BY_NAME(N'cdc.change_tables', 'OBJECT', 'SELECT'),
       CONVERT(nvarchar(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')),
       CASE WHEN HAS_PERMS_BY_NAME(N'sys.sql_expression_dependencies', 'OBJECT', 'SELECT') = 1
             AND HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), 'DATABASE', 'VIEW DEFINITION') = 1 THEN 1 ELSE 0 END,
       (SELECT MAX(1) FROM sys.all_columns AS c
        WHERE c.object_id = OBJECT_ID(N'sys.columns') AND c.name = N'vector_base_type')
FROM sys.databases AS d WHERE d.name = DB_NAME()
"""
_ALLOWED, _ADDED_UP, _WAREHOUSES = 1, 2, (6, 11)


class Abilities(NamedTuple):
    """What the server can do in this database."""

    snapshot_of_transaction: bool
    snapshot_of_statement: bool
    bulk_copies: bool
    is_warehouse: bool
    """Synapse, whose SQL is another."""
    policies: bool = True
    """Whether rows can be hidden by policies; a compatible server has none."""
    captures: bool = False
    """Whether the list of CDC's captures is there to be read."""
    is_copy: bool = False
    """A replica, or a database that is read-only: what is open where its rows are written cannot be seen."""
    dependencies: bool = False
    """Whether the login may ask what refers to what."""
    tells_vectors: bool = False
    """Whether it tells of what numbers a vector is made."""

    @classmethod
    def of(
        cls,
        state: int,
        by_statement: bool,
        length: int,
        edition: int | None,
        predicates: int | None = None,
        captures: int | None = None,
        updateability: str | None = None,
        dependencies: int | None = None,
        vectors: int | None = None,
    ) -> Abilities:
        return cls(
            snapshot_of_transaction=state == _ALLOWED,
            snapshot_of_statement=bool(by_statement),
            bulk_copies=length == _ADDED_UP,
            is_warehouse=edition in _WAREHOUSES,
            policies=predicates is not None,
            captures=bool(captures),
            is_copy=updateability == "READ_ONLY",
            dependencies=bool(dependencies),
            tells_vectors=vectors is not None,
        )


_ROOM_IN_LOG = """
SELECT d.recovery_model_desc, CONVERT(bigint, l.total_log_size_in_bytes / 1048576),
       CONVERT(bigint, l.used_log_space_in_bytes / 1048576)
FROM sys.databases AS d CROSS JOIN sys.dm_db_log_space_usage AS l
WHERE d.name = DB_NAME()
"""
_ROOM_FOR_ROWS = """
SELECT SUM(CONVERT(bigint, f.size)) / 128, SUM(CONVERT(bigint, FILEPROPERTY(f.name, N'SpaceUsed'))) / 128,
       MAX(CASE WHEN f.growth > 0 AND (f.max_size = -1 OR f.max_size > f.size) THEN 1 ELSE 0 END)
FROM sys.database_files AS f WHERE f.type = 0
"""


def room(asked: Callable[[str], list[Any]]) -> str:
    """In log and files, as far as the login is told."""
    return f"{_room_in_log(asked)}; {_room_for_rows(asked)}"


def _room_in_log(asked: Callable[[str], list[Any]]) -> str:
    try:
        model, size, used = asked(_ROOM_IN_LOG.strip())[0]
    except DatabaseError:
        size = None
    if size is None or used is None:
        return "how much room its log has could not be seen"
    return f"its log has {size:,} MiB, {used:,} of them used, and the recovery model is {model}"


def _room_for_rows(asked: Callable[[str], list[Any]]) -> str:
    try:
        size, used, grows = asked(_ROOM_FOR_ROWS.strip())[0]
    except DatabaseError:
        size = None
    if size is None or used is None:
        return "how much room its files have could not be seen"
    growth = "they grow" if grows else "they do not grow"
    return f"its files have {size:,} MiB, {used:,} of them used, and {growth}"
