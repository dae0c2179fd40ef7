"""Read a binary log from one place to another, as changes of some tables.

Facts that shape this file
 * A dump without blocking ends where the log ends. The bound is asked for before, so every read ends.
 * A transaction is written to the log as a whole, when it commits. So the place after it is a place between two
   transactions. Prepared XA transactions are written when they are prepared, and may be rolled back later.
 * Two clients with one server number end each other's dump: each of ours draws a number of its own.
 * The server asks a dump command for a place of four bytes. A longer file begins with its last transaction.
"""

from __future__ import annotations

import re
import secrets
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pymysql.constants import COMMAND

from tidegate.databases.mysql.binlog import events
from tidegate.databases.mysql.binlog.events import Event, EventReader, RowImages, TableMap
from tidegate.databases.mysql.binlog.position import LogPosition, encoded_set, number_of
from tidegate.databases.mysql.binlog.statements import Effect, Meaning, meaning
from tidegate.databases.mysql.binlog.values import METADATA_BYTES
from tidegate.databases.mysql.dialect import DIALECT
from tidegate.sql.text import Literal, Sql, render, sql

if TYPE_CHECKING:
    from tidegate.databases.mysql.wire import Wire

_NON_BLOCKING, _THROUGH_GTID = 1, 4
_MARIADB_UNDERSTANDS_GTID = 4
_STANDALONE, _PREPARED = 1, 64
_DUMP_GTID = 0x1E
_OURS_FROM = 1 << 31
# MySQL's CREATE TABLE ... SELECT: its rows follow.
_STARTS = re.compile(r"\bSTART\s+TRANSACTION\s*$", re.IGNORECASE)


class Unreadable(Exception):
    """The log has something that cannot be read or must not be passed over. The text is the reason, a clause."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where and when a change was committed."""

    file: str
    end: int
    """Where the event ends in its file."""
    transaction: str
    """The GTID, or where the transaction begins."""
    microseconds: int
    """When it was committed, in microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Rows of one table that one event changed."""

    moment: Moment
    table: TableMap
    images: RowImages


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement after which a table must be looked at anew: a TRUNCATE, an ALTER."""

    moment: Moment
    effect: Effect
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class LoggedEnd:
    """The end of a transaction that changed some of the tables. Rows of one that was rolled back count for nothing."""

    moment: Moment
    effect: Effect


Logged = LoggedRows | LoggedStatement | LoggedEnd


def setup(start: LogPosition, *, mariadb: bool) -> list[Sql]:
    """Return the statements before a dump: the client understands checksums and, of MariaDB, GTIDs."""
    statements = [
        sql("SET @master_binlog_checksum = @@global.binlog_checksum"),
        sql("SET @source_binlog_checksum = @@global.binlog_checksum"),
    ]
    if mariadb:
        understands = Literal(_MARIADB_UNDERSTANDS_GTID)
        statements.append(sql("SET @mariadb_slave_capability = {understands}", understands=understands))
    if mariadb and start.gtid:
        statements.append(sql("SET @slave_connect_state = {gtid}", gtid=Literal(start.gtid)))
        statements.append(sql("SET @slave_gtid_strict_mode = 0"))
    return statements


def begin(wire: Wire, start: LogPosition, *, mariadb: bool) -> None:
    """Ask the server for its log from a place on."""
    server = _OURS_FROM + secrets.randbelow(_OURS_FROM - 1)
    for statement in setup(start, mariadb=mariadb):
        wire.query(render(statement, DIALECT))
    if start.gtid and not mariadb:
        known = encoded_set(start.gtid)
        flags = _NON_BLOCKING | _THROUGH_GTID
        command = struct.pack("<HII", flags, server, 0) + struct.pack("<QI", 4, len(known)) + known
        wire._execute_command(_DUMP_GTID, command)
        return
    file, offset = ("", 4) if start.gtid else (start.file, start.offset)
    wire._execute_command(COMMAND.COM_BINLOG_DUMP, struct.pack("<IHI", offset, _NON_BLOCKING, server) + file.encode())


class LogReader:
    """What the log says of some tables, between two places."""

    def __init__(self, wire: Wire, start: LogPosition, bound: LogPosition, tables: Collection[tuple[str, str]]) -> None:
        self._wire, self._start, self._bound = wire, start, bound
        self._tables = {(schema, table) for schema, table in tables}
        self._folded = {(schema.casefold(), table.casefold()): (schema, table) for schema, table in tables}
        self._maps: dict[int, TableMap | None] = {}
        self._file, self._offset = start.file, start.offset
        self._moment = Moment(start.file, start.offset, "", 0)
        self._gtid, self._is_standalone, self._is_open, self._has_rows = "", False, False, False
        self._prepared: set[str] = set()
        self._reader = EventReader()
        self.bytes = 0
        """How many bytes were read so far."""
        self.began = 0
        """When the file began that is read now, in seconds since 1970."""

    def changes(self) -> Iterator[Logged]:
        """Yield the changes in the order of the log. Raises Unreadable."""
        while True:
            packet = self._wire._read_packet()
            if packet.is_eof_packet():
                break
            data = packet.get_all_data()[1:]
            self.bytes += len(data)
            try:
                event = self._reader.event(data)
            except events.Damaged:
                raise Unreadable(f"an event after {self._file}:{self._offset} is damaged") from None
            if event.kind == events.ROTATE:
                self._rotate(event)
            else:
                yield from self._changes_of(event)
            if event.end and event.kind != events.ROTATE:
                self._offset = event.end
            if self._is_done():
                return
        # From a GTID on, the server leaves out what is known: the end of its log may lie before the bound's offset.
        if self._is_open or not (self._start.gtid or self._is_done()):
            raise Unreadable(f"the server's log ended at {self._file}:{self._offset}, before {self._bound}")

    def first_event(self) -> None:
        """Read as far as the event that says when the file began."""
        while not self.began:
            packet = self._wire._read_packet()
            if packet.is_eof_packet():
                return
            event = self._reader.event(packet.get_all_data()[1:])
            if event.kind == events.FORMAT:
                self.began = event.time

    def _is_done(self) -> bool:
        bound = self._bound.order
        return not self._is_open and (number_of(self._file), self._offset) >= bound

    def _rotate(self, event: Event) -> None:
        self._file, self._offset = events.rotation(event)
        self._maps = {}

    def _changes_of(self, event: Event) -> Iterator[Logged]:
        kind = event.kind
        if kind in events.ROWS:
            yield from self._rows(event)
        elif kind == events.TABLE_MAP:
            self._add_table(event)
        elif kind in (events.GTID, events.ANONYMOUS_GTID, events.TAGGED_GTID, events.MARIADB_GTID):
            self._begin(event)
        elif kind == events.XID:
            yield from self._end(event, Effect.COMMIT)
        elif kind == events.QUERY:
            yield from self._statement(event)
        elif kind == events.XA_PREPARE:
            yield from self._prepare(event)
        elif kind == events.FORMAT:
            self._check_file(event)
        elif kind in events.REFUSED:
            raise Unreadable(f"{self._file}:{event.end} is {events.REFUSED[kind]}")
        elif kind not in events.HARMLESS and not event.flags & events.IGNORABLE:
            raise Unreadable(f"{self._file}:{event.end} is an event of an unknown type ({kind})")

    def _check_file(self, event: Event) -> None:
        self.began = event.time
        remembered = self._start.began
        if remembered and self._file == self._start.file and not self._start.gtid and event.time != remembered:
            raise Unreadable(f"{self._file} is another file than the one that was read: the log began anew")

    def _begin(self, event: Event) -> None:
        # MySQL has a statement BEGIN where more than one statement follows; MariaDB has a flag where just one does.
        microseconds, gtid, standalone = event.time * 1_000_000, "", True
        if event.kind == events.MARIADB_GTID:
            domain, sequence, flags = events.mariadb_gtid(event)
            standalone = bool(flags & _STANDALONE)
            gtid = f"{domain}-{sequence}"
        else:
            if event.kind == events.GTID:
                gtid = ":".join(map(str, events.mysql_gtid(event)))
            elif event.kind == events.TAGGED_GTID and self._start.gtid:
                raise Unreadable(f"{self._file}:{event.end} has a GTID with a tag")
            if event.kind != events.TAGGED_GTID:
                microseconds = events.commit_microseconds(event) or microseconds
        self._moment = Moment(self._file, event.end, gtid or f"{self._file}:{event.end}", microseconds)
        self._is_standalone, self._is_open, self._has_rows, self._maps = standalone, True, False, {}

    def _at(self, event: Event) -> Moment:
        return Moment(self._file, event.end, self._moment.transaction, self._moment.microseconds)

    def _end(self, event: Event, effect: Effect) -> Iterator[Logged]:
        if self._has_rows:
            yield LoggedEnd(self._at(event), effect)
        self._is_open = self._has_rows = False

    def _add_table(self, event: Event) -> None:
        found = events.table_map(event, METADATA_BYTES)
        if isinstance(found, TableMap):
            key = found.schema, found.table
            ours = key if key in self._tables else None
            self._maps[found.number] = found if ours else None
            return
        number = int.from_bytes(event.body[:6], "little")
        schema, table = events.mapped_table(event)
        if (schema, table) in self._tables:
            raise Unreadable(f"{schema}.{table} has a column of a type ({found}) that cannot be read from the log")
        self._maps[number] = None

    def _rows(self, event: Event) -> Iterator[Logged]:
        number = int.from_bytes(event.body[:6], "little")
        if number not in self._maps:
            if number == 0xFFFFFF and len(event.body) <= 12:
                return  # an empty event that only ends a statement
            raise Unreadable(f"{self._file}:{event.end} has rows of a table that the log does not name")
        table = self._maps[number]
        if table is not None:
            self._has_rows = True
            yield LoggedRows(self._at(event), table, events.row_images(event))

    def _statement(self, event: Event) -> Iterator[Logged]:
        schema, text = events.statement(event)
        found = meaning(schema, text)
        match found.effect:
            case Effect.BEGIN:
                self._is_open, self._is_standalone = True, False
            case Effect.COMMIT | Effect.ROLLBACK:
                yield from self._end(event, found.effect)
            case Effect.PARTIAL_ROLLBACK if self._has_rows:
                yield LoggedEnd(self._at(event), found.effect)
            case Effect.XA_COMMIT | Effect.XA_ROLLBACK:
                if found.effect is Effect.XA_COMMIT and found.transaction not in self._prepared:
                    raise Unreadable(f"{self._file}:{event.end} commits an XA transaction whose rows were read before")
                self._prepared.discard(found.transaction)
                yield from self._end(event, Effect.COMMIT)
            case Effect.UNKNOWN:
                raise Unreadable(
                    f"{self._file}:{event.end} is a statement in place of its rows (`binlog_format` was not ROW)"
                )
            case Effect.ALTER | Effect.RELOAD | Effect.TRUNCATE:
                yield from self._ddl(event, found)
                yield from self._end(event, Effect.COMMIT)
            case _ if self._is_standalone and not _STARTS.search(text):
                self._is_open = False

    def _ddl(self, event: Event, found: Meaning) -> Iterator[Logged]:
        for schema, table in found.tables:
            for folded, (ours, name) in self._folded.items():
                if folded[0] == schema.casefold() and table.casefold() in ("*", folded[1]):
                    yield LoggedStatement(self._at(event), found.effect, ours, name)

    def _prepare(self, event: Event) -> Iterator[Logged]:
        is_one_phase = event.body[0] == 1
        self._prepared.add(_xa_name(event.body))
        yield from self._end(event, Effect.COMMIT if is_one_phase else Effect.XA_COMMIT)


def _xa_name(body: bytes) -> str:
    """Return the name of a prepared transaction as XA COMMIT writes it: `X'74',X'',1`."""
    form, first, second = struct.unpack_from("<III", body, 1)
    name = body[13 : 13 + first + second]
    return f"x'{name[:first].hex()}',x'{name[first:].hex()}',{form}"
