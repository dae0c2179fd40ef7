"""Facts about a server and its database: identity, features, and free space.

Facts that shape this file
 * On Azure the database_id in sys.databases may differ from DB_ID(). The name is the same.
 * In an availability group, group_database_id is the same on every replica; the server's name is not.
 * The free space of the log needs VIEW SERVER STATE up to 2019, VIEW SERVER PERFORMANCE STATE from 2022 on.
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
# Is snapshot isolation allowed? Does a variable concatenate over rows, as the driver's bulk copy needs it?
SERVER_FEATURES = """
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
_ALLOWED, _CONCATENATED, _WAREHOUSES = 1, 2, (6, 11)


class ServerFeatures(NamedTuple):
    """What this server can do in this database, and what this login may ask."""

    snapshot_of_transaction: bool
    snapshot_of_statement: bool
    bulk_copy: bool
    is_warehouse: bool
    """Azure Synapse, which has another SQL dialect."""
    policies: bool = True
    """Whether security policies can hide rows; a compatible server has no policies."""
    captures: bool = False
    """Whether the login can read the list of CDC captures."""
    is_replica: bool = False
    """A replica or a read-only database: open transactions of the primary cannot be seen."""
    dependencies: bool = False
    """Whether the login may read sys.sql_expression_dependencies."""
    has_vector_base_type: bool = False
    """Whether sys.columns tells the number type of a vector."""

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
    ) -> ServerFeatures:
        """Return the features from the answer to `SERVER_FEATURES`."""
        return cls(
            snapshot_of_transaction=state == _ALLOWED,
            snapshot_of_statement=bool(by_statement),
            bulk_copy=length == _CONCATENATED,
            is_warehouse=edition in _WAREHOUSES,
            policies=predicates is not None,
            captures=bool(captures),
            is_replica=updateability == "READ_ONLY",
            dependencies=bool(dependencies),
            has_vector_base_type=vectors is not None,
        )


_LOG_SPACE = """
SELECT d.recovery_model_desc, CONVERT(bigint, l.total_log_size_in_bytes / 1048576),
       CONVERT(bigint, l.used_log_space_in_bytes / 1048576)
FROM sys.databases AS d CROSS JOIN sys.dm_db_log_space_usage AS l
WHERE d.name = DB_NAME()
"""
_FILE_SPACE = """
SELECT SUM(CONVERT(bigint, f.size)) / 128, SUM(CONVERT(bigint, FILEPROPERTY(f.name, N'SpaceUsed'))) / 128,
       MAX(CASE WHEN f.growth > 0 AND (f.max_size = -1 OR f.max_size > f.size) THEN 1 ELSE 0 END)
FROM sys.database_files AS f WHERE f.type = 0
"""


def log_space(fetch: Callable[[str], list[Any]]) -> str:
    """Return the size and use of log and files, as far as the login may see them."""
    return f"{_space_in_log(fetch)}; {_space_in_files(fetch)}"


def _space_in_log(fetch: Callable[[str], list[Any]]) -> str:
    try:
        model, size, used = fetch(_LOG_SPACE.strip())[0]
    except DatabaseError:
        size = None
    if size is None or used is None:
        return "this login may not see how much space the log has"
    is_light = str(model).upper() in ("SIMPLE", "BULK_LOGGED")
    logging = "rows on their way into the staging table are logged minimally" if is_light else "all rows are logged"
    return f"the log has {size:,} MiB, {used:,} MiB used; the recovery model is {model}: {logging}"


def _space_in_files(fetch: Callable[[str], list[Any]]) -> str:
    try:
        size, used, grows = fetch(_FILE_SPACE.strip())[0]
    except DatabaseError:
        size = None
    if size is None or used is None:
        return "this login may not see how much space the files have"
    growth = "can grow" if grows else "cannot grow"
    return f"the files have {size:,} MiB, {used:,} MiB used, and {growth}"
