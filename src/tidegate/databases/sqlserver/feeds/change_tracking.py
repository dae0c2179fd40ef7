"""SQL Server's Change Tracking as a change feed: the keys that changed since a version.

Facts that shape this file
 * Versions are given out at the commit, so a transaction that is open for long is never passed over.
 * There is one row per key, with the version of its last change. A row whose version is beyond the bound is told all
   the same: the key may have changed below the bound as well. It comes again in the next window.
 * MIN_VALID_VERSION is null without tracking and without the right to see it. Both stop the reading.
 * Microsoft asks for one snapshot transaction around version, changes and rows: otherwise a row can be newer than the
   change that told of it, or gone. Without snapshots the row is read as it is by then, and its change comes again.
 * Cleaning runs in the background, so the least valid version is asked before and after a read.
 * Tracking that was switched off and on begins with another least version and another internal table: the position
   remembers both.
 * It works on a primary replica only.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from tidegate.databases.sqlserver.session import SqlServerSession
from tidegate.databases.sqlserver.statements import select_from
from tidegate.errors import FeedLost, MissingObject
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.sql.text import Count, Literal, Name, Part, Sql, sql

if TYPE_CHECKING:
    import pyarrow as pa

_SAFE = "Nothing was loaded; lake and target keep what they had."
_RESYNC = "`tidegate run --resync` reads the table as a whole and follows its changes from now on."
_OPERATION = Column("tidegate_operation", "nchar(1)", "string", logical_type=Type("string", 1), database="sqlserver")
_VERSION = Column("tidegate_version", "bigint", "int64", logical_type=Type("int64"), database="sqlserver")
_CODES = {"I": INSERT, "U": UPDATE, "D": DELETE}
_SECONDS = {"MINUTES": 60, "HOURS": 3600, "DAYS": 86_400}


@dataclass(frozen=True)
class _Tracking:
    """What the server says of the tracking of one table."""

    now: int | None
    least: int | None
    log: str
    is_on: bool
    is_tracked: bool
    is_allowed: bool
    is_writable: bool
    retention: int
    """In seconds."""
    unit: str
    cleans: bool

    def lost(self, after: int, log: str) -> str:
        """Return why nothing can be read from a version on; empty if it can."""
        if self.now is None or self.least is None:
            return "the table is not tracked any more, or the login may not see it"
        if log and log != self.log:
            return "tracking was switched off and on"
        if after < self.least:
            return f"changes below version {self.least:,} were removed, and {after:,} was read"
        if after > self.now:
            return f"the server is at version {self.now:,}, before {after:,}: the database was restored"
        return ""


@dataclass(frozen=True)
class ChangeTracking(Feed):
    """The keys that Change Tracking tells."""

    label = "Change Tracking"
    has_images: ClassVar[bool] = False
    has_commit_times: ClassVar[bool] = False
    reads_snapshot: ClassVar[bool] = True

    @property
    def id(self) -> str:
        return "Change Tracking"

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        found = _tracking(session, table.name)
        if not found.is_on:
            statement = (
                "ALTER DATABASE CURRENT SET CHANGE_TRACKING = ON (CHANGE_RETENTION = 7 DAYS, AUTO_CLEANUP = ON);"
            )
            return [Problem("the database does not track changes", (statement, *self._enable(session, table)))]
        if not found.is_writable:
            return [Problem("this is a secondary replica: Change Tracking can be read on the primary only")]
        if not found.is_tracked:
            return [Problem("changes of the table are not tracked", tuple(self._enable(session, table)))]
        schema = session.table_schemas([table.name])[table.name]
        if {column.name for column in table.keys} != set(schema.primary_key):
            return [Problem("Change Tracking tells the primary key, and `keys` names other columns")]
        if not found.is_allowed:
            user = session.database.connection.user or "the_login"
            where = session.database.render(Name.of(table.name))  # type: ignore[arg-type]
            return [
                Problem(
                    "the login may not see the changes",
                    (f"GRANT VIEW CHANGE TRACKING ON OBJECT::{where} TO [{user}];",),
                )
            ]
        return []

    def _enable(self, session: Session, table: FeedTable) -> list[str]:
        return [f"{session.database.render(statement)};" for statement in self.create(session, [table.name])]

    def create(self, session: Session, tables: list[TableName]) -> list[Sql]:  # type: ignore[override]
        return [sql("ALTER TABLE {table} ENABLE CHANGE_TRACKING", table=Name.of(table)) for table in tables]

    def drop(self, session: Session, tables: list[TableName]) -> list[Sql]:  # type: ignore[override]
        return [sql("ALTER TABLE {table} DISABLE CHANGE_TRACKING", table=Name.of(table)) for table in tables]

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        found = _tracking(session, table.name)
        if found.now is None:
            raise MissingObject(
                f"{table.name}: the server tells no version of its changes.",
                "Nothing was read.",
                "Enable Change Tracking for the database and the table, and grant VIEW CHANGE TRACKING.",
            )
        now = Position(f"{found.now:020d}", f"{found.log} {found.now} {int(time.time())}")
        notices = (f"the server keeps changes for {_in_words(found)}",)
        if after is None:
            return FeedState(now, now, None, notices=notices)
        log, version, at = _stored(after)
        lost = found.lost(version, log)
        if lost:
            return FeedState(now, now, None, lost=lost, notices=notices)
        changes = int(str(session.query(count_changes(table.name, version))[0][0]))
        left = at + found.retention - int(time.time()) if at else found.retention
        urgent = found.cleans and left < found.retention / 4
        warnings = (f"the server removes changes that were not read yet in {max(left, 0) / 3600:,.0f} hours",)
        return FeedState(now, now, changes, notices=notices, warnings=warnings if urgent else ())

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        import pyarrow as pa

        from tidegate.hashing.changes import change_schema

        assert isinstance(session, SqlServerSession)
        session.export_snapshot()
        log, version, _ = _stored(after)
        self._require_valid(session, table, version, log)
        columns = (_OPERATION, _VERSION, *table.keys)
        text = tuple(column.name for column in table.keys if column.name in table.text_columns)
        request = ReadRequest(table.name, columns, None, text, table.batch)
        wanted = change_schema(table)
        for batch in session.read_query(changed_keys(table, version, request), request):
            codes = pa.array([_CODES[letter] for letter in batch.column(0).to_pylist()], pa.int16())
            places = pa.array([f"{number:020d}" for number in batch.column(1).to_pylist()], pa.string())
            times = pa.nulls(batch.num_rows, pa.timestamp("us", "UTC"))
            yield pa.RecordBatch.from_arrays([codes, places, times, *batch.columns[2:]], schema=wanted)
        self._require_valid(session, table, version, log)
        return None

    def _require_valid(self, session: Session, table: FeedTable, version: int, log: str) -> None:
        lost = _tracking(session, table.name).lost(version, log)
        if lost:
            raise FeedLost(f"{table.name}: {lost}.", _SAFE, _RESYNC)

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """The server removes changes by itself."""

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        found, problems = _tracking(session, table.name), tuple(self.problems(session, table))
        facts = {"version": str(found.now), "least valid version": str(found.least), "kept for": _in_words(found)}
        if after is not None and found.now is not None:
            log, version, _ = _stored(after)
            facts["read up to"] = str(version)
            facts["not read yet"] = found.lost(version, log) or f"{found.now - version:,} versions"
        return FeedHealth("Change Tracking", not problems, facts, problems)


def _in_words(found: _Tracking) -> str:
    amount = found.retention // _SECONDS.get(found.unit, 1)
    return f"{amount} {found.unit.lower()}" + ("" if found.cleans else ", and removes none by itself")


def _stored(position: Position) -> tuple[str, int, int]:
    """Return the log, the version and the time of a position. A person writes the version alone."""
    parts = position.detail.split(" ")
    if len(parts) < 3:
        return "", int(position.order, 16) if position.order.startswith("0x") else int(position.order), 0
    return parts[0], int(parts[1]), int(parts[2])


def _tracking(session: Session, table: TableName) -> _Tracking:
    now, least, log, is_on, is_tracked, is_allowed, is_writable, amount, unit, cleans = session.query(tracking(table))[
        0
    ]
    unit = str(unit or "DAYS")
    return _Tracking(
        None if now is None else int(str(now)),
        None if least is None else int(str(least)),
        str(log or ""),
        str(is_on) == "1",
        str(is_tracked) == "1",
        str(is_allowed) == "1",
        str(is_writable) == "1",
        int(str(amount or 0)) * _SECONDS.get(unit, 1),
        unit,
        str(cleans) == "1",
    )


def tracking(table: TableName) -> Sql:
    """Return a query of one row for all that the server says of the tracking of a table."""
    return sql(
        "SELECT CHANGE_TRACKING_CURRENT_VERSION(), CHANGE_TRACKING_MIN_VALID_VERSION(o.id),\n"
        "  (SELECT CONCAT(c.begin_version, '-', i.object_id) FROM sys.change_tracking_tables AS c\n"
        "   LEFT JOIN sys.internal_tables AS i ON i.parent_object_id = c.object_id\n"
        "     AND i.internal_type_desc = 'CHANGE_TRACKING' WHERE c.object_id = o.id),\n"
        "  CASE WHEN d.database_id IS NULL THEN 0 ELSE 1 END,\n"
        "  CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS c WHERE c.object_id = o.id)\n"
        "    THEN 1 ELSE 0 END,\n"
        "  HAS_PERMS_BY_NAME({name}, 'OBJECT', 'VIEW CHANGE TRACKING'),\n"
        "  CASE WHEN DATABASEPROPERTYEX(DB_NAME(), 'Updateability') = 'READ_WRITE' THEN 1 ELSE 0 END,\n"
        "  d.retention_period, d.retention_period_units_desc, CAST(d.is_auto_cleanup_on AS int)\n"
        "FROM (SELECT OBJECT_ID({name}) AS id) AS o\n"
        "LEFT JOIN sys.change_tracking_databases AS d ON d.database_id = DB_ID()",
        name=Literal(_written(table)),
    )


def _written(table: TableName) -> str:
    """Return a name as OBJECT_ID takes it."""
    return ".".join(f"[{part.replace(']', ']]')}]" for part in (table.schema, table.name))


def count_changes(table: TableName, version: int) -> Sql:
    """Return a query for the number of keys that changed after a version."""
    return sql(
        "SELECT {count} FROM CHANGETABLE(CHANGES {table}, {version}) AS ct",
        count=Count(),
        table=Name.of(table),
        version=Literal(version),
    )


def changed_keys(table: FeedTable, version: int, request: ReadRequest) -> Sql:
    """Return a query for the keys that changed after a version, with the operation and the version of each."""
    keys: list[Part] = [Name(("ct", column.name)) for column in table.keys]
    changes = sql(
        "(SELECT ct.SYS_CHANGE_OPERATION AS tidegate_operation, ct.SYS_CHANGE_VERSION AS tidegate_version, {keys}\n"
        "FROM CHANGETABLE(CHANGES {table}, {version}) AS ct) AS changes",
        keys=keys,
        table=Name.of(table.name),
        version=Literal(version),
    )
    return sql("{query}\nORDER BY tidegate_version", query=select_from(replace(request, rows=None), changes))
