"""Rows off MySQL's wire, whatever pieces they arrive in: told by packets made here, after the protocol's own rules."""

from __future__ import annotations

import random
import struct
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pymysql
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.databases.mysql.decoding import decode
from tidegate.databases.mysql.encoding import lines
from tidegate.databases.mysql.wire import _Rows
from tidegate.errors import NotNative
from tidegate.interfaces import BatchSize

END = b"\xfe\x00\x00\x02\x00"
LONGEST = 0xFFFFFF
Row = tuple[bytes | None, ...]


def value(content: bytes | None) -> bytes:
    if content is None:
        return b"\xfb"
    size = len(content)
    if size < 0xFB:
        return bytes([size]) + content
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size) + content
    if size < 1 << 24:
        return b"\xfd" + struct.pack("<I", size)[:3] + content
    return b"\xfe" + struct.pack("<Q", size) + content


def packets(*payloads: bytes) -> bytes:
    """With their headers; what is longer than a packet goes on in the next one."""
    sent = bytearray()
    for payload in payloads:
        pieces = [payload[start : start + LONGEST] for start in range(0, len(payload) + 1, LONGEST)]
        for number, piece in enumerate(pieces):
            sent += struct.pack("<I", len(piece))[:3] + bytes([number % 256]) + piece
    return bytes(sent)


class Stream:
    """Gives what was sent in pieces of a chosen size, and then nothing."""

    def __init__(self, sent: bytes, size: int) -> None:
        self._sent, self._size = memoryview(sent), size

    def read1(self, at_most: int) -> bytes:
        piece = bytes(self._sent[: min(at_most, self._size)])
        self._sent = self._sent[len(piece) :]
        return piece


def rows_of(sent: bytes, size: int = 1 << 16) -> _Rows:
    wire: Any = SimpleNamespace(_rfile=Stream(sent, size), encoding="utf8", _force_close=lambda: None)
    return _Rows(wire)


def read(sent: bytes, columns: int, size: int, batch: BatchSize) -> list[list[Row]]:
    """The rows of each block."""
    rows, blocks = rows_of(sent, size), []
    schema = pa.schema([(f"c{number}", pa.binary()) for number in range(columns)])
    while not rows.ended:
        block = rows.next(batch)
        if block[1]:
            blocks.append([tuple(row.values()) for row in decode(block, schema).to_pylist()])
    return blocks


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.tuples(*[st.none() | st.binary(max_size=300) for _ in range(columns)]), min_size=1, max_size=30
        )
    ),
    st.integers(1, 700),
    st.integers(1, 10),
    st.integers(1, 2000),
)
def test_rows_arrive_whole_whatever_pieces_they_come_in(rows: list[Row], size: int, many: int, large: int):
    sent = packets(*(b"".join(map(value, row)) for row in rows), END)
    blocks = read(sent, len(rows[0]), size, BatchSize(many, large))
    assert [row for block in blocks for row in block] == rows
    assert all(len(block) <= many for block in blocks)


@pytest.mark.parametrize(
    "size", [250, 251, 65_535, 65_536, LONGEST - 5, LONGEST - 4, LONGEST, LONGEST + 1, 2 * LONGEST]
)
def test_every_length_of_a_value(size: int):
    content = random.Random(size).randbytes(1000) * (size // 1000 + 1)
    row: Row = (content[:size], None, b"", b"after")
    small: Row = (b"a", b"b", None, b"d")
    sent = packets(*(b"".join(map(value, one)) for one in (small, row, small)), END)
    blocks = read(sent, 4, 1 << 20, BatchSize(10, 1 << 30))
    assert [one for block in blocks for one in block] == [small, row, small]


def test_no_rows_make_no_block():
    assert read(packets(END), 1, 100, BatchSize()) == []


def test_an_error_among_the_rows_is_raised_after_those_before_it():
    error = b"\xff" + struct.pack("<H", 1317) + b"#70100Query execution was interrupted"
    rows = rows_of(packets(value(b"first"), error))
    assert rows.next(BatchSize(rows=1))[1]
    with pytest.raises(pymysql.err.OperationalError, match="interrupted"):
        rows.next(BatchSize())
    assert rows.ended


def test_a_stream_that_ends_too_early_is_a_lost_connection():
    rows = rows_of(packets(value(b"first"), value(b"second"))[:-3])
    with pytest.raises(pymysql.err.OperationalError, match="Lost connection"):
        rows.next(BatchSize())


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.date32(), b"0000-00-00"),
        (pa.timestamp("us"), b"2024-02-30 00:00:00"),
        (pa.time64("us"), b"-00:00:01"),
        (pa.time64("us"), b"24:00:00"),
        (pa.time64("us"), b"838:59:59"),
        (pa.decimal128(5, 2), b"12345.67"),
        (pa.int16(), b"40000"),
    ],
    ids=str,
)
def test_what_a_type_has_no_room_for_names_its_column(kind: pa.DataType, text: bytes):
    block = rows_of(packets(value(text), END)).next(BatchSize())
    with pytest.raises(NotNative) as met:
        decode(block, pa.schema([("x", kind)]))
    assert met.value.column == "x"


def test_the_smallest_decimals_are_written_without_an_exponent():
    numbers = pa.array([Decimal("1E-38"), None, Decimal("-0.5")], pa.decimal128(38, 38))

    assert lines(pa.record_batch({"n": numbers})).decode().splitlines() == [
        f"0.{'0' * 37}1",
        "NULL",
        f"-0.5{'0' * 37}",
    ]
