"""MySQL's wire protocol for rows, in place of PyMySQL's, which creates a Python object per value.

Facts that shape this file
 * A row is a packet: three bytes of length, one of sequence, then each value after its length; 0xFB is null. A packet
   of 0xFFFFFF bytes continues in the next one.
 * The rows end with a packet that starts with 0xFE and is shorter than nine bytes. 0xFF starts an error.
 * LOAD DATA LOCAL makes the server ask for a file by its name. A hostile server could ask for any file at any time. We
   answer only the name that we sent, with rows from memory, and never open a file.
 * With `preferred` TLS no certificate is verified. PyMySQL still loads all certificate authorities of the machine for
   every connection, which takes longer than everything else about it.
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

FILE_NAME = "rows of tidegate"
_LONGEST = 0xFFFFFF
_HEADER = struct.Struct("<I").unpack_from  # the upper byte is the sequence number
_CHUNK = 1 << 20
_SENT_AT_ONCE = 1 << 20

Block = tuple[bytearray, list[int]]
"""Bytes, and the start of each row in them."""


@lru_cache(1)
def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Wire(Connection):  # type: ignore[misc]
    """A connection that reads and writes whole blocks of rows."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(local_infile=True, **arguments)
        # The handshake has allowed LOCAL; from here on PyMySQL must never open a file.
        self._local_infile = False

    def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
        return _unverified() if sslp == {} else super()._create_ssl_ctx(sslp)

    def blocks(self, statement: str, size: BatchSize) -> Generator[Block, None, None]:
        """Yield the rows of a query. A caller that stops early can go on using the connection: the rest is dropped."""
        self._execute_command(COMMAND.COM_QUERY, statement)
        head = self._read_packet()
        columns = head.read_length_encoded_integer()
        for _ in range(columns + 1):  # the column definitions and their end
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
        """Run LOAD DATA LOCAL with these bytes as the file. Return the number of rows and of warnings."""
        self._execute_command(COMMAND.COM_QUERY, statement)
        request = self._read_packet()
        if not request.is_load_local_packet() or LoadLocalPacketWrapper(request).filename != FILE_NAME.encode():
            self._force_close()
            raise pymysql.OperationalError(CR.CR_MALFORMED_PACKET, "the server asked for a file that it may not have")
        try:
            for block in blocks:
                for start in range(0, len(block), _SENT_AT_ONCE):
                    self.write_packet(block[start : start + _SENT_AT_ONCE])
        except BaseException:
            self._force_close()  # a regular end would make the server keep the rows so far
            raise
        self.write_packet(b"")
        result = MySQLResult(self)
        result._read_ok_packet(self._read_packet())
        return int(result.affected_rows or 0), int(result.warning_count)


class _Rows:
    """The incoming bytes, cut into blocks of whole rows."""

    def __init__(self, wire: Wire) -> None:
        self._wire, self._pending = wire, bytearray()
        self.ended = False

    def next(self, size: BatchSize) -> Block:
        starts: list[int] = []
        data, position = self._pending, 0
        while not self.ended and len(starts) < size.rows and position < size.bytes:
            start = position + 4
            if len(data) < start or len(data) < start + (_HEADER(data, position)[0] & _LONGEST):
                self._fill(data, position)
            length = _HEADER(data, position)[0] & _LONGEST
            if length == _LONGEST:
                if starts:
                    break  # a row of more than one packet is a block of its own
                return self._long_row(data)
            if data[start] == 0xFF:
                self.ended = True
                MysqlPacket(bytes(data[start : start + length]), self._wire.encoding).raise_for_error()
            if data[start] == 0xFE and length < 9:
                self.ended = True
            else:
                starts.append(start)
            position = start + length
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
        """Read until a whole packet lies at this position."""
        while len(data) < position + 4 or len(data) < position + 4 + (_HEADER(data, position)[0] & _LONGEST):
            stream = self._wire._rfile  # None once the connection was closed
            more = stream.read1(_CHUNK) if stream is not None else b""
            if not more:
                self._wire._force_close()
                raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
            data += more
