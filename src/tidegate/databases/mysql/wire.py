"""MySQL's protocol where PyMySQL's own way would take a Python object per value: rows out, rows in.

Facts that shape this file
 * A row is a packet: three bytes of length, one of sequence, then each value after its length; 0xFB is a null. A
   packet of 0xFFFFFF bytes goes on in the next one.
 * Rows end with a packet that begins with 0xFE and is shorter than nine bytes; 0xFF begins an error.
 * LOAD DATA LOCAL makes the server ask for a file by its name. A server could ask for any file, at any time: only
   the name that we gave is answered, with rows of ours; no file is ever opened.
 * Where TLS is only preferred nobody looks at certificates, yet PyMySQL reads all authorities of the machine for every
   connection, which takes longer than everything else about it.
"""

from __future__ import annotations

import ssl
import struct
from collections.abc import Generator, Iterable
from functools import lru_cache
from typing import Any

import pymysql
from pymysql.connections import Connection, MySQLResult
from pymysql.constants import COMMAND, CR
from pymysql.protocol import LoadLocalPacketWrapper, MysqlPacket

from tidegate.interfaces import BatchSize

NAME_OF_NO_FILE = "rows of tidegate"
_LONGEST = 0xFFFFFF
_HEADER = struct.Struct("<I").unpack_from  # its upper byte is the sequence
_CHUNK = 1 << 20
_SENT_AT_ONCE = 1 << 20

Block = tuple[bytearray, list[int]]
"""Bytes, and where each row begins in them."""


@lru_cache(1)
def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Wire(Connection):  # type: ignore[misc]
    """A connection that also gives and takes whole blocks of rows."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(local_infile=True, **arguments)
        # The server may use LOCAL from here on; PyMySQL itself must never open a file for it.
        self._local_infile = False

    def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
        return _unverified() if sslp == {} else super()._create_ssl_ctx(sslp)

    def blocks(self, statement: str, size: BatchSize) -> Generator[Block, None, None]:
        """The rows of a query. Whoever stops early leaves the connection usable: the rest is read and forgotten."""
        self._execute_command(COMMAND.COM_QUERY, statement)
        head = self._read_packet()
        columns = head.read_length_encoded_integer()
        for _ in range(columns + 1):  # their descriptions, and the end of those
            self._read_packet()
        rows = _Rows(self)
        try:
            while not rows.ended:
                block = rows.next(size)
                if block[1]:
                    yield block
        finally:
            while self.open and not rows.ended:
                rows.next(size)

    def load(self, statement: str, blocks: Iterable[bytes]) -> tuple[int, int]:
        """LOAD DATA LOCAL with these bytes as the file; how many rows the server took, and its warnings."""
        self._execute_command(COMMAND.COM_QUERY, statement)
        asked = self._read_packet()
        if not asked.is_load_local_packet() or LoadLocalPacketWrapper(asked).filename != NAME_OF_NO_FILE.encode():
            self._force_close()
            raise pymysql.OperationalError(CR.CR_MALFORMED_PACKET, "the server asked for a file that it may not have")
        try:
            for block in blocks:
                for start in range(0, len(block), _SENT_AT_ONCE):
                    self.write_packet(block[start : start + _SENT_AT_ONCE])
        except BaseException:
            self._force_close()  # an end would make the server keep what came so far
            raise
        self.write_packet(b"")
        result = MySQLResult(self)
        result._read_ok_packet(self._read_packet())
        return int(result.affected_rows or 0), int(result.warning_count)


class _Rows:
    """What arrives, cut into blocks of whole rows."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._pending = wire, bytearray()
        self.ended = False

    def next(self, size: BatchSize) -> Block:
        starts: list[int] = []
        data, position = self._pending, 0
        while not self.ended and len(starts) < size.rows and position < size.bytes:
            begins = position + 4
            if len(data) < begins or len(data) < begins + (_HEADER(data, position)[0] & _LONGEST):
                self._fill(data, position)
            length = _HEADER(data, position)[0] & _LONGEST
            if length == _LONGEST:
                if starts:
                    break  # a row of more than one packet is a block of its own
                return self._long_row(data)
            if data[begins] == 0xFF:
                self.ended = True
                MysqlPacket(bytes(data[begins : begins + length]), self._wire.encoding).raise_for_error()
            if data[begins] == 0xFE and length < 9:
                self.ended = True
            else:
                starts.append(begins)
            position = begins + length
        self._pending = data[position:]
        return data, starts

    def _long_row(self, data: bytearray) -> Block:
        row, length, position = bytearray(), _LONGEST, 0
        while length == _LONGEST:
            self._fill(data, position)
            length = _HEADER(data, position)[0] & _LONGEST
            row += data[position + 4 : position + 4 + length]
            position += 4 + length
        self._pending = data[position:]
        return row, [0]

    def _fill(self, data: bytearray, position: int) -> None:
        """Until a whole packet stands at this position."""
        while len(data) < position + 4 or len(data) < position + 4 + (_HEADER(data, position)[0] & _LONGEST):
            stream = self._wire._rfile  # None once the connection was closed
            more = stream.read1(_CHUNK) if stream is not None else b""
            if not more:
                self._wire._force_close()
                raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
            data += more
