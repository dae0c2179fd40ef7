"""SQL Server's CDC tables as a change feed: what its capture job has read out of the transaction log.

Facts that shape this file
 * A capture instance has a change table and functions of its own. A table has at most two: a new one is made when
   columns are added, since an instance keeps the columns that it began with. The instance that holds the position is
   read; the newer one takes over where the older one was not needed any more.
 * LSNs are binary(10), ordered as bytes. A function that is asked for an LSN outside of its range fails with a
   misleading error (313), so the range is asked first, and again after reading: cleaning runs in the background.
 * Inside of a transaction the order is that of `__$command_id`, which only the change table has. The documentation
   forbids to order by `__$seqval`, which only tells which rows of one command belong together. So images are read from
   the change table, and keys by the function.
 * An update is two rows: 3 with the values before, 4 with those after. 1 is a delete, 2 an insert.
 * (max) columns are null in the row before an update unless they changed; text, ntext and image are always null there.
 * The newest LSN is that of the capture job: rows may be committed that it has not read yet. They come later.
 * Commit times are local times of the server, in steps of 1/300 second.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.databases.sqlserver.session import SqlServerSession
from tidegate.databases.sqlserver.statements import select_from
from tidegate.databases.sqlserver.types import base_type
from tidegate.errors import FeedLost, MissingObject
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.sql.text import Count, Literal, Name, Part, Sql, raw, sql

if TYPE_CHECKING:
    import pyarrow as pa

_SAFE = "Nothing was loaded; lake and target keep what they had."
_RESYNC = "`tidegate run --resync` reads the table as a whole and follows its changes from now on."
_DELETED, _INSERTED, _BEFORE, _AFTER = 1, 2, 3, 4
_ABOUT = (
    Column("tidegate_operation", "int", "int32", logical_type=Type("int32"), database="sqlserver"),
    Column("tidegate_lsn", "varchar(22)", "string", logical_type=Type("string", 22), database="sqlserver"),
    Column("tidegate_time", "datetime2(3)", "timestamp", logical_type=Type("timestamp", 3), database="sqlserver"),
)
_INCOMPLETE = ("text", "ntext", "image")
_NO_LSN = "0x00000000000000000000"


@dataclass(frozen=True)
class _Instance:
    """One capture instance of a table."""

    name: str
    start: str
    """The LSN from which on it has changes, as hexadecimal digits."""
    least: str
    """The least LSN that can be read now."""
    columns: frozenset[str]


@dataclass(frozen=True)
class CdcTables(Feed):
    """What CDC tables tell."""

    label = "CDC tables"

    @property
    def id(self) -> str:
        return "CDC tables"

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        if str(session.query(is_enabled())[0][0]) != "1":
            statement = "EXEC sys.sp_cdc_enable_db;"
            return [Problem("the database captures no changes", (statement, *self._enable(session, table)))]
        instances = _instances(session, table.name)
        if not instances:
            return [Problem("changes of the table are not captured", tuple(self._enable(session, table)))]
        newest = instances[-1].columns
        missing = [column.name for column in table.told if column.name not in newest]
        if missing:
            what = f"the capture instance {instances[-1].name} lacks {', '.join(missing)}"
            return [Problem(f"{what}: another one is needed", tuple(self._enable(session, table)))]
        incomplete = [column.name for column in table.told if base_type(column.type) in _INCOMPLETE]
        if incomplete:
            return [
                Problem(
                    f"{', '.join(incomplete)}: CDC keeps no values of text, ntext and image", ("-- use `mode: keys`",)
                )
            ]
        return []

    def _enable(self, session: Session, table: FeedTable) -> list[str]:
        return [f"{session.database.render(statement)};" for statement in self.create(session, [table.name])]

    def create(self, session: Session, tables: list[TableName]) -> list[Sql]:  # type: ignore[override]
        return [
            sql(
                "EXEC sys.sp_cdc_enable_table @source_schema = {schema}, @source_name = {table}, @role_name = NULL,"
                " @supports_net_changes = 0",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
            for table in tables
        ]

    def drop(self, session: Session, tables: list[TableName]) -> list[Sql]:  # type: ignore[override]
        return [
            sql(
                "EXEC sys.sp_cdc_disable_table @source_schema = {schema}, @source_name = {table},"
                " @capture_instance = N'all'",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
            for table in tables
        ]

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        newest = _newest(session)
        if not newest:
            raise MissingObject(
                f"{table.name}: the capture job has not read the log yet, or the login may not see it.",
                "Nothing was read.",
                "Start SQL Server Agent, or grant SELECT on the captured columns and on the schema cdc.",
            )
        kept = _kept(session)
        notices = (f"the server keeps captured changes for {kept / 3600:g} hours",) if kept else ()
        at = int(time.time())
        if after is None:
            now = Position(newest, f"{newest} {at}")
            return FeedState(now, now, None, notices=notices)
        read_up_to, read_at = _stored(after)
        now = Position(newest, f"{newest} {at}")
        instance, lost = _instance_for(session, table, read_up_to)
        if lost or instance is None:
            return FeedState(now, now, None, lost=lost, notices=notices)
        if newest < read_up_to:
            lost = f"the log ends at {newest}, before {read_up_to}: the database was restored"
            return FeedState(now, now, None, lost=lost, notices=notices)
        changes = int(str(session.query(count_changes(instance.name, read_up_to, newest))[0][0]))
        left = read_at + kept - at if read_at and kept else kept
        warnings = (f"the server removes changes that were not read yet in {max(left, 0) / 3600:,.0f} hours",)
        return FeedState(now, now, changes, notices=notices, warnings=warnings if kept and left < kept / 4 else ())

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        assert isinstance(session, SqlServerSession)
        (low, _), (high, _) = _stored(after), _stored(upto)
        instance, lost = _instance_for(session, table, low)
        if lost or instance is None:
            raise FeedLost(f"{table.name}: {lost}.", _SAFE, _RESYNC)
        text = tuple(name for name in table.text_columns if any(column.name == name for column in table.told))
        request = ReadRequest(table.name, (*_ABOUT, *table.told), None, text, table.batch)
        query = changes_between(instance.name, table, low, high, request)
        yield from _with_key_updates(session.read_query(query, request), table)
        _, lost = _instance_for(session, table, low)
        if lost:
            raise FeedLost(f"{table.name}: while its changes were read, {lost}.", _SAFE, _RESYNC)
        return high

    def wait_for(self, session: Session, seen: object) -> None:
        """What was captured is committed: every query sees it."""

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """The server removes captured changes by itself."""

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        problems = tuple(self.problems(session, table))
        if problems:
            return FeedHealth("CDC tables", False, {}, problems)
        newest, lag = _newest(session), session.query(capture_lag())
        facts = {"captured up to": newest or "nothing yet"}
        facts["capture job behind"] = f"{lag[0][0]} seconds" if lag and lag[0][0] is not None else "unknown"
        facts["capture instances"] = ", ".join(instance.name for instance in _instances(session, table.name))
        if after is not None:
            facts["read up to"] = _stored(after)[0]
            facts["not read yet"] = _instance_for(session, table, _stored(after)[0])[1] or "can be read"
        return FeedHealth("CDC tables", bool(newest), facts, problems)


def _stored(position: Position) -> tuple[str, int]:
    """Return the LSN and the time of a position. A person writes the LSN alone."""
    lsn, _, at = position.detail.partition(" ")
    lsn = (lsn or position.order).lower()
    digits = lsn.removeprefix("0x").rjust(20, "0")
    return f"0x{digits}", int(at or 0)


def _newest(session: Session) -> str:
    found = session.query(newest_lsn())[0][0]
    return str(found).lower() if found else ""


def _kept(session: Session) -> int:
    """Return for how many seconds the server keeps changes; 0 where this login may not see it."""
    found = session.query(retention())
    return int(str(found[0][0] or 0)) * 60 if found else 0


def _instances(session: Session, table: TableName) -> list[_Instance]:
    """Return the capture instances of a table that this login sees, oldest first."""
    found: dict[str, tuple[str, str, set[str]]] = {}
    for name, start, least, column in session.query(instances(table)):
        found.setdefault(str(name), (str(start).lower(), str(least or _NO_LSN).lower(), set()))[2].add(str(column))
    return [_Instance(name, start, least, frozenset(columns)) for name, (start, least, columns) in found.items()]


def _instance_for(session: Session, table: FeedTable, after: str) -> tuple[_Instance | None, str]:
    """Return the newest instance that has all changes after an LSN, or why none has."""
    known = [instance for instance in _instances(session, table.name) if instance.least != _NO_LSN]
    if not known:
        return None, "its changes are not captured any more, or the login may not see them"
    wanted = {column.name for column in table.told}
    reaching = [instance for instance in known if instance.least <= _following(after)]
    if not reaching:
        return None, f"changes before {min(instance.least for instance in known)} were removed, and {after} was read"
    complete = [instance for instance in reaching if wanted <= instance.columns]
    if not complete:
        return None, f"the capture instance {reaching[-1].name} lacks columns that were added later"
    return complete[-1], ""


def _following(lsn: str) -> str:
    """Return the LSN after another one."""
    return f"0x{int(lsn, 16) + 1:020x}"


def _with_key_updates(batches: Iterator[pa.RecordBatch], table: FeedTable) -> Iterator[pa.RecordBatch]:
    """Yield changes. Of the two rows of an update, the one before counts only where it has another key."""
    import pyarrow as pa

    from tidegate.hashing.changes import change_schema

    schema = change_schema(table)
    names = ["operation", "lsn", "time", *schema.names[3:]]
    held: dict[str, object] | None = None
    number, last = 0, ""
    keys = [column.name for column in table.keys]
    for batch in batches:
        rows = []
        for row in pa.RecordBatch.from_arrays(batch.columns, names=names).to_pylist():
            if row["operation"] == _BEFORE:
                held = row
                continue
            moved = row["operation"] == _AFTER and held is not None and any(held[key] != row[key] for key in keys)
            if moved and held is not None:
                rows.append((DELETE, held))
            code = {_DELETED: DELETE, _INSERTED: INSERT}.get(row["operation"], INSERT if moved else UPDATE)
            rows.append((code, row))
            held = None
        columns: list[list[object]] = [[] for _ in schema]
        for code, row in rows:
            number = number + 1 if row["lsn"] == last else 1
            last = str(row["lsn"])
            values = [code, f"{last.lower()}.{number:08d}", row["time"], *(row[name] for name in schema.names[3:])]
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        times = pa.array(columns[2], pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
        arrays = [
            pa.array(values, field.type)
            for values, field in zip(columns, schema, strict=True)
            if field.name != schema.names[2]
        ]
        yield pa.RecordBatch.from_arrays([*arrays[:2], times, *arrays[2:]], schema=schema)


# Statements


def is_enabled() -> Sql:
    return sql("SELECT CAST(is_cdc_enabled AS int) FROM sys.databases WHERE database_id = DB_ID()")


def newest_lsn() -> Sql:
    """Return a query for the LSN up to which the capture job has read, as hexadecimal digits."""
    return sql("SELECT CONVERT(varchar(22), sys.fn_cdc_get_max_lsn(), 1)")


def retention() -> Sql:
    """Return a query for the minutes for which captured changes are kept."""
    return sql(
        "SELECT MAX(retention) FROM msdb.dbo.cdc_jobs WHERE database_id = DB_ID() AND job_type = N'cleanup'"
        " AND HAS_PERMS_BY_NAME(N'msdb.dbo.cdc_jobs', 'OBJECT', 'SELECT') = 1"
    )


def capture_lag() -> Sql:
    """Return a query for the seconds that the capture job is behind."""
    return sql("SELECT TOP (1) latency FROM sys.dm_cdc_log_scan_sessions ORDER BY session_id DESC")


def instances(table: TableName) -> Sql:
    """Return a query for the captured columns of a table, with instance, start and least LSN."""
    return sql(
        "SELECT t.capture_instance, CONVERT(varchar(22), t.start_lsn, 1),\n"
        "  CONVERT(varchar(22), sys.fn_cdc_get_min_lsn(t.capture_instance), 1), c.column_name\n"
        "FROM cdc.change_tables AS t JOIN cdc.captured_columns AS c ON c.object_id = t.object_id\n"
        "WHERE t.source_object_id = OBJECT_ID({name}) ORDER BY t.create_date, t.capture_instance, c.column_ordinal",
        name=Literal(".".join(f"[{part.replace(']', ']]')}]" for part in (table.schema, table.name))),
    )


def _lsn(lsn: str) -> Sql:
    return sql("CONVERT(binary(10), {lsn}, 1)", lsn=Literal(lsn))


def _function(instance: str, low: str, high: str) -> Sql:
    """Return the function of an instance, for LSNs after `low` up to `high`."""
    return sql(
        "cdc.{name}({low}, {high}, N'all update old')",
        name=Name.of(f"fn_cdc_get_all_changes_{instance}"),
        low=_lsn(_following(low)),
        high=_lsn(high),
    )


def count_changes(instance: str, low: str, high: str) -> Sql:
    """Return a query for the number of changes after one LSN, up to another.

    The function fails for an empty range."""
    if _following(low) > high:
        return sql("SELECT 0")
    return sql(
        "SELECT {count} FROM {changes} AS c WHERE c.__$operation <> 3",
        count=Count(),
        changes=_function(instance, low, high),
    )


def changes_between(instance: str, table: FeedTable, low: str, high: str, request: ReadRequest) -> Sql:
    """Return a query for the changes after one LSN, up to another, in the order of the log where values count."""
    told: list[Part] = [Name(("c", column.name)) for column in table.told]
    change_table = Name(("cdc", f"{instance}_CT"))
    images = table.images
    place = change_table if images else _function(instance, low, high)
    changes = sql(
        "(SELECT c.__$operation AS tidegate_operation, CONVERT(varchar(22), c.__$start_lsn, 1) AS tidegate_lsn,\n"
        "  DATEADD(MINUTE, DATEDIFF(MINUTE, GETDATE(), GETUTCDATE()), CAST(m.tran_end_time AS datetime2(3)))"
        " AS tidegate_time,\n"
        "  {command} AS tidegate_command, c.__$seqval AS tidegate_place, {told}\n"
        "FROM {place} AS c LEFT JOIN cdc.lsn_time_mapping AS m ON m.start_lsn = c.__$start_lsn{where}) AS changes",
        command=raw("c.__$command_id" if images else "0"),
        told=told,
        place=place,
        where=sql(
            "\nWHERE c.__$start_lsn >= {low} AND c.__$start_lsn <= {high}", low=_lsn(_following(low)), high=_lsn(high)
        )
        if images
        else raw(""),
    )
    return sql(
        "{query}\nORDER BY tidegate_lsn, tidegate_command, tidegate_place, tidegate_operation",
        query=select_from(request, changes),
    )
