"""The binary log of MySQL and MariaDB as a change feed.

Facts that shape this file
 * A client reads the log as a replica does. That needs the right REPLICATION SLAVE; to ask where the log ends needs
   REPLICATION CLIENT (BINLOG MONITOR in MariaDB).
 * The server removes its log by age, whoever still needs it. Nothing has to be confirmed, and nothing keeps it.
 * TRUNCATE and ALTER have no row events: the table is read as a whole, or the truncate comes as a change.
 * The commit time is that of the transaction's first event: whole seconds, microseconds from MySQL 8 on.
 * Files of one server follow on one another. On another server of the group, the GTIDs find the place; its files have
   other numbers, so each change of server begins a new series of positions.
 * A transaction is in the log before the engine has committed it: rows that are read again at once may be the old ones.
 * MariaDB tells the place of a consistent snapshot. MySQL does not: what the first load has comes again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pymysql

from tidegate.databases.mysql.binlog.position import LogPosition, mariadb_sequences, number_of
from tidegate.databases.mysql.binlog.statements import Effect
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.databases.mysql.failures import code_of, translated
from tidegate.errors import DatabaseError, FeedLost, Transient
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.model.feeds import DELETE, INSERT, TRUNCATE, UPDATE, Position
from tidegate.model.names import TableName
from tidegate.sql.text import Literal, Sql, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.mysql.binlog.stream import LoggedRows, LoggedStatement, LogReader, Moment
    from tidegate.interfaces.session import Session

_SAFE = "Nothing was loaded; lake and target keep what they had."
_RESYNC = "`tidegate run --resync` reads the table as a whole and follows the log from now on."
_LOG_IS_GONE = 1236
_LOOKED_AT = 32 << 20
"""How many bytes of the log planning looks through for changes of a table."""
_DAY = 86_400
_GTID = re.compile(r"[0-9a-f-]{36}:\d+")
_PATIENCE, _MOMENT = 60, 0.5
_SNAPSHOT = """
SELECT GROUP_CONCAT(VARIABLE_VALUE ORDER BY VARIABLE_NAME SEPARATOR ':') FROM information_schema.SESSION_STATUS
WHERE VARIABLE_NAME IN ('BINLOG_SNAPSHOT_FILE', 'BINLOG_SNAPSHOT_POSITION')
"""


@dataclass(frozen=True)
class BinaryLog(Feed):
    """What the binary log tells of tables."""

    label = "binary log"

    mariadb: bool = False
    """The server is MariaDB, which tells the place of a snapshot."""

    @property
    def id(self) -> str:
        return "binary log"

    # What the server has and lacks

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        settings = _settings(session)
        if not settings["log_bin"]:
            return [
                Problem(
                    "the server writes no binary log (`log_bin` is off)",
                    ("-- in the server's configuration, then restart: log_bin = binlog, server_id = 1",),
                )
            ]
        return [*_wrong_settings(settings, table), *_missing_rights(session), *_unreadable_columns(session, table)]

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        here = _end_of_log(session)
        if after is None:
            began = _file_began(session, here.file)
            now = _position(replace(here, began=began), 0)
            return FeedState(now, now, None, notices=self._retention(session, None))
        known, series = _stored(after)
        try:
            start = _start(session, known)
        except _Lost as lost:
            now = _position(replace(here, began=_file_began(session, here.file)), series + 1)
            return FeedState(now, now, None, lost=str(lost))
        if start.gtid:
            series += 1
        began = known.began if here.file == known.file and not start.gtid else _file_began(session, here.file)
        now = _position(replace(here, began=began), series)
        found = _Look()
        if now.order > after.order:
            found = _look(session, table.name, start, here)
        return FeedState(
            now,
            now,
            found.changes,
            lost=found.lost,
            truncated=found.is_emptied,
            untold=found.untold,
            notices=self._retention(session, known),
            warnings=self._retention(session, known, only_urgent=True),
        )

    def snapshot_query(self) -> Sql | None:
        return sql(_SNAPSHOT.strip()) if self.mariadb else None

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        from tidegate.databases.mysql.binlog.stream import Unreadable

        known, _ = _stored(after)
        bound, series = _stored(upto)
        try:
            start = _start(session, known)
            batches = _Batches(table, series, _place_of(snapshot))
            with _Dump(session, start, bound, table.name) as reader:
                yield from batches.of(reader)
        except (Unreadable, _Lost) as lost:
            raise FeedLost(f"{table.name}: {lost}.", _SAFE, _RESYNC) from None
        return str(replace(bound, gtid=batches.last_gtid))

    def wait_for(self, session: Session, seen: object) -> None:
        """A transaction is in the log a moment before its rows can be seen."""
        wanted = LogPosition.parse(str(seen))
        deadline = time.monotonic() + _PATIENCE
        while not _sees(session, wanted):
            if time.monotonic() > deadline:
                raise Transient(
                    f"The server has not shown the rows up to {wanted.file}:{wanted.offset} for {_PATIENCE} seconds.",
                    _SAFE,
                    "Run again.",
                )
            time.sleep(0.02)

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        """The server removes its log by itself."""

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        settings = _settings(session)
        problems = tuple(self.problems(session, table))
        facts = {"format": f"{settings['binlog_format']}, {settings['binlog_row_image']} row image"}
        if not settings["log_bin"]:
            return FeedHealth("binary log", False, facts, problems)
        try:
            here, files = _end_of_log(session), _files(session)
        except DatabaseError as problem:
            return FeedHealth("binary log", False, {**facts, "position": problem.happened}, problems)
        facts["position"] = str(here)
        facts["size of the log"] = f"{sum(files.values()):,} bytes in {len(files)} files"
        seconds = int(settings["seconds"])
        facts["kept for"] = f"{seconds / _DAY:g} days" if seconds else "as long as nobody removes it"
        alive = not any(problem.severity == "error" for problem in problems)
        if after is not None:
            known, _ = _stored(after)
            state = self.state(session, table, after, "")
            alive = alive and not state.lost
            facts["read up to"] = str(known)
            behind = _bytes_between(files, known, here)
            facts["not read yet"] = state.lost or (f"{behind:,} bytes" if behind is not None else "unknown")
            problems += tuple(Problem(text, severity="warning") for text in state.warnings)
        return FeedHealth("binary log", alive, facts, problems)

    def _retention(self, session: Session, known: LogPosition | None, *, only_urgent: bool = False) -> tuple[str, ...]:
        """Return how long the server keeps what was not read yet."""
        seconds = int(_settings(session)["seconds"])
        if not seconds:
            return () if only_urgent else ("the server removes its binary log only when somebody tells it to",)
        if known is None or not known.at:
            return () if only_urgent else (f"the server keeps its binary log for {seconds / _DAY:g} days",)
        left = max(known.at + seconds - int(time.time()), 0)
        text = f"the server removes the binary log that was not read yet in {left / 3600:,.0f} hours"
        is_urgent = left < seconds / 4
        return (text,) if is_urgent == only_urgent else ()


def _sees(session: Session, wanted: LogPosition) -> bool:
    """Return whether queries see all rows up to a place in the log. MySQL tells it by GTIDs only; a commit without one
    is visible a moment after it was written."""
    if _is_mariadb(session):
        session.export_snapshot()
        seen = _place_of(str(session.query(sql(_SNAPSHOT.strip()))[0][0] or ""))
        session.reset()
        return seen >= wanted.order
    if not wanted.gtid:
        time.sleep(_MOMENT)
        return True
    known = session.query(sql("SELECT GTID_SUBSET({wanted}, @@global.gtid_executed)", wanted=Literal(wanted.gtid)))
    return str(known[0][0]) == "1"


class _Lost(Exception):
    """The log no longer reaches back to a position. The text is the reason, a clause."""


@dataclass(frozen=True)
class _Look:
    """What the log has of one table."""

    changes: int | None = 0
    is_emptied: bool = False
    untold: str = ""
    lost: str = ""


def _settings(session: Session) -> dict[str, Any]:
    """Return the settings of the server that the feed depends on."""
    wanted = ["log_bin", "binlog_format", "binlog_row_image", "binlog_row_metadata", "log_bin_compress"]
    wanted += ["binlog_transaction_compression", "binlog_row_value_options"]
    wanted += ["binlog_expire_logs_seconds", "expire_logs_days", "gtid_mode"]
    listed = [Literal(name) for name in wanted]
    rows = session.query(sql("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})", names=listed))
    found: dict[str, Any] = dict.fromkeys(wanted, "") | {str(name): str(value) for name, value in rows}
    found["log_bin"] = found["log_bin"] in ("ON", "1")
    found["seconds"] = int(found["binlog_expire_logs_seconds"] or 0) or int(
        float(found["expire_logs_days"] or 0) * _DAY
    )
    return found


def _wrong_settings(settings: Mapping[str, Any], table: FeedTable) -> Iterator[Problem]:
    if settings["binlog_format"] != "ROW":
        yield _wrong("binlog_format", settings["binlog_format"], "ROW", "statements in place of rows")
    if settings["binlog_row_metadata"] != "FULL":
        now = settings["binlog_row_metadata"] or "unknown to this version"
        yield _wrong("binlog_row_metadata", now, "FULL", "rows without the names of their columns")
    if settings["binlog_row_image"] not in ("FULL", "NOBLOB", "FULL_NODUP") or (
        table.images and settings["binlog_row_image"] != "FULL"
    ):
        yield _wrong("binlog_row_image", settings["binlog_row_image"], "FULL", "rows without all of their columns")
    if settings["log_bin_compress"] == "ON":
        yield _wrong("log_bin_compress", "ON", "OFF", "events that are compressed")
    if settings["binlog_transaction_compression"] == "ON":
        yield _wrong("binlog_transaction_compression", "ON", "OFF", "transactions that are compressed")
    if settings["binlog_row_value_options"]:
        now = settings["binlog_row_value_options"]
        yield _wrong("binlog_row_value_options", now, "''", "documents of which only a part is told")


def _wrong(name: str, now: str, wanted: str, why: str) -> Problem:
    text = f"`{name}` is {now}: the binary log would have {why}"
    mending = sql("SET GLOBAL {name} = {wanted}", name=raw(name), wanted=raw(wanted))
    return Problem(text, (f"{render(mending, DIALECT)}; -- and in the server's configuration",))


def _missing_rights(session: Session) -> Iterator[Problem]:
    granted = " ".join(str(row[0]) for row in session.query(sql("SHOW GRANTS"))).upper()
    login = session.database.connection.user
    if "ALL PRIVILEGES ON *.*" in granted:
        return
    rights = {
        "REPLICATION SLAVE": ("REPLICATION SLAVE", "REPLICATION REPLICA"),
        "REPLICATION CLIENT": ("REPLICATION CLIENT", "BINLOG MONITOR"),
    }
    for right, names in rights.items():
        if not any(name in granted for name in names):
            yield Problem(f"the login lacks {right}", (f"GRANT {right} ON *.* TO '{login}';",))


def _unreadable_columns(session: Session, table: FeedTable) -> Iterator[Problem]:
    from tidegate.databases.mysql.binlog.rows import unreadable

    for column in table.told:
        reason = unreadable(column)
        is_float = column.logical_type.family in ("float32", "float64")
        if not reason and is_float and column.name in table.text_columns:
            reason = f"{column.name} is read as text, which the log has as a number"
        if reason:
            yield Problem(f"{reason}: its values cannot be taken from the binary log", ("-- use `mode: keys`",))


# Places in the log


def _end_of_log(session: Session) -> LogPosition:
    """Return the end of the server's log, with the GTIDs up to there."""
    has_masters = _is_mariadb(session) or _version(session) < (8, 4)
    rows = session.query(sql("SHOW MASTER STATUS") if has_masters else sql("SHOW BINARY LOG STATUS"))
    file, offset = str(rows[0][0]), int(str(rows[0][1]))
    gtid = str(rows[0][4]).replace("\n", "") if len(rows[0]) > 4 and rows[0][4] else ""
    if _is_mariadb(session):
        gtid = _gtid_at(session, file, offset)
    return LogPosition(file, offset, 0, gtid, int(time.time()))


def _is_mariadb(session: Session) -> bool:
    from tidegate.databases.mysql.session import MysqlSession

    assert isinstance(session, MysqlSession)
    return session.is_mariadb


def _gtid_at(session: Session, file: str, offset: int) -> str:
    """Return MariaDB's GTIDs up to a place of its log."""
    found = session.query(sql("SELECT BINLOG_GTID_POS({file}, {at})", file=Literal(file), at=Literal(offset)))
    return str(found[0][0] or "")


def _version(session: Session) -> tuple[int, ...]:
    from tidegate.databases.mysql.session import MysqlSession

    assert isinstance(session, MysqlSession)
    return session.version


def _files(session: Session) -> dict[str, int]:
    return {str(row[0]): int(str(row[1])) for row in session.query(sql("SHOW BINARY LOGS"))}


def _bytes_between(files: Mapping[str, int], known: LogPosition, here: LogPosition) -> int | None:
    if known.file not in files:
        return None
    later = [size for file, size in files.items() if number_of(known.file) < number_of(file) < number_of(here.file)]
    if known.file == here.file:
        return here.offset - known.offset
    return files[known.file] - known.offset + sum(later) + here.offset


def _position(place: LogPosition, series: int) -> Position:
    return Position(f"{series:04d}.{number_of(place.file):08d}.{place.offset:012d}", str(place))


def _place_of(snapshot: str) -> tuple[int, int]:
    """Return the place of a snapshot; before every place where there is none."""
    file, _, offset = snapshot.rpartition(":")
    return (number_of(file), int(offset)) if file and offset.isdigit() else (-1, 0)


def _stored(position: Position) -> tuple[LogPosition, int]:
    """Return the place of a position, and the number of its series.

    A position that a person wrote has no detail: its text is the place."""
    if position.detail:
        return LogPosition.parse(position.detail), int(position.order[:4])
    return LogPosition.parse(position.order), 0


def _start(session: Session, known: LogPosition) -> LogPosition:
    """Return the place to read from on this server: file and offset where the file is the same, otherwise GTIDs."""
    reason = "its position names no file"
    if known.file:
        size = _files(session).get(known.file)
        if size is None:
            reason = f"the server no longer has {known.file}"
        elif size < known.offset:
            reason = f"{known.file} ends before {known.offset}: the log began anew"
        elif known.began and _file_began(session, known.file) != known.began:
            reason = f"{known.file} is another file than the one that was read: the log began anew"
        else:
            return replace(known, gtid="")
    if not known.gtid:
        raise _Lost(reason)
    start = LogPosition(gtid=known.gtid)
    missing = _purged(session, known.gtid)
    if missing:
        raise _Lost(f"{reason}, and {missing}")
    return start


def _purged(session: Session, gtid: str) -> str:
    """Return why the server cannot go on from these GTIDs; empty if it can."""
    if not _is_mariadb(session):
        rows = session.query(
            sql(
                "SELECT GTID_SUBSET(@@global.gtid_purged, {known}), GTID_SUBSET({known}, @@global.gtid_executed)",
                known=Literal(gtid),
            )
        )
        kept, has_all = (str(value) == "1" for value in rows[0])
        if not has_all:
            return "it never had the transactions that were read"
        return "" if kept else "it has removed transactions that were not read"
    known, newest = (
        mariadb_sequences(text)
        for text in (gtid, str(session.query(sql("SELECT @@global.gtid_binlog_pos"))[0][0] or ""))
    )
    if any(newest.get(domain, 0) < sequence for domain, sequence in known.items()):
        return "it never had the transactions that were read"
    oldest = min(_files(session), key=number_of)
    begins = mariadb_sequences(_gtid_at(session, oldest, 4))
    late = [domain for domain, sequence in begins.items() if known.get(domain, 0) < sequence]
    return f"it has removed transactions of domain {late[0]}" if late else ""


def _file_began(session: Session, file: str) -> int:
    """Return when a file began: that is in its first event."""
    with _Dump(session, LogPosition(file, 4), LogPosition(), None) as reader:
        reader.first_event()
        return reader.began


class _Dump:
    """A connection of its own, that reads the log from one place to another."""

    def __init__(self, session: Session, start: LogPosition, bound: LogPosition, table: TableName | None) -> None:
        self._session, self._start, self._bound = session, start, bound
        self._tables = [] if table is None else [(table.schema, table.name)]
        self._reading: Session | None = None

    def __enter__(self) -> LogReader:
        from tidegate.databases.mysql.binlog.stream import LogReader, begin
        from tidegate.databases.mysql.session import MysqlSession

        self._reading = self._session.database.connect("change feed", read_only=True)
        assert isinstance(self._reading, MysqlSession)
        try:
            with translated(self._session.database.connection):
                begin(self._reading.wire, self._start, mariadb=self._reading.is_mariadb)
        except BaseException:
            self._reading.close()
            raise
        return LogReader(self._reading.wire, self._start, self._bound, self._tables)

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        assert self._reading is not None
        self._reading.close()
        if isinstance(problem, pymysql.Error):
            if code_of(problem) == _LOG_IS_GONE:
                raise _Lost(str(problem.args[1]).rstrip(".")) from None
            with translated(self._session.database.connection):
                raise problem


def _look(session: Session, table: TableName, start: LogPosition, bound: LogPosition) -> _Look:
    """Return what the log has of a table; unknown where there is more than planning looks at."""
    from tidegate.databases.mysql.binlog.rows import RowDecoder
    from tidegate.databases.mysql.binlog.stream import LoggedRows, LoggedStatement, Unreadable

    changes, is_emptied = 0, False
    try:
        with _Dump(session, start, bound, table) as reader:
            for change in reader.changes():
                if isinstance(change, LoggedStatement):
                    _, untold = _told_by(change)
                    if untold:
                        return _Look(None, is_emptied, untold)
                    is_emptied, changes = True, changes + 1
                if isinstance(change, LoggedRows):
                    changes += sum(1 for _ in RowDecoder((), (), change.table).rows(change.images))
                if reader.bytes > _LOOKED_AT:
                    return _Look(None, is_emptied)
    except (Unreadable, _Lost) as lost:
        return _Look(None, lost=str(lost))
    return _Look(changes, is_emptied)


def _told_by(change: LoggedStatement) -> tuple[bool, str]:
    """Return whether a statement emptied the table, or what it did that no row event tells."""
    if change.effect is Effect.TRUNCATE:
        return True, ""
    what = "altered" if change.effect is Effect.ALTER else "replaced, dropped or renamed, or lost a partition,"
    return False, f"the table was {what} at {change.moment.file}:{change.moment.end}"


class _Batches:
    """Changes as Arrow batches."""

    def __init__(self, table: FeedTable, series: int, snapshot: tuple[int, int]) -> None:
        from tidegate.hashing.changes import change_schema

        self._table, self._series, self._schema, self._snapshot = table, series, change_schema(table), snapshot
        self._keys = [table.told.index(column) for column in table.keys]
        self._decoders: dict[int, tuple[Any, Any]] = {}
        self.last_gtid = ""
        """MySQL's GTID of the last transaction that was read."""
        self._begin()

    def _begin(self) -> None:
        self._operations: list[int] = []
        self._positions: list[str] = []
        self._times: list[int] = []
        self._images: list[list[object]] = []

    def of(self, reader: LogReader) -> Iterator[pa.RecordBatch]:
        from tidegate.databases.mysql.binlog.stream import LoggedRows, LoggedStatement, Unreadable

        with closing(reader.changes()) as changes:  # type: ignore[type-var]
            for change in changes:
                if (number_of(change.moment.file), change.moment.end) <= self._snapshot:
                    continue
                if isinstance(change, LoggedRows):
                    self._add(change)
                    if len(self._operations) >= self._table.batch.rows:
                        yield self._batch()
                elif isinstance(change, LoggedStatement):
                    if change.effect is not Effect.TRUNCATE or not self._table.truncates:
                        raise Unreadable(_told_by(change)[1] or "the table was emptied")
                    self._append(TRUNCATE, *self._place(change.moment), [None] * len(self._table.told))
                elif change.effect is not Effect.COMMIT and self._table.images:
                    # The values would be those of a transaction that did not happen, or not yet.
                    raise Unreadable(f"{change.moment.file}:{change.moment.end} is a {change.effect.value}")
        if self._operations:
            yield self._batch()

    def _add(self, change: LoggedRows) -> None:
        decoder = self._decoder(change)
        images, moment = change.images, change.moment
        self.last_gtid = moment.transaction if _GTID.fullmatch(moment.transaction) else ""
        for present in (images.before, images.after):
            if present is not None and self._table.images and not decoder.has_all(present):
                self._refuse_partial(change)
        overlay = None
        if images.before is not None and images.after is not None:
            if not decoder.has_all(images.after):
                overlay = decoder.places(images.after)
            if not decoder.has_all(images.before):
                self._refuse_partial(change)
        elif not decoder.has_all(images.before or images.after or ()):
            self._refuse_partial(change)
        place, number, _ = self._place(moment)
        for before, after in decoder.rows(images):
            number += 1
            if before is None:
                assert after is not None
                self._append(INSERT, place, number, moment.microseconds, after)
            elif after is None:
                self._append(DELETE, place, number, moment.microseconds, before)
            else:
                if overlay is not None:  # a key that the image leaves out has not changed
                    after = [after[n] if n in overlay else before[n] for n in range(len(before))]
                if all(before[key] == after[key] for key in self._keys):
                    self._append(UPDATE, place, number, moment.microseconds, after)
                else:
                    self._append(DELETE, place, number, moment.microseconds, before)
                    number += 1
                    self._append(INSERT, place, number, moment.microseconds, after)

    def _place(self, moment: Moment) -> tuple[str, int, int]:
        return f"{self._series:04d}.{number_of(moment.file):08d}.{moment.end:012d}", 0, moment.microseconds

    def _refuse_partial(self, change: LoggedRows) -> None:
        from tidegate.databases.mysql.binlog.stream import Unreadable

        where = f"{change.moment.file}:{change.moment.end}"
        raise Unreadable(f"{where} lacks columns of its rows (`binlog_row_image` of that session)")

    def _append(self, operation: int, place: str, number: int, microseconds: int, image: list[object]) -> None:
        self._operations.append(operation)
        self._positions.append(f"{place}.{number:06d}")
        self._times.append(microseconds)
        self._images.append(image)

    def _decoder(self, change: LoggedRows) -> Any:
        from tidegate.databases.mysql.binlog.rows import RowDecoder

        number = change.table.number
        known = self._decoders.get(number)
        if known is None or known[0] is not change.table:
            decoder = RowDecoder(self._table.told, self._table.keys, change.table)
            self._decoders = {number: (change.table, decoder)}
            return decoder
        return known[1]

    def _batch(self) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = [
            pa.array(self._operations, pa.int16()),
            pa.array(self._positions, pa.string()),
            pa.array(self._times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        ]
        columns = zip(self._table.told, zip(*self._images, strict=True), list(self._schema)[3:], strict=True)
        arrays += [_array(column, values, field, self._table.text_columns) for column, values, field in columns]
        self._begin()
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(column: Any, values: Any, field: pa.Field, text_columns: tuple[str, ...]) -> pa.Array:
    """Return values of the log in the Arrow type that the same values have when they are read by a query."""
    import pyarrow as pa

    from tidegate.databases.mysql.decoding import typed

    if column.name not in text_columns and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
        return pa.array(values, field.type)
    texts = [value if value is None or isinstance(value, bytes) else str(value).encode() for value in values]
    if column.name in text_columns:
        family = column.logical_type.family
        if column.logical_type.storage_type == "binary":
            texts = [None if value is None else b"\\x" + value.hex().encode() for value in texts]
        elif family in ("clock", "timestamp", "instant") and column.logical_type.size:
            texts = [None if value is None else value.rstrip(b"0").rstrip(b".") for value in texts]
    return typed(pa.array(texts, pa.binary()), field)
