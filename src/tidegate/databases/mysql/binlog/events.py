"""The events of a binary log, out of the packets of a dump.

Facts that shape this file
 * An event has a head of 19 bytes: time, type, server, size, the place where the next event begins, flags. A checksum
   of four bytes may follow its body; the event that describes the format says whether.
 * A table map comes before the row events of a statement. It has the types, and with `binlog_row_metadata = FULL` the
   names of the columns.
 * A type that is not listed here stops the reading: what it would have told is unknown. So do compressed events,
   partial updates of documents, and statements in place of rows.
 * MariaDB and MySQL number their own events differently from 30 and from 160 on.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

QUERY, STOP, ROTATE, FORMAT, XID, TABLE_MAP, INCIDENT = 2, 3, 4, 15, 16, 19, 26
GTID, ANONYMOUS_GTID, XA_PREPARE, TAGGED_GTID, MARIADB_GTID = 33, 34, 38, 42, 162
INSERTS, UPDATES, DELETES = (23, 30), (24, 31), (25, 32)
ROWS = (*INSERTS, *UPDATES, *DELETES)
HARMLESS = {
    STOP: "the server stopped",
    5: "a number for a statement",
    13: "a random seed for a statement",
    14: "a variable for a statement",
    27: "heartbeat",
    28: "ignorable",
    29: "the text of a statement",
    35: "GTIDs of earlier files",
    36: "group replication",
    37: "group replication",
    41: "heartbeat",
    160: "the text of a statement",
    161: "checkpoint",
    163: "GTIDs of earlier files",
    164: "the file is encrypted; the server decrypts it",
}
REFUSED = {
    **dict.fromkeys((40,), "a compressed transaction (`binlog_transaction_compression`)"),
    **dict.fromkeys(range(165, 172), "a compressed event (`log_bin_compress`)"),
    39: "a partial update of a JSON document (`binlog_row_value_options`)",
    INCIDENT: "an incident: the server may have lost events",
    **dict.fromkeys((6, 8, 9, 10, 11, 12, 17, 18), "a LOAD DATA as a statement (`binlog_format` is not ROW)"),
    **dict.fromkeys((20, 21, 22), "rows in the form of MySQL 5.1"),
}
IGNORABLE = 0x80
_HEAD = struct.Struct("<IBIIIH")
HEAD = _HEAD.size
_COLUMN_NAMES = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type, and its body without head and checksum."""

    kind: int
    time: int
    """In seconds since 1970."""
    end: int
    """Where the next event begins; 0 for one that is in no file."""
    flags: int
    body: bytes


class Damaged(Exception):
    """An event whose checksum is wrong or that is cut off."""


class EventReader:
    """Cuts packets into events, and keeps in mind whether they have checksums."""

    def __init__(self) -> None:
        self._has_checksum: bool | None = None
        """None until the format of a file is known: then a checksum is one when it is right."""

    def event(self, packet: bytes) -> Event:
        if len(packet) < HEAD:
            raise Damaged
        time, kind, _, size, end, flags = _HEAD.unpack_from(packet)
        if size != len(packet):
            raise Damaged
        if kind == FORMAT:
            self._has_checksum = packet[-5] == 1  # its own checksum ignores a flag of files that are in use
            return Event(kind, time, end, flags, packet[HEAD:])
        checksum = int.from_bytes(packet[-4:], "little")
        if self._has_checksum is None or kind == ROTATE:
            # Rotations that the server makes up have a checksum where the client asked for one.
            has_checksum = zlib.crc32(packet[:-4]) == checksum
        else:
            has_checksum = self._has_checksum
            if has_checksum and end and zlib.crc32(packet[:-4]) != checksum:
                raise Damaged
        return Event(kind, time, end, flags, packet[HEAD : -4 if has_checksum else None])


def rotation(event: Event) -> tuple[str, int]:
    """Return the file that comes now, and the place in it."""
    return event.body[8:].rstrip(b"\0").decode(), int.from_bytes(event.body[:8], "little")


def statement(event: Event) -> tuple[str, str]:
    """Return the default database and the text of a statement."""
    schema_size = event.body[8]
    variables = int.from_bytes(event.body[11:13], "little")
    begin = 13 + variables
    schema = event.body[begin : begin + schema_size].decode("utf-8", "replace")
    return schema, event.body[begin + schema_size + 1 :].decode("utf-8", "replace")


def mariadb_gtid(event: Event) -> tuple[int, int, int]:
    """Return domain, sequence number and flags."""
    sequence, domain, flags = struct.unpack_from("<QIB", event.body)
    return domain, sequence, flags


def mysql_gtid(event: Event) -> tuple[str, int]:
    """Return the source's UUID and the transaction's number."""
    raw = event.body[1:17].hex()
    uuid = "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))
    return uuid, int.from_bytes(event.body[17:25], "little")


def commit_microseconds(event: Event) -> int | None:
    """Return the time of the commit that MySQL 8 adds to its GTID; None where there is none."""
    begin = 25 + 1 + 16
    stored = int.from_bytes(event.body[begin : begin + 7], "little")
    if event.body[25:26] != b"\x02" or not stored:
        return None
    if stored >> 55 & 1:  # another source committed it first
        return int.from_bytes(event.body[begin + 7 : begin + 14], "little")
    return stored


@dataclass(frozen=True, slots=True)
class TableMap:
    """The table of the row events that follow."""

    number: int
    schema: str
    table: str
    types: bytes
    metadata: tuple[bytes, ...]
    names: tuple[str, ...] | None = None
    """Known with `binlog_row_metadata = FULL`."""


def table_map(event: Event, metadata_bytes: Mapping[int, int]) -> TableMap | int:
    """Return the table; or the number of a type that is unknown."""
    body = event.body
    number = int.from_bytes(body[:6], "little")
    schema, at = _short_text(body, 8)
    table, at = _short_text(body, at)
    count, at = packed_integer(body, at)
    types, at = body[at : at + count], at + count
    size, at = packed_integer(body, at)
    end, metadata = at + size, []
    for kind in types:
        width = metadata_bytes.get(kind)
        if width is None:
            return kind
        metadata.append(body[at : at + width])
        at += width
    at = end + (count + 7) // 8
    names = None
    while at < len(body):
        kind, (size, begin) = body[at], packed_integer(body, at + 1)
        at = begin + size
        if kind == _COLUMN_NAMES:
            names = tuple(_texts(body[begin:at]))
    return TableMap(number, schema, table, types, tuple(metadata), names)


def mapped_table(event: Event) -> tuple[str, str]:
    """Return schema and table of a table map."""
    schema, at = _short_text(event.body, 8)
    return schema, _short_text(event.body, at)[0]


def packed_integer(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + width], "little"), at + 1 + width


def _short_text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return data[at + 1 : end].decode(), end + 1  # a zero byte follows


def _texts(data: bytes) -> list[str]:
    found, at = [], 0
    while at < len(data):
        size, at = packed_integer(data, at)
        found.append(data[at : at + size].decode())
        at += size
    return found


@dataclass(frozen=True, slots=True)
class RowImages:
    """The raw rows of one event: where they begin, and which columns each image has."""

    table: int
    data: bytes
    begin: int
    columns: int
    before: tuple[int, ...] | None
    """The places of the columns in the image before the change; None for an insert."""
    after: tuple[int, ...] | None
    """The same after the change; None for a delete."""


def row_images(event: Event) -> RowImages:
    body, at = event.body, 8
    if event.kind >= 30:  # the second form has extra data
        at += int.from_bytes(body[8:10], "little")
    columns, at = packed_integer(body, at)
    size = (columns + 7) // 8
    first, at = _present(body[at : at + size], columns), at + size
    second = first
    if event.kind in UPDATES:
        second, at = _present(body[at : at + size], columns), at + size
    return RowImages(
        int.from_bytes(body[:6], "little"),
        body,
        at,
        columns,
        None if event.kind in INSERTS else first,
        None if event.kind in DELETES else second,
    )


def _present(bitmap: bytes, columns: int) -> tuple[int, ...]:
    return tuple(place for place in range(columns) if bitmap[place >> 3] >> (place & 7) & 1)
